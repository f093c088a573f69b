"""This machine's CPU, probed in a child process (which imports torch); a probe that fails is no reason to give no answer."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import msgspec

from breakeven.machine.cores import usable_cores
from breakeven.machine.records import Cpu

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


def probed() -> Probed:
    """What is here, asked of a child now."""
    call = [sys.executable, "-m", "breakeven.measure.probe"]
    try:
        said = subprocess.run(call, capture_output=True, timeout=PATIENCE_S, check=True, stdin=subprocess.DEVNULL).stdout
        return Probed(msgspec.json.decode(said, type=Cpu), msgspec.json.decode(said, type=_Beside).accelerator)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        cores = usable_cores()
        doubt = "This machine's CPU could not be probed; the prediction's interval is wider for it."
        return Probed(Cpu("unknown", cores, cores), doubts=(doubt,))


def probed_cpu() -> tuple[Cpu, tuple[str, ...]]:
    """The CPU as measured now, and a warning where it could not be measured."""
    found = probed()
    return found.cpu, found.doubts
