"""The page of `why` in real Chromium: it opens from disk, moves, is reached by keyboard, and asks for nothing."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from breakeven.report.html.why import why_page
from tests.report.html.opened import DESKTOP, PHONE, opened
from tests.report.html.pages import PICTURED, hostile, step
from tests.report.why_samples import CPU_WINS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOOKS = [(size, scheme) for size in (DESKTOP, PHONE) for scheme in ("light", "dark")]
IDS = ["desktop-light", "desktop-dark", "phone-light", "phone-dark"]
LEAST_FRAMES = 30
INTERACTIVE_MS = 1000
EVENTS = 20_000


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    file = tmp_path_factory.mktemp("page") / "why report.html"
    file.write_bytes(why_page(CPU_WINS, PICTURED))
    return file


def said(page: Page, selector: str) -> str:
    return page.locator(selector).inner_text()


def set_slider(page: Page, place: int) -> None:
    page.locator("#place-0").fill(str(place))


def view(page: Page) -> dict[str, float]:
    found: dict[str, float] = page.evaluate("document.querySelector('.timeline').view.view")
    return found


@pytest.mark.parametrize(("size", "scheme"), LOOKS, ids=IDS)
def test_it_opens_from_disk_and_fits_its_window(
    browser: Browser, report: pathlib.Path, size: tuple[int, int], scheme: str
) -> None:
    """No message on the console, no request, no sideways scrolling, and the colours of the reader's choice."""
    with opened(browser, report, size, scheme) as found:
        page = found.page
        assert "Stay on the CPU" in said(page, "h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        red = int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
        assert (red < 64) == (scheme == "dark")
        heights = page.evaluate("[...document.querySelectorAll('canvas, .chart')].map((e) => e.getBoundingClientRect().height)")
        assert min(heights) > 50


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_slider_moves_verdict_bars_and_curve(browser: Browser, report: pathlib.Path, size: tuple[int, int]) -> None:
    with opened(browser, report, size) as found:
        page = found.page
        today = said(page, ".live")
        assert "At a batch of 100, as today: the CPU is ≈ 1.9 times as fast as the Tesla T4" in today
        assert page.locator(".live-bars .measured").count() == 1
        mark = page.locator(".chart .now").get_attribute("x1")
        bar = page.locator(".live-bars .bar").nth(1).locator("rect").first.get_attribute("width")
        set_slider(page, int(page.locator("#place-0").get_attribute("max") or 0))
        assert "At a batch of 3,200: the Tesla T4 is ≈ " in said(page, ".live")
        assert page.locator(".chart .now").get_attribute("x1") != mark
        assert page.locator(".live-bars .bar").nth(1).locator("rect").first.get_attribute("width") != bar
        assert page.locator(".live-bars .measured").count() == 0
        assert page.locator("#place-0").get_attribute("aria-valuetext") == "batch 3,200"
        page.locator(".to-today").click()
        assert said(page, ".live") == today


def test_between_two_sizes_times_are_interpolated_on_logarithms(browser: Browser, report: pathlib.Path) -> None:
    """Half-way between 100 and 200 (12 stops) lies the geometric mean of both steps."""
    with opened(browser, report) as found:
        set_slider(found.page, 2 * 12 + 6)
        assert said(found.page, ".at") == "141"
        expected = ((0.3 + 1.04) * (0.3 + 2.08)) ** 0.5
        assert said(found.page, ".live-bars .bar:first-child .total") == f"≈ {expected:.1f} ms"


def test_the_timeline_zooms_moves_and_reads_its_bars(browser: Browser, report: pathlib.Path) -> None:
    with opened(browser, report) as found:
        page = found.page
        whole = view(page)
        page.get_by_role("button", name="Zoom in").click()
        near = view(page)
        assert near["to"] - near["from"] == pytest.approx((whole["to"] - whole["from"]) / 2)
        page.get_by_role("button", name="Later").click()
        assert view(page)["from"] > near["from"]
        page.get_by_role("button", name="Whole step").click()
        assert view(page) == whole
        canvas = page.locator("canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 8 + (box["width"] - 18) * 9_000 / 1_200_000, box["y"] + 52)
        assert "aten::addmm: ≈ 18 µs, predicted · char_rnn.py:58 · launch" in said(page, ".told")
        page.keyboard.down("Control")
        page.mouse.wheel(0, -300)
        page.keyboard.up("Control")
        page.wait_for_function(
            "(span) => { const v = document.querySelector('.timeline').view.view; return v.to - v.from < span; }",
            arg=whole["to"] - whole["from"],
        )


def test_everything_is_reached_and_worked_by_keyboard(browser: Browser, report: pathlib.Path) -> None:
    with opened(browser, report) as found:
        page = found.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
        reached = set()
        for _ in range(80):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(NAMED))
        assert {"place-0", "to-today", "in", "out", "whole", "back", "on", "CANVAS", "SUMMARY", "A"} <= reached
        page.locator("#place-0").focus()
        before = said(page, ".live")
        page.keyboard.press("ArrowRight")
        assert said(page, ".live") != before
        page.locator("canvas").focus()
        page.keyboard.press("ArrowRight")
        first = said(page, ".told")
        assert first.startswith("aten::addmm")
        page.keyboard.press("ArrowRight")
        assert said(page, ".told").startswith("aten::mul")
        page.keyboard.press("ArrowDown")
        assert "GPU stream 0" in said(page, ".told")
        whole = view(page)
        page.keyboard.press("+")
        assert view(page)["to"] - view(page)["from"] < whole["to"] - whole["from"]
        page.keyboard.press("0")
        assert view(page) == whole


@pytest.mark.parametrize(("size", "scheme"), [LOOKS[0], LOOKS[3]], ids=[IDS[0], IDS[3]])
def test_axe_finds_nothing_serious(browser: Browser, report: pathlib.Path, size: tuple[int, int], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with opened(browser, report, size, scheme, watched=False) as found:
        for summary in found.page.locator("summary").all():
            summary.click()
        violations: list[dict[str, Any]] = axe.Axe().run(found.page).response["violations"]
        told = [(v["id"], v["impact"], [n["html"][:120] for n in v["nodes"]][:3]) for v in violations]
        assert [t for t in told if t[1] in ("serious", "critical")] == []


def test_hostile_names_run_nothing(browser: Browser, tmp_path: pathlib.Path) -> None:
    """They are shown, even in the parts that the script draws, and the page stays what it was."""
    file = tmp_path / "hostile.html"
    file.write_bytes(why_page(*hostile()))
    with opened(browser, file) as found:
        page = found.page
        page.locator("canvas").focus()
        page.keyboard.press("ArrowRight")
        assert "</script>" in said(page, ".told")
        assert page.evaluate("window.pwned") is None
        assert page.locator("img, iframe, form").count() == 0
        assert page.locator("script").count() == 2


def test_it_prints_with_everything_on_paper(browser: Browser, report: pathlib.Path) -> None:
    with opened(browser, report) as found:
        found.page.emulate_media(media="print")
        assert not found.page.locator("nav").is_visible()
        assert found.page.locator("h1").is_visible()
        assert len(found.page.pdf()) > 10_000


@pytest.mark.nightly
def test_twenty_thousand_events_are_smooth(browser: Browser, tmp_path: pathlib.Path) -> None:
    """Interactive a second after loading, thirty frames a second while it zooms; the best of three, since machines are shared."""
    file = tmp_path / "large.html"
    file.write_bytes(why_page(CPU_WINS, replace(PICTURED, steps=(step(EVENTS),))))
    rates, waits = [], []
    for _ in range(3):
        with opened(browser, file) as found:
            waits.append(found.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
            rates.append(found.page.evaluate(ZOOM))
    assert min(waits) <= INTERACTIVE_MS
    assert max(rates) >= LEAST_FRAMES


#: What has the focus, by the first of its names.
NAMED = "(({ id, dataset, className, tagName }) => id || dataset.do || className || tagName)(document.activeElement)"

#: Zooms in and out for 60 frames, painting on each; the frames a second.
ZOOM = """() => new Promise((done) => {
  const timeline = document.querySelector(".timeline").view;
  const begun = performance.now();
  let frames = 0;
  const next = () => {
    if (frames === 60) { done(60000 / (performance.now() - begun)); return; }
    timeline.zoom(frames % 20 < 10 ? 0.8 : 1.25);
    frames += 1;
    requestAnimationFrame(next);
  };
  next();
})"""
