"""The planted faults are there, the scripts without them are healthy, and reading finds what reading can show."""

from __future__ import annotations

import pytest

from breakeven.report.screen import as_text
from breakeven.report.selftest import render_selftest, selftest_json
from breakeven.workflows.planting import FAULTS, healthy, planted
from breakeven.workflows.selftest import selftest


def test_every_fault_fits_into_a_script_and_changes_it() -> None:
    everywhere = list(planted())
    assert {p.fault for p in everywhere} == set(FAULTS)
    for one in everywhere:
        compile(one.text, one.script, "exec")
        assert one.text != healthy()[one.script]
        assert one.lines


def test_reading_finds_all_that_reading_can_show() -> None:
    report = selftest(run=False)
    assert report.found == report.planted == sum(p.fault.lint for p in planted())
    assert {r.recall for r in report.rules if r.planted} == {1.0}
    assert report.false_alarms == 0, [r for r in report.rules if r.false_alarms]
    page = as_text(lambda width, ascii_only: render_selftest(report, width, ascii_only))
    assert "metrics_on_device" in page
    assert selftest_json(report).startswith(b'{\n  "schema": "breakeven/selftest/1"')


@pytest.mark.nightly
def test_running_finds_the_rest() -> None:
    report = selftest(run=True)
    assert report.found / report.planted >= 0.9
