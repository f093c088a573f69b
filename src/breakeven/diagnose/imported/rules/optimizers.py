"""optimizer_loop: an optimizer that launches kernels for each parameter, in a trace."""

from __future__ import annotations

import re

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding, Interval
from breakeven.timeline.intervals import piece_of, sums, union
from breakeven.timeline.schema import Kind
from breakeven.units import NS_PER_MS

_STEP = re.compile(r"^Optimizer\.step")
_TOGETHER = re.compile(r"_foreach_|_fused_|multi_tensor|fused_?(?:adam|sgd|lamb)", re.IGNORECASE)

#: Launches of an optimizer that takes lists: some operations, each over as many tensors as one launch takes (110 and fewer per
#: launch in multi_tensor_apply.cuh). More than this many in a step come from a loop over the parameters.
_MANY = 40


def optimizer_loop(evidence: TraceEvidence) -> Finding | None:
    """The optimizer updates parameter by parameter.

    What it sees: many launches inside `Optimizer.step`, and no operation over a list of tensors there.
    Why it costs: some operations of a few microseconds for each parameter, which the host must issue one by one.
    Evidence: the host's time in the optimizer, as far as the device waits for the host.
    Example: `foreach=False`; an optimizer of one's own that loops over `p.grad`.
    Remedy: `foreach` (the default on a GPU) or `fused=True`.
    When it is wrong: sparse gradients and differentiable optimizers have no other form.
    """
    if evidence.on_cpu:
        return None
    marks = evidence.on_host.named(_STEP)
    if not len(marks):
        marks = evidence.annotations.named(_STEP)
    within = union(marks.start, marks.start + marks.duration)
    host = evidence.host_in_steps
    inside = host.where(piece_of(within, host.start) >= 0)
    launches = inside.of_kind(Kind.LAUNCH)
    number = len(launches) / evidence.count
    if number < _MANY or len(inside.named(_TOGETHER)):
        return None
    spans = evidence.accounts.steps
    begins = np.array([s.start_ns for s in spans], dtype=np.int64)
    held = sums(within, begins, begins + np.array([s.duration_ns for s in spans], dtype=np.int64))
    spent = float(held[evidence.usual].mean()) / NS_PER_MS
    mid = min(spent, evidence.price("launch").mid)
    price = Interval(0.5 * mid, mid, mid)
    sentence = (
        f"The optimizer goes from parameter to parameter, {count(number, 'launch', 'launches')} a step; over all of them at once "
        f"it would save up to {part(evidence, price)}."
    )
    return finding(evidence, "optimizer_loop", "launch", price, sentence, ("fused_optimizer",))
