"""This machine's CPU, probed in a child process (which imports torch); a probe that fails is no reason to give no answer."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from breakeven.capture.starting import Forks, Starter
from breakeven.machine.cores import usable_cores
from breakeven.machine.records import Cpu
from breakeven.measure.disturbance import Moment, busy_machine, now

#: Seconds after which the probe is given up: it takes some two on an idle machine, and half a minute where others keep the cores.
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Probed:
    """This machine as measured now.

    Attributes:
        cpu: its CPU.
        accelerator: name of its accelerator as the driver gives it; None: none can be used.
        doubts: a warning where it could not be measured.
    """

    cpu: Cpu
    accelerator: str | None = None
    doubts: tuple[str, ...] = ()


class _Beside(msgspec.Struct):
    accelerator: str | None = None


def probed(since: Moment | None = None, starter: Starter | None = None) -> Probed:
    """What is here, asked of a child now.

    Args:
        since: the moment at which something began to be timed (`measure.disturbance.now`), which ends here; None: nothing was.
        starter: how the child is started; None: as a new process.
    """
    busy = busy_machine(since, now())
    said = (
        (f"While the script was timed {busy.sentence}. Its times are too long, and what is compared with them is off.",)
        if busy
        else ()
    )
    try:
        told = _told(starter)
        return Probed(msgspec.json.decode(told, type=Cpu), msgspec.json.decode(told, type=_Beside).accelerator, said)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        cores = usable_cores()
        doubt = "This machine's CPU could not be probed; the prediction's interval is wider for it."
        return Probed(Cpu("unknown", cores, cores), doubts=(*said, doubt))


def _told(starter: Starter | None) -> bytes:
    if isinstance(starter, Forks):
        with suppress(OSError):  # the server has ended
            return starter.said("breakeven.measure.probe:main", PATIENCE_S)
    call = [sys.executable, "-m", "breakeven.measure.probe"]
    return subprocess.run(call, capture_output=True, timeout=PATIENCE_S, check=True, stdin=subprocess.DEVNULL).stdout


def probed_cpu(since: Moment | None = None, starter: Starter | None = None) -> tuple[Cpu, tuple[str, ...]]:
    """The CPU as measured now, and a warning where it could not be measured, or where what was timed since then was disturbed."""
    found = probed(since, starter)
    return found.cpu, found.doubts
