"""The findings of lint in the forms that people and programs read: text, JSON, SARIF, GitHub's annotations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from breakeven import __version__
from breakeven.report.json import encode
from breakeven.results.lint import LintFinding, LintReport

SCHEMA = "breakeven/lint/1"
FORMATS = ("text", "json", "sarif", "github")


def lint_json(report: LintReport) -> bytes:
    """The findings as JSON (schema `breakeven/lint/1`)."""
    return encode({"schema": SCHEMA, "findings": report.findings, "files": report.files, "warnings": report.warnings})


def lint_text(report: LintReport) -> str:
    """A line for each finding, as compilers write them, and a last one that counts."""
    lines = [f"{_place(f)}: {f.code} {f.message} [{', '.join(f.remedies)}]" for f in report.findings]
    lines += [f"not looked at: {warning}" for warning in report.warnings]
    count, files = len(report.findings), report.files
    looked = f"{files} file{'' if files == 1 else 's'}"
    what = f"{count} place{'' if count == 1 else 's'} that may cost time" if count else "nothing found"
    advice = "; `breakeven why` says what they cost" if count else ""
    return "\n".join([*lines, f"{what} in {looked}{advice}"]) + "\n"


def lint_github(report: LintReport) -> str:
    """GitHub's workflow commands: each finding becomes a note beside its line."""
    return "".join(f"::warning {_annotated(f)}::{_data(f'{f.message} [{_remedies(f)}]')}\n" for f in report.findings)


def lint_sarif(report: LintReport) -> bytes:
    """SARIF 2.1.0, as code scanning reads it."""
    rules = {f.code: _rule(f) for f in report.findings}
    driver = {"name": "breakeven", "version": __version__, "rules": [rules[code] for code in sorted(rules)]}
    run = {
        "tool": {"driver": driver},
        "results": [_result(f) for f in report.findings],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"level": "warning", "message": {"text": w}} for w in report.warnings],
            }
        ],
    }
    return encode({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]})


def _annotated(finding: LintFinding) -> str:
    return f"file={_property(finding.file)},line={finding.line},col={finding.column},title={finding.code}"


def _rule(finding: LintFinding) -> dict[str, object]:
    return {"id": finding.code, "name": finding.id, "shortDescription": {"text": f"{finding.id}: {_remedies(finding)}"}}


def _result(finding: LintFinding) -> dict[str, object]:
    region = {"startLine": finding.line, "startColumn": finding.column, "snippet": {"text": finding.text}}
    place = {"artifactLocation": {"uri": PurePath(finding.file).as_posix()}, "region": region}
    return {
        "ruleId": finding.code,
        "level": "warning",
        "message": {"text": f"{finding.message} [{_remedies(finding)}]"},
        "locations": [{"physicalLocation": place}],
    }


def _place(finding: LintFinding) -> str:
    return f"{finding.file}:{finding.line}:{finding.column}"


def _remedies(finding: LintFinding) -> str:
    return ", ".join(finding.remedies)


def _data(text: str) -> str:
    """Text of a workflow command; GitHub wants these three escaped."""
    return _escaped(text, "%\r\n")


def _property(text: str) -> str:
    """A property of a workflow command, where two more signs mean something."""
    return _escaped(text, "%\r\n:,")


def _escaped(text: str, signs: Iterable[str]) -> str:
    for sign in signs:  # the per cent sign comes first
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
