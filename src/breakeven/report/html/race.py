"""The page of `breakeven race`: the loss of each device against its time of training, and who was where when."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from breakeven.report.html.writing import document
from breakeven.report.numbers import digits
from breakeven.report.race import COLUMNS, cells_of
from breakeven.results.race import RaceReport

_DIGITS = 4
#: Rows of the table of the curves: enough to follow them, few enough to read.
_ROWS = 20


def race_page(report: RaceReport, command: str | None = None, *, refresh_s: int | None = None) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer, or what is known of it so far.
        command: what was typed; None: as far as the answer tells.
        refresh_s: seconds after which a browser reads the page again; None: the race is over.
    """
    drawn = [racer for racer in report.racers if racer.loss]
    return document(
        "race.html.j2", {"race": report if drawn else None}, report=report, title=f"breakeven race {report.script}",
        columns=COLUMNS[:-1], racers=[(cells_of(racer)[:-1], racer) for racer in report.racers], drawn=drawn,
        curves=tuple(curves(report)), notes=(*_failed(report), *report.warnings),
        refresh_s=refresh_s,
        command=command or shlex.join(["breakeven", "race", report.script, "--seconds", f"{report.seconds:g}"]),
    )  # fmt: skip


def curves(report: RaceReport) -> Iterator[tuple[str, str, str]]:
    """Device, time and loss of some points of each curve, the last one among them."""
    for racer in report.racers:
        points = list(zip(racer.at_s, racer.loss, strict=True))
        every = max(1, -(-len(points) // _ROWS))
        for at, loss in points[::-1][::every][::-1]:
            yield racer.name, f"{digits(at, 3)} s", digits(loss, _DIGITS)


def _failed(report: RaceReport) -> Iterator[str]:
    for racer in report.racers:
        if racer.error is not None:
            yield f"{racer.name} ended early: {racer.error}"
