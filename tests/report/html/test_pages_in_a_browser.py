"""The pages of `sweep`, `fix`, `race` and `compare` in real Chromium: what moves moves, what is hostile stays text."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest

from breakeven.report.html.compare import compare_page
from breakeven.report.html.fix import fix_page
from breakeven.report.html.race import race_page
from breakeven.report.html.sweep import sweep_page
from breakeven.report.html.watch import watch_page
from tests.report.html import answers
from tests.report.html.opened import opened
from tests.report.html.walking import IDS, LOOKS, walk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGES = {
    "sweep": lambda change: sweep_page(change(answers.sweep_answer())),
    "fix": lambda change: fix_page(change(answers.fix_answer())),
    "fix by race": lambda change: fix_page(change(answers.fix_by_race())),
    "race": lambda change: race_page(change(answers.race_answer())),
    "compare": lambda change: compare_page(change(answers.compare_answer())),
    "watch": lambda change: watch_page(change(answers.watched()), answers.POINTS),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_used_in_a_browser(browser: Browser, tmp_path: pathlib.Path, kind: str) -> None:
    file = tmp_path / f"{kind}.html"
    file.write_bytes(PAGES[kind](lambda answer: answer))
    walk(browser, file, *LOOKS[0])


@pytest.mark.nightly
@pytest.mark.parametrize(("size", "scheme"), LOOKS[1:], ids=IDS[1:])
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_used_at_every_size_and_in_both_schemes(
    browser: Browser, tmp_path: pathlib.Path, kind: str, size: tuple[int, int], scheme: str
) -> None:
    file = tmp_path / f"{kind}.html"
    file.write_bytes(PAGES[kind](lambda answer: answer))
    walk(browser, file, size, scheme)


@pytest.mark.parametrize("kind", PAGES)
def test_hostile_names_run_nothing_on_any_page(browser: Browser, tmp_path: pathlib.Path, kind: str) -> None:
    """They are shown, even in the parts that the script draws, and no element comes of them."""
    file = tmp_path / "hostile.html"
    file.write_bytes(PAGES[kind](answers.hostile))
    with opened(browser, file) as found:
        page = found.page
        assert "</script>" in page.locator("body").inner_text()
        for slider in page.locator(".slide").all():
            slider.fill(slider.get_attribute("max") or "0")
        assert page.evaluate("window.pwned") is None
        assert page.locator("img, iframe, form, b-evil").count() == 0
        assert page.locator("script").count() == 2


def test_another_parameter_that_is_chosen_moves_the_break_even(browser: Browser, tmp_path: pathlib.Path) -> None:
    """At hidden 512 the GPU wins a batch at which the CPU wins at hidden 32; the slider stays where it was."""
    file = tmp_path / "sweep.html"
    file.write_bytes(sweep_page(answers.sweep_answer()))
    with opened(browser, file) as found:
        panel = found.page.locator("[data-panel]").first
        assert "At batch 64, hidden 128, as today: the CPU is the fastest" in panel.locator(".live").inner_text()
        panel.locator(".slide").fill(str(4 * 12))
        panel.locator("select").select_option("32")
        assert "At batch 256, hidden 32: the CPU is the fastest" in panel.locator(".live").inner_text()
        panel.locator("select").select_option("512")
        assert "At batch 256, hidden 512: the Tesla T4 is the fastest" in panel.locator(".live").inner_text()
        assert panel.locator(".slide").input_value() == str(4 * 12)
        panel.locator(".slide").fill(str(3 * 12))
        assert "too close to call between the Tesla T4 and the CPU" in panel.locator(".live").inner_text()


def test_the_race_tells_who_was_where_when(browser: Browser, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "race.html"
    file.write_bytes(race_page(answers.race_answer()))
    with opened(browser, file) as found:
        page = found.page
        assert page.locator(".live").inner_text() == "After 30.0 s of training: cuda at a loss of 1.130, cpu at a loss of 1.289."
        page.locator(".slide").fill("0")
        assert page.locator(".live").inner_text() == "After 0 ms of training: no loss was seen yet."
        assert page.locator(".chart .curve.measured").count() == 2
        assert page.locator(".chart .level").count() == 1
