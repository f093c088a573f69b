"""Readings of clocks in the user's own lines while a loop is watched: what they would show, and what was true.

The first few readings of each line wait for the device, on our side: what lies between two of them is then timed twice, as the
user reads it and waited for. What it cannot know: which two readings the user subtracts; two that follow each other in one
function are taken for a pair, unless the second stands above the first.
"""

from __future__ import annotations

import linecache
import os
import site
import sys
import sysconfig
import threading
import time
import timeit
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from breakeven.measure.watching.rhythm import Rhythm
from breakeven.results.records import Site
from breakeven.units import NS_PER_S

#: Clocks and how many of their units make a nanosecond's worth of time.
_CLOCKS: Final = {"time": 1e9, "perf_counter": 1e9, "monotonic": 1e9, "time_ns": 1.0, "perf_counter_ns": 1.0, "monotonic_ns": 1.0}
#: Readings of a line that wait for the device.
_WAITED: Final = 4
#: Readings of a line after which nothing new is learned.
_ENOUGH: Final = 200


@dataclass(frozen=True)
class _Read:
    line: int
    at_ns: int
    waited: bool
    steps: int


@dataclass
class Region:
    """What lies between two readings, every time it was passed.

    Attributes:
        opened: the line that was read first.
        closed: the line that was read second.
        shown_ns: what the user's difference shows.
        true_ns: the same, with the device waited for at both ends; only of the first few.
        steps: for each time, number of the first step in it and of the first one after it.
    """

    opened: Site
    closed: Site
    shown_ns: list[int] = field(default_factory=list)
    true_ns: list[int | None] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)


class Clocks:
    """Patches the clocks of `time` while it is entered, and what the caller imported from there by name."""

    def __init__(self, rhythm: Rhythm, names: dict[str, Any]) -> None:  # the caller's globals: anything
        self.regions: dict[tuple[CodeType, int, int], Region] = {}
        self._rhythm, self._names = rhythm, names
        self._last: dict[int, _Read] = {}
        self._counts: dict[tuple[int, int], int] = {}
        self._users: dict[int, tuple[CodeType, bool]] = {}
        self._libraries = _libraries()
        self._stack = ExitStack()
        self._thread = 0

    def __enter__(self) -> Clocks:
        self._thread = threading.get_ident()
        for name in _CLOCKS:
            real = getattr(time, name)
            watched = self._watched(real)
            self._set(time, name, watched)
            for own in [own for own, value in self._names.items() if value is real]:
                self._names[own] = watched
                self._stack.callback(self._names.__setitem__, own, real)
        self._set(timeit, "default_timer", time.perf_counter)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _set(self, owner: Any, name: str, value: object) -> None:  # a module
        self._stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def _watched(self, real: Callable[[], float]) -> Callable[[], float]:
        users = self._users

        def read() -> float:
            frame = sys._getframe(1)
            code = frame.f_code
            known = users.get(id(code))
            if known is None:
                known = users[id(code)] = (code, self.is_users(code.co_filename))
            if known[1] and threading.get_ident() == self._thread:
                return self._read(real, code, frame.f_lineno)
            return real()

        read.__name__, read.__doc__ = real.__name__, real.__doc__
        return read

    def _read(self, real: Callable[[], float], code: CodeType, line: int) -> float:
        count = self._counts.get((id(code), line), 0)
        if count >= _ENOUGH:
            return real()
        self._counts[id(code), line] = count + 1
        rhythm, before = self._rhythm, self._last.get(id(code))
        shown_ns = rhythm.clock()
        value = real()
        wait = rhythm.synchronise
        true_ns = shown_ns
        if wait is not None and count < _WAITED:
            wait()
            true_ns = rhythm.clock()
            value += (true_ns - shown_ns) / NS_PER_S if isinstance(value, float) else true_ns - shown_ns
        waited = wait is None or count < _WAITED
        self._last[id(code)] = _Read(line, true_ns, waited, rhythm.steps)
        if before is not None and line >= before.line:
            self._note(code, before, _Read(line, shown_ns, waited, rhythm.steps), true_ns)
        return value

    def _note(self, code: CodeType, before: _Read, now: _Read, true_ns: int) -> None:
        key = code, before.line, now.line
        region = self.regions.get(key)
        if region is None:
            region = self.regions[key] = Region(_site(code, before.line), _site(code, now.line))
        region.shown_ns.append(now.at_ns - before.at_ns)
        region.true_ns.append(true_ns - before.at_ns if before.waited and now.waited else None)
        region.steps.append((before.steps, now.steps))

    def is_users(self, file: str) -> bool:
        """Whether a file is the user's own: not Python's, not of what is installed, not of this package."""
        return not file.startswith(("<frozen", "<string>")) and not file.startswith(self._libraries)


def _libraries() -> tuple[str, ...]:
    """Folders whose code is nobody's own: the standard library, what is installed, and this package."""
    paths = sysconfig.get_paths()
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], *site.getsitepackages()}
    return (
        *(folder + os.sep for folder in found),
        os.path.join(own, "measure") + os.sep,
        os.path.join(own, "workflows") + os.sep,
    )


def _site(code: CodeType, line: int) -> Site:
    return Site(code.co_filename, line, linecache.getline(code.co_filename, line).strip())
