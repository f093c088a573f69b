"""What a rule is: a name, a function from evidence to a finding, and where its finding stands among the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from breakeven.diagnose.evidence import Evidence
from breakeven.results.records import Finding

#: A finding whose price is under this part of the step is not shown (the fault score's own line is at 5 %).
LEAST_SHARE = 0.04


class Rank(IntEnum):
    """Where a finding stands: what makes the measurement or the comparison meaningless leads, then prices, then advice."""

    LEADS = 0  # until it is put right, the numbers mean something else than the user thinks
    PRICED = 1  # by its price, dearest first
    ADVICE = 2  # about work that has to be done anyhow


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: the finding's id.
        check: the rule itself; None: silent.
        rank: where its finding stands.
        leads_where: evidence on which its finding leads although its rank does not say so.
        overlaps: id of a finding that explains the same time better: never ahead of it.
        least_share: part of the step under which its price is not worth a line; a finding without a price is always shown.
    """

    id: str
    check: Callable[[Evidence], Finding | None]
    rank: Rank = Rank.PRICED
    leads_where: Callable[[Evidence], bool] | None = None
    overlaps: str = ""
    least_share: float = LEAST_SHARE
