"""Findings in order: every rule over every device's evidence, what costs too little left out, the principal one first.

The order is argued in `Rank`: what makes the comparison meaningless leads; then what simulation says is dearest (as a part of
its own device's step, so that a CPU's finding can stand beside a GPU's), where a finding that another explains better comes
after that one; advice about work that has to be done anyhow comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from breakeven.diagnose.evidence import Evidence, share
from breakeven.diagnose.rule import Rank, Rule
from breakeven.diagnose.rules import RULES
from breakeven.results.records import Finding

#: Name of the CPU among the devices of a result.
CPU = "cpu"


def findings(evidence: Sequence[Evidence], rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """All findings, the principal one of each device first among its own; those of the first GPU before those of the next.

    A finding about the CPU is the same whatever GPU it is compared with: it is given once, with the first.
    """
    result: list[Finding] = []
    for one in evidence:
        told = {f.id for f in result if f.device == CPU}
        result += [f for f in of_device(one, rules) if f.device != CPU or f.id not in told]
    return tuple(result)


def of_device(evidence: Evidence, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """Findings on one GPU's evidence, in order."""
    weighed = [w for w in (_weighed(evidence, rule) for rule in rules) if w is not None]
    shares = {w.finding.id: w.share for w in weighed}

    def order(w: _Weighed) -> tuple[int, float, bool]:
        better = shares.get(w.overlaps)
        return (w.rank, -(w.share if better is None else min(w.share, better)), better is not None)

    return tuple(w.finding for w in sorted(weighed, key=order))


@dataclass(frozen=True)
class _Weighed:
    finding: Finding
    rank: Rank
    share: float
    overlaps: str


def _weighed(evidence: Evidence, rule: Rule) -> _Weighed | None:
    finding = rule.check(evidence)
    if finding is None:
        return None
    leads = rule.leads_where is not None and rule.leads_where(evidence)
    rank = Rank.LEADS if leads else rule.rank
    if finding.price_ms is None:
        return _Weighed(finding, rank, 0.0, rule.overlaps)
    step = evidence.step_ms
    if finding.device == CPU:
        step = evidence.cpu.step_ms.mid if evidence.cpu.step_ms else 0.0
    part = share(finding.price_ms.mid, step)
    return _Weighed(finding, rank, part, rule.overlaps) if part >= rule.least_share else None
