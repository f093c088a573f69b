"""How rules of imported timelines write a finding: the pieces that all sentences share."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.wording import of_step
from breakeven.results.records import Finding, Interval


def finding(
    evidence: TraceEvidence, name: str, cause: str, price: Interval | None, sentence: str, remedies: tuple[str, ...] = ()
) -> Finding:
    """A finding on the device of this evidence."""
    return Finding(name, evidence.device, cause, price, sentence, (), remedies)


def part(evidence: TraceEvidence, price: Interval) -> str:
    """`1.9 of 2.6 ms`: the price of the step."""
    unit = "a step" if evidence.steps is not None else "the traced time"
    if price.mid > evidence.step_ms.mid:
        return f"{of_step(price.mid, float(evidence.lengths_ms.mean()))} of {unit} on average"
    return f"{of_step(price.mid, evidence.step_ms.mid)} of {unit}"


def unit(evidence: TraceEvidence) -> str:
    """What a count refers to."""
    return "a step" if evidence.steps is not None else "in all"
