"""The forms that findings are written in, and the exit codes of the command."""

from __future__ import annotations

import json
import pathlib

import pytest

from breakeven.cli import main
from breakeven.report.lint import FORMATS, lint_github, lint_json, lint_sarif, lint_text
from breakeven.results.lint import LintFinding, LintReport

FINDING = LintFinding("BE101", "sync_bound", "a b/t,r:n.py", 31, 9, "x.item()", "reads 100 %", ("metrics_on_device",))
REPORT = LintReport((FINDING,), 12, ("c.py: line 2: invalid syntax",))
FAULT = """\
import torch
model = torch.nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(64, 8).cuda().split(8):
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def test_json_is_what_the_interface_says() -> None:
    """Schema, findings, files, warnings; the field names of a finding."""
    said = json.loads(lint_json(REPORT))
    assert list(said) == ["schema", "findings", "files", "warnings"]
    assert said["schema"] == "breakeven/lint/1"
    assert said["findings"] == [
        {
            "code": "BE101", "id": "sync_bound", "file": "a b/t,r:n.py", "line": 31, "column": 9, "text": "x.item()",
            "message": "reads 100 %", "remedies": ["metrics_on_device"],
        }
    ]  # fmt: skip
    assert (said["files"], said["warnings"]) == (12, ["c.py: line 2: invalid syntax"])


def test_text_is_a_line_for_each_and_a_count() -> None:
    """File, line and column first, so that editors jump there."""
    assert lint_text(REPORT).splitlines() == [
        "a b/t,r:n.py:31:9: BE101 reads 100 % [metrics_on_device]",
        "not looked at: c.py: line 2: invalid syntax",
        "1 place that may cost time in 12 files; `breakeven why` says what they cost",
    ]
    assert lint_text(LintReport((), 1)) == "nothing found in 1 file\n"


def test_annotations_escape_what_github_reads_as_signs() -> None:
    """Commas and colons of a property, the per cent sign everywhere."""
    assert lint_github(REPORT) == (
        "::warning file=a b/t%2Cr%3An.py,line=31,col=9,title=BE101::reads 100 %25 [metrics_on_device]\n"
    )


def test_sarif_has_a_rule_for_each_code_and_a_place_for_each_finding() -> None:
    """The parts of version 2.1.0 that code scanning needs."""
    said = json.loads(lint_sarif(REPORT))
    run = said["runs"][0]
    assert said["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["BE101"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a b/t,r:n.py", 31)


@pytest.mark.parametrize("form", FORMATS)
def test_the_command_ends_with_1_where_it_finds_something(
    tmp_path: pathlib.Path, capfdbinary: pytest.CaptureFixture[bytes], form: str
) -> None:
    """As linters do; and with 0 where it does not."""
    script = tmp_path / "train.py"
    script.write_text(FAULT)
    assert main(["lint", str(script), "--format", form]) == 1
    assert b"BE101" in capfdbinary.readouterr().out
    script.write_text("print('nothing to see')\n")
    assert main(["lint", str(script), "--format", form]) == 0


def test_json_to_standard_output_is_alone_there(tmp_path: pathlib.Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`--json -` and nothing else."""
    script = tmp_path / "train.py"
    script.write_text(FAULT)
    assert main(["lint", str(script), "--json", "-"]) == 1
    assert [f["line"] for f in json.loads(capfdbinary.readouterr().out)["findings"]] == [8]


@pytest.mark.parametrize("arguments", [["nowhere.py"], ["--format", "xml", "."], []])
def test_a_wrong_call_ends_with_2_and_one_line(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """What, and the way out."""
    assert main(["lint", *arguments]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
