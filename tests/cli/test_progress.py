"""Progress is for a person at a terminal, and never tears what the script prints."""

from __future__ import annotations

import io

import pytest

from breakeven.cli.progress import progress_on


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def said(stream: io.StringIO, quiet: bool = False, shared: bool = True) -> str:
    with progress_on(stream, quiet, shared) as on_progress:
        for text in (
            "timing on the CPU: step 1",
            "timing on the CPU: step 2",
            "recording on the virtual GPU",
            "pricing: Tesla T4",
        ):
            on_progress(text)
    return stream.getvalue()


def test_a_pipe_gets_nothing() -> None:
    assert said(io.StringIO()) == ""


def test_quiet_gets_nothing() -> None:
    assert said(Terminal(), quiet=True) == ""


def test_beside_a_script_that_prints_each_phase_is_one_line() -> None:
    assert said(Terminal()) == (
        "breakeven: timing on the CPU ...\nbreakeven: recording on the virtual GPU ...\nbreakeven: pricing ...\n"
    )


def test_alone_on_the_terminal_it_is_a_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "\r" in said(Terminal(), shared=False), "it is rewritten in place"
