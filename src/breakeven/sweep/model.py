"""From cells that were run to devices that know every cell: laws where they hold, else curves between them; and the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts, operations, price_calls
from breakeven.costs.host import HostRate, cpu_split, host_rate, times_at
from breakeven.costs.works import works
from breakeven.diagnose.pricing import Pricing
from breakeven.machine.records import Cpu, Gpu, Host
from breakeven.results.records import Interval
from breakeven.results.swept import LawCheck
from breakeven.sweep.aligned import Aligned, aligned
from breakeven.sweep.design import places
from breakeven.sweep.devices import Between, Device, Powers, Work, features_of, measured, predicted
from breakeven.sweep.grid import Grid
from breakeven.sweep.laws import law
from breakeven.sweep.names.found import Value
from breakeven.sweep.ran import Ran
from breakeven.sweep.scaled import Laws, Scaled, Steps, laws_of, scaled
from breakeven.timeline import OpStream, edit, schema
from breakeven.units import NS_PER_MS

Floats = NDArray[np.float64]

#: A law whose kernels are off by less than this at a held-out cell holds: sentences of random length differ as much.
CLOSE: Final = 0.1
CPU: Final = "cpu"


@dataclass(frozen=True)
class Machine:
    """Where cells are measured, and what is predicted."""

    cpu: Cpu
    host: Host
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True)
class Model:
    """Every device of one sweep (of one choice of its words).

    Attributes:
        grid: the axes.
        devices: by name, the CPU first; a CPU that was not measured is not there.
        how: of each GPU, how cells that were not recorded come about: scaled or interpolated.
        batch: samples of a step at any values; None: not known.
        checks: how the laws fared.
        kernels: distinct kernels of a step; None: nothing was recorded.
    """

    grid: Grid
    devices: dict[str, Device]
    how: dict[str, str]
    batch: Callable[[Floats], Floats] | None
    checks: tuple[LawCheck, ...]
    kernels: int | None = None


def numbers(grid: Grid, cells: Sequence[Sequence[Value]]) -> Floats:
    """The numeric parameters of cells, shape (m, d); zeros as something tiny, since laws are products."""
    at = [i for i, axis in enumerate(grid.axes) if axis.is_number]
    if not at or not len(cells):
        return np.ones((len(cells), 1))
    held: Floats = np.maximum(np.array([[float(cell[i]) for i in at] for cell in cells]), 1e-9)
    return held


def model(grid: Grid, rans: Sequence[Ran], machine: Machine, *, draws: int = 200, seed: int = 0) -> Model:
    """Everything that the cells that were run say of all the others.

    Args:
        grid: the axes.
        rans: cells that were run; those recorded but not timed are held out of the laws and check them.
        machine: CPU, host, GPUs.
        draws: worlds.
        seed: of the worlds.
    """
    fitted = [r for r in rans if r.stream is not None and r.step_ms is not None] or [r for r in rans if r.stream is not None]
    held = [r for r in rans if r.stream is not None and r not in fitted]
    fitted.sort(key=lambda r: -_launches(r.stream))  # a row is simulated in the parts of the first: fewer would hide less
    side = aligned([r.stream for r in fitted if r.stream is not None]) if fitted else None
    laws = laws_of(side, numbers(grid, [r.values for r in fitted])) if side is not None else None
    if laws is not None and not laws.hold:
        side = laws = None
    work = Work(side, laws) if side is not None and laws is not None else None
    devices: dict[str, Device] = {}
    how: dict[str, str] = {}
    checks: list[LawCheck] = []
    on_cpu = _cpu(grid, rans, work, draws, seed)
    if on_cpu is not None:
        devices[CPU] = on_cpu
        checks.append(_cpu_check(on_cpu, laws))
    for gpu in machine.gpus if fitted else ():
        found, check, way = _gpu(grid, gpu, fitted, held, side, laws, machine, draws, seed)
        devices[gpu.name], how[gpu.name] = found, way
        checks.append(check)
    return Model(grid, devices, how, _batch(grid, rans), tuple(checks), len(side.kernels) if side else None)


def _launches(stream: OpStream | None) -> int:
    """Launches of a recording."""
    if stream is None:
        return 0
    each = np.array([sum(work.kernels * work.count for work in works(op)[0]) for op in operations(stream.calls)])
    return int(each[edit.column(stream, schema.ROW_CALL)].sum())


def _cpu(grid: Grid, rans: Sequence[Ran], work: Work | None, draws: int, seed: int) -> Between | None:
    timed = [r for r in rans if r.step_ms is not None]
    if not timed:
        return None
    cells = [r.values for r in timed]
    steps = [r.step_ms for r in timed if r.step_ms is not None]
    parameters = numbers(grid, cells)
    return measured(features_of(work, parameters), parameters, places(grid, cells), steps, draws, seed)


def _gpu(
    grid: Grid, gpu: Gpu, fitted: Sequence[Ran], held: Sequence[Ran], side: Aligned | None, laws: Laws | None,
    machine: Machine, draws: int, seed: int,
) -> tuple[Device, LawCheck, str]:  # fmt: skip
    rate = _rate(fitted, gpu, machine)
    pricing = _pricing(gpu, rate, draws, seed)

    def own(ran: Ran) -> Steps:
        step = pricing.step(ran.stream)  # type: ignore[arg-type]  # only those that were recorded get here
        return Steps(np.array([step.mid]), step.draws[None])

    found: Device | None = None
    if side is not None and laws is not None:
        cells = [r.values for r in fitted]
        found = scaled(side, laws, numbers(grid, cells), places(grid, cells), gpu, rate, draws=draws, seed=seed)
        kind = "exact sizes" if laws.exact else "approximate sizes"
        check = _gpu_check(grid, gpu, found, held, f"{kind} of what all steps share" if side.partly else kind, pricing)
        if check.holds is not False:
            return found, check, "scaled"
    every = [*fitted, *held]
    cells = [r.values for r in every]
    features = Powers()
    between = predicted(features, numbers(grid, cells), places(grid, cells), [own(r) for r in every], seed)
    error = float(np.expm1(between.fitted.error)) if np.isfinite(between.fitted.error) else None
    why = "its recordings do not scale by a law of sizes" if found is not None or laws is None else "no law"
    said = f"{gpu.name}: {why}; cells between those recorded are interpolated" + _off(error)
    return between, LawCheck(gpu.name, "interpolation", len(every), error, None, said + "."), "interpolated"


def _off(error: float | None) -> str:
    return ", which could not be checked" if error is None else f", which is off by {error:.0%} where one is left out"


def _gpu_check(
    grid: Grid, gpu: Gpu, found: Scaled, held: Sequence[Ran], kind: str, pricing: Pricing[CallCosts]
) -> LawCheck:  # fmt: skip
    if not held:
        return LawCheck(gpu.name, kind, 0, None, None, f"{gpu.name}: {kind}; no cell was held out to check the law.")
    cells = [r.values for r in held]
    said = found.device_ms(numbers(grid, cells), places(grid, cells))
    truth = np.array([_device_ms(r, gpu) for r in held])
    error = float(np.max(np.abs(said / np.maximum(truth, 1e-9) - 1)))
    what = "kernels"
    if found.aligned.partly:  # what is interpolated is mostly the host's: kernels alone would not show it
        steps = found.steps(numbers(grid, cells), places(grid, cells)).mid
        own = np.array([pricing.step(r.stream).mid for r in held if r.stream is not None])
        error, what = max(error, float(np.max(np.abs(steps / own - 1)))), "kernels or steps"
    holds = error <= CLOSE
    word = "holds" if holds else "does not hold"
    plural = "s" if len(held) > 1 else ""
    sentence = f"{gpu.name}: the law ({kind}) {word}: {what} off by {error:.1%} at {len(held)} held-out cell{plural}."
    return LawCheck(gpu.name, kind, len(held), error, holds, sentence)


def _device_ms(ran: Ran, gpu: Gpu) -> float:
    """Time of all kernels of a recorded step."""
    stream = ran.stream
    assert stream is not None  # only recorded cells are held out
    each = price_calls(stream.calls, gpu).device_ns[1]
    return float(each[edit.column(stream, schema.ROW_CALL)].sum()) / max(1, stream.steps) / NS_PER_MS


def _cpu_check(found: Between, laws: Laws | None) -> LawCheck:
    count, error = len(found.mid), found.fitted.error
    by = "arithmetic and traffic" if laws is not None else "the parameters"
    known = float(np.expm1(error)) if np.isfinite(error) else None
    said = f"cpu: cells between the {count} measured ones are interpolated by {by}{_off(known)}."
    return LawCheck(CPU, "interpolation", count, known, None, said)


def _rate(fitted: Sequence[Ran], gpu: Gpu, machine: Machine) -> HostRate:
    """The host's rate: the middle one of what the cells say.

    How much of the recorded pauses is the script's own is asked of those cells alone that can tell: a recording that was
    disturbed, or that was not timed, would have its pauses counted in full.
    """
    rates = [_rate_of(r.stream, r.step_ms, gpu, machine) for r in fitted if r.stream is not None]
    middle = sorted(rates, key=lambda rate: rate.framework)[len(rates) // 2]
    told = [
        rate.pause_share for rate, r in zip(rates, (r for r in fitted if r.stream is not None), strict=True)
        if r.step_ms is not None and r.stream is not None and _has_pauses(r.stream, gpu, rate)
    ]  # fmt: skip
    return replace(middle, pause_share=float(np.median(told))) if told else middle


def _has_pauses(stream: OpStream, gpu: Gpu, rate: HostRate) -> bool:
    return float(cpu_split(stream, price_calls(stream.calls, gpu), rate.probed).pauses_ns.sum()) > 0


def _rate_of(stream: OpStream, step: Interval | None, gpu: Gpu, machine: Machine) -> HostRate:
    ns = None if step is None else Interval(*(NS_PER_MS * x for x in (step.low, step.mid, step.high)))
    return host_rate(stream, price_calls(stream.calls, gpu), cpu_step_ns=ns, cpu=machine.cpu, host=machine.host)


def _pricing(gpu: Gpu, rate: HostRate, draws: int, seed: int) -> Pricing[CallCosts]:
    return Pricing(lambda s: price_calls(s.calls, gpu), lambda s, costs: times_at(s, costs, rate), draws, seed)


def _batch(grid: Grid, rans: Sequence[Ran]) -> Callable[[Floats], Floats] | None:
    known = [r for r in rans if r.batch is not None and r.step_ms is not None]
    if not known:
        return None
    found = law(np.array([float(r.batch or 0) for r in known]), numbers(grid, [r.values for r in known]))
    return found.values if found.error == 0 else None


def capped(grid: Grid, rans: Sequence[Ran]) -> tuple[tuple[Ran, ...], tuple[str, ...]]:
    """Cells at the batch that they really worked with: a data set of 256 samples gives no batch of 4,096.

    A parameter is the batch where the cells' batches equal it, but for some that are smaller.
    """
    for at, axis in enumerate(grid.axes):
        known = [(r, float(r.asked[at])) for r in rans if r.batch is not None and r.step_ms is not None and axis.is_number]
        less = [r.batch for r, asked in known if r.batch is not None and r.batch < asked]
        same = [r.batch for r, asked in known if r.batch == asked]
        if not less or not same or len(less) + len(same) < len(known) or max(same) > max(less):
            continue
        most = max(less)
        moved = tuple(_at_most(r, at, most) for r in rans)
        said = f"The script's data give no more than {most:,} samples a step: a larger {axis.name} is priced by scaling."
        return _distinct(moved), (said,)
    return tuple(rans), ()


def _at_most(ran: Ran, at: int, most: int) -> Ran:
    values = list(ran.values)
    asked = values[at]
    values[at] = min(asked, most) if isinstance(asked, (int, float)) else asked
    return replace(ran, values=tuple(values))


def _distinct(rans: Sequence[Ran]) -> tuple[Ran, ...]:
    """One of those that came to the same values: a timed and recorded one first."""
    best: dict[tuple[Value, ...], Ran] = {}
    for ran in rans:
        known = best.get(ran.values)
        if known is None or (ran.step_ms is not None) + (ran.stream is not None) > (known.step_ms is not None) + (
            known.stream is not None
        ):
            best[ran.values] = ran
    return tuple(best.values())
