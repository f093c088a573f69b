"""The page of `breakeven why`, on literal answers; the pages themselves lie in pages/ (BREAKEVEN_PAGES=write renews them)."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from breakeven.report.screen import as_text
from breakeven.report.terminal import render
from breakeven.results import Finding, Interval, WhyReport
from tests.report.why_samples import CPU, CPU_WINS, GPU_WINS_BY_FAR, HOSTILE, SAMPLES, SEVERAL_GPUS, T4, TIE

PAGES = Path(__file__).parent / "pages"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def page(report: WhyReport, width: int = 80, ascii_only: bool = False) -> str:
    return as_text(lambda columns, plain: render(report, columns, plain), width, ascii_only)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(("width", "ascii_only"), [(80, False), (120, False), (80, True)])
def test_each_kind_of_answer_has_its_page(name: str, width: int, ascii_only: bool) -> None:
    shown = page(SAMPLES[name], width, ascii_only)
    kept = PAGES / f"{name}-{width}{'-ascii' if ascii_only else ''}.txt"
    if os.environ.get("BREAKEVEN_PAGES") == "write":
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [40, 57, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(cell_len(line) for line in page(SAMPLES[name], width).splitlines()) <= width


@pytest.mark.parametrize("name", SAMPLES)
def test_the_ascii_page_holds_nothing_else(name: str) -> None:
    assert page(SAMPLES[name], ascii_only=True).isascii()


@pytest.mark.parametrize("ascii_only", [False, True])
def test_nothing_of_a_users_file_steers_the_terminal(ascii_only: bool) -> None:
    shown = page(HOSTILE, ascii_only=ascii_only)
    assert not CONTROL.search(shown)
    assert "[bold red]name[/]" in shown, "markup is shown as it is, not obeyed"


def test_a_prediction_never_looks_like_a_measurement() -> None:
    lines = page(CPU_WINS).splitlines()
    measured = next(line for line in lines if line.startswith("  cpu ") and "measured" in line)
    predicted = next(line for line in lines if line.startswith("  Tesla T4 ") and "predicted" in line)
    assert "1.34 ms  measured ±2 %" in measured
    assert "≈" not in measured
    assert "≈ 2.6 ms  predicted (1.9–3.5)" in predicted
    assert "±" not in predicted


def test_what_was_measured_once_has_no_spread() -> None:
    shown = page(replace(CPU_WINS, unit="run", steps={"warmup": 0, "measured": 1, "recorded": 1}))
    assert "1.34 ms  measured once" in shown


def test_a_measured_gpu_looks_measured() -> None:
    shown = page(replace(CPU_WINS, devices=(CPU, replace(T4, source="measured"))))
    assert "predicted (" not in shown
    assert "2.60 ms  noisy: measured ±35 %" in shown


def test_a_verdict_per_gpu_is_shown() -> None:
    shown = page(SEVERAL_GPUS, 120)
    assert all(verdict.sentence in shown.replace("\n", " ") for verdict in SEVERAL_GPUS.verdicts)


def test_a_tie_says_that_either_may_win() -> None:
    shown = page(TIE, 120)
    assert "either may win" in shown
    assert "too close to call" in shown


def test_at_most_three_findings_are_shown_for_a_device() -> None:
    many = tuple(Finding(f"kind_{n}", "Tesla T4", "launch", None, f"Sentence {n}.") for n in range(6))
    shown = page(replace(CPU_WINS, findings=many))
    assert [n for n in range(6) if f"Sentence {n}." in shown] == [0, 1, 2]


def test_silence_when_all_is_well() -> None:
    assert "Nothing stands out" in page(replace(CPU_WINS, findings=(), remedies=()))


def test_remedies_without_prices_come_from_the_findings() -> None:
    shown = page(replace(CPU_WINS, remedies=()), 120)
    assert "What to do next" in shown
    assert "CUDA graph" in shown
    assert "gain on the Tesla T4 not computed" in shown


def test_bars_that_differ_too_much_get_scales_of_their_own() -> None:
    assert "not drawn to one" in page(GPU_WINS_BY_FAR)
    assert "not drawn to one" not in page(CPU_WINS)


def test_a_bar_is_as_long_as_its_step() -> None:
    bars = [re.search(r" ([A-Z][^ ]*░[^ ]*) ", line) for line in page(CPU_WINS).splitlines()]
    lengths = [len(bar[1]) for bar in bars if bar]
    assert len(lengths) == 2
    assert lengths[0] / lengths[1] == pytest.approx(1.34 / 2.6, abs=0.02)


def test_a_device_without_a_time_is_a_dash_and_not_a_zero() -> None:
    shown = page(replace(CPU_WINS, devices=(CPU, replace(T4, step_ms=None, account=()))))
    assert re.search(r"Tesla T4 +– +not predicted", shown)


def test_what_saves_nothing_is_said_to_save_nothing() -> None:
    nothing = Interval(-0.2, 0.0, 0.1)
    finding = replace(CPU_WINS.findings[0], price_ms=nothing)
    shown = page(replace(CPU_WINS, findings=(finding,), remedies=(replace(CPU_WINS.remedies[1], gain_ms=nothing),)), 120)
    assert "without it a step would be no shorter" in shown
    assert "saves nothing of a step on the Tesla T4, predicted" in shown


def test_a_finding_without_a_price_claims_none() -> None:
    shown = page(GPU_WINS_BY_FAR)
    assert "     [timing_bug]\n" in shown
