"""This machine's CPU as a record: the probe in a child process, so that no torch is imported here; kept for a day if asked to.

A probe that ran while the machine was busy says a slow machine; the cache is therefore optional and short-lived.
"""

from __future__ import annotations

import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from breakeven.machine.records import Cpu
from breakeven.measure.probe import cpu_model, usable_cores

_DAY_S = 86_400
_TIMEOUT_S = 120  # importing torch from a cold network disk can take a minute


def measure_cpu(*, python: str = sys.executable, cache: Path | None = None) -> Cpu:
    """Probe this machine's CPU.

    Args:
        python: interpreter whose torch is measured.
        cache: folder to keep the result in for a day; None: always measure.

    Returns:
        The record; its rates are None where the probe could not run (no torch, a child that died).
    """
    kept = None if cache is None else cache / f"cpu-{_fingerprint(python)}.json"
    if kept is not None:
        known = _read(kept)
        if known is not None:
            return known
    try:
        run = subprocess.run(
            [python, "-m", "breakeven.measure.probe"],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        cpu = msgspec.json.decode(run.stdout, type=Cpu)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        return Cpu(cpu_model(), usable_cores(), usable_cores())
    if kept is not None:
        _write(kept, cpu)
    return cpu


def _fingerprint(python: str) -> str:
    return sha256(f"{cpu_model()}|{usable_cores()}|{python}".encode()).hexdigest()[:16]


def _read(path: Path) -> Cpu | None:
    try:
        if time.time() - path.stat().st_mtime > _DAY_S:
            return None
        return msgspec.json.decode(path.read_bytes(), type=Cpu)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(path: Path, cpu: Cpu) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(cpu))
    except OSError:
        return  # a read-only home is no reason to fail
