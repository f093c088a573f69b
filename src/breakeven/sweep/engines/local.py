"""The local engine: processes on this machine. What measures runs alone; the others share the cores.

A lock of the system keeps two sweeps of one machine from measuring at the same time. A worker that dies takes its task with
it and nothing else: the task is begun again in a new worker.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from breakeven.children import die_with_parent
from breakeven.errors import BreakevenError
from breakeven.machine.cores import usable_cores
from breakeven.sweep.engines.task import MOST_ATTEMPTS, Done, Task


@dataclass
class Local:
    """Worker processes of this machine.

    Attributes:
        workers: how many work at the same time; None: one for each core that this process may use.
    """

    workers: int | None = None
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Exclusive tasks first, one by one; then the others, side by side."""
        waiting = list(tasks)
        for task in [t for t in waiting if t.exclusive]:
            with measuring():
                yield from self._together([task])
        yield from self._together([t for t in waiting if not t.exclusive])

    def close(self) -> None:
        """Ends the workers, whatever they are at."""
        if self._pool is not None:
            # Private until Python 3.14 (`kill_workers`): else leaving would wait for the cells that are under way.
            workers = list((getattr(self._pool, "_processes", None) or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
            self._pool = None

    def _together(self, tasks: list[Task]) -> Iterator[Done]:
        attempts = dict.fromkeys((t.key for t in tasks), 0)
        left = {t.key: t for t in tasks}
        alone = False  # after a death nobody knows whose task it was: one at a time finds out
        while left:
            lost = False
            for done in self._round(list(left.values())[:1] if alone else list(left.values()), attempts):
                if done is None:
                    lost = True
                    continue
                del left[done.key]
                yield done
            alone = lost or (alone and bool(left))
            for key in [k for k in left if attempts[k] >= MOST_ATTEMPTS] if lost else []:
                yield Done(key, None, f"its process died {attempts[key]} times", attempts[key])
                del left[key]

    def _round(self, tasks: list[Task], attempts: dict[str, int]) -> Iterator[Done | None]:
        """Runs tasks until they have ended or a worker has died (None)."""
        pool = self._workers()
        most = self.workers or usable_cores()
        running: dict[Future[Any], Task] = {}
        waiting = list(reversed(tasks))
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    task = waiting.pop()
                    attempts[task.key] += 1
                    with _main_left_alone():
                        running[pool.submit(_call, task)] = task
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    value, error = future.result()
                    yield Done(task.key, value, error, attempts[task.key])
        except BrokenProcessPool:
            self._pool = None
            yield None

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.workers or usable_cores(), mp_context=multiprocessing.get_context("spawn"), initializer=_begin,
                initargs=(os.getpid(),),
            )  # fmt: skip
        return self._pool


@contextmanager
def measuring() -> Iterator[None]:
    """Holds this machine for one measurement: a second sweep of the same user waits."""
    try:
        import fcntl
    except ImportError:  # Windows: the check of the machine's load still tells
        yield
        return
    path = os.path.join(tempfile.gettempdir(), f"breakeven-measuring-{os.getuid()}.lock")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _main_left_alone() -> Iterator[None]:
    """Workers that start here do not run the user's script again, as spawned ones do by themselves: no task is of that script.

    It would ask for this very sweep once more, and wait for the machine that the first holds.
    """
    own = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = own


def _begin(parent: int) -> None:
    """A worker's first act: to end with its parent, and to leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        die_with_parent()
        if os.getppid() != parent:  # it ended before that was said
            os._exit(1)


def _call(task: Task) -> tuple[Any, str | None]:
    """The task's value, or what failed: an error of ours is a value, so that one cell does not end the sweep."""
    try:
        return task.function(*task.arguments), None
    except BreakevenError as error:
        return None, str(error)
    except MemoryError:
        return None, "the memory was not enough"
