"""host_work: the loop does work that is no part of training."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen, sites_of
from breakeven.diagnose.wording import of_step
from breakeven.results.records import Finding
from breakeven.timeline import edit, schema
from breakeven.whatif.without_host_work import side_rows, without_host_work

#: What counts: checkpoints, and debugging aids (emptying the cache is the `memory` rule's).
OPS = ("host::save", "host::debug")

#: What a debugging aid is called.
_NAMES = {"anomaly": "Autograd's anomaly detection", "profiler": "A profiler"}

#: The act that ends each.
_REMEDIES = {"host::save": "checkpoint_less", "host::debug": "debug_off"}


def host_work(evidence: Evidence) -> Finding | None:
    """Checkpoints are written, or debugging aids run, in every step.

    What it sees: saving within the step; anomaly detection or a profiler left on.
    Why it costs: the host does it itself, and the GPU waits.
    Evidence: the step simulated without it; its time was measured here.
    Example: `torch.save(model.state_dict(), path)` after every step.
    Remedy: once an epoch; debugging off.
    When it is wrong: while the debugging is wanted.
    """
    stream = evidence.stream
    rows = side_rows(stream, ops=OPS)
    debugging = evidence.facts.debugging
    if not rows.any():
        return _debugging(evidence)
    price = evidence.price(without_host_work(stream, ops=OPS))
    ops = {edit.calls_of(stream)[c].op for c in edit.column(stream, schema.ROW_CALL)[rows]}
    what = "Writing checkpoints" if "host::save" in ops else "A debugging aid that was left on"
    return Finding(
        id="host_work",
        device=evidence.device.name,
        cause="other",
        price_ms=price,
        sentence=f"{what} within the step takes {of_step(max(0.0, price.mid), evidence.step_ms)}.",
        sites=sites_of(evidence, rows, lambda at: without_host_work(stream, at, ops=OPS)) or seen(*(d.site for d in debugging)),
        remedies=tuple(_REMEDIES[op] for op in OPS if op in ops),
    )


def _debugging(evidence: Evidence) -> Finding | None:
    """A debugging aid whose work is not rows of its own: named, without a price."""
    found = evidence.facts.debugging
    if not found:
        return None
    return Finding(
        id="host_work",
        device=evidence.device.name,
        cause="other",
        price_ms=None,
        sentence=f"{_NAMES.get(found[0].what, 'A debugging aid')} was on in the recorded steps; it slows down every operation.",
        sites=seen(*(d.site for d in found)),
        remedies=("debug_off",),
    )
