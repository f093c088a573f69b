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
from typing import Final

from breakeven.capture import outcome

GRACE_S: Final = 3.0

# Our own package first while it is imported, then nothing of ours on the script's path.
_START = "import sys; sys.path[0] = sys.argv[2]; from breakeven.capture.child import main; sys.path.pop(0); main(sys.argv[1])"
_ROOT = str(Path(__file__).resolve().parents[2])


def command(place: Path) -> list[str]:
    """The command line of a child whose spec lies in this folder."""
    return [sys.executable, "-c", _START, str(place / outcome.SPEC), _ROOT]


def end(child: subprocess.Popen[bytes]) -> None:
    """Ask a child to write down what it knows and to go; then see to it."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def sweep(child: subprocess.Popen[bytes]) -> None:
    """End whatever the script left running in its own session: loader workers, forks."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A scratch folder for everything that children write, the user's redirected files included; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="breakeven-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
