"""Answers of `sweep`, `fix`, `race` and `compare` with all that their pages can show, made up but whole; and hostile ones."""

# ruff: noqa: E501  # an answer reads better whole

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from breakeven.results import Interval
from breakeven.results.compared import Change, CompareReport
from breakeven.results.proof import Difference, Equality, FixReport, Proof, Race, Tried
from breakeven.results.race import Racer, RaceReport
from breakeven.results.records import Finding, Share, Site
from breakeven.results.swept import Cell, CellDevice, Cost, Crossing, LawCheck, Payback, SweepReport, SweptParameter
from breakeven.results.watching import Watched
from tests.report.html.pages import EVIL

BATCHES, HIDDEN = (16, 32, 64, 128, 256, 512, 1024), (32, 128, 512)
_T = TypeVar("_T")


def sweep_answer() -> SweepReport:
    """Two parameters, one GPU: the CPU wins small cells and the GPU large ones."""
    cells = tuple(_cell(batch, hidden) for batch in BATCHES for hidden in HIDDEN)
    return SweepReport(
        script="examples/char_rnn.py",
        parameters=(
            SweptParameter("batch", BATCHES, 64, "constant", "BATCH in line 12 of char_rnn.py"),
            SweptParameter("hidden", HIDDEN, 128, "constant", "HIDDEN in line 13 of char_rnn.py"),
        ),
        cells=cells, crossings=tuple(_crossing(hidden) for hidden in HIDDEN), contours=(),
        paybacks=(Payback("Tesla T4", "setup", {"batch": 1024, "hidden": 512}, Interval(900, 1000, 1100), Interval(8, 10, 12), Interval(80, 100, 120), Interval(0.1, 0.2, 0.3), "The Tesla T4's set-up is paid back after ≈ 100 steps."),),
        costs=(
            Cost("cpu", {"batch": 1024, "hidden": 32}, 0.19, "Cloud A, on demand", "2026-05", Interval(0.1, 0.12, 0.14), None, 0.3),
            Cost("Tesla T4", {"batch": 1024, "hidden": 32}, 0.35, "Cloud A, on demand", "2026-05", Interval(0.05, 0.07, 0.1), None, 0.2),
        ),
        checks=(LawCheck("cpu", "sizes", 3, 0.06, True, "The CPU's law of sizes was 6 % off at 3 cells that it had not seen."),),
        runs={"cells": len(cells), "timed": 4, "recorded": 2, "failed": 0}, warnings=("Other processes were at work.",),
        machine={}, versions={"breakeven": "0.1", "torch": "2.13.0"},
    )  # fmt: skip


def _cell(batch: int, hidden: int) -> Cell:
    cpu, gpu = 0.2 + batch * hidden / 20_000, 2.4 + batch * hidden / 400_000
    source = "measured" if (batch, hidden) in ((16, 32), (1024, 32), (16, 512), (64, 128)) else "interpolated"
    devices = (
        CellDevice(
            "cpu", source, None if source == "measured" else "interpolated", Interval(0.97 * cpu, cpu, 1.03 * cpu), batch / cpu
        ),
        CellDevice("Tesla T4", "predicted", "scaled", Interval(0.7 * gpu, gpu, 1.4 * gpu), batch / gpu),
    )
    wins = 1 / (1 + math.exp(-4 * math.log(cpu / gpu)))
    return Cell({"batch": batch, "hidden": hidden}, batch, devices, "cpu" if wins < 0.5 else "Tesla T4", max(wins, 1 - wins))


def _crossing(hidden: int) -> Crossing:
    value = 44_000 / hidden
    return Crossing(
        "batch", {"hidden": hidden}, "Tesla T4", 64, "from", value, 0.7 * value, 1.4 * value, None, 0.99,
        f"From a batch of about {value:.0f} on, the Tesla T4 wins at hidden {hidden}; today it is 64.",
    )  # fmt: skip


EQUAL = Equality(
    "tolerance", 1e-5, 6, (Difference("losses", False, 2e-7, 3, 4e-6), Difference("gradients", False, 3e-7, 2, 6e-6), Difference("parameters", True, 0.0)),
    True, True, "Losses, gradients and parameters differ by rounding alone (at most 3e-07 of each).",
)  # fmt: skip
PROOF = Proof(
    "cpu", Interval(1.35, 1.42, 1.5), Interval(13.1, 13.5, 13.9), Interval(9.3, 9.5, 9.8), 24, 8, EQUAL, None, True,
    "it is faster and computes the same", Interval(1.38, 1.44, 1.49),
)  # fmt: skip
DIFF = """--- a/examples/char_rnn.py
+++ b/examples/char_rnn.py
@@ -28,7 +28,7 @@
     for batch in batches:
-        optimizer.zero_grad(set_to_none=False)
+        optimizer.zero_grad(set_to_none=True)
         loss = step(batch)
"""


def fix_answer() -> FixReport:
    """Two remedies, one kept; the whole is proven."""
    kept = Tried(
        "set_to_none",
        "Let gradients be None between steps",
        "bitwise",
        Interval(2.0, 3.5, 5.0),
        (28, 31),
        "Code that reads .grad must expect None.",
        PROOF,
        True,
        "it is faster and computes the same",
    )
    slow = replace(PROOF, kept=False, speedup=Interval(0.97, 1.0, 1.03), reason="it is not faster")
    dropped = Tried("threads", "Use the cores that are free", "tolerance", None, (3,), "", slow, False, "it is not faster")
    advice = Tried(
        "larger_batch",
        "Give each step more samples",
        None,
        None,
        (),
        "",
        None,
        False,
        "it is advice: no edit of the source carries it out",
    )
    return FixReport(
        "examples/char_rnn.py", "cpu", Interval(13.0, 13.4, 13.8), (kept, dropped, advice), DIFF, Interval(1.2, 1.35, 1.6), PROOF, -0.12,
        False, None, ("The machine was busy while it was proven.",), {"cpu": {"model": "Some CPU"}}, {"breakeven": "0.1", "torch": "2.13.0"},
    )  # fmt: skip


def fix_by_race() -> FixReport:
    """A remedy that changes the mathematics: its proof is a race."""
    race = Race(8.0, Interval(1.5, 1.6, 1.7), Interval(1.2, 1.3, 1.4), (800, 1200), True)
    proof = replace(PROOF, equality=None, race=race)
    return replace(
        fix_answer(), proof=proof, remedies=(replace(fix_answer().remedies[0], proof=proof, promise="changes_mathematics"),)
    )


def race_answer() -> RaceReport:
    """The GPU makes more steps and gets lower."""
    return RaceReport(
        "examples/char_rnn.py", 30.0, (_racer("cpu", 2200, 0.09), _racer("cuda", 4100, 0.17), Racer("mps", 0, 0.0, error="the device went away")),
        1.42, "cuda reached a loss of 1.42 first, after 11.2 s of training; cpu took 24.3 s.", ("The machine was busy.",), {"breakeven": "0.1"},
    )  # fmt: skip


def _racer(device: str, iterations: int, speed: float) -> Racer:
    at = tuple(0.5 * n for n in range(1, 61))
    loss = tuple(1.1 + 2.6 * math.exp(-speed * s) + 0.03 * math.sin(7 * s) for s in at)
    end = sum(loss[-15:]) / 15
    return Racer(
        device,
        iterations,
        30.0,
        at,
        loss,
        Interval(end - 0.02, end, end + 0.02),
        next((a for a, v in zip(at, loss, strict=True) if v <= 1.42), None),
    )


#: Seconds and loss of a watched loop.
POINTS = tuple((float(at), 1.1 + 2.6 * math.exp(-0.1 * at)) for at in range(1, 60))


def watched() -> Watched:
    """A loop on a GPU with one finding."""
    site = Site("train.py", 31, "took = time.perf_counter() - began")
    finding = Finding("timing_bug", "cuda:0", "launch", None, "The clock is read before the device is done.", (site,))
    parts = (Share("forward", 2.0, 0.4), Share("backward", 3.0, 0.6))
    return Watched("cuda:0", 12_000, Interval(4.9, 5.0, 5.1), 900.0, parts, 60, 60.0, POINTS[-1][1], (finding,))


def compare_answer() -> CompareReport:
    """More workers: the wait for input is gone, what else changed is noise."""
    changes = (
        Change("input_bound", "input", -47.1, True, 48.0, 0.9),
        Change("launch_bound", "launch", 1.2, False, 9.0, 10.2),
        Change(None, "compute", 0.0, False, 12.0, 12.0),
    )
    return CompareReport(
        "traces/workers0.json.gz", "traces/workers4.json.gz", (Interval(66, 69, 72), Interval(22, 23.1, 24)), changes,
        ("NVIDIA A100", "NVIDIA A100"), ("torch is 2.12.0 in the first and 2.13.0 in the second",),
    )  # fmt: skip


def hostile(answer: _T) -> _T:
    """The same answer with `EVIL` wherever text can stand, names of devices and causes among it."""
    spoiled: _T = _spoiled(answer)
    return spoiled


def _spoiled(value: Any, name: str = "") -> Any:  # Any: it walks through records of every kind
    if isinstance(value, str):
        return value if name in ("schema", "source", "sources", "outcome", "diff") else EVIL
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _spoiled(getattr(value, f.name), f.name) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_spoiled(item, name) for item in value)
    if isinstance(value, Mapping):
        return {_spoiled(key, name): _spoiled(item, name) for key, item in value.items()}
    return value
