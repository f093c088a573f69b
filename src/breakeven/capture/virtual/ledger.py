"""What a recording has come to: its rows, its counts, the part of the step that runs, and how a row is left in it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from threading import get_ident
from time import perf_counter_ns

import torch

from breakeven.capture.virtual import autograd_node
from breakeven.capture.virtual.calls import copy_call, host_call, sync_call
from breakeven.capture.virtual.lowered import Lowerings
from breakeven.capture.virtual.marks import Marks
from breakeven.capture.virtual.notes import Notes
from breakeven.capture.virtual.rows import FORWARD, Rows
from breakeven.capture.virtual.sites import Sites
from breakeven.timeline.opstream import Call


class Ledger:
    """The state of one recording, and the rows that are no ordinary operation: copies, waits, host work."""

    overhead = 0  # of the recorder itself, per operation, in the gap before it: measured by `calibrate`

    def __init__(self, table: Marks, sites: Sites, notes: Notes) -> None:
        self.marks = table
        self.sites = sites
        self.notes = notes
        self.rows: Rows | None = None
        self.phase = FORWARD
        self.hush = 0  # > 0: operations inside leave no row (a fused call, a data loader)
        self.folding = 0  # > 0: host operations inside leave no row, they are part of one that follows
        self.hushed_ns = 0  # their time
        self.hushed_ops = 0
        self.tag: str | None = None  # how the user asked for the value that is being read: bool, print, tolist …
        self.off = False  # in a forked worker: nothing is recorded
        self.device_ops = 0  # operations on the device so far
        self.pending = 0  # of these, issued since the host last waited
        self.novel = 0  # first executions of an operation on the device
        self.last_row = -1  # last row that ran on the device
        self.lowerings = Lowerings()
        self.engine_run = 0  # how often the autograd engine has been started
        self.spot = (0, 0)
        self._thread = get_ident()
        self.last = 0  # clock at the end of the last operation
        self.next_number = autograd_node.next_number()
        self.running_number = autograd_node.running_number()
        self._origin_numbers = array("q")
        self._origin_sites = array("i")

    def note_origin(self, site: int) -> None:
        """Remember which line made the autograd node of the operation that runs now."""
        number = self.next_number() - 1
        numbers = self._origin_numbers
        if number >= 0 and (not numbers or number > numbers[-1]):
            numbers.append(number)
            self._origin_sites.append(site)

    def site_of(self, number: int) -> int:
        """Line that made this autograd node; where that is not known, the line that is running."""
        numbers = self._origin_numbers
        if number >= 0 and numbers:
            at = bisect_right(numbers, number) - 1
            if at >= 0 and numbers[at] == number:
                return self._origin_sites[at]
        return self.sites.here(3)

    def add(self, call: int, gap: int = 0, waits: int = -1, phase: int | None = None, cpu_ns: int = 0) -> int:
        """Append a row of something that is no ordinary operation; -1 while nothing is recorded."""
        if self.rows is None or self.hush or not self.is_mine():
            return -1
        gap = 0 if self.folding else gap
        phase = self.phase if phase is None else phase
        site = self.sites.here(2)
        return self.rows.add(call, phase, site, gap, cpu_ns, waits)

    def copied(self, direction: str, tensor: torch.Tensor, *, pinned: bool, non_blocking: bool, began: int) -> None:
        """A copy between host and device has been made; a pageable or blocking one waits for itself."""
        gap = began - self.last
        self.device_ops += 1
        self.pending += 1
        waits = not (pinned and non_blocking)
        if self.rows is not None and not self.hush:
            shape, size = tuple(tensor.shape), tensor.numel() * tensor.element_size()
            call = self.rows.number(copy_call(direction, shape, tensor.dtype, size, pinned, non_blocking))
            self.last_row = self.add(call, gap, -2 if waits else -1)
        if waits and not non_blocking:
            self.pending = 0
        self.last = perf_counter_ns()

    def waited(self, name: str, size: int, *, began: int | None = None) -> None:
        """The host has read `size` bytes of a result from the device, which it waits for."""
        gap = 0 if began is None else began - self.last
        self.pending = 0
        if self.rows is not None and not self.hush:
            copy = self.rows.number(copy_call("d2h", (), None, size, False, True))
            row = self.add(copy, gap)
            self.add(self.rows.number(sync_call(name)), 0, row)
            self.last_row = row
        self.last = perf_counter_ns()

    def synchronized(self, name: str, row: int | None = None) -> None:
        """The host has waited for a row (without one: for all that was issued), reading nothing."""
        gap = perf_counter_ns() - self.last
        self.pending = 0
        if self.rows is not None and not self.hush:
            self.add(self.rows.number(sync_call(name)), gap, self.last_row if row is None else row)
        self.last = perf_counter_ns()

    def host_row(self, call: Call, began: int, before: int) -> None:
        """A row of host work that began at `began`; the gap since `before`, the last operation, goes to the next row."""
        now = perf_counter_ns()
        if self.is_calm() and not self.folding and self.rows is not None:
            self.add(self.rows.number(call), now - began + self.overhead)
            self.last = now - max(began - before, 0)
        else:
            self.last = now

    def is_mine(self) -> bool:
        """Whether the running thread is the one that is recorded."""
        return get_ident() == self._thread

    def emptied_cache(self) -> None:
        """`empty_cache`: the device's memory is given back, and has to be asked for again."""
        if self.is_calm() and self.rows is not None:
            gap = perf_counter_ns() - self.last
            self.add(self.rows.number(host_call("empty_cache")), gap)
            self.last = perf_counter_ns()

    def begin(self) -> None:
        """Start with an empty table."""
        self.rows = Rows()
        del self._origin_numbers[:], self._origin_sites[:]
        self.lowerings.clear()
        self.last_row = -1
        self.last = perf_counter_ns()

    def edge(self) -> None:
        """A step has ended: what follows belongs to the next."""
        if self.rows is not None:
            self.rows.edges.append(len(self.rows))

    def is_same_spot(self) -> bool:
        """Whether the user's running instruction is the one that the last forward row came from."""
        self.sites.here(3)
        return self.sites.spot == self.spot

    def is_calm(self) -> bool:
        """Whether rows are being left now."""
        return self.rows is not None and not self.hush and not self.off
