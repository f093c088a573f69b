"""This machine's CPU, probed in a child process (which imports torch); a probe that fails is no reason to give no answer."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec

from breakeven.machine.records import Cpu

#: Seconds after which the probe is given up: it takes some two on an idle machine, and half a minute where others keep the cores.
PATIENCE_S = 120.0


def probed_cpu() -> tuple[Cpu, tuple[str, ...]]:
    """The CPU as measured now, and a warning where it could not be measured."""
    call = [sys.executable, "-m", "breakeven.measure.probe"]
    try:
        said = subprocess.run(call, capture_output=True, timeout=PATIENCE_S, check=True, stdin=subprocess.DEVNULL).stdout
        return msgspec.json.decode(said, type=Cpu), ()
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return Cpu("unknown", cores, cores), (
            "This machine's CPU could not be probed; the prediction's interval is wider for it.",
        )
