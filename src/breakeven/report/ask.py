"""The page of `breakeven ask`, and its JSON. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.json import encode
from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, approximately, duration, measured, predicted
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results import DeviceResult
from breakeven.results.asked import AskReport


def ask_json(report: AskReport) -> bytes:
    """The answer as JSON (schema `breakeven/ask/1`)."""
    return encode(report)


def render_ask(report: AskReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page; see `render` of `terminal.py` for the arguments."""
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    blocks = [_head(report, paper), _answer(report, paper), _devices(report, paper)]
    blocks.append(_section("What limits it", paper.text(report.regime, indent=2), paper))
    if report.remedies:
        lines = [paper.text(line, indent=2) for line in _changes(report)]
        blocks.append(_section("Three changes that pay" if len(lines) == 3 else "Changes that pay", Group(*lines), paper))
    if report.curve:
        blocks.append(_section("From which batch on the GPU wins", _curve(report, paper), paper))
    blocks.append(Group(*(paper.text(f"- {warning}", style="dim", indent=2) for warning in report.warnings)))
    return Group(*(part for block in blocks for part in (block, Text())))


def _section(title: str, body: RenderableType, paper: Paper) -> RenderableType:
    return Group(paper.text(title, style="bold underline"), body)


def _head(report: AskReport, paper: Paper) -> RenderableType:
    length = "" if report.length is None else f" · {report.length} time step{'s' if report.length != 1 else ''}"
    solver = report.optimizer or "forward alone"
    said = f"{report.net} · batch {report.batch:,}{length} · {solver} · {report.parameters:,} parameters"
    return paper.text(f"breakeven ask {said}", style="dim")


def _answer(report: AskReport, paper: Paper) -> RenderableType:
    lines: list[RenderableType] = [paper.text(claim.sentence, style="bold") for claim in report.claims]
    if report.verdict is not None:
        lines.append(paper.text(_verdict(report)))
    return Group(*lines)


def _verdict(report: AskReport) -> str:
    """The verdict's sentence; its CPU is the one that was asked about, which need not be here."""
    verdict = report.verdict
    assert verdict is not None
    elsewhere = any(d.name == "cpu here" for d in report.devices)
    return verdict.sentence.replace(" here and ", " there and ") if elsewhere else verdict.sentence


def _devices(report: AskReport, paper: Paper) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  Device", no_wrap=True)
    table.add_column("One step", justify="right", no_wrap=True)
    table.add_column("")
    for device in report.devices:
        style = {"predicted": "italic", "measured": "bold"}.get(device.source, "")
        table.add_row(*(Text(paper.short(cell, 60), style=style) for cell in (f"  {device.name}", *_step(device))))
    return table


def _step(device: DeviceResult) -> tuple[str, str]:
    step = device.step_ms
    if step is None:
        return "–", ""
    if device.source == "predicted":
        return f"≈ {duration(step.mid, PREDICTED_DIGITS)}", predicted(step)
    return duration(step.mid, MEASURED_DIGITS), measured(step) if device.source == "measured" else device.source


def _changes(report: AskReport) -> Iterator[str]:
    for number, remedy in enumerate(report.remedies, 1):
        gain = "" if remedy.gain_ms is None else f", saves {approximately(remedy.gain_ms)} of a step, predicted"
        yield f"{number}. {remedy.sentence} [{remedy.id}]{gain}"


def _curve(report: AskReport, paper: Paper) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("  Batch", "CPU", "GPU"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in report.curve:
        mark = "  <- today" if point.batch == report.batch else ""
        cells = (f"{point.batch:,}", approximately(point.cpu_ms), approximately(point.gpu_ms) + mark)
        table.add_row(*(Text(paper.short(cell, 40)) for cell in cells))
    sentence = [paper.text(report.break_even.sentence, indent=2)] if report.break_even is not None else []
    return Group(table, *sentence)
