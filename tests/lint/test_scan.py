"""Which files are looked at, what is left out on purpose, what happens to files that are no Python, and how fast it is."""

from __future__ import annotations

import ast
import json
import pathlib
import time

import pytest

from breakeven.errors import InputError
from breakeven.lint.scan import scan, scan_text
from breakeven.lint.sources import Source

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LINES_PER_SECOND = 10_000
SLOW = """\
import torch
from torch import nn
model = nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(64, 8).cuda()
for x in data.split(8):
    loss = model(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item()){comment}
"""


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("", ["BE101"]),
        ("  # noqa", []),
        ("  # noqa: BE101", []),
        ("  # NOQA: E501, BE101", []),
        ("  # noqa: BE102", ["BE101"]),
        ("  # noqa: E501", ["BE101"]),
    ],
)
def test_a_comment_excuses_its_line(comment: str, codes: list[str]) -> None:
    """`noqa` without codes excuses everything, with codes only these."""
    assert [f.code for f in scan_text(Source("a.py", SLOW.format(comment=comment)))] == codes


def test_a_finding_says_where_and_what() -> None:
    """Lines and columns count from 1, the text is that of the line."""
    (finding,) = scan_text(Source("a.py", SLOW.format(comment="")))
    assert (finding.file, finding.line, finding.column, finding.text) == ("a.py", 11, 11, "print(loss.item())")
    assert (finding.id, finding.remedies) == ("sync_bound", ("metrics_on_device",))


def test_a_folder_is_searched_but_not_its_environments(tmp_path: pathlib.Path) -> None:
    """Hidden folders and virtual environments hold no code of the user's."""
    for place in ("a.py", "package/b.py", ".hidden/c.py", "mine/lib/d.py", "__pycache__/e.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(SLOW.format(comment=""))
    (tmp_path / "mine" / "pyvenv.cfg").write_text("")
    report = scan([tmp_path, tmp_path / "a.py"])
    assert report.files == 2
    assert {pathlib.Path(f.file).name for f in report.findings} == {"a.py", "b.py"}


def test_a_notebook_is_read_cell_by_cell(tmp_path: pathlib.Path) -> None:
    """Magic lines are passed over; the message says which cell and which line of it."""
    lines = SLOW.format(comment="").splitlines(keepends=True)
    cells = [
        {"cell_type": "markdown", "source": "# loss.item()"},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n", *lines[:5]]},
        {"cell_type": "code", "source": "%%bash\necho hello"},
        {"cell_type": "code", "source": "".join(lines[5:])},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (finding,) = scan([path]).findings
    assert finding.message.startswith("cell 4, line 6: ")
    assert finding.text == "print(loss.item())"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.py", b"import torch\ndef f(:\n", "line 2"),
        ("a.py", b"import torch\nx = '\x00'\n", "null"),
        ("a.py", b"# torch \xff\xfe\n", "not text"),
        ("a.py", b"# coding: nonsense\nimport torch\n", "not text"),
        ("a.ipynb", b"{", "not a notebook"),
        ("a.ipynb", b'{"cells": 3}', "not a notebook"),
        ("a.txt", b"", "neither"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_in_one_line(tmp_path: pathlib.Path, name: str, content: bytes, said: str) -> None:
    """With its name and the reason; among others it is a warning, alone it is an error."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        scan([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    if path.suffix != ".txt":
        (tmp_path / "good.py").write_text("import torch\n")
        report = scan([tmp_path])
        assert report.files == 2
        assert len(report.warnings) == 1


def test_a_missing_path_is_said() -> None:
    """Not passed over."""
    with pytest.raises(InputError, match="no such file"):
        scan([pathlib.Path("nowhere.py")])


def test_deep_and_odd_code_is_survived() -> None:
    """Long chains, recursion, every kind of statement: nothing raises."""
    chain = "import torch\nx = " + "+".join(["torch.ones(1)"] * 500)
    assert scan_text(Source("a.py", chain)) == []
    recursive = "import torch\ndef f(x):\n    return f(x) + g(x)\ndef g(x):\n    return f(x)\nf(torch.ones(3))\n"
    assert scan_text(Source("a.py", recursive)) == []
    own = pathlib.Path(ast.__file__).read_text(encoding="utf-8") + "\nimport torch\n"
    assert scan_text(Source("a.py", own)) == []
    nested = "import torch\nx = " + "f(" * 90 + "1" + ")" * 90
    assert scan_text(Source("a.py", nested)) == []


def test_reading_is_bounded_where_calls_multiply() -> None:
    """Functions that call each other twice would be read two to the power of forty times."""
    text = "import torch\ndef f0(x):\n    return x\n"
    text += "".join(f"def f{i}(x):\n    return f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 40)) + "f39(torch.ones(1).cuda())\n"
    began = time.process_time()
    assert scan_text(Source("a.py", text)) == []
    assert time.process_time() - began < 5


@pytest.mark.slow
def test_ten_thousand_lines_take_a_second_at_most(tmp_path: pathlib.Path) -> None:
    """Measured in processor time, the best of five, on a file of nothing but training functions."""
    body = (EXAMPLES / "tagger_bilstm.py").read_text(encoding="utf-8").partition("if __name__")[0]
    text = "\n".join(body.replace("def main", f"def main_{k}") for k in range(40))
    path = tmp_path / "trainings.py"
    path.write_text(text, encoding="utf-8")
    best = min(seconds(path) for _ in range(5))
    assert text.count("\n") / best > LINES_PER_SECOND


def seconds(path: pathlib.Path) -> float:
    """Processor time of looking at a file."""
    began = time.process_time()
    assert scan([path]).findings
    return time.process_time() - began


def test_the_examples_give_what_they_are_known_for() -> None:
    """Reads of the loss in each step, times taken by hand; the transformer has nothing."""
    found = {(pathlib.Path(f.file).stem, f.code) for f in scan([EXAMPLES]).findings}
    known = {
        "char_rnn": "BE101 BE108",
        "cnn_lstm": "BE101",
        "matmul": "BE114 BE115",
        "reviews": "BE101",
        "tagger_bilstm": "BE101",
    }
    assert found >= {(name, code) for name, codes in known.items() for code in codes.split()}
    assert not {code for name, code in found if name == "tiny_transformer"}


@pytest.mark.parametrize("which", ["fault", "healthy"])
def test_planted_faults_are_found_and_their_twins_are_left_alone(shared: pathlib.Path, which: str) -> None:
    """On the shared pairs: each fault that reading can show, at one of its lines and with its remedy; nothing on healthy ones."""
    rows = json.loads((shared / "faults" / "manifest.json").read_text(encoding="utf-8"))
    missed = []
    for row in rows:
        pair = row["kind"] != "healthy"
        if not row["lint"] or (pair and which == "healthy" and not row["remedy"]):
            continue
        path = shared / "faults" / (f"{row['pair']}.{which}.py" if pair else f"{row['pair']}.py")
        found = scan([path]).findings
        named = [f for f in found if not pair or {row["remedy"], *row.get("remedies_ok", [])} & set(f.remedies)]
        at_its_line = any(f.line in {row["line"], *row["lines_ok"]} for f in named)
        if (not at_its_line) if pair and which == "fault" else named:
            missed.append(row["pair"])
    assert missed == []
