"""One arm of a proof, in its child: runs blocks of steps as it is told, waits in between, and writes down what it computes.

The clock stops at the edge of a block's last step and starts when the next block is let go.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Collection
from time import thread_time_ns

import msgspec
import numpy as np
import torch

from breakeven.capture.proof.messages import Command, Report
from breakeven.capture.proof.watch import Watch
from breakeven.capture.request import ChildSpec, Order, ScriptEnd
from breakeven.capture.series import Batch, Series
from breakeven.capture.steps import BACKWARD, KINDS, LOOP
from breakeven.capture.timing import OPTIMIZERS

#: Backward passes after which an optimizer that the source mentions is no longer waited for.
PATIENCE = 50


class Proving:
    """State of one arm."""

    def __init__(self, spec: ChildSpec, order: Order, clock: Callable[[], int]) -> None:
        self.order, self.clock, self.pid = order, clock, os.getpid()
        self.warnings: list[str] = []
        self.watch = Watch(spec.folder, order.bytes_per_step)
        self.step = 0
        self._series: Series | None = None
        self._commands = os.fdopen(order.commands, "rb", buffering=0)
        self._command = Command(0)
        self._left = 0
        self._ns: list[int] = []
        self._cpu: list[int] = []
        self._losses: list[float] = []
        self._began = self._cpu_began = self._passed = 0
        self.batch = Batch()
        self.look_at_batch: Callable[[], object] = lambda: None
        self._looks = False
        self.words: Collection[str] = ()  # every name that the user's source spells

    def begin(self) -> None:
        """Pin the random state, and wait for the first command."""
        random.seed(self.order.seed)
        np.random.seed(self.order.seed)
        torch.manual_seed(self.order.seed)
        self._obey()

    def on_edge(self, series: Series, now: int) -> None:
        """A step has ended."""
        if series is not self._series and not self._choose(series):
            return
        self.step += 1
        cpu = thread_time_ns()
        self._ns.append(now - self._began)
        self._cpu.append(cpu - self._cpu_began)
        if self._command.compare:
            self.watch.write(self.step)
        self._left -= 1
        if self._left <= 0:
            self._say(None, "")
            self._obey()
        self._cpu_began, self._began = thread_time_ns(), self.clock()

    def finish(self, end: ScriptEnd) -> None:
        """The script has ended, somehow."""
        self._say(end.how, end.text)

    def _choose(self, series: Series) -> bool:
        """Whether the steps of this series are the ones that count from now on: a better kind than those before."""
        kind = KINDS.index(series.place.kind)
        if kind >= LOOP or (self._series is not None and kind >= KINDS.index(self._series.place.kind)):
            return False
        self._passed += 1
        if kind == BACKWARD and self._passed <= PATIENCE and OPTIMIZERS & set(self.words):
            return False
        if self._series is not None:  # the edges so far were not whole steps
            self.step, self._left = 0, self._command.steps
            self._ns.clear()
            self._cpu.clear()
            self.watch.forget()
        self._series = series
        return True

    def _say(self, end: str | None, text: str) -> None:
        losses = self.watch.taken() if self._command.losses else []
        spent = self.watch.spent() if self._command.optimizers else []
        report = Report(self.step, tuple(self._ns), tuple(self._cpu), tuple(losses), tuple(spent), end, text, self.batch.size)
        data = msgspec.json.encode(report) + b"\n"
        while data:
            data = data[os.write(self.order.reports, data) :]

    def _obey(self) -> None:
        """Wait for the next command; where there is none, the process ends (its children are ended by ours)."""
        line = _line(self._commands.read)
        if not line:
            os._exit(0)
        self._command = Command(**json.loads(line))
        self._left = self._command.steps
        self._ns.clear()
        self._cpu.clear()
        self.watch.compare(self._command.compare)
        if self._command.losses:
            self.watch.follow(True)
            if not self._looks:
                self._looks = True
                self.look_at_batch()
        if self._command.optimizers:
            self.watch.time_optimizers()
        self.watch.forget()
        self._cpu_began, self._began = thread_time_ns(), self.clock()


def _line(read: Callable[[int], bytes]) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        byte = read(1)
        if not byte:
            return b""
        found += byte
    return found
