"""The page of `breakeven time`: doubts first, then the number, then what careless stopwatches would have read."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import MEASURED_DIGITS, digits, duration, percentage, spread
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.report.text import clean
from breakeven.results.records import Interval
from breakeven.results.timing import Merit, TimeReport, Timing, Trap, Tuned

_TRAPS: Final = {
    "not_synchronised": ("a stopwatch without synchronise", "the clock is read before the device is done"),
    "first_call": ("a stopwatch around the first call", "set-up is inside of what is timed"),
}


def render_time(report: TimeReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    parts: list[RenderableType] = [
        paper.text(f"breakeven time {paper.short(report.target, paper.width - 16)}", style="dim"),
        Text(),
    ]
    for timing in report.timings:
        parts += [*_timing(timing, paper), Text()]
    if report.tuned is not None:
        parts += [*_tuned(report.tuned, paper), Text()]
    parts += [paper.text(warning, style="dim") for warning in report.warnings]
    parts.append(paper.text(_made_with(report), style="dim"))
    return Group(*parts)


def time_table_html(report: TimeReport) -> str:
    """A table for notebooks: a row for each device, nothing loaded, all text escaped."""
    head = ("", "one call", "range", "alone", "without synchronise", "first call", "to be taken with care")
    rows = [_html_row("th", head)]
    for timing in report.timings:
        if timing.call_ms is None:
            rows.append(_html_row("td", (timing.name, timing.error or "–", "", "", "", "", "")))
            continue
        read = {trap.id: trap for trap in timing.traps}
        said = [_ms(read[trap].ms) + (" (wrong)" if read[trap].caught else "") for trap in _TRAPS if trap in read]
        care = "; ".join(doubt.sentence for doubt in timing.doubts)
        cells = (timing.name, duration(timing.call_ms.mid), _range(timing.call_ms), _ms(timing.alone_ms), *said, care)
        rows.append(_html_row("td", cells))
    return f"<table>{''.join(rows)}</table>"


def _timing(timing: Timing, paper: Paper) -> Iterator[RenderableType]:
    title = timing.name if timing.device_name in ("", timing.name) else f"{timing.name} ({timing.device_name})"
    for doubt in timing.doubts:
        yield paper.text(f"{timing.name}: {doubt.sentence}", style="yellow")
    if timing.call_ms is None:
        yield paper.text(f"{title}: {timing.error or 'not measured'}", style="bold")
        return
    yield paper.text(f"{title}: {duration(timing.call_ms.mid)} a call, measured ±{_spread(timing.call_ms)}", style="bold")
    how = "narrow enough" if timing.stopped == "precise" else "the time was up" if timing.stopped == "time_up" else "interrupted"
    yield paper.text(
        f"{percentage(timing.level)} interval {_range(timing.call_ms)}; {timing.samples} batches of {timing.calls}, after "
        f"{timing.warmup_calls} calls of warm-up; ended: {how}", style="dim", indent=2,
    )  # fmt: skip
    if timing.this_run_ms is not None:
        yield paper.text(_between(timing, timing.this_run_ms), style="dim", indent=2)
    yield _facts(timing, paper)


def _between(timing: Timing, own: Interval) -> str:
    wider = timing.call_ms is not None and (timing.call_ms.low < own.low or timing.call_ms.high > own.high)
    if not wider:
        return f"the spread of {timing.runs} runs on this machine is within that"
    apart = f"{timing.runs} runs on this machine lie further apart, and the interval holds that"
    return f"this run alone would say ±{_spread(own)}; {apart}"


def _facts(timing: Timing, paper: Paper) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=34)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name, value, remark, style in _lines(timing):
        table.add_row(paper.text(f"  {name}"), paper.text(value), paper.text(remark), style=style)
    return table


def _lines(timing: Timing) -> Iterator[tuple[str, str, str, str]]:
    if timing.against is not None:
        yield "against the first", f"{digits(timing.against.mid, 3)}×", f"as long ({_span(timing.against)}), batch by batch", ""
    yield from (_merit(merit) for merit in timing.merits)
    if timing.energy_j is not None:
        epoch = f"; an epoch {digits(timing.epoch_energy_j, 3)} J" if timing.epoch_energy_j is not None else ""
        yield "energy of a call", f"{digits(timing.energy_j, 3)} J", f"with what the device takes when idle{epoch}", ""
    if timing.alone_ms is not None:
        yield "one call alone, waited for", duration(timing.alone_ms), "", ""
    yield from (_trap(trap) for trap in timing.traps if trap.ms is not None)


def _merit(merit: Merit) -> tuple[str, str, str, str]:
    share = f"{percentage(merit.share)} of {digits(merit.peak, 3)} ({merit.peak_source})" if merit.share and merit.peak else ""
    return "rate", f"{digits(merit.value, 3)} {merit.unit}", share, ""


def _trap(trap: Trap) -> tuple[str, str, str, str]:
    name, why = _TRAPS[trap.id]
    if not trap.caught or not trap.factor:
        return name, _ms(trap.ms), "no trap here", "dim"
    off = f"{digits(trap.factor, 2)} times too long" if trap.factor > 1 else f"{digits(1 / trap.factor, 2)} times too short"
    return name, _ms(trap.ms), f"{off}: {why}", "red"


def _tuned(tuned: Tuned, paper: Paper) -> Iterator[RenderableType]:
    yield paper.text(tuned.sentence, style="bold")
    yield from (paper.text(line, indent=4) for line in tuned.settings)
    yield from (paper.text(f"{name}: {why}", style="dim", indent=2) for name, why in tuned.rejected.items())


def _made_with(report: TimeReport) -> str:
    cores = f"{report.machine['cpu']}, {report.machine['cores']} cores" if report.machine.get("cpu") else ""
    threads = f"{report.machine['threads']} threads" if report.machine.get("threads") else ""
    versions = [f"{name} {version}" for name, version in report.versions.items()]
    return " · ".join(part for part in (cores, threads, *versions) if part)


def _ms(ms: float | None) -> str:
    return "–" if ms is None else duration(ms, MEASURED_DIGITS)


def _range(time: Interval) -> str:
    return f"{duration(time.low, 4)} to {duration(time.high, 4)}"


def _span(times: Interval) -> str:
    return f"{digits(times.low, 3)}–{digits(times.high, 3)}"


def _spread(time: Interval) -> str:
    return spread(max(time.high - time.mid, time.mid - time.low) / time.mid) if time.mid > 0 else "?"


def _html_row(cell: str, cells: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(clean(text))}</{cell}>" for text in cells) + "</tr>"
