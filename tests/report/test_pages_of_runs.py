"""The pages of `runs`, `gate` and `settle` say what their reports hold, at any width; no name in them steers the terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from breakeven.report.runs import render_gate, render_runs
from breakeven.report.screen import as_text
from breakeven.report.settle import render_settle
from breakeven.results import Interval
from breakeven.results.compared import Change
from breakeven.results.runs import DeviceGate, GateReport, RunRow, RunsReport
from breakeven.results.settled import CardState, Score, SettleReport, Unsettled

HOSTILE = "run\x1b[31m\u202e" + "x" * 90
RUNS = RunsReport(
    "runs",
    (
        RunRow(HOSTILE, "why", "a1", "2026-11-30T23:09:30Z", "train.py", True, 1, ("cpu",), "Stay on the CPU."),
        RunRow("b", "sweep", "b2", "2026-11-29T23:09:30Z", "sweep.py", False, 17),
    ),
    ("c: its run.json is damaged",),
)
STEPS = (Interval(1.0, 1.1, 1.2), Interval(2.0, 2.1, 2.2))
GREW = Change("sync_bound", "sync", 1.0, True, 0.1, 1.1)
GATE = GateReport(
    HOSTILE, "b", True, 0.05,
    (DeviceGate("Tesla T4", "predicted", STEPS, (GREW,), True, True), DeviceGate("cpu", "measured", STEPS, (), True, True)),
    ("torch is 2.9.0 in the first and 2.13.0 in the second",),
)  # fmt: skip
SETTLED = SettleReport(
    HOSTILE,
    (
        Score("Tesla T4", "f1", Interval(1.9, 2.6, 3.5), Interval(3.0, 3.1, 3.2), 2.6 / 3.1 - 1, True, HOSTILE, True),
        Score("Tesla P4", "f1", Interval(1.0, 2.0, 3.0), Interval(0.9, 0.95, 1.0), 1.1, False, "b", False, "settled before"),
    ),
    (Unsettled("A100 SXM4 80GB", "f1", "nothing was measured there"),),
    (CardState("Tesla T4", 2, Interval(0.9, 1.1, 1.3), "colab", Interval(1.0, 1.2, 1.4)),),
)  # fmt: skip


def shown(page: str, width: int = 80, ascii_only: bool = False) -> str:
    pages = {"runs": (render_runs, RUNS), "gate": (render_gate, GATE), "settle": (render_settle, SETTLED)}
    render, report = pages[page]

    def body(columns: int, plain: bool) -> RenderableType:
        return render(report, columns, plain)  # type: ignore[operator]  # each with its own report

    return as_text(body, width, ascii_only)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("runs", ("2 runs", "Stay on the CPU.", "17 parts", "not finished: --resume goes on with it", "is damaged")),
        ("gate", ("Worse:", "a step took 1.10 ms and takes 2.10 ms", "+1.00 ms", "no single cause grew by that much", "5 %")),
        ("settle", ("1 of 2 measured steps", "16 % too short, inside", "110 % too long, outside", "settled before",
                    "× 1.10 (0.90–1.30)", "nothing was measured there", "--undo")),
    ],
)  # fmt: skip
def test_a_page_says_what_its_report_holds(page: str, said: tuple[str, ...]) -> None:
    text = " ".join(shown(page, 120).split())
    assert [words for words in said if words not in text] == []


@pytest.mark.parametrize("page", ["runs", "gate", "settle"])
@pytest.mark.parametrize(("width", "ascii_only"), [(40, False), (80, True), (200, False)])
def test_a_page_keeps_to_its_width_and_its_signs(page: str, width: int, ascii_only: bool) -> None:
    text = shown(page, width, ascii_only)
    assert max(cell_len(line) for line in text.splitlines()) <= min(width, 120)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not ascii_only or text.isascii()


def test_what_was_taken_back_is_counted() -> None:
    text = as_text(lambda width, plain: render_settle(SettleReport(None, undone=2), width, plain))
    assert text == "2 lessons were taken back.\n"
