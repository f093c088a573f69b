"""occupancy: kernels that leave most of the device empty, in a trace that says how they were launched."""

from __future__ import annotations

from math import ceil

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.imported.seen import short
from breakeven.diagnose.kernel_limits import SMALL_NS
from breakeven.results.records import Finding, Interval
from breakeven.timeline.intervals import Ints
from breakeven.units import NS_PER_MS

#: Fewer blocks than this part of the multiprocessors leave the rest of the device idle.
_WAVE = 0.5
#: A product's blocks come in waves of one for each multiprocessor (tiles of large products leave no room for a second one); of so
#: few waves a last one that is nearly empty shows.
_FEW_WAVES = 3
_FILLED = 0.7


def occupancy(evidence: TraceEvidence) -> Finding | None:
    """Kernels of few thread blocks for the device's multiprocessors, that run long; products whose last wave is nearly empty.

    What it sees: the grid of each launch, against the number of multiprocessors.
    Why it costs: a block runs on one multiprocessor; the others stand still, or wait for the last wave of blocks.
    Evidence: the time of those kernels, times the part of the device that is empty.
    Example: a reduction of one long row; a product of batch 1.
    Remedy: larger batches, or several such kernels at once on streams.
    When it is wrong: where another stream uses the rest of the device meanwhile.
    """
    most = evidence.facts.multiprocessors
    if evidence.on_cpu or not most:
        return None
    products = {evidence.timeline.names.values[c] for c in np.unique(_products(evidence)).tolist()}
    parts = {name: _filled(blocks, most, name in products) for name, blocks in evidence.shapes.blocks.items()}
    narrow = {name: part for name, part in parts.items() if part is not None}
    if not narrow:
        return None
    collectives = evidence.device_causes.among("communication")  # a few blocks are all that they are meant to have
    kernels = evidence.on_device.where(~collectives)
    long = kernels.where(evidence.within[kernels.at] & (kernels.duration > SMALL_NS))
    found = [(name, (1 - narrow[name]) * ns) for name, _, ns in long.by_name() if name in narrow]
    if not found:
        return None
    empty = sum(ns for _, ns in found) / NS_PER_MS / evidence.count
    top = max(found, key=lambda one: one[1])[0]
    price = Interval(0.0, empty / 2, empty)
    sentence = (
        f"Some kernels fill the GPU's {most} multiprocessors badly ({short(top)}: {100 * narrow[top]:.0f} %); filled, they would "
        f"save up to {part(evidence, Interval(empty, empty, empty))}."
    )
    return finding(evidence, "occupancy", "small_kernel", price, sentence, ("larger_batch",))


def _products(evidence: TraceEvidence) -> Ints:
    """Codes of the names of kernels of products."""
    return evidence.timeline.names.codes[evidence.on_device.at[evidence.device_causes.among("compute")]].astype(np.int64)


def _filled(blocks: float, most: int, product: bool) -> float | None:
    """Part of the device that a kernel of so many blocks fills on average; None: all of it, as far as one can tell."""
    if 0 < blocks < _WAVE * most:
        return blocks / most
    waves = ceil(blocks / most)
    if product and most < blocks and waves <= _FEW_WAVES and blocks / (waves * most) < _FILLED:
        return blocks / (waves * most)
    return None
