"""The chart of a watched loop in a file, as people know it from training windows: rewritten while the loop runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from breakeven.errors import InputError
from breakeven.report.html.watch import watch_page
from breakeven.report.writing import check_target, write_whole
from breakeven.results.watching import Watched

#: Seconds between two versions of the file; making one takes some milliseconds of the loop.
_EVERY_S: Final = 5
#: Points of the curve; then every second one goes, and of the looks that follow only as many are kept.
_MOST: Final = 400


class WatchChart:
    """A page with the loss against the wall clock.

    Args:
        path: of the file, in a folder that is there.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path: Path | None = Path(path)
        check_target(self._path, "chart")
        self._points: list[tuple[float, float]] = []
        self._looks, self._each = 0, 1
        self._due = 0.0

    def look(self, seen: Watched) -> None:
        """A point of the curve; now and then a new version of the file."""
        if seen.loss is not None:
            if self._looks % self._each == 0:
                self._points.append((seen.seconds, seen.loss))
            self._looks += 1
            if len(self._points) > _MOST:
                del self._points[1::2]
                self._each *= 2
        if seen.seconds >= self._due:
            self._due = seen.seconds + _EVERY_S
            self._write(seen, _EVERY_S)

    def end(self, seen: Watched) -> None:
        """The last version, which a browser does not read again."""
        if seen.loss is not None and (not self._points or self._points[-1][0] < seen.seconds):
            self._points.append((seen.seconds, seen.loss))
        self._write(seen, None)

    def _write(self, seen: Watched, refresh_s: int | None) -> None:
        """A file that cannot be written any more ends the chart and not the training."""
        if self._path is None:
            return
        try:
            write_whole(self._path, watch_page(seen, self._points, refresh_s=refresh_s))
        except InputError as error:
            sys.stderr.write(f"breakeven.watch: no chart from here on: {error}\n")
            self._path = None
