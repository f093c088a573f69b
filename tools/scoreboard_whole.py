"""Whole steps for docs/accuracy.md: recorded ones through the simulator, and reported ones against what `why` says."""
# ruff: noqa: E501  # lines of tables are as long as they are

from __future__ import annotations

import json
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

from breakeven.workflows.trace import TraceRequest, traced
from breakeven.workflows.why import WhyRequest, why

REPLAYS = """
## Recorded steps, simulated

Each trace's own operations through the simulator: with the host and kernel times that were recorded (the waits are the simulator's),
and blind, from names, shapes and the device's name alone, where the trace holds shapes. Medians per step. What a recorded frame of
Python takes was fitted to the four traces of the blind column (`workflows/replay.py`), and the host model to some of them: blind are
the kernel times and the waits, not the host.

| trace | recorded | with its own times | blind | range |
|---|---|---|---|---|
"""
REPORTED = """
## Reported steps

Scripts whose step somebody timed on a GPU, and what `why` says of them on the machine that made this page, which has no GPU. Hosts and
libraries are those of the reports, mostly unnamed and older (cuDNN 5.1, PyTorch 0.4); predicted is for today's. Sessions of one
machine differ by 14 %.

| step | GPU | reported | predicted | ratio | range holds it |
|---|---|---|---|---|---|
"""


def replays(folder: Path) -> str:
    """The traces of a folder whose truth.json says `replay`, each through the simulator."""
    truth = json.loads((folder / "truth.json").read_text())["files"]
    lines, own, blind = [], [], []
    for name in sorted(n for n, told in truth.items() if told["replay"]):
        found = traced(TraceRequest((folder / name,), replay=True)).report.replay
        if found is None or found.own_times_ms is None:
            lines.append(f"| {_plain(name)} | – | no answer | | |")
            continue
        own.append(found.own_times_ms / found.recorded_ms - 1)
        said, reach, price = "", "", found.blind_ms
        if price is not None and truth[name]["blind"]:
            blind.append(price.mid / found.recorded_ms - 1)
            holds = price.low <= found.recorded_ms <= price.high
            said = f"{blind[-1]:+.1%}"
            reach = f"{_ms(price.low)} to {_ms(price.high)}{'' if holds else ' (outside)'}"
        lines.append(f"| {_plain(name)} | {_ms(found.recorded_ms)} | {own[-1]:+.1%} | {said} | {reach} |")
    worst = f"with their own times {_median(own):.1%} (asked 5 %), the worst {max(map(abs, own)):.1%} (asked 12 %)"
    return REPLAYS + "\n".join(lines) + f"\n\nMedian error: {worst}; blind {_median(blind):.1%} (asked 20 %).\n"


def reported(folder: Path) -> str:
    """The scripts of a folder's steps.json, asked on this machine."""
    lines, logs, within = [], [], 0
    steps: list[dict[str, Any]] = json.loads((folder / "steps.json").read_text())  # Any: words and numbers
    for step in steps:
        with tempfile.TemporaryDirectory() as scratch:
            script = Path(scratch) / step["file"]
            script.write_text((folder / step["file"]).read_text())
            report = why(WhyRequest(str(script), gpus=(step["gpu"],), quiet=True))
        price = next(d.step_ms for d in report.devices if d.kind == "gpu" and d.step_ms is not None)
        ratio = price.mid / step["gpu_ms"]
        logs.append(abs(math.log(ratio)))
        within += 1 / step["tolerance_factor"] <= ratio <= step["tolerance_factor"]
        holds = "yes" if price.low <= step["gpu_ms"] <= price.high else "no"
        about = f"≈ {_ms(price.mid)} ({_ms(price.low)} to {_ms(price.high)})"
        lines.append(f"| {_plain(step['file'])} | {step['gpu']} | {_ms(step['gpu_ms'])} | {about} | {ratio:.2f}× | {holds} |")
    median = math.expm1(statistics.median(logs))
    passed = f"{within} of {len(steps)} within the factor that the report allows (asked 5)"
    return REPORTED + "\n".join(lines) + f"\n\nMedian error {median:.0%} (asked 30 %); {passed}.\n"


def _median(errors: list[float]) -> float:
    return statistics.median(map(abs, errors))


def _plain(name: str) -> str:
    return name.split(".")[0].replace("_", " ")


def _ms(value: float) -> str:
    return f"{value:.3g} ms"
