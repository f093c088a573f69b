"""docs/cli.md, docs/json.md and docs/errors.md say all there is, and nothing that is not."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from breakeven import errors
from breakeven.cli.app import build, load
from breakeven.cli.commands import COMMANDS
from breakeven.machine.records import Gpu
from breakeven.report.words import CAUSES, REMEDIES
from breakeven.results import BreakEven, DeviceResult, Finding, Interval, Remedy, Share, Site, Verdict, WhyReport
from breakeven.results.asked import AskReport, Claim, Point
from breakeven.results.compared import Change, CompareReport
from breakeven.results.devices import Accelerator, Cause, DevicesReport, HostFacts, TorchFacts, User
from breakeven.results.proof import Difference, Equality, FixReport, Proof, Race, Tried
from breakeven.results.race import Racer, RaceReport
from breakeven.results.runs import DeviceGate, GateReport, RunRow, RunsReport
from breakeven.results.selftest import RuleScore, SelftestReport
from breakeven.results.settled import CardState, Score, SettleReport, Unsettled
from breakeven.results.swept import (
    Cell,
    CellDevice,
    Contour,
    ContourPoint,
    Cost,
    Crossing,
    LawCheck,
    Payback,
    SweepReport,
    SweptParameter,
)
from breakeven.results.timing import Doubt, Merit, TimeReport, Timing, Trap, Tuned
from breakeven.results.traced import TraceReport

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORDS = (
    RaceReport, Racer,
    WhyReport, Interval, DeviceResult, Share, Verdict, BreakEven, Finding, Site, Remedy, Gpu, TraceReport, CompareReport, Change,
    AskReport, Claim, Point,
    SweepReport, SweptParameter, Cell, CellDevice, Crossing, Contour, ContourPoint, Payback, Cost, LawCheck,
    DevicesReport, HostFacts, Accelerator, User, Cause, TorchFacts, TimeReport, Timing, Doubt, Trap, Merit, Tuned,
    GateReport, DeviceGate, RunsReport, RunRow, SettleReport, Score, Unsettled, CardState,
    FixReport, Tried, Proof, Equality, Difference, Race, SelftestReport, RuleScore,
)  # fmt: skip


def section(page: str, title: str) -> str:
    """What stands under a heading, up to the next one of its rank or above."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^(##+) {re.escape(title)}$\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    assert found, f"docs/{page} has no section {title!r}"
    return found[2]


def table(text: str, heading: str) -> list[str]:
    """The first cells of the table whose first column has this heading; none where there is no such table."""
    found = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)*)", text, re.M)
    return [row.split(" | ")[0].removeprefix("| ") for row in found[1].splitlines()] if found else []


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_each_field_of_the_json_is_explained_in_its_order(record: Any) -> None:
    names = [f.name for f in fields(record)]
    names.sort(key=lambda name: name != "schema")  # which comes first in the file
    assert table(section("json.md", record.__name__), "field") == [f"`{name}`" for name in names]


@pytest.mark.parametrize(("heading", "under", "words"), [("cause", "Share", CAUSES), ("remedy", "Remedy", REMEDIES)])
def test_each_cause_and_remedy_is_explained(heading: str, under: str, words: dict[str, object]) -> None:
    assert table(section("json.md", under), heading) == [f"`{name}`" for name in words]


def test_the_remedies_have_the_words_of_the_page() -> None:
    text = section("json.md", "Remedy")
    assert [remedy for remedy, words in REMEDIES.items() if f"| `{remedy}` | {words} |" not in text] == []


def kinds(kind: type[errors.BreakevenError] = errors.BreakevenError) -> list[type[errors.BreakevenError]]:
    return [kind, *(found for below in kind.__subclasses__() if below.__module__ == errors.__name__ for found in kinds(below))]


@pytest.mark.parametrize("kind", kinds(), ids=lambda k: k.slug)
def test_each_error_has_its_paragraph_with_its_exit_code(kind: type[errors.BreakevenError]) -> None:
    assert f"exit code {kind.exit_code}." in section("errors.md", kind.slug)


def test_each_exit_code_is_explained() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert {0, 1, 70} | {kind.exit_code for kind in kinds()} == set(map(int, table(text, "exit code")))


@pytest.mark.parametrize("name", ["", *(c.name for c in COMMANDS)])
def test_each_command_argument_and_option_is_explained(name: str) -> None:
    command = load(name) if name else build()
    text = section("cli.md", f"`breakeven {name}`" if name else "`breakeven`")
    documented = [set(re.findall(r"`(--?[\w-]+)[^`]*`", cell)) for cell in table(text, "option")]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    there = [set(option.opts) for option in options] + ([{"-h", "--help"}] if not name else [])
    assert sorted(map(sorted, documented)) == sorted(map(sorted, there))
    arguments = [f"`{p.metavar or p.name.upper()}`" for p in command.params if p.param_type_name == "argument"]
    assert table(text, "argument") == arguments


def test_no_command_is_documented_that_is_not_there() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## `breakeven (\w+)`$", text, re.M) == [c.name for c in COMMANDS]
