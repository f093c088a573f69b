"""The summary table is written from the answers of two commands, one example at a time, and nothing finished is lost."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # a module
    spec = importlib.util.spec_from_file_location("summary_table", ROOT / "tools" / "summary_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DATA", tmp_path / "summary.json")
    monkeypatch.setattr(module, "called", lambda verb, example, *options: SWEEP if verb == "sweep" else WHY)
    return module


WHY = {
    "devices": [{"name": "cpu", "kind": "cpu", "step_ms": {"low": 1.0, "mid": 1.25, "high": 1.5}}],
    "machine": {"cpu": {"model": "made", "cores": 2}},
    "verdicts": [
        {"device": "cpu", "over": "Tesla T4", "factor": {"low": 1.4, "mid": 1.9, "high": 2.6}, "tie": False},
        {"device": "L4", "over": "cpu", "factor": {"low": 0.9, "mid": 1.1, "high": 1.3}, "tie": True},
    ],
    "findings": [{"id": "launch_bound", "device": "Tesla T4"}],
    "remedies": [{"id": "larger_batch", "device": "Tesla T4"}],
    "break_even": [{"gpu": "Tesla T4", "sentence": "From a batch of about 900 on."}],
}  # fmt: skip
SWEEP = {"crossings": [{"gpu": "Tesla T4", "sentence": "From a window of about 300 | 400 on."}]}


def test_each_row_says_the_device_from_which_size_on_why_and_the_first_remedy(tool: Any) -> None:
    assert tool.main(["char_rnn.py", "reviews.py"]) == 0
    head, _, swept, asked = tool.table().splitlines()
    assert head.startswith("| example | a step here | Tesla T4 | L4 |")
    assert "**CPU** 1.9× (1.4–2.6)" in swept
    assert "level, GPU 1.1×" in swept
    assert "From a window of about 300 ¦ 400 on." in swept
    assert "From a batch of about 900 on." in asked
    assert swept.endswith("| `launch_bound` | `larger_batch` |")
    assert len({line.count("|") for line in tool.table().splitlines()}) == 1


def test_an_example_that_is_run_again_leaves_the_others_as_they_are(tool: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tool.main(["matmul.py"])
    tool.main(["char_rnn.py"])
    assert [row["example"] for row in json.loads(tool.DATA.read_text())["rows"]] == ["char_rnn.py", "matmul.py"]
    assert tool.main(["nothing.py"]) == 2
    assert "there are char_rnn.py" in capsys.readouterr().out


def test_the_readme_and_the_index_take_the_table_once_however_often_it_is_written(tool: Any) -> None:
    tool.main(["char_rnn.py"])
    readme, index = (ROOT / "README.md").read_text(encoding="utf-8"), (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    once, listed = tool.in_readme(readme), tool.in_index(index)
    assert once.count(tool.BEGIN) == 1
    assert "[char_rnn](examples/char_rnn.py)" in once
    assert tool.in_readme(once) == once
    assert listed.count("](summary.md)") == 1
    assert tool.in_index(listed) == listed
    assert "../examples/char_rnn.py" in tool.page("note")


def test_every_example_that_is_a_script_is_in_the_table(tool: Any) -> None:
    assert set(tool.EXAMPLES) == {path.name for path in (ROOT / "examples").glob("*.py")}
