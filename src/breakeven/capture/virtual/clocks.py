"""Clock reads in the user's files: a time taken around device work without a wait is the time of issuing it, not of doing it."""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns")

#: A timed region that holds more operations than this many per first call is long enough for first calls not to matter.
_FEW = 200


@dataclass(frozen=True)
class _Read:
    site: int
    device_ops: int
    novel: int


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch the clocks of `time`."""
    watch = _Watch(recorder)
    for name in _CLOCKS:
        patches.set(time, name, watch.clock(getattr(time, name)))
    patches.set(timeit, "default_timer", time.perf_counter)


class _Watch:
    """The last read in each function, against which the next one there is held."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._last: dict[int, _Read] = {}
        self._users: dict[int, tuple[object, bool]] = {}

    def clock(self, real: Callable[[], float]) -> Callable[[], float]:
        """The clock, which notes reads of the user's."""

        def read() -> float:
            code = sys._getframe(1).f_code
            known = self._users.get(id(code))
            if known is None:
                known = self._users[id(code)] = (code, self._recorder.sites.is_users(code))
            if known[1]:
                self._note(id(code))
            return real()

        read.__name__ = getattr(real, "__name__", "clock")
        return read

    def _goes_back(self, first: int, second: int) -> bool:
        """From the end of one timed region to the start of the next, round a loop: nobody takes that difference."""
        one, other = self._recorder.sites.at(first), self._recorder.sites.at(second)
        return one is not None and other is not None and other.line < one.line

    def _note(self, function: int) -> None:
        recorder = self._recorder
        site = recorder.sites.here(3)
        before = self._last.get(function)
        self._last[function] = _Read(site, recorder.device_ops, recorder.novel)
        if before is None or self._goes_back(before.site, site):
            return
        issued = recorder.device_ops - before.device_ops
        novel = recorder.novel - before.novel
        if issued and recorder.pending:
            recorder.notes.note(
                facts.NO_SYNC, "time is taken around device work without waiting for it", before.site, site,
                issued=issued, pending=recorder.pending,
            )  # fmt: skip
        if novel and issued < _FEW * novel:
            recorder.notes.note(
                facts.FIRST_CALL, "a timed region holds first calls on the device, whose set-up is in the time",
                before.site, site,
                issued=issued, novel=novel, first=before.device_ops == 0,
            )  # fmt: skip
