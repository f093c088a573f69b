"""The page of `breakeven settle`. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, duration, predicted
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results import Interval
from breakeven.results.settled import CardState, Score, SettleReport

_WARNINGS = 8
_LONGEST = 300


def render_settle(report: SettleReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    return Group(*_head(report, paper), *_scores(report, paper), *_cards(report, paper), *_rest(report, paper))


def _head(report: SettleReport, paper: Paper) -> Iterator[RenderableType]:
    if report.undone is not None:
        lessons = "One lesson was" if report.undone == 1 else f"{report.undone} lessons were"
        yield paper.text(f"{lessons} taken back.", style="bold")
        return
    inside = sum(score.inside for score in report.scores)
    yield paper.text(f"breakeven settle {paper.short_path(report.run or '', paper.width - 17)}", style="dim")
    yield paper.text(f"{inside} of {len(report.scores)} measured steps lay in their predicted intervals.", style="bold")
    yield Text()


def _scores(report: SettleReport, paper: Paper) -> Iterator[RenderableType]:
    for score in report.scores:
        yield paper.text(_score(score))
        yield paper.text(f"measured in {paper.short_path(score.measured_in, 60)}", indent=2, style="dim")
        if score.why_not:
            yield paper.text(f"the card does not learn from it: {score.why_not}", indent=2, style="dim")


def _score(score: Score) -> str:
    told = f"≈ {duration(score.predicted_ms.mid, PREDICTED_DIGITS)} {predicted(score.predicted_ms)}"
    off = f"{100 * abs(score.error):.0f} % too {'long' if score.error > 0 else 'short'}"
    where = "inside" if score.inside else "outside"
    return f"{score.device}: {told}, measured {duration(score.measured_ms.mid, MEASURED_DIGITS)}: {off}, {where} the interval"


def _cards(report: SettleReport, paper: Paper) -> Iterator[RenderableType]:
    if report.cards:
        yield Text()
        yield paper.text("Your cards, which `why` uses from now on", style="bold underline")
    for card in report.cards:
        yield paper.text(_card(card), indent=2)
    if report.cards and report.undone is None:
        yield paper.text("`breakeven settle --undo` takes the last settlement back.", indent=2, style="dim")


def _card(card: CardState) -> str:
    return (
        f"{card.device}: its own times {_times(card.device_factor)}; times of {card.host} {_times(card.host_factor)}; "
        f"forecasts settled: {card.lessons}"
    )


def _times(factor: Interval) -> str:
    return f"× {factor.mid:.2f} ({factor.low:.2f}–{factor.high:.2f})"


def _rest(report: SettleReport, paper: Paper) -> Iterator[RenderableType]:
    for left in report.unsettled[:_WARNINGS]:
        yield paper.text(f"not settled: {left.device}: {left.reason}", style="dim", indent=2)
    for warning in report.warnings[:_WARNINGS]:
        yield paper.text(paper.short(warning, _LONGEST), style="dim", indent=2)
