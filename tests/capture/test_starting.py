"""A capture whose children are forks learns what one with new processes learns; none lives on after whoever asked for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from breakeven.capture import run as capture_run
from breakeven.capture import starting
from breakeven.capture.request import CaptureRequest
from breakeven.capture.run import capture
from breakeven.capture.starting import Forked, Forks, Fresh, Starter, fork_server, forked
from tests.capture.sources import training

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a fork server is for Linux")
pytest.importorskip("torch", reason="captures run PyTorch scripts")


@pytest.fixture(scope="module")
def server() -> Iterator[Starter]:
    with pytest.MonkeyPatch.context() as patched:  # a busy machine changes no answer
        patched.setattr(starting, "PATIENCE_S", 900.0)
        patched.setattr(capture_run, "FIRST_STEP_S", 900.0)
        patched.setattr(capture_run, "ALTOGETHER_S", 900.0)
        with fork_server() as starter:
            yield starter


def captured(folder: Path, source: str, starter: Starter, *args: str) -> object:
    """What a capture learned that does not depend on the clock."""
    path = folder / "train.py"
    path.write_text(source, encoding="utf-8")
    caught = capture(CaptureRequest(str(path), args, cwd=str(folder), steps=5), starter=starter)
    assert caught.cpu is not None
    assert caught.virtual is not None
    calls = caught.virtual.stream.calls.rows() if caught.virtual.stream is not None else None
    return caught.cpu.unit, caught.cpu.end, caught.cpu.batch, caught.cpu.versions, caught.virtual.end, calls


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        training(),
        training("open('out.txt', 'w').write('x')"),
        training("import sys; sys.exit(3) if step == 8 else None"),
        "import os, sys, tempfile, torch\nassert sys.argv[1:] == ['--a', '1']\nassert os.getcwd() == os.path.dirname(__file__)\n"
        "assert tempfile.gettempdir() == os.environ['TMPDIR']\nassert '__main__' == __name__\n" + training(),
    ],
    ids=["trains", "writes", "leaves", "asks-where-it-is"],
)
def test_a_fork_learns_what_a_new_process_learns(tmp_path: Path, server: Starter, source: str) -> None:
    assert isinstance(server, Forks)
    assert captured(tmp_path, source, server, "--a", "1") == captured(tmp_path, source, Fresh(), "--a", "1")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def fork_of(server: Starter, function: str, *arguments: str) -> Forked:
    assert isinstance(server, Forks)
    with open(os.devnull, "r+b") as nowhere:
        return forked(server.path, (function, *arguments), os.getcwd(), (nowhere.fileno(),) * 3)


def test_a_fork_is_asked_as_a_process_is(server: Starter) -> None:
    child = fork_of(server, "time:sleep_for_ever")  # there is no such function
    assert child.wait(600) == 1
    sleeping = fork_of(server, "signal:pause")
    assert sleeping.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        sleeping.wait(0.01)
    sleeping.kill()
    assert sleeping.wait(600) == -signal.SIGKILL


def test_a_fork_ends_with_whoever_asked_for_it(server: Starter) -> None:
    child = fork_of(server, "signal:pause")
    process = psutil.Process(child.pid)
    child._connection.close()  # type: ignore[attr-defined]  # as the end of this process would
    process.wait(600)


@pytest.mark.usefixtures("server")  # and its patience
def test_forks_end_with_their_server_and_new_processes_take_their_place(tmp_path: Path) -> None:
    with fork_server() as starter:
        child = fork_of(starter, "signal:pause")
    assert child.wait(600) == -signal.SIGKILL
    assert isinstance(starter, Forks)
    assert not Path(starter.path).exists()
    path = tmp_path / "train.py"
    path.write_text(training(), encoding="utf-8")
    caught = capture(CaptureRequest(str(path), cwd=str(tmp_path), steps=5, passes=("cpu",)), starter=starter)
    assert caught.cpu is not None
    assert caught.cpu.unit == "step"


def test_what_a_function_prints_comes_back_and_one_that_fails_is_said(server: Starter) -> None:
    assert isinstance(server, Forks)
    assert b"Platform" in server.said("sysconfig:_main", 600)
    with pytest.raises(subprocess.CalledProcessError):
        server.said("sysconfig:nothing", 600)
