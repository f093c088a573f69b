"""Each example runs as it stands, with cuda replaced by cpu and fewer epochs, and what trains learns."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True)
class Case:
    """How an example is made small, how its losses are read, and how far the last is below the first."""

    name: str
    smaller: dict[str, str]
    loss: str
    falls_to: float = 0.9
    arguments: tuple[str, ...] = ()


CASES = (
    Case("char_rnn", {"EPOCHS = 20": "EPOCHS = 3", "HOURS = 1700": "HOURS = 800"}, r"mean loss ([\d.]+)"),
    Case("cnn_lstm", {"EPOCHS = 200": "EPOCHS = 3"}, r"rmse ([\d.]+)"),
    Case("matmul", {}, "", arguments=("64",)),
    Case("reviews", {}, r"update [09]: loss ([\d.]+)"),
    Case("tagger_bilstm", {"EPOCHS = 5": "EPOCHS = 2", "SENTENCES = 2000": "SENTENCES = 400"}, r"loss ([\d.]+)"),
    Case("tiny_transformer", {"EPOCHS = 30": "EPOCHS = 2", "HOURS = 1700": "HOURS = 600"}, r"mean loss ([\d.]+)"),
)


def run(case: Case, folder: pathlib.Path) -> str:
    """The output of the example on the CPU, in a folder of its own."""
    text = (EXAMPLES / f"{case.name}.py").read_text(encoding="utf-8").replace("cuda", "cpu")
    for old, new in case.smaller.items():
        assert text.count(old) == 1, f"{case.name} no longer says {old}"
        text = text.replace(old, new)
    (folder / "train.py").write_text(text, encoding="utf-8")
    for table in EXAMPLES.glob("*.tsv"):
        (folder / table.name).write_bytes(table.read_bytes())
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "train.py", *case.arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_example_runs_on_the_cpu_and_its_loss_falls(case: Case, tmp_path: pathlib.Path) -> None:
    """The scripts train for real: their own printed losses go down."""
    out = run(case, tmp_path)
    if not case.loss:
        assert "GPU, synchronised" in out
        return
    losses = [float(next(filter(None, found))) for found in (m.groups() for m in re.finditer(case.loss, out))]
    assert len(losses) >= 2, out
    assert losses[-1] < case.falls_to * losses[0], losses


@pytest.mark.slow
def test_char_rnn_goes_on_from_its_checkpoint(tmp_path: pathlib.Path) -> None:
    """A second run finds the checkpoint of the first and does not start again."""
    case = Case("char_rnn", {"EPOCHS = 20": "EPOCHS = 1", "HOURS = 1700": "HOURS = 150"}, "")
    assert "going on" not in run(case, tmp_path)
    assert (tmp_path / "char_rnn.pt").is_file()
    assert "going on from epoch 1" in run(case, tmp_path)


def test_every_example_has_a_case() -> None:
    """No example goes untested."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {case.name for case in CASES}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_names_cuda_and_not_breakeven(path: pathlib.Path) -> None:
    """They are scripts as their owners write them: for a GPU, and without knowing of this project."""
    text = path.read_text(encoding="utf-8")
    assert "cuda" in text
    assert "breakeven" not in text


def test_the_reviews_are_what_the_tool_writes(tmp_path: pathlib.Path) -> None:
    """The small data set is of our own making and can be made again."""
    tool = EXAMPLES.parent / "tools" / "make_reviews.py"
    (tmp_path / "examples").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "make_reviews.py").write_bytes(tool.read_bytes())
    subprocess.run([sys.executable, str(tmp_path / "tools" / "make_reviews.py")], check=True, timeout=60)
    assert (tmp_path / "examples" / "reviews.tsv").read_bytes() == (EXAMPLES / "reviews.tsv").read_bytes()
