"""Prices, pay-back and pictures of a sweep, from a report made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.errors import InputError, MissingExtra
from breakeven.machine.gpus import find_gpu
from breakeven.machine.prices import cheapest, cheapest_cpu, offers
from breakeven.report import picture
from breakeven.report.html.sweep import sweep_page
from breakeven.report.screen import as_text
from breakeven.report.sweep import render_sweep
from breakeven.results import Interval
from breakeven.results.swept import Cell, CellDevice, Crossing, SweepReport, SweptParameter
from breakeven.sweep.worth import costs, paybacks


def device(name: str, mid: float, batch: int) -> CellDevice:
    source = "measured" if name == "cpu" else "predicted"
    return CellDevice(name, source, None, Interval(mid * 0.9, mid, mid * 1.2), 1000 * batch / mid)


def cell(batch: int, width: int) -> Cell:
    cpu, gpu = 0.2 + batch * width / 4000, 2.0 + batch * width / 100_000
    best = "cpu" if cpu < gpu else "Tesla T4"
    both = (device("cpu", cpu, batch), device("Tesla T4", gpu, batch))
    return Cell({"batch": batch, "<b>width": width}, batch, both, best, 0.97)


CELLS = tuple(cell(b, w) for b in (16, 64, 256) for w in (8, 32, 128))
REPORT = SweepReport(
    script="train.py",
    parameters=(
        SweptParameter("batch", (16, 64, 256), 32, "constant", "BATCH (a constant, line 3) of train.py"),
        SweptParameter("<b>width", (8, 32, 128), None, "option", "--width"),
    ),
    cells=CELLS,
    crossings=(
        Crossing("batch", {"<b>width": 32}, "Tesla T4", 32, "from", 230.0, 180.0, None, None, 0.99, "From a batch of 230 on."),
    ),
    contours=(), paybacks=paybacks(CELLS, 20), costs=costs(CELLS, (find_gpu("t4"),), offers(), 2, 60_000), checks=(),
    runs={"cells": 9, "timed": 5, "recorded": 6, "failed": 0},
)  # fmt: skip


def test_set_up_is_paid_back_where_the_gpu_wins_by_most() -> None:
    (payback,) = REPORT.paybacks
    assert payback.at == {"batch": 256, "<b>width": 128}
    assert payback.steps is not None
    assert payback.steps.mid == pytest.approx(payback.setup_ms.mid / payback.saved_ms.mid)
    assert payback.steps.low < payback.steps.mid < payback.steps.high


def test_set_up_is_never_paid_back_where_the_gpu_wins_nowhere() -> None:
    (payback,) = paybacks((cell(16, 8),), 20)
    assert payback.steps is None
    assert "never pays back" in payback.sentence


def test_a_million_samples_cost_the_hours_that_they_take() -> None:
    cpu, gpu = REPORT.costs
    assert gpu.usd_per_hour is not None
    assert gpu.usd_per_million is not None
    best = max(d.per_s or 0 for c in CELLS for d in c.devices if d.name == "Tesla T4")
    assert gpu.usd_per_million.mid == pytest.approx(1e6 / best / 3600 * gpu.usd_per_hour)
    assert gpu.usd_per_epoch is not None
    assert gpu.usd_per_epoch.mid == pytest.approx(gpu.usd_per_million.mid * 0.06)
    assert gpu.kwh_per_million == pytest.approx(1e6 / best / 3600 * 70 / 1000)  # a T4's limit is 70 W
    assert gpu.kwh_per_epoch == pytest.approx((gpu.kwh_per_million or 0.0) * 0.06)
    assert (cpu.kwh_per_million, cpu.kwh_per_epoch) == (None, None)
    assert gpu.dated


def test_the_price_is_the_cheapest_of_a_whole_machine() -> None:
    listed = offers()
    t4 = [o.usd_per_hour for o in listed if o.gpu == "Tesla T4" and o.instance]
    found = cheapest(listed, "Tesla T4")
    assert found is not None
    assert found.usd_per_hour == min(t4)
    assert cheapest(listed, "GTX 680") is None
    cpu = cheapest_cpu(listed, 8)
    assert cpu is not None
    assert (cpu.vcpus or 0) >= 8


def test_a_price_list_of_ones_own_is_read_and_a_bad_one_refused(tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    own.write_text("provider,instance,gpu,vcpus,usd_per_gpu_hour,source\nus,box,Tesla T4,4,0.1,2026-01-02\n")
    (offer,) = offers(own)
    assert (offer.usd_per_hour, offer.dated, offer.words) == (0.1, "2026-01-02", "us box")
    own.write_text("provider,instance,gpu,vcpus,usd_per_gpu_hour,source\nus,box,Tesla T4,4,cheap,2026\n")
    with pytest.raises(InputError, match="no price"):
        offers(own)
    own.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column"):
        offers(own)


@pytest.mark.parametrize(("suffix", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG")])
def test_a_picture_is_drawn(suffix: str, begins: bytes) -> None:
    drawn = picture.picture_of(REPORT, suffix)
    assert drawn.startswith(begins)
    assert len(drawn) > 5000


def test_the_page_holds_the_map_and_no_markup_of_a_name() -> None:
    page = sweep_page(REPORT)
    assert b"<b>width" not in page
    assert b"&lt;b&gt;width" in page
    assert page.count(b"<script") == 2, "the data and the script that the policy names"


def test_without_what_draws_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"breakeven\[html\]"):
        picture.check_picture("map.svg")


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_terminal_page_fits_and_says_who_wins(width: int, ascii_only: bool) -> None:
    page = as_text(lambda w, a: render_sweep(REPORT, w, a), width, ascii_only)
    assert "From a batch of 230 on." in page
    assert "C cpu" in page
    assert not ascii_only or page.isascii()
    assert max(len(line) for line in page.splitlines()) <= max(width, 40)
