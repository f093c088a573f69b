"""A page fits the stream that it is put on."""

from __future__ import annotations

import io

import pytest

from breakeven.report.screen import Page, encodes, show
from breakeven.report.terminal import render
from tests.report.why_samples import CPU_WINS


def page() -> Page:
    return lambda width, ascii_only: render(CPU_WINS, width, ascii_only)


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def shown(encoding: str, terminal: bool = False) -> str:
    raw = io.BytesIO()
    stream = (Terminal if terminal else io.TextIOWrapper)(raw, encoding=encoding)
    show(page(), stream)
    return raw.getvalue().decode(encoding)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_stream_that_cannot_show_the_signs_gets_ascii(encoding: str) -> None:
    assert shown(encoding).isascii()


def test_a_utf8_stream_gets_the_signs() -> None:
    assert "≈ 2.6 ms" in shown("utf-8")


def test_a_pipe_gets_no_colour() -> None:
    assert "\x1b" not in shown("utf-8")


def test_a_terminal_gets_colour_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[3" in shown("utf-8", terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[33m" not in shown("utf-8", terminal=True)


def test_a_dumb_terminal_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown("utf-8", terminal=True)


def test_the_width_follows_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(len(line) for line in shown("utf-8").splitlines()) <= 60


def test_an_unknown_encoding_counts_as_ascii() -> None:
    class Odd(io.StringIO):
        encoding = "no-such-encoding"

    assert not encodes(Odd())
