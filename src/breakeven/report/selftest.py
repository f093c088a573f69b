"""The page and the JSON of `breakeven selftest`."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from breakeven.report.json import encode
from breakeven.report.numbers import percentage
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results.selftest import SelftestReport


def selftest_json(report: SelftestReport) -> bytes:
    """The scores as JSON (schema `breakeven/selftest/1`)."""
    return encode(report)


def render_selftest(report: SelftestReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """A row for each kind of fault, and a sum beneath."""
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("Finding", "Remedy"):
        table.add_column(title, no_wrap=True)
    for title in ("Found", "Recall", "Precision"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("By", no_wrap=True)
    for rule in report.rules:
        recall, precision = ("–" if part is None else percentage(part) for part in (rule.recall, rule.precision))
        cells = (rule.id or "none planted", rule.remedy, f"{rule.found}/{rule.planted}", recall, precision, rule.tool or "–")
        table.add_row(*(paper.short(cell, 24) for cell in cells))
    lines = [paper.text(_sum(report), "bold"), *(paper.text(f"No answer: {w}", "dim") for w in report.warnings)]
    return Group(table, *lines)


def _sum(report: SelftestReport) -> str:
    told = report.found + report.false_alarms
    recall, precision = report.found / max(report.planted, 1), report.found / max(told, 1)
    how = "read, and run where reading cannot show it" if report.ran else "read, not run"
    return (
        f"{report.found} of {report.planted} planted faults found (recall {percentage(recall)}), "
        f"{report.false_alarms} false alarms (precision {percentage(precision)}); {len(report.scripts)} healthy scripts, {how}."
    )
