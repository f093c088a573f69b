"""What a rule of imported timelines is; ranks and the least share are those of all rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.rule import LEAST_SHARE, Rank
from breakeven.results.records import Finding


@dataclass(frozen=True)
class TraceRule:
    """One rule.

    Attributes:
        id: the finding's id.
        check: the rule itself; None: silent.
        rank: where its finding stands.
        least_share: part of the step under which its price is not worth a line.
    """

    id: str
    check: Callable[[TraceEvidence], Finding | None]
    rank: Rank = Rank.PRICED
    least_share: float = LEAST_SHARE
