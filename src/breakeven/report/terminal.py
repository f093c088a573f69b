"""The page of `breakeven why`. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.diagnose.verdict import LIKELY
from breakeven.report.advice import costs_time, next_steps, the_device
from breakeven.report.bars import where_it_goes
from breakeven.report.numbers import (
    MEASURED_DIGITS,
    PREDICTED_DIGITS,
    duration,
    factor,
    measured,
    predicted,
    probability,
    rate,
)
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results import DeviceResult, Verdict, WhyReport

_NAME = 22
_WIDE = 100  # columns from which the table of devices has all of its columns
_WARNINGS = 6
_LONGEST = 300  # cells of a warning

#: unit of the report → (the word, what it is)
_UNITS: dict[str, tuple[str, str]] = {
    "step": ("step", "A step is one update of the weights with everything that leads to it."),
    "loop": ("pass of the loop", "No optimizer step was found, so one pass of the loop that does the work is counted."),
    "run": ("run", "No loop was found, so the whole run is counted as one."),
}


def render(report: WhyReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    blocks: list[RenderableType] = [_head(report, paper), _answer(report, paper)]
    if report.devices:
        blocks.append(_devices(report, paper))
    bars = where_it_goes(report.devices, _unit(report), paper)
    if bars is not None:
        blocks.append(_section(f"Where one {_unit(report)} goes", bars, paper))
    blocks += [_section(title, body, paper) for title, body in costs_time(report, paper)]
    steps = next_steps(report, paper)
    if steps is not None:
        blocks.append(_section("What to do next", steps, paper))
    if report.break_even:
        lines = [paper.text(b.sentence, indent=2) for b in report.break_even]
        blocks.append(_section("Break-even: from where on the GPU wins", Group(*lines), paper))
    blocks.append(Group(*_small_print(report, paper)))
    return Group(*(part for block in blocks for part in (block, Text())))


def _section(title: str, body: RenderableType, paper: Paper) -> RenderableType:
    return Group(paper.text(title, style="bold underline"), body)


def _unit(report: WhyReport) -> str:
    return _UNITS.get(report.unit or "", ("step", ""))[0]


def _head(report: WhyReport, paper: Paper) -> RenderableType:
    """What was looked at, in one line: the script, and how many steps stand behind the numbers."""
    steps = report.steps
    did = []
    if steps.get("measured"):
        after = f" after {steps['warmup']} to warm up" if steps.get("warmup") else ""
        did.append(f"{_count(steps['measured'], report)} timed{after}")
    if steps.get("recorded"):
        did.append(f"{_count(steps['recorded'], report)} recorded")
    script = paper.short_path(report.script, max(20, paper.width - 15))
    return paper.text(f"breakeven why {script}" + "".join(f" · {d}" for d in did), style="dim")


def _count(number: int, report: WhyReport) -> str:
    if report.unit == "loop":
        return f"{number} pass{'es' if number != 1 else ''} of the loop"
    return f"{number} {_unit(report)}{'s' if number != 1 else ''}"


def _answer(report: WhyReport, paper: Paper) -> RenderableType:
    """The verdict in bold, or why there is none; beneath it how sure it is."""
    lines: list[RenderableType] = []
    if report.error is not None:
        lines.append(paper.text(f"This answer is not complete: {report.error}", style="bold"))
    for verdict in report.verdicts or ((report.verdict,) if report.verdict else ()):
        lines.append(paper.text(verdict.sentence, style="bold"))
        lines.append(paper.text(_how_sure(verdict), style="dim", indent=2))
    if report.verdict is None and report.error is None:
        lines.append(paper.text("No verdict: " + _missing(report), style="bold"))
    return Group(*lines)


def _missing(report: WhyReport) -> str:
    names = [d.name for d in report.devices if d.step_ms is None]
    if names:
        return f"there is no step time for {', '.join(names)}; the notes below say why."
    return "it takes two devices, and only one could be looked at; the notes below say why."


def _how_sure(verdict: Verdict) -> str:
    around = f"{factor(verdict.factor)[1]}×"
    if verdict.tie:
        other = the_device(verdict.over)
        return (
            f"Nine times in ten {the_device(verdict.device)} is {around} as fast as {other}. That range holds 1: either may win."
        )
    sure = f"Probability that {the_device(verdict.device)} is the faster one: {probability(verdict.probability)}."
    return f"{sure} Nine times in ten the factor is {around}."


def _devices(report: WhyReport, paper: Paper) -> RenderableType:
    """One row per device. Predictions carry ≈, the word, a range and italics; measurements the word and ±."""
    wide = paper.width >= _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  Device", no_wrap=True)
    table.add_column(f"One {_unit(report)}", justify="right", no_wrap=True)
    table.add_column("")
    if wide:
        table.add_column(f"{_unit(report).capitalize()}s a second", justify="right", no_wrap=True)
    against = _against(report)
    if against:
        table.add_column("Against the CPU")
    for device in report.devices:
        style = "italic" if device.source == "predicted" else "bold"
        cells = [
            f"  {paper.short(device.name, _NAME)}",
            *_step_cells(device, report.steps.get("measured") if device.kind == "cpu" else None),
        ]
        cells += [_rate(device)] if wide else []
        cells += [against.get(device.name, "")] if against else []
        table.add_row(*(Text(paper.short(c, 60) if i else c, style=style) for i, c in enumerate(cells)))
    return Group(table, *(paper.text(line, style="dim", indent=2) for line in _meaning(report)))


def _step_cells(device: DeviceResult, samples: int | None) -> tuple[str, str]:
    step = device.step_ms
    if step is None:
        return "–", "not " + device.source
    if device.source == "predicted":
        return f"≈ {duration(step.mid, PREDICTED_DIGITS)}", predicted(step)
    return duration(step.mid, MEASURED_DIGITS), "measured once" if samples == 1 else measured(step)


def _rate(device: DeviceResult) -> str:
    if device.step_ms is None:
        return "–"
    if device.source == "predicted":
        return f"≈ {rate(device.step_ms.mid, PREDICTED_DIGITS)}"
    return rate(device.step_ms.mid, MEASURED_DIGITS)


def _against(report: WhyReport) -> dict[str, str]:
    """GPU name → how its step compares with the CPU's, from its verdict."""
    said = {}
    for verdict in report.verdicts or ((report.verdict,) if report.verdict else ()):
        if "cpu" not in (verdict.device, verdict.over):
            continue
        gpu = verdict.over if verdict.device == "cpu" else verdict.device
        times = f"{factor(verdict.factor)[0]}× as {'long' if verdict.device == 'cpu' else 'fast'}"
        likely = verdict.probability >= LIKELY
        said[gpu] = times if not verdict.tie else f"probably {times}" if likely else "too close to call"
    return said


def _meaning(report: WhyReport) -> Iterator[str]:
    explained = _UNITS.get(report.unit or "", ("", ""))[1]
    if explained:
        yield explained
    if any(d.source == "predicted" and d.step_ms for d in report.devices):
        yield "≈ predicted: simulated from your script, no such GPU was used. 9 times in 10 the true value lies in the range."


def _small_print(report: WhyReport, paper: Paper) -> Iterator[RenderableType]:
    """Warnings, short, and what the numbers were made with."""
    if report.warnings:
        yield paper.text("Notes", style="dim underline")
        more = len(report.warnings) - _WARNINGS
        last = [f"and {more} more: --json FILE has them all"] if more > 0 else []
        notes = Table.grid(padding=(0, 1, 0, 0))
        for warning in [*report.warnings[:_WARNINGS], *last]:
            notes.add_row(Text("  -", style="dim"), paper.text(paper.short(warning, _LONGEST), style="dim"))
        yield notes
    made_with = " · ".join(_made_with(report))
    if made_with:
        yield paper.text(made_with, style="dim")


def _made_with(report: WhyReport) -> Iterator[str]:
    cpu, host = report.machine.get("cpu"), report.machine.get("host")
    if isinstance(cpu, Mapping) and cpu.get("model"):
        cores = f", {cpu['cores']} cores" if cpu.get("cores") else ""
        yield f"CPU here: {cpu['model']}{cores}"
    if isinstance(host, Mapping) and host.get("name"):
        yield f"host of the predicted GPUs: {host['name']}"
    yield from (f"{name} {version}" for name, version in report.versions.items() if name in ("torch", "breakeven"))
