"""Findings on an imported timeline, the principal one first: priced ones by their price, then advice about the kernels."""

from __future__ import annotations

from collections.abc import Sequence

from breakeven.diagnose.evidence import share
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rule import TraceRule
from breakeven.diagnose.imported.rules import TRACE_RULES
from breakeven.results.records import Finding


def trace_findings(evidence: TraceEvidence, rules: Sequence[TraceRule] = TRACE_RULES) -> tuple[Finding, ...]:
    """Every finding that is worth a line, in order."""
    found = []
    for rule in rules:
        finding = rule.check(evidence)
        if finding is None:
            continue
        part = share(finding.price_ms.mid, evidence.step_ms.mid) if finding.price_ms else 0.0
        if finding.price_ms is None or part >= rule.least_share:
            found.append((int(rule.rank), -part, finding))
    return tuple(f for _, _, f in sorted(found, key=lambda item: item[:2]))
