"""The page of `breakeven sweep`: the terminal's page as text, with the picture in it where it can be drawn."""

from __future__ import annotations

from markupsafe import Markup

from breakeven.report.html.writing import document
from breakeven.report.picture import can_draw, picture_of
from breakeven.report.screen import as_text
from breakeven.report.sweep import render_sweep
from breakeven.results.swept import SweepReport

_WIDTH = 110


def sweep_page(report: SweepReport) -> bytes:
    """The answer as a page, UTF-8."""
    drawn = can_draw() and any(cell.devices for cell in report.cells)
    return document(
        "sweep.html.j2", title=f"breakeven sweep {report.script}", script_name=report.script,
        lines=as_text(lambda width, ascii_only: render_sweep(report, width, ascii_only), _WIDTH).splitlines(),
        picture=Markup(picture_of(report, ".svg").decode()) if drawn else None,
    )  # fmt: skip
