"""`--html F` of every verb that has a page: checked before any work, written whole, and not over what is read."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest

from breakeven import cli
from breakeven.report.json import why_json
from tests.report.why_samples import CPU_WINS

CALLS = {
    "why": ["why", "train.py"],
    "sweep": ["sweep", "train.py", "--vary", "batch=1,2"],
    "race": ["race", "train.py"],
    "fix": ["fix", "train.py"],
    "compare": ["compare", "before.json", "after.json"],
    "trace": ["trace", "before.json"],
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a script and two answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit('it must not run')\n", encoding="utf-8")
    (tmp_path / "before.json").write_bytes(why_json(CPU_WINS))
    (tmp_path / "after.json").write_bytes(why_json(replace(CPU_WINS, versions={"torch": "2.0"})))
    return tmp_path


@pytest.mark.parametrize("verb", CALLS)
def test_a_page_that_cannot_be_written_is_said_before_any_work(
    folder: pathlib.Path, verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*CALLS[verb], "--html", str(folder / "nowhere" / "page.html")]) == 2
    said = capfd.readouterr().err
    assert "--html" in said
    assert "must not run" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("verb", CALLS)
def test_a_page_is_never_written_over_what_is_read(folder: pathlib.Path, verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    read = CALLS[verb][1]
    before = (folder / read).read_bytes()
    assert cli.main([*CALLS[verb], "--html", read]) == 2
    assert "that is the file to be read" in capfd.readouterr().err
    assert (folder / read).read_bytes() == before


def test_compare_writes_its_page_with_the_call_that_asks_again(folder: pathlib.Path) -> None:
    assert cli.main(["compare", "before.json", "after.json", "--device", "cpu", "--html", "page.html"]) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "no part of it differs by more than its spread" in page
    assert "breakeven compare before.json after.json --device cpu" in page
