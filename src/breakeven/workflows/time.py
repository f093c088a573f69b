"""`time`: times a job, a function or code on some devices, in a child process; or a function of this process, for notebooks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from breakeven.capture.processes import scratch_folder
from breakeven.errors import NoAnswer
from breakeven.measure.request import ANSWER, FUNCTION, PROGRESS, REQUEST, TimeRequest
from breakeven.report.printing import Printing
from breakeven.results.timing import TimeReport
from breakeven.workflows.earlier import beside_earlier

if TYPE_CHECKING:
    from rich.console import RenderableType

_POLL_S: Final = 0.2
_GRACE_S: Final = 10.0


def time_in_child(request: TimeRequest, on_progress: Callable[[str], None] = lambda text: None) -> TimeReport:
    """Time what is asked for in a process of its own.

    Returns:
        The report; with `failed` set where the code failed, nothing is usable, or the user interrupted.

    Raises:
        NoAnswer: the process ended without a word.
    """
    with scratch_folder() as place:
        (place / REQUEST).write_bytes(msgspec.json.encode(request))
        call = [sys.executable, "-m", "breakeven.measure.child", str(place)]
        child = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            _wait(child, place, on_progress)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        if not (place / ANSWER).exists():
            how = f"killed by signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
            raise NoAnswer(f"the process that was timed ended without an answer ({how})")
        report = msgspec.json.decode((place / ANSWER).read_bytes(), type=TimeReport)
    return beside_earlier(report, request)


@dataclass(frozen=True, repr=False)
class TimedHere(Printing):
    """What `breakeven.time` hands back: prints itself, and shows as a table in a notebook.

    Attributes:
        report: the numbers.
    """

    report: TimeReport

    def page(self, width: int, ascii_only: bool) -> RenderableType:
        """As `breakeven time` shows it."""
        from breakeven.report.time import render_time

        return render_time(self.report, width, ascii_only)

    def html(self) -> str:
        """The same as a table."""
        from breakeven.report.time import time_table_html

        return time_table_html(self.report)


def time_here(
    function: Callable[..., object], devices: str | Sequence[str] | None = None, *, seconds: float = 10.0, precision: float = 0.01
) -> TimedHere:
    """Time a function honestly, on one or several devices of this machine.

    Args:
        function: needs nothing, or a parameter `device`; where it then returns something to call, that is what is timed.
        devices: names such as `cpu`, `cuda`, `mps`; by default the CPU, and the accelerator too where the function takes a device
            and there is one.
        seconds: longest time to measure.
        precision: half width of the 95 % interval at which to stop, as a part of the median.

    Raises:
        InputError: the function cannot be called so, or there is no device of that name.
        NoAnswer: a device is not usable here.

    Example:
        ``breakeven.time(lambda: a @ b)``; ``breakeven.time(step, devices=["cpu", "cuda"])``
    """
    from breakeven.measure.timing import time_function

    names = (devices,) if isinstance(devices, str) else tuple(devices) if devices else _usual(function)
    name = getattr(function, "__name__", type(function).__name__)
    request = TimeRequest(name, FUNCTION, devices=names, seconds=seconds, precision=precision)
    return TimedHere(beside_earlier(time_function(function, request), request))


def _usual(function: Callable[..., object]) -> tuple[str, ...]:
    from breakeven.measure.known import present_backends
    from breakeven.measure.targets import takes_device

    here = tuple(backend.device for backend in present_backends())
    if takes_device(function):
        return here
    return here[1:2] or ("cpu",)  # where there is an accelerator the function may use it: waiting for it harms no one


def _wait(child: subprocess.Popen[bytes], place: Path, on_progress: Callable[[str], None]) -> None:
    asked = False
    while True:
        try:
            child.wait(_GRACE_S if asked else _POLL_S)
            return
        except subprocess.TimeoutExpired:
            if asked:
                return
            if (place / PROGRESS).exists():
                on_progress((place / PROGRESS).read_text(encoding="utf-8") or "starting")
        except KeyboardInterrupt:
            asked = True
            os.kill(child.pid, signal.SIGINT)
