"""The catalog's table: every GPU by its whole name, at any width, and a dash where a data sheet says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from breakeven.machine.gpus import find_gpu, gpus
from breakeven.report.catalog import render_catalog
from breakeven.report.screen import as_text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits(width: int) -> None:
    shown = as_text(lambda columns, plain: render_catalog(gpus(), columns, plain), width)
    assert max(cell_len(line) for line in shown.splitlines()) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_every_name_can_be_copied_from_it(width: int) -> None:
    shown = as_text(lambda columns, plain: render_catalog(gpus(), columns, plain), width)
    assert [g.name for g in gpus() if g.name not in shown] == []


def test_what_a_data_sheet_does_not_say_is_a_dash_and_not_a_zero() -> None:
    bare = replace(find_gpu("t4"), tensor_fp16_tflops=None)
    row = next(line for line in as_text(lambda w, a: render_catalog((bare,), w, a)).splitlines() if "Tesla T4" in line)
    assert row.split()[-2] == "–"
