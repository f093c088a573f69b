"""What every page must bear in a real browser: its sliders moved, its timeline zoomed, its keys, its colours, axe's rules."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.report.html.opened import DESKTOP, PHONE, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

LOOKS = [(size, scheme) for size in (DESKTOP, PHONE) for scheme in ("light", "dark")]
IDS = ["desktop-light", "desktop-dark", "phone-light", "phone-dark"]
SHOTS = pathlib.Path(__file__).resolve().parents[3] / "build" / "screenshots"

#: All that can have the focus and is in sight, in the order of the page.
_REACHABLE = """() => [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter((e) => !e.disabled && e.checkVisibility({ visibilityProperty: true }))"""


def walk(browser: Browser, file: pathlib.Path, size: tuple[int, int], scheme: str) -> None:
    """Opens a page as a reader with this window and these colours would, and uses everything on it."""
    with opened(browser, file, size, scheme) as found:
        page = found.page
        check_look(page, size, scheme)
        SHOTS.mkdir(parents=True, exist_ok=True)
        width = "phone" if size == PHONE else "desktop"
        page.screenshot(path=SHOTS / f"{file.stem}-{width}-{scheme}.png", full_page=True)
        for panel in page.locator("[data-panel]").all():
            check_slider(panel)
        if page.locator("[data-race]").count():
            check_slider(page.locator("[data-race]"))
        for timeline in page.locator(".timeline").all():
            check_timeline(timeline)
        check_keyboard(page)
    check_axe(browser, file, size, scheme)


def check_look(page: Page, size: tuple[int, int], scheme: str) -> None:
    """It fits its window, without sideways scrolling, and has the colours of the reader's choice."""
    assert page.locator("h1").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    red = int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red < 64) == (scheme == "dark")


def check_slider(panel: Locator) -> None:
    """Moved to its other end, the sentence and the mark on the curves are others; moved back, they are as before."""
    slider, mark = panel.locator(".slide"), panel.locator(".chart .now")
    before = (slider.input_value(), panel.locator(".live").inner_text(), mark.get_attribute("x1"), _bars(panel))
    assert before[1]
    least, most = slider.get_attribute("min") or "0", slider.get_attribute("max") or "0"
    slider.fill(least if before[0] != least else most)
    after = (slider.input_value(), panel.locator(".live").inner_text(), mark.get_attribute("x1"), _bars(panel))
    assert all(one != other for one, other in zip(before[:3], after[:3], strict=True)), (before, after)
    assert before[3] == [] or before[3] != after[3]
    slider.fill(before[0])
    assert panel.locator(".live").inner_text() == before[1]


def _bars(panel: Locator) -> list[str]:
    return panel.locator(".live-bars .total").all_inner_texts()


def check_timeline(timeline: Locator) -> None:
    """It zooms in and out again, and an arrow key reads a bar."""
    span = "(t) => t.view.view.to - t.view.view.from"
    whole = timeline.evaluate(span)
    timeline.get_by_role("button", name="Zoom in").click()
    assert timeline.evaluate(span) == pytest.approx(whole / 2, rel=1e-3)
    timeline.locator("[data-do=whole]").click()
    assert timeline.evaluate(span) == whole
    timeline.locator("canvas").press("ArrowRight")
    assert " ms" in timeline.locator(".told").inner_text() or "µs" in timeline.locator(".told").inner_text()


def check_keyboard(page: Page) -> None:
    """Tab reaches everything that can be used, in the order of the page, and shows where it is."""
    wanted = page.evaluate(f"window.reachable = ({_REACHABLE})(); window.reachable.length")
    page.locator(".skip").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")  # by the keyboard, so that the focus is shown
    reached = []
    for _ in range(wanted):
        reached.append(page.evaluate("window.reachable.indexOf(document.activeElement)"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        page.keyboard.press("Tab")
    assert sorted(reached) == list(range(wanted)), reached


def check_axe(browser: Browser, file: pathlib.Path, size: tuple[int, int], scheme: str) -> None:
    """Nothing serious or critical, with every table unfolded."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with opened(browser, file, size, scheme, watched=False) as found:
        found.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        violations: list[dict[str, Any]] = axe.Axe().run(found.page).response["violations"]
        told = [(v["id"], v["impact"], [n["html"][:120] for n in v["nodes"]][:3]) for v in violations]
        assert [t for t in told if t[1] in ("serious", "critical")] == []
