"""`breakeven.watch`: a live line on any training loop of this process, and what is wrong with how it runs and is timed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from breakeven.report.printing import Printing
from breakeven.results.watching import Watched
from breakeven.units import NS_PER_S

if TYPE_CHECKING:
    from rich.console import RenderableType

    from breakeven.measure.backends.protocol import Backend
    from breakeven.measure.watching.session import Session
    from breakeven.workflows.watch_chart import WatchChart

T = TypeVar("T")


class Watch(Printing, Generic[T]):
    """A watch of a loop: iterated over, or entered.

    While it lasts, a line on `stream` is rewritten about once a second where that is a terminal or a notebook; at the end the
    findings are printed, if there are any. PyTorch's hooks and clocks are as before afterwards.
    """

    width = 110

    def __init__(
        self, values: Iterable[T] | None, every: float, stream: TextIO | None, session: Session, chart: WatchChart | None = None
    ) -> None:
        self._values, self._every, self._stream = values, every, stream
        self._session, self._chart = session, chart
        self._depth, self._drawn = 0, 0

    def __enter__(self) -> Watch[T]:
        if self._depth == 0:
            self._session.__enter__()
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._session.__exit__(kind, error, trace)
            self._close()

    def __iter__(self) -> Iterator[T]:
        with self:
            yield from self._session.through(self._values if self._values is not None else ())

    def __len__(self) -> int:
        return len(self._values)  # type: ignore[arg-type]  # raises what the loader itself would

    def close(self, error: BaseException | None = None) -> None:
        """End the watch, however deep it was entered; for loops that were left by an error where nobody says so."""
        if self._depth:
            self._depth = 1
            self.__exit__(type(error) if error is not None else None, error, None)

    def step(self) -> None:
        """A step begins here, as `breakeven.step()` says it."""
        self._session.ears.mark()

    @property
    def report(self) -> Watched:
        """What was seen so far."""
        return self._session.seen()

    def page(self, width: int, ascii_only: bool) -> RenderableType:
        """What was seen so far, and what is wrong with it."""
        from breakeven.report.watch import render_watch

        return render_watch(self.report, width, ascii_only)

    def html(self) -> str:
        """The same as a table."""
        from breakeven.report.watch import watch_html

        return watch_html(self.report)

    def look(self) -> None:
        """Rewrite the live line, and the chart."""
        if self._chart is not None:
            self._chart.look(self.report)
        if self._stream is None or not _is_live(self._stream):
            return
        from breakeven.report.screen import encodes
        from breakeven.report.watch import watch_line

        line = watch_line(self.report, ascii_only=not encodes(self._stream))
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = max(self._drawn, len(line))

    def _close(self) -> None:
        """The last line, and the findings below it."""
        if self._chart is not None:
            self._chart.end(self.report)
        if self._stream is None:
            return
        from breakeven.report.screen import show
        from breakeven.report.watch import render_watch

        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._drawn = 0
        seen = self.report
        if seen.steps or seen.findings:
            show(lambda width, ascii_only: render_watch(seen, width, ascii_only), self._stream)


def watch(
    values: Iterable[T] | None = None,
    *,
    every: float = 1.0,
    stream: TextIO | None = sys.stderr,
    device: str | Backend | None = None,
    chart: str | Path | None = None,
) -> Watch[T]:
    """Watch a loop: what a step takes, where it goes, on which device, and what is wrong.

    A step is a round of the loop over the watch; where that is not looped over it ends with the optimizer's step. Where
    `breakeven.step()` is called a step begins there.

    Args:
        values: a data loader or anything else that is looped over, through the watch or as it is; None: any loop inside of the
            `with` block.
        every: seconds between two live lines.
        stream: where lines go; None: nowhere, ask the watch itself.
        device: name of the device; None: found by the optimizer's parameters.
        chart: an HTML file with the loss against the wall clock, rewritten while the loop runs; None: none.

    Raises:
        InputError: there is no such device, or the chart cannot be written.
        NoAnswer: it is not usable here.

    Example:
        ``for batch in breakeven.watch(loader): …``, ``with breakeven.watch(loader) as batches: …`` or
        ``with breakeven.watch() as seen: train()``
    """
    from breakeven.measure.known import find_backend
    from breakeven.measure.watching.session import Session

    names = sys._getframe(1).f_globals
    backend = find_backend(device) if isinstance(device, str) else device
    drawn: list[Watch[T]] = []
    session = Session(names, round(every * NS_PER_S), lambda: drawn[0].look(), backend, values)
    drawn.append(Watch(values, every, stream, session, _chart(chart)))
    return drawn[0]


def _chart(path: str | Path | None) -> WatchChart | None:
    if path is None:
        return None
    from breakeven.workflows.watch_chart import WatchChart

    return WatchChart(path)


def _is_live(stream: TextIO) -> bool:
    """A terminal, or a notebook's output, which follows carriage returns too."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")
