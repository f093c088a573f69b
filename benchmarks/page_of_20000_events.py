"""How soon the page of a step of 20,000 events can be used, and how many frames a second it zooms at, in headless Chromium.

    python benchmarks/page_of_20000_events.py [EVENTS]

The page is opened from disk five times; each time one line: milliseconds until its script had run, and frames a second while 120
frames zoom in and out again, each drawn anew on a canvas without a graphics processor.
"""

from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile

from playwright.sync_api import Page, sync_playwright

from breakeven.report.html.why import why_page
from breakeven.results import DeviceResult, Interval, Share, WhyReport
from breakeven.results.pictured import Bars, Pictured, PlayedStep

ROUNDS = 5
WINDOW = (1280, 900)
ZOOM = """() => new Promise((done) => {
  const timeline = document.querySelector(".timeline").view;
  const begun = performance.now();
  let frames = 0;
  const next = () => {
    if (frames === 120) { done(120000 / (performance.now() - begun)); return; }
    timeline.zoom(frames % 40 < 20 ? 0.8 : 1.25);
    frames += 1;
    requestAnimationFrame(next);
  };
  next();
})"""
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def step(events: int) -> PlayedStep:
    """A host that issues kernels one after another; each runs a little later on the device."""
    half = events // 2
    bars = Bars(
        lane=(0,) * half + (1,) * half, depth=(0,) * (2 * half),
        start_ns=(*(i * 20_000 for i in range(half)), *(i * 20_000 + 12_000 for i in range(half))),
        duration_ns=(18_000,) * half + tuple(6_000 + 100 * (i % 7) for i in range(half)),
        name=tuple(i % 3 for i in range(half)) * 2,
        cause=(0,) * half + tuple(i % 3 for i in range(half)), line=(0,) * (2 * half),
    )  # fmt: skip
    names, causes = ("aten::addmm", "aten::mul", "aten::tanh"), ("launch", "compute", "small_kernel")
    return PlayedStep(
        "Tesla T4", "predicted", ("Host main", "GPU stream 0"), names, causes, ("train.py:58",), bars, half * 20_000
    )


def page_file(events: int, folder: pathlib.Path) -> pathlib.Path:
    """The page on disk."""
    took = Interval(190.0, 200.0, 210.0)
    device = DeviceResult("Tesla T4", "gpu", "predicted", took, (Share("launch", 200.0, 1.0),))
    report = WhyReport("train.py", "step", {}, (device,), None, (), (), ())
    file = folder / "large.html"
    file.write_bytes(why_page(report, Pictured(steps=(step(events),))))
    return file


def measured(page: Page, file: pathlib.Path) -> tuple[float, float]:
    """Milliseconds until it can be used, and frames a second while it zooms."""
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page.evaluate(READY), page.evaluate(ZOOM)


def main() -> None:
    """Five rounds."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = page_file(events, pathlib.Path(folder))
        sys.stdout.write(f"{events:,} events, {file.stat().st_size / 1e6:.2f} MB\n")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]})
            ready, frames = measured(page, file)
            sys.stdout.write(f"usable after {ready:.0f} ms, {frames:.0f} frames a second\n")
            sys.stdout.flush()
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
