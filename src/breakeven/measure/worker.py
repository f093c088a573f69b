"""A thread that runs a user's steps for one device, and that can be left behind where a step does not end in time."""

from __future__ import annotations

import contextvars
import ctypes
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class _LeftBehind(BaseException):
    """Ends an abandoned step at its next line of Python. Not an `Exception`, so that `except Exception` lets it pass."""


class Worker:
    """Runs calls one after another; `with Worker() as worker:` ends it."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._busy = False
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), daemon=True, name="breakeven-pick")

    def __enter__(self) -> Worker:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._calls.put(None)
        if self._busy and self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(_LeftBehind))
        elif not self._busy:
            self._thread.join()

    def ask(self, call: Callable[[], T], patience_s: float) -> Answer[T] | None:
        """What a call gives, or what it raised; None where it did not end in time: the worker then hears nothing more."""
        if self._busy:
            return None
        answers: SimpleQueue[Answer[T]] = SimpleQueue()
        self._busy = True
        self._calls.put(lambda: answers.put(_answered(call)))
        try:
            found = answers.get(timeout=max(patience_s, 0.001))
        except Empty:
            return None
        self._busy = False
        return found

    def _work(self) -> None:
        try:
            while (call := self._calls.get()) is not None:
                call()
        except _LeftBehind:
            return


class Answer(Generic[T]):
    """What a call gave: `value`, unless `error` says what it raised."""

    def __init__(self, value: T | None, error: Exception | None) -> None:
        self.value, self.error = value, error


def _answered(call: Callable[[], T]) -> Answer[T]:
    try:
        return Answer(call(), None)
    except Exception as error:  # noqa: BLE001  # the user's code: whatever it raises on this device
        return Answer(None, error)
