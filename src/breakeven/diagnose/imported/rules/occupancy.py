"""occupancy: kernels that leave most of the device empty, in a trace that says how they were launched."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.imported.seen import short
from breakeven.diagnose.kernel_limits import SMALL_NS
from breakeven.results.records import Finding, Interval
from breakeven.units import NS_PER_MS

#: Fewer blocks than this part of the multiprocessors leave the rest of the device idle.
_WAVE = 0.5


def occupancy(evidence: TraceEvidence) -> Finding | None:
    """Kernels of fewer thread blocks than half of the device's multiprocessors, that run long.

    What it sees: the grid of each launch, against the number of multiprocessors.
    Why it costs: a block runs on one multiprocessor; the others stand still.
    Evidence: the time of those kernels, times the part of the device that is empty.
    Example: a reduction of one long row; a product of batch 1.
    Remedy: larger batches, or several such kernels at once on streams.
    When it is wrong: where another stream uses the rest of the device meanwhile.
    """
    most = evidence.facts.multiprocessors
    if evidence.on_cpu or not most:
        return None
    narrow = {name: blocks / most for name, blocks in evidence.shapes.blocks.items() if 0 < blocks < _WAVE * most}
    if not narrow:
        return None
    long = evidence.device_in_steps
    found = [(name, (1 - narrow[name]) * ns) for name, _, ns in long.where(long.duration > SMALL_NS).by_name() if name in narrow]
    if not found:
        return None
    empty = sum(ns for _, ns in found) / NS_PER_MS / evidence.count
    top = max(found, key=lambda one: one[1])[0]
    price = Interval(0.0, empty / 2, empty)
    sentence = (
        f"Some kernels use few of the GPU's {most} multiprocessors ({short(top)}: {100 * narrow[top]:.0f} %); filled, they would "
        f"save up to {part(evidence, Interval(empty, empty, empty))}."
    )
    return finding(evidence, "occupancy", "small_kernel", price, sentence, ("larger_batch",))
