"""How rules of imported timelines write a finding: the pieces that all sentences share."""

from __future__ import annotations

import polars as pl

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.wording import of_step
from breakeven.results.records import Finding, Interval
from breakeven.timeline import schema

_LONGEST = 60


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


def longest(events: pl.DataFrame, most: int = 2) -> str:
    """Names of the events that take most time together, shortened."""
    top = (
        events.group_by(schema.EVENT_NAME.name)
        .agg(pl.col(schema.EVENT_DURATION.name).sum())
        .sort(schema.EVENT_DURATION.name, schema.EVENT_NAME.name, descending=[True, False])
        .head(most)
    )
    return ", ".join(short(name) for name in top[schema.EVENT_NAME.name].to_list())


def short(name: str) -> str:
    """A kernel's or an operation's name as a sentence can hold it: without what stands in brackets."""
    plain = name.removeprefix("void ").split("(")[0].split("<")[0].strip() or name
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
