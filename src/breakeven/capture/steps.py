"""Finds the steps of a running script: the user's mark, else optimizer steps, else backward passes, else loops.

One `Steps` lives in a child; hooks call it, it keeps series of samples, and it ends the script at a step's edge once the pace
says that there is enough. In the hot path are one clock reading, one walk over a few frames, and one append.
"""

from __future__ import annotations

import builtins
import os
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

from breakeven.capture import marks
from breakeven.capture.loops import LoopWatch, principal
from breakeven.capture.request import Place
from breakeven.capture.series import Series

#: Ranks of what can end a step: the best one that occurs is believed.
MARKED, OPTIMIZER, BACKWARD, LOOP = 0, 1, 2, 3
KINDS: Final = ("marked", "optimizer", "backward", "loop")

#: A loop whose first rounds take less than this each cannot hold a tensor operation (one dispatch costs about 1 µs).
IDLE_ROUND_NS: Final = 3_000
LOOKED_AT: Final = 64
#: A statement outside loops is logged this many times; the same in every pass, so that their logs agree.
MOST_LOGGED: Final = 200


class StopAtEdge(BaseException):
    """Ends the user's script at a step's edge. Not an `Exception`, so that `except Exception` lets it pass."""


@dataclass
class Group:
    """Calls that belong to one step: all optimizers that step inside one round of one loop, on one logical device."""

    series: Series
    loops: tuple[int, ...]  # the user's loops around the calls, innermost first, across calls
    seen: set[object] = field(default_factory=set)


@dataclass
class Listener:
    """What a pass wants to know and to decide.

    Attributes:
        clock: nanoseconds, monotonic.
        is_user: whether a file is the user's.
        device_of: logical device of an optimizer (or, for None, of what has just run).
        on_edge: called at each edge of a group of the best rank; may raise `StopAtEdge`.
        count: begins counting tensor operations and returns the function that ends it and says how many there were.
        on_head: called at each head of a loop; None: nobody asks.
        on_statement: called before each statement outside loops, with its place in the log; None: nobody asks.
    """

    clock: Callable[[], int]
    is_user: Callable[[str], bool]
    device_of: Callable[[Any], str]  # a torch optimizer: torch is not imported here
    on_edge: Callable[[Series, int], None]
    count: Callable[[], Callable[[], int]]
    on_head: Callable[[marks.Loop], None] | None = None
    on_statement: Callable[[int], None] | None = None


class Steps:
    """All that is known about the steps of this run."""

    def __init__(self, book: marks.Book, listener: Listener) -> None:
        self.book, self.listener = book, listener
        self.rank = LOOP
        self.groups: dict[int, list[Group]] = {MARKED: [], OPTIMIZER: [], BACKWARD: []}
        self.watches: dict[int, LoopWatch] = {}
        self.wait_ns = 0
        self.heads: list[int] = []  # latest passing of each loop's head
        self.thread = threading.get_ident()
        self.log: list[tuple[int, int]] = []  # statements outside loops as they were passed: line, when
        self._keys: dict[object, Group | None] = {}
        self._last: Group | None = None
        self._user: dict[int, tuple[CodeType, bool]] = {}  # by id: a code's own hash goes through its whole body, each time
        self._counting: tuple[LoopWatch, Callable[[], int]] | None = None
        self._alive: dict[int, weakref.ref[Any]] = {}  # optimizers by id
        book.on_new, book.on_statement = self._listen_to_loop, self._listen_to_statement
        for loop in book.loops:
            self._listen_to_loop(loop)
        os.register_at_fork(after_in_child=self.forget)

    # --- what hooks call

    def optimizers(self) -> list[Any]:  # torch optimizers
        """Those that have stepped and are still there."""
        return [one for one in (reference() for reference in list(self._alive.values())) if one is not None]

    def on_optimizer(self, optimizer: Any, _args: object = None, _kwargs: object = None) -> None:  # a torch optimizer
        """An optimizer has stepped (a global post hook of `torch.optim`)."""
        if self.rank < OPTIMIZER:
            return
        now = self.listener.clock()
        frame = self._user_frame(sys._getframe(1))
        if id(optimizer) not in self._alive:
            self._alive[id(optimizer)] = weakref.ref(optimizer, self._gone(id(optimizer)))
        key = (id(optimizer), id(frame.f_code), frame.f_lineno) if frame else (id(optimizer), 0, 0)
        self._call(OPTIMIZER, key, frame, now, optimizer)

    def on_backward(self, depth: int = 2) -> None:
        """A backward pass has ended (`torch.autograd.backward`, or `grad` called by the user)."""
        if self.rank < BACKWARD:
            return
        now = self.listener.clock()
        frame = self._user_frame(sys._getframe(depth))
        if frame is not None:
            self._call(BACKWARD, (BACKWARD, id(frame.f_code), frame.f_lineno), frame, now, None)

    def on_mark(self) -> None:
        """The user's own mark: a step begins here and the one before ends."""
        now = self.listener.clock()
        frame = self._user_frame(sys._getframe(1))
        key = (MARKED, id(frame.f_code) if frame else 0)
        self._call(MARKED, key, frame, now, None)

    def forget(self) -> None:
        """Stop listening: in a child of `fork` nothing is recorded."""
        self.rank = -1
        self._drop_count()
        for loop in self.book.loops:
            _define_idle(loop)
        self._ignore_statements()
        self.book.on_new, self.book.on_statement = _define_idle, None

    # --- what a pass asks

    def best(self) -> list[Series]:
        """Series of the best rank that occurred, most time first."""
        for rank in (MARKED, OPTIMIZER, BACKWARD):
            series = [g.series for g in self.groups[rank] if g.series.edges]
            if series:
                return sorted(series, key=lambda s: -sum(s.samples))
        found = principal(list(self.watches.values()))
        if found is None:
            return []
        others = [w.series for w in self.watches.values() if w.operations and not w.inside_library and w is not found]
        return [found.series, *sorted(others, key=lambda s: -sum(s.samples))]

    def shift(self, by_ns: int) -> None:
        """Time that we spent ourselves is nobody's: the steps under way begin that much later."""
        for group in (g for groups in self.groups.values() for g in groups):
            if group.series.open_ns is not None:
                group.series.open_ns += by_ns
        for watch in self.watches.values():
            if watch.series.open_ns is not None:
                watch.series.open_ns += by_ns

    def loop_line(self, series: Series) -> int | None:
        """Line of the loop that a series goes round."""
        return None if series.loop is None else self.book.loops[series.loop].line

    # --- calls to groups

    def _call(self, rank: int, key: object, frame: FrameType | None, now: int, optimizer: Any) -> None:  # a torch optimizer
        if rank < self.rank:
            self._promote(rank)
        if key not in self._keys:
            self._keys[key] = self._join(rank, key, frame, optimizer)
        group = self._keys[key]
        if group is None:
            return
        series = group.series
        if self._last is not group:
            if self._last is not None and series.edges:
                series.tainted = True
            self._last = group
        if key in group.seen or not series.edges:
            group.seen.clear()
            group.seen.add(key)
            series.edge(now, self.wait_ns)
            self.listener.on_edge(series, now)
        else:
            group.seen.add(key)

    def _promote(self, rank: int) -> None:
        """A better kind of edge has come up: loops are from now on only looked at in passing."""
        self.rank, self._last = rank, None
        self._drop_count()
        self._ignore_statements()
        for loop in self.book.loops:
            if getattr(builtins, marks.head_name(loop.number)) is not None:
                self._listen_in_passing(loop)

    def _join(self, rank: int, key: object, frame: FrameType | None, optimizer: Any) -> Group | None:  # a torch optimizer
        device = self.listener.device_of(optimizer)
        loops = self._loops_around(frame)
        inner = loops[0] if loops else None
        for group in self.groups[rank]:
            same = group.series.device == device
            if same and group.loops and group.loops[0] == inner:
                return group
            if same and group.loops and inner in group.loops[1:]:  # the calls so far were inside this call's round
                group.loops, group.series.loop = loops, inner
                self._silence(group)
                group.seen = {key}
                return group
            if same and group.loops and group.loops[0] in loops[1:]:  # this call is only a part of a known round
                return None
        place = Place(KINDS[rank], frame.f_code.co_filename if frame else "", frame.f_lineno if frame else 0)
        group = Group(Series(place, device, inner), loops)
        if rank != MARKED and inner is not None and self.heads[inner]:
            group.series.start(self.heads[inner], self.wait_ns)
        self.groups[rank].append(group)
        return group

    def _silence(self, group: Group) -> None:
        for key, known in self._keys.items():
            if known is group:
                self._keys[key] = None
        group.series.samples.clear()
        group.series.waits.clear()
        group.series.clean.clear()
        group.series.first_ns = group.series.open_ns = None

    def _gone(self, number: int) -> Callable[[object], None]:
        def forget(_reference: object) -> None:
            self._alive.pop(number, None)
            for key in [k for k in self._keys if isinstance(k, tuple) and k[0] == number]:
                del self._keys[key]

        return forget

    # --- frames

    def _user_frame(self, frame: FrameType | None) -> FrameType | None:
        known = self._user
        while frame is not None:
            code = frame.f_code
            found = known.get(id(code))
            if found is None:
                found = known[id(code)] = (code, self.listener.is_user(code.co_filename))
            if found[1]:
                return frame
            frame = frame.f_back
        return None

    def _loops_around(self, frame: FrameType | None) -> tuple[int, ...]:
        """The user's loops around a frame's line, innermost first, across calls."""
        found: list[int] = []
        while frame is not None:
            loop = self.book.innermost(frame.f_code.co_filename, frame.f_lineno)
            number = loop.number if loop is not None else None
            while number is not None:
                if _holds(self.book.loops[number], frame):
                    found.append(number)
                number = self.book.loops[number].parent
            frame = frame.f_back
        return tuple(found)

    # --- loops

    def _listen_to_loop(self, loop: marks.Loop) -> None:
        self.heads.append(0)
        if self.rank < LOOP:
            self._listen_in_passing(loop)
            return
        watch = LoopWatch(loop, Series(Place("loop", loop.file, loop.line), "", loop.number))
        self.watches[loop.number] = watch
        _set(marks.head_name(loop.number), lambda: self._head(watch, sys._getframe(1)))
        _set(marks.exit_name(loop.number), lambda: self._exit(watch))

    def _listen_in_passing(self, loop: marks.Loop) -> None:
        heads, clock, number = self.heads, self.listener.clock, loop.number
        hits, first = 0, 0
        told = self.listener.on_head

        def head() -> None:
            nonlocal hits, first
            now = heads[number] = clock()
            if told is not None:
                told(loop)
            if hits < LOOKED_AT:
                hits += 1
                first = first or now
                if hits == LOOKED_AT and now - first < IDLE_ROUND_NS * LOOKED_AT:
                    _set(marks.head_name(number), None)

        def left() -> None:
            for group in (g for groups in self.groups.values() for g in groups):
                if group.series.loop == number:
                    group.series.tainted = True

        _set(marks.head_name(number), head)
        _set(marks.exit_name(number), left)

    def _listen_to_statement(self, statement: marks.Statement) -> None:
        if self.rank < LOOP:
            return
        log, clock, told = self.log, self.listener.clock, self.listener.on_statement
        hits = 0

        def passed() -> None:
            nonlocal hits
            hits += 1
            log.append((statement.line, clock()))
            if told is not None:
                told(len(log) - 1)
            if hits >= MOST_LOGGED:
                _set(marks.line_name(statement.number), None)

        _set(marks.line_name(statement.number), passed)

    def _ignore_statements(self) -> None:
        for statement in self.book.statements:
            _set(marks.line_name(statement.number), None)

    def _head(self, watch: LoopWatch, frame: FrameType) -> None:
        now = self.listener.clock()
        if self._counting is not None:
            self._drop_count()
        if self.rank < LOOP or threading.get_ident() != self.thread:
            return
        if self.listener.on_head is not None:
            self.listener.on_head(watch.loop)
        if watch.around is None:
            watch.around = tuple(n for n in self._loops_around(frame) if n != watch.loop.number)
            watch.inside_library = _inside_library(frame)
            watch.first_ns = now
        self.heads[watch.loop.number] = now
        watch.hits += 1
        watch.running += 1
        if watch.hits == LOOKED_AT and now - watch.first_ns < IDLE_ROUND_NS * LOOKED_AT:
            _set(marks.head_name(watch.loop.number), None)
            _set(marks.exit_name(watch.loop.number), None)
            return
        watch.series.edge(now, self.wait_ns)
        if watch.hits <= 3 or watch.hits in (10, 100, 1000):
            self._begin_count(watch)
        if watch.operations and not watch.inside_library:
            watch.series.device = watch.series.device or self.listener.device_of(None)
            self.listener.on_edge(watch.series, now)

    def _exit(self, watch: LoopWatch) -> None:
        now = self.listener.clock()
        self._drop_count()
        if watch.series.open_ns is not None:
            watch.series.close(now, self.wait_ns)
        watch.rounds.append(watch.running)
        watch.running = 0
        outer = self.watches.get(watch.around[0]) if watch.around else None
        if outer is not None and outer.hits <= 3 and self.rank == LOOP:
            self._begin_count(outer)

    def _begin_count(self, watch: LoopWatch) -> None:
        self._counting = (watch, self.listener.count())

    def _drop_count(self) -> None:
        if self._counting is not None:
            watch, end = self._counting
            self._counting = None
            watch.operations += end()


def _holds(loop: marks.Loop, frame: FrameType) -> bool:
    """Whether a loop belongs to this frame's own body (a function defined inside a loop is not called by it)."""
    return frame.f_code.co_firstlineno <= loop.line or frame.f_code.co_name == "<module>"


def _inside_library(frame: FrameType | None) -> bool:
    """Whether a module's call, a data set or a loader is among the callers."""
    while frame is not None:
        name = frame.f_code.co_filename
        if frame.f_code.co_name in ("_call_impl", "__getitem__", "__getitems__") or "torch/utils/data" in name:
            return True
        frame = frame.f_back
    return False


def _define_idle(loop: marks.Loop) -> None:
    _set(marks.head_name(loop.number), None)
    _set(marks.exit_name(loop.number), None)


def _set(name: str, value: object) -> None:
    setattr(builtins, name, value)
