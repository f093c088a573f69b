"""The live chart of a race: on standard error, where that is a terminal, redrawn after each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from breakeven.results.race import RaceReport

Tell = Callable[[str], None]
Draw = Callable[["RaceReport"], None]


@contextmanager
def live(stream: TextIO, quiet: bool) -> Iterator[tuple[Tell, Draw]]:
    """What is told how far the race is, and what draws the answer so far; neither shows anything elsewhere.

    The chart is gone at the end: the page that follows has it whole.
    """
    if quiet or not stream.isatty():
        yield (lambda text: None), (lambda report: None)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from breakeven.report.race import render_race
    from breakeven.report.screen import encodes

    console = Console(file=stream, markup=False, highlight=False)
    with Live(Text("starting"), console=console, transient=True, auto_refresh=False) as shown:
        drawn = False

        def tell(text: str) -> None:
            if not drawn:
                shown.update(Text(text), refresh=True)

        def draw(report: RaceReport) -> None:
            nonlocal drawn
            drawn = True
            shown.update(render_race(report, console.width, not encodes(stream)), refresh=True)

        yield tell, draw
