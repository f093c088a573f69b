"""A page opened from disk in a real browser, with everything that it complained about or asked for."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP, PHONE = (1280, 900), (390, 844)
PATIENCE_MS = 60_000


@dataclass
class Opened:
    """The page; `complaints` are console messages and errors, `requests` what it asked for beyond itself."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, file: pathlib.Path, size: tuple[int, int] = DESKTOP, scheme: str = "light", *, watched: bool = True
) -> Iterator[Opened]:
    """Opens a file; `watched` is False for tools that put scripts of their own into the page."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light",
        has_touch=size == PHONE, bypass_csp=not watched, reduced_motion="reduce",
    )  # fmt: skip
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    address = file.as_uri()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    found.requests = [url for url in found.requests if url != address]
    try:
        yield found
        if watched:
            assert found.complaints == []
            assert [url for url in found.requests if url != address] == []
    finally:
        context.close()
