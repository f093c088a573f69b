"""The page of `breakeven trace`. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.advice import costs_time, next_steps, the_device
from breakeven.report.bars import where_it_goes
from breakeven.report.numbers import MEASURED_DIGITS, duration, measured
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results import DeviceResult, WhyReport
from breakeven.results.traced import TraceReport

_WARNINGS = 6
_LONGEST = 300
_RANKS = 16
_SOURCES = {"kineto": "PyTorch profiler", "nsys": "Nsight Systems", "xprof": "XLA profiler"}


def render_trace(report: TraceReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    alike = _as_why(report)
    blocks: list[RenderableType] = [Group(*_head(report, paper))]
    bars = where_it_goes(alike.devices, _unit(report), paper)
    if bars is not None:
        blocks.append(_section(f"Where {'one' if report.steps else 'the'} {_unit(report)} goes", bars, paper))
    if report.findings:
        blocks += [_section(title, body, paper) for title, body in costs_time(alike, paper)]
    else:
        blocks.append(paper.text("Nothing stands out: no single cause costs enough to be worth a change.", indent=2))
    steps = next_steps(alike, paper) if report.findings else None
    if steps is not None:
        blocks.append(_section("What to do next", steps, paper))
    if report.ranks:
        blocks.append(_section("The ranks", _ranks(report, paper), paper))
    blocks.append(Group(*_small_print(report, paper)))
    return Group(*(part for block in blocks for part in (block, Text())))


def _as_why(report: TraceReport) -> WhyReport:
    """The same findings and account in the form that the pieces of the page take."""
    kind = "cpu" if report.device == "cpu" else "gpu"
    device = DeviceResult(report.device, kind, "measured", report.step_ms, report.account)
    return WhyReport(
        script=report.file, unit="step" if report.steps else "run", steps={}, devices=(device,), verdict=None, verdicts=(),
        break_even=(), findings=report.findings, remedies=report.remedies,
    )  # fmt: skip


def _section(title: str, body: RenderableType, paper: Paper) -> RenderableType:
    return Group(paper.text(title, style="bold underline"), body)


def _unit(report: TraceReport) -> str:
    return "step" if report.steps else "traced time"


def _head(report: TraceReport, paper: Paper) -> Iterator[RenderableType]:
    """What was read, and how long a step is."""
    source = _SOURCES.get(report.source, report.source)
    yield paper.text(f"breakeven trace {paper.short_path(report.file, max(20, paper.width - 20))}", style="dim")
    rank = f", rank {report.rank}" if report.rank is not None else ""
    yield paper.text(f"{source}, {report.events:,} entries, on {report.device}{rank}", style="dim")
    if report.step_ms is not None:
        step = duration(report.step_ms.mid, MEASURED_DIGITS)
        if report.steps:
            yield paper.text(f"{len(report.steps)} steps of {step} ({measured(report.step_ms)}).", style="bold")
        else:
            yield paper.text(f"{step} were traced; no steps are marked in it.", style="bold")
    if report.device_busy_ms is not None and report.device_idle_ms is not None:
        busy, idle = duration(report.device_busy_ms, MEASURED_DIGITS), duration(report.device_idle_ms, MEASURED_DIGITS)
        yield paper.text(f"The GPU was busy for {busy} and idle for {idle}, with {report.kernels:,} kernels.")
    without = report.without_profiler_ms
    if without is not None:
        low, high = duration(without.low, 2), duration(without.high, 2)
        yield paper.text(f"Without the profiler a step would take about {duration(without.mid, 2)} ({low} to {high}).")
    if report.replay is not None:
        yield paper.text(_replayed(report))
    for device in report.devices[1:]:
        yield paper.text(_elsewhere(report, device))


def _elsewhere(report: TraceReport, device: DeviceResult) -> str:
    """The same job on another GPU."""
    step = device.step_ms
    if step is None:
        return f"On {the_device(device.name)} the step is not known (see the notes)."
    low, mid, high = (duration(ms, 2) for ms in (step.low, step.mid, step.high))
    host = "on a usual host" if report.device == "cpu" else "with the host as it is"
    return f"On {the_device(device.name)} a step would take about {mid} ({low} to {high}), predicted, {host}."


def _replayed(report: TraceReport) -> str:
    """What the simulator makes of the same operations."""
    played = report.replay
    assert played is not None  # asked before
    said = [f"Recorded {duration(played.recorded_ms, MEASURED_DIGITS)} a step"]
    if played.own_times_ms is not None:
        said.append(f"{duration(played.own_times_ms, MEASURED_DIGITS)} simulated from its own times")
    if played.blind_ms is not None:
        low, high = duration(played.blind_ms.low, 2), duration(played.blind_ms.high, 2)
        said.append(f"{duration(played.blind_ms.mid, 2)} ({low} to {high}) predicted from names and shapes alone")
    return ", ".join(said) + "."


def _ranks(report: TraceReport, paper: Paper) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("  Rank", "One step", "Busy", "Idle", "In collectives"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rank in (report.ranks or ())[:_RANKS]:
        cells = [
            "–" if rank.rank is None else str(rank.rank),
            *(
                "–" if ms is None else duration(ms, MEASURED_DIGITS)
                for ms in (rank.step_ms.mid if rank.step_ms else None, rank.device_busy_ms, rank.device_idle_ms, rank.exchange_ms)
            ),
        ]
        table.add_row(*(paper.short(cell, 20) for cell in cells))
    return table


def _small_print(report: TraceReport, paper: Paper) -> Iterator[RenderableType]:
    if not report.warnings:
        return
    yield paper.text("Notes", style="dim underline")
    more = len(report.warnings) - _WARNINGS
    last = [f"and {more} more: --json FILE has them all"] if more > 0 else []
    notes = Table.grid(padding=(0, 1, 0, 0))
    for warning in [*report.warnings[:_WARNINGS], *last]:
        notes.add_row(Text("  -", style="dim"), paper.text(paper.short(warning, _LONGEST), style="dim"))
    yield notes
