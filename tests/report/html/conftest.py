"""A real browser, where Debian's Chromium is installed (`make browser`)."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")  # Playwright knows one loop a thread: it is gone before the next file starts its own
def browser() -> Iterator[Browser]:
    """Chromium, started once for all tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    if not pathlib.Path(chromium).exists():
        pytest.skip("there is no Chromium here: `make browser` installs Debian's")
    with sync_api.sync_playwright() as playwright:
        # A software canvas: what graphics a machine without a screen has differs, and some drivers fail to start.
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"], timeout=120_000)
        yield launched
        launched.close()
