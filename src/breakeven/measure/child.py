"""The timing child: runs the user's code, so that whatever it does to its process stays there, and leaves its answer in a file.

Started by `workflows.time` as `python -m breakeven.measure.child FOLDER`.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final, cast

import msgspec

from breakeven.children import die_with_parent
from breakeven.errors import BreakevenError, Interrupted, ScriptFailed
from breakeven.foreign import attempt
from breakeven.measure.request import ANSWER, PROGRESS, REQUEST, TimeRequest
from breakeven.measure.timing import time_request
from breakeven.results.timing import TimeReport

_OURS: Final = str(Path(__file__).resolve().parents[1])


def main(folder: str) -> None:
    """Answer the request in a folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    die_with_parent()
    place = Path(folder)
    request = msgspec.json.decode((place / REQUEST).read_bytes(), type=TimeRequest)
    content = msgspec.json.encode(_answer(request, place))
    (place / f"{ANSWER}.part").write_bytes(content)
    os.replace(place / f"{ANSWER}.part", place / ANSWER)


def _answer(request: TimeRequest, place: Path) -> TimeReport:
    def told(text: str) -> None:
        (place / PROGRESS).write_text(text, encoding="utf-8")

    def measured() -> TimeReport:
        if request.tune_cpu:
            from breakeven.measure.tuning import tune

            return tune(request, told)
        return time_request(request, told)

    error: BaseException
    try:
        got = attempt(measured)
        if got.error is None:
            return cast(TimeReport, got.value)
        error = got.error
    except KeyboardInterrupt:
        return _nothing(request, "interrupted before anything was known", Interrupted.slug)
    except SystemExit as left:
        error = left
    if isinstance(error, BreakevenError):
        return _nothing(request, str(error), error.slug)
    traceback.print_exception(type(error), error, _users_part(error.__traceback__))
    return _nothing(request, f"the code raised {type(error).__name__}: {error}", ScriptFailed.slug)


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not ours."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    return trace


def _nothing(request: TimeRequest, error: str, slug: str) -> TimeReport:
    return TimeReport(request.target, (), error=error, failed=slug)


if __name__ == "__main__":
    main(sys.argv[1])
