"""The answer of a sweep as an HTML page of its own: the terminal's page, with the picture in it where it can be drawn."""

from __future__ import annotations

import re

from breakeven.report.page import page
from breakeven.report.picture import can_draw, picture_of
from breakeven.report.sweep import render_sweep
from breakeven.results.swept import SweepReport

_WIDTH = 110
_SCRIPT = re.compile(rb"<script\b.*?</script>", re.S | re.I)


def sweep_page(report: SweepReport) -> bytes:
    """The page, UTF-8; it loads and runs nothing."""
    text = page(render_sweep(report, _WIDTH), f"breakeven sweep {report.script}")
    if not can_draw() or not any(cell.devices for cell in report.cells):
        return text
    drawn = _SCRIPT.sub(b"", picture_of(report, ".svg"))
    figure = b'<figure role="img" aria-label="Curves of one step over each parameter, and the map">' + drawn + b"</figure>"
    return text.replace(b"</main>", figure + b"</main>", 1)
