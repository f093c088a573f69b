"""What differs between two traces: each cause's part of a step, second less first, the largest first."""

from __future__ import annotations

from typing import Final

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.results.compared import Change
from breakeven.results.records import Interval

#: The finding that each cause of an account belongs to.
FINDING_OF: Final = {
    "compute": "compute_bound", "bandwidth": "bandwidth_bound", "small_kernel": "small_kernel", "launch": "launch_bound",
    "overhead": "launch_bound", "sync": "sync_bound", "copy": "transfer_bound", "input": "input_bound", "warmup": "warmup",
    "memory": "memory", "communication": "communication",
}  # fmt: skip

#: A part that was seen in a single step is known no better than this: runs of one program differ by some per cent.
_SINGLE: Final = 0.1


def changes(first: TraceEvidence, second: TraceEvidence) -> tuple[Change, ...]:
    """Every cause that either of them has."""
    causes = dict.fromkeys([*first.parts_ms, *second.parts_ms])
    found = []
    for cause in causes:
        one, two = part_of(first, cause), part_of(second, cause)
        if one.mid or two.mid:
            apart = two.low > one.high or two.high < one.low
            found.append(Change(FINDING_OF.get(cause), cause, two.mid - one.mid, apart, one.mid, two.mid))
    return tuple(sorted(found, key=lambda change: (-abs(change.ms), change.cause)))


def part_of(evidence: TraceEvidence, cause: str) -> Interval:
    """A cause's part of an average step, with the interval in which it is known."""
    if cause not in evidence.parts_ms:
        return Interval(0.0, 0.0, 0.0)
    part = evidence.price(cause, every=cause in ("warmup", "memory"))
    if evidence.count == 1:
        return Interval((1 - _SINGLE) * part.mid, part.mid, (1 + _SINGLE) * part.mid)
    return part
