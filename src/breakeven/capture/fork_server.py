"""A process that has imported PyTorch once and hands out forks of itself: a child that begins at once instead of after seconds.

Started by `breakeven.capture.starting` as `python -c … SOCKET`. It runs nothing of the user's and starts no thread of its own,
so that a fork is what a new process would be after its imports. Linux only.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

from breakeven.children import die_with_parent

#: What children import anyway, each of them for itself otherwise: optimizers bring `torch._dynamo`.
PRELOADED: Final = (
    "torch", "torch._dynamo", "breakeven.capture.passes", "breakeven.capture.cpu_pass", "breakeven.capture.hooks",
    "breakeven.capture.recording", "breakeven.capture.virtual", "breakeven.capture.stored",
)  # fmt: skip
#: Longest request: a function, a path or two.
MOST_BYTES: Final = 1 << 16
#: Descriptors that come with a request: standard input, output and error.
STREAMS: Final = 3


def main(path: str) -> NoReturn:
    """Serve at a socket until the process that started this one ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in PRELOADED:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(f"{path}.new")
        listener.listen()
        os.rename(f"{path}.new", path)  # whoever sees it can connect
        selector.register(listener, selectors.EVENT_READ, lambda: _accept(selector, listener))
        while True:
            for key, _ in selector.select():
                key.data()


def _accept(selector: selectors.BaseSelector, listener: socket.socket) -> None:
    connection, _ = listener.accept()
    text, streams, _, _ = socket.recv_fds(connection, MOST_BYTES, STREAMS)
    try:
        if not text or len(streams) != STREAMS:  # whoever asked has gone
            connection.close()
            return
        cwd, function, *arguments = json.loads(text)
        if not (pid := os.fork()):
            die_with_parent()
            for key in tuple(selector.get_map().values()):  # of other children too: whoever asked has to see them closed
                os.close(key.fd)
            connection.close()
            _become(function, arguments, cwd, streams)
    finally:
        for handle in streams:
            os.close(handle)
    ended = os.pidfd_open(pid)
    connection.sendall(f"{pid}\n".encode())
    selector.register(ended, selectors.EVENT_READ, lambda: _ended(selector, pid, ended, connection))
    selector.register(connection, selectors.EVENT_READ, lambda: _left_alone(selector, pid, connection))


def _ended(selector: selectors.BaseSelector, pid: int, handle: int, connection: socket.socket) -> None:
    """A child has ended: tell its code, and the processor time of it and of those that it waited for."""
    _, status, spent = os.wait4(pid, 0)
    selector.unregister(handle)
    os.close(handle)
    if connection.fileno() >= 0:
        selector.unregister(connection)
        with suppress(OSError):  # nobody waits any more
            connection.sendall(f"{os.waitstatus_to_exitcode(status)} {spent.ru_utime + spent.ru_stime}\n".encode())
        connection.close()


def _left_alone(selector: selectors.BaseSelector, pid: int, connection: socket.socket) -> None:
    """Whoever asked for a child has ended: so does the child, and what it started."""
    if connection.fileno() < 0:  # the child ended at the same moment
        return
    selector.unregister(connection)
    connection.close()
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended by itself, or has no session of its own yet
        os.kill(pid, signal.SIGKILL)


def _become(function: str, arguments: list[str], cwd: str, streams: list[int]) -> NoReturn:
    """In the fork: be what a new process would be, and call `MODULE:FUNCTION`."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
            os.close(handle)
        os.chdir(cwd)
        tempfile.tempdir = None
        module, _, name = function.partition(":")
        called: Callable[..., object] = getattr(importlib.import_module(module), name)
        called(*arguments)
        sys.stdout.flush()
        os._exit(0)
    finally:  # it raised: tell it as Python does at its end
        error = sys.exception() if sys.version_info >= (3, 11) else sys.exc_info()[1]
        if error is not None:
            sys.excepthook(type(error), error, error.__traceback__)
        os._exit(1)
