"""What a device costs: set-up that has to be paid back, hours that have a price, energy at the power limit."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np

from breakeven.diagnose.rules.warmup import CONTEXT_MS, KERNEL_MS
from breakeven.diagnose.wording import ms
from breakeven.machine.prices import Offer, cheapest, cheapest_cpu
from breakeven.machine.records import Gpu
from breakeven.results.records import Interval
from breakeven.results.swept import Cell, CellDevice, Cost, Payback
from breakeven.sweep.crossing import figures
from breakeven.sweep.model import CPU

#: The dearest first call that the public traces show, ms: a100_alexnet_first_call (context, libraries, choice of algorithms).
SLOWEST_SETUP_MS: Final = 12_900.0
_MS_PER_MIN, _MS_PER_HOUR, _S_PER_HOUR = 60_000.0, 3_600_000.0, 3_600.0


def paybacks(cells: Sequence[Cell], kernels: int | None) -> tuple[Payback, ...]:
    """For each GPU, in the cell where it wins by most: steps until its set-up is paid back."""
    out = []
    for gpu in dict.fromkeys(d.name for c in cells for d in c.devices if d.name != CPU):
        best = _best(cells, gpu)
        if best is None:
            continue
        cell, on_cpu, on_gpu = best
        setup = _setup(kernels or 0)
        saved = Interval(
            on_cpu.step_ms.low - on_gpu.step_ms.high, on_cpu.step_ms.mid - on_gpu.step_ms.mid,
            on_cpu.step_ms.high - on_gpu.step_ms.low,
        )  # fmt: skip
        out.append(_payback(gpu, "setup", cell, setup, saved, on_gpu.step_ms))
    return tuple(out)


def _best(cells: Sequence[Cell], gpu: str) -> tuple[Cell, CellDevice, CellDevice] | None:
    pairs = []
    for cell in cells:
        devices = {d.name: d for d in cell.devices}
        if CPU in devices and gpu in devices:
            pairs.append((cell, devices[CPU], devices[gpu]))
    return max(pairs, key=lambda p: p[1].step_ms.mid / p[2].step_ms.mid, default=None)


def _setup(kernels: int) -> Interval:
    """From a first call on a current stack to the slowest that was seen; the middle is the geometric mean of both."""
    low = CONTEXT_MS + KERNEL_MS * kernels
    return Interval(low, sqrt(low * SLOWEST_SETUP_MS), SLOWEST_SETUP_MS)


def _payback(gpu: str, what: str, cell: Cell, once: Interval, saved: Interval, step: Interval) -> Payback:
    named = "setting up" if what == "setup" else "compiling"
    if saved.mid <= 0:
        said = f"On the {gpu}, {named} never pays back: at its best cell a step saves nothing."
        return Payback(gpu, what, cell.values, once, saved, None, None, said)
    steps = Interval(once.low / max(saved.high, saved.mid), once.mid / saved.mid, once.high / max(saved.low, saved.mid / 100))
    minutes = Interval(*(s * step.mid / _MS_PER_MIN for s in (steps.low, steps.mid, steps.high)))
    where = ", ".join(f"{name} {value}" for name, value in cell.values.items())
    said = (
        f"On the {gpu}, {named} (about {ms(once.mid)}) has paid for itself after about {figures(steps.mid)} steps "
        f"({figures(steps.low)} to {figures(steps.high)}) at {where}."
    )
    return Payback(gpu, what, cell.values, once, saved, steps, minutes, said)


def costs(cells: Sequence[Cell], gpus: Sequence[Gpu], listed: Sequence[Offer], cores: int, epoch: int | None) -> tuple[Cost, ...]:
    """What a million samples, and an epoch, cost on each device, in the cell where a sample takes it least time."""
    limits = {gpu.name: gpu.tdp_w for gpu in gpus}
    out = []
    for name in dict.fromkeys(d.name for c in cells for d in c.devices):
        each = [(c, d) for c in cells for d in c.devices if d.name == name and d.per_s]
        if not each:
            each = [(c, d) for c in cells for d in c.devices if d.name == name][:1]
        cell, device = max(each, key=lambda pair: pair[1].per_s or 0.0)
        offer = cheapest_cpu(listed, cores) if name == CPU else cheapest(listed, name)
        out.append(_cost(name, cell, device, offer, limits.get(name), epoch))
    return tuple(out)


def _cost(name: str, cell: Cell, device: CellDevice, offer: Offer | None, watts: float | None, epoch: int | None) -> Cost:
    million = None
    if cell.batch:
        hours = [1e6 / cell.batch * t / _MS_PER_HOUR for t in (device.step_ms.low, device.step_ms.mid, device.step_ms.high)]
        million = Interval(*hours)
    price = offer.usd_per_hour if offer is not None else None
    usd = None if million is None or price is None else _times(million, price)
    kwh = None if million is None or watts is None else million.mid * watts / 1000
    return Cost(
        name, cell.values, price, offer.words if offer else None, offer.dated if offer else None, usd,
        None if usd is None or epoch is None else _times(usd, epoch / 1e6),
        kwh, None if kwh is None or epoch is None else kwh * epoch / 1e6,
    )  # fmt: skip


def _times(interval: Interval, factor: float) -> Interval:
    return Interval(*(float(np.float64(x) * factor) for x in (interval.low, interval.mid, interval.high)))
