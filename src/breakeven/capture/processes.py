"""Child processes of a capture: how they are called, ended, and what they leave swept up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from breakeven.capture import outcome

GRACE_S: Final = 3.0

# Our own package first while it is imported, then nothing of ours on the script's path.
_START = "import sys; sys.path[0] = sys.argv[2]; from breakeven.capture.child import main; sys.path.pop(0); main(sys.argv[1])"
_SERVE = _START.replace("capture.child", "capture.fork_server")
_ROOT = str(Path(__file__).resolve().parents[2])


class Child(Protocol):
    """What is asked of a child process; `subprocess.Popen` is one."""

    pid: int
    returncode: int

    def poll(self) -> int | None:
        """Its exit code; None: it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended; `subprocess.TimeoutExpired` where that takes longer."""

    def send_signal(self, sig: int) -> None:
        """Send it a signal."""

    def kill(self) -> None:
        """End it."""


def command(place: Path) -> list[str]:
    """The command line of a child whose spec lies in this folder."""
    return [sys.executable, "-c", _START, str(place / outcome.SPEC), _ROOT]


def server_command(path: Path) -> list[str]:
    """The command line of a fork server at this socket."""
    return [sys.executable, "-c", _SERVE, str(path), _ROOT]


def end(child: Child) -> None:
    """Ask a child to write down what it knows and to go; then see to it."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def sweep(child: Child) -> float:
    """End whatever the script left running in its own session: loader workers, forks.

    Returns:
        Processor time, s, that no counter of this process holds: of what was left, and of a child that is another's.
    """
    left = _session_s(child.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return left + (getattr(child, "spent_s", None) or 0.0)


def _session_s(leader: int) -> float:
    """Processor time of the processes of a session but for its leader (Linux; elsewhere 0)."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, said = path.read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:  # it has ended
            continue
        fields = said.split()  # from the third on: state, parent, group, session … user and system ticks
        if int(fields[3]) == leader and int(path.parent.name) != leader:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A scratch folder for everything that children write, the user's redirected files included; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="breakeven-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
