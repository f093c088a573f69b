"""How children of a capture are started: each as a new process, or as forks of one that has imported PyTorch already.

Many captures in a row (a sweep) otherwise spend most of their time on the same imports, five seconds each.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from breakeven.capture import outcome, processes
from breakeven.capture.processes import Child

#: Time that a fork server's imports may take before one goes on without it.
PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.02
_SOCKET: Final = "socket"


class Starter(Protocol):
    """Starts the child whose spec lies in a folder."""

    def start(self, place: Path, cwd: str | None, stdin: int | None, stdout: int, stderr: int) -> Child:
        """Start it, in a session of its own.

        Args:
            place: the folder.
            cwd: its working directory; None: ours.
            stdin: descriptor of its standard input; None: ours.
            stdout: of its standard output.
            stderr: of its standard error.
        """


@dataclass(frozen=True)
class Fresh:
    """Each child is a new process."""

    def start(self, place: Path, cwd: str | None, stdin: int | None, stdout: int, stderr: int) -> Child:
        """As `Starter.start`."""
        return subprocess.Popen(
            processes.command(place), cwd=cwd, start_new_session=True, stdin=stdin, stdout=stdout, stderr=stderr
        )


@dataclass(frozen=True)
class Forks:
    """Children are forks of a server at a socket of this machine; where none answers, new processes.

    Attributes:
        path: of the socket.
    """

    path: str

    def start(self, place: Path, cwd: str | None, stdin: int | None, stdout: int, stderr: int) -> Child:
        """As `Starter.start`."""
        call = ("breakeven.capture.passes:run_child", str(place / outcome.SPEC))
        with suppress(OSError):
            return forked(self.path, call, cwd or os.getcwd(), (0 if stdin is None else stdin, stdout, stderr))
        return Fresh().start(place, cwd, stdin, stdout, stderr)

    def said(self, function: str, timeout: float) -> bytes:
        """What a function of ours prints in a fork.

        Args:
            function: `MODULE:FUNCTION`, which takes nothing.
            timeout: seconds that it may take.

        Raises:
            OSError: no server answers.
            subprocess.SubprocessError: it failed, or took too long.
        """
        with open(os.devnull, "r+b") as nowhere, tempfile.TemporaryFile() as printed:
            child = forked(self.path, (function,), os.getcwd(), (nowhere.fileno(), printed.fileno(), nowhere.fileno()))
            try:
                child.wait(timeout)
            finally:
                child.kill()
            if child.returncode:
                raise subprocess.CalledProcessError(child.returncode, function)
            printed.seek(0)
            return printed.read()


@dataclass
class Forked:
    """A fork of the server, asked as `subprocess.Popen` is.

    Attributes:
        pid: its process, the first of its session.
        returncode: its exit code, once it has ended.
        spent_s: processor time of it and of the children that it waited for, once it has ended; None: not known.
    """

    pid: int
    _connection: socket.socket = field(repr=False)
    returncode: int = 0
    spent_s: float | None = None
    _ended: bool = False

    def poll(self) -> int | None:
        """Its exit code; None: it runs."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it has not.
        """
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if not self._ended:
            if not select.select([self._connection], [], [], timeout)[0]:
                return None
            told = _line(self._connection).split()
            self._ended = True
            self._connection.close()
            # A server that ends takes its forks with it.
            self.returncode, self.spent_s = (int(told[0]), float(told[1])) if len(told) == 2 else (-signal.SIGKILL, None)
        return self.returncode


def forked(path: str, call: Sequence[str], cwd: str, streams: tuple[int, int, int]) -> Forked:
    """A fork of the server at a socket.

    Args:
        path: of the socket.
        call: `MODULE:FUNCTION` and its arguments.
        cwd: its working directory.
        streams: descriptors of its standard input, output and error.

    Raises:
        OSError: no server answers.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps([cwd, *call]).encode()], streams)
        told = _line(connection)
        if not told:
            raise ConnectionError("the fork server has ended")
        return Forked(int(told), connection)
    except OSError:
        connection.close()
        raise


def _line(connection: socket.socket) -> str:
    """What the server says; empty: it has ended."""
    said = b""
    while not said.endswith(b"\n"):
        try:
            more = connection.recv(256)
        except ConnectionError:
            more = b""
        if not more:
            return ""
        said += more
    return said.decode()


@contextmanager
def fork_server() -> Iterator[Starter]:
    """Starts a fork server for as long as the block lasts; new processes where there cannot be one."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        yield Fresh()
        return
    folder = Path(tempfile.mkdtemp(prefix="breakeven-forks-"))
    server = subprocess.Popen(
        processes.server_command(folder / _SOCKET), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Forks(str(folder / _SOCKET)) if _answers(server, folder / _SOCKET) else Fresh()
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(server: subprocess.Popen[bytes], path: Path) -> bool:
    """Waits for the server's socket; whether it came."""
    until = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < until:
        if path.exists():
            return True
        time.sleep(_POLL_S)
    return False
