"""Launchers: programs that start Python on the training script (`accelerate launch`, `torchrun`, `fabric run`, `python`).

A launcher is run as it is until it starts Python on a file of the user's. That then runs in this process, with the environment
that the launcher made for it. Several processes become one: the first, alone in its world. Not followed: launchers that are not
written in Python (`mpirun`, `srun`), and processes that the user's script itself starts.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from breakeven.capture.marks import is_installed

#: Options of Python that stand alone, and those with a value: of its own page, `python --help`.
_ALONE: Final = re.compile(r"-[bBdEiIOPqRsSuvx]+$")
_WITH_VALUE: Final = ("-W", "-X", "--check-hash-based-pycs")
_PYTHON: Final = re.compile(r"python(\d+(\.\d+)*)?$")

#: What the environment says of a process's place among others, when it is alone (`torch.distributed.run`'s names).
_ALONE_IN_THE_WORLD: Final = {
    "RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0", "ROLE_RANK": "0",
    "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "GROUP_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": "1",
    "TORCHELASTIC_USE_AGENT_STORE": "False",
}  # fmt: skip
#: Frameworks that join the others by themselves wherever the environment names a place: alone they need none.
_JOIN_BY_THEMSELVES: Final = ("ACCELERATE_", "LT_CLI_USED")


@dataclass(frozen=True)
class PythonCall:
    """What Python is told to run.

    Attributes:
        target: path of a script, or a module's dotted name.
        module: whether it is a module's name.
        args: its arguments.
    """

    target: str
    module: bool
    args: tuple[str, ...]


class StartedPython(BaseException):
    """A launcher was about to start Python; no `except Exception` of its own may hold this up.

    Attributes:
        call: what would have run.
        env: in which environment; None: this one.
        cwd: in which folder; None: this one.
    """

    def __init__(self, call: PythonCall, env: Mapping[str, str] | None, cwd: str | None) -> None:
        super().__init__(call.target)
        self.call, self.env, self.cwd = call, env, cwd


def python_call(words: Sequence[str]) -> PythonCall | None:
    """The script or module that a command line runs in Python; None: it does not begin with Python, or runs neither.

    >>> python_call(["python3", "-u", "-m", "lab.train", "--lr", "1"])
    PythonCall(target='lab.train', module=True, args=('--lr', '1'))
    """
    if not words or not _is_python(words[0]):
        return None
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        if word.startswith("-m"):
            rest = [word[2:], *words[at + 1 :]] if len(word) > 2 else list(words[at + 1 :])
            return PythonCall(rest[0], True, tuple(rest[1:])) if rest else None
        if word in _WITH_VALUE:
            at += 2
        elif _ALONE.match(word) or word.startswith(("-W", "-X")):
            at += 1
        else:
            return None  # -c, --version …
    return PythonCall(words[at], False, tuple(words[at + 1 :])) if at < len(words) and words[at] != "-" else None


def console_script(name: str) -> Path | None:
    """The Python script that a bare word starts in a shell, beside this Python or else on the path; None: there is none."""
    if os.sep in name or _is_python(name):
        return None
    beside = os.path.dirname(os.path.abspath(sys.executable))
    found = shutil.which(name, path=os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]))
    if found is None or not os.access(found, os.R_OK):
        return None
    with open(found, "rb") as handle:
        first = handle.readline(500)
    return Path(found) if first.startswith(b"#!") and b"python" in first else None


@contextmanager
def following() -> Iterator[None]:
    """While it lasts, the main thread gets `StartedPython` where it starts Python on a file of the user's by `subprocess`."""
    begin = subprocess.Popen.__init__
    signature = inspect.signature(begin)

    def init(self: subprocess.Popen[Any], *args: Any, **named: Any) -> None:  # as Popen takes them
        asked = signature.bind(self, *args, **named).arguments
        words = asked["args"]
        call = None if isinstance(words, (str, bytes, os.PathLike)) else python_call([os.fsdecode(word) for word in words])
        if call is not None and _is_users(call) and threading.current_thread() is threading.main_thread():
            raise StartedPython(call, asked.get("env"), asked.get("cwd"))
        begin(self, *args, **named)

    subprocess.Popen.__init__ = init  # type: ignore[method-assign]  # put back below
    try:
        yield
    finally:
        subprocess.Popen.__init__ = begin  # type: ignore[method-assign]


def take_place(started: StartedPython) -> str:
    """Make this process the one that was about to be started, alone in its world; what to tell the user of that."""
    if started.env is not None:
        os.environ.clear()
        os.environ.update(started.env)
    if started.cwd is not None:
        os.chdir(started.cwd)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    os.environ.pop("TORCHELASTIC_ERROR_FILE", None)  # of a folder that went with the launcher
    if "RANK" in os.environ:
        if any(name.startswith(_JOIN_BY_THEMSELVES) for name in os.environ):
            for name in (*_ALONE_IN_THE_WORLD, "MASTER_ADDR", "MASTER_PORT"):
                os.environ.pop(name, None)
        else:
            os.environ.update(_ALONE_IN_THE_WORLD, MASTER_PORT=str(_free_port()))
    many = f", and alone: the launcher asks for {processes} processes" if processes > 1 else ""
    return f"{started.call.target} was run in the launcher's place{many}."


def _is_users(call: PythonCall) -> bool:
    if call.module:
        return PathFinder.find_spec(call.target.partition(".")[0], [os.getcwd()]) is not None
    return os.path.isfile(call.target) and not is_installed(call.target)


def _is_python(word: str) -> bool:
    return os.path.realpath(word) == os.path.realpath(sys.executable) or bool(_PYTHON.match(os.path.basename(word)))


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port
