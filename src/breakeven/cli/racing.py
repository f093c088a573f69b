"""The live chart of a race, redrawn after each turn: on standard error, where that is a terminal, and in the file of `--html`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, TextIO

from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.results.race import RaceReport

#: Seconds between two versions of the page.
_REFRESH_S: Final = 2

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


def also_to(html: str | None, command: str, draw: Draw, clock: Callable[[], float] = monotonic) -> Draw:
    """What draws the answer so far in the file of `--html` too, every other second at most; browsers read it again themselves."""
    if html is None:
        return draw
    from breakeven.cli.options import write_html
    from breakeven.report.html.race import race_page

    due = clock()

    def both(report: RaceReport) -> None:
        nonlocal due
        draw(report)
        if clock() >= due:
            due = clock() + _REFRESH_S
            with suppress(InputError):  # it is said at the end, when the race is safe
                write_html(html, lambda: race_page(report, command, refresh_s=_REFRESH_S))

    return both
