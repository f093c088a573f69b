"""Where one step goes: one stacked bar per device, and a legend by cause. Letters carry the meaning; colour only helps."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, duration, part_of, percentage
from breakeven.report.paper import Paper
from breakeven.report.words import cause_words
from breakeven.results import DeviceResult, Share

_LEAST_BAR = 10
_LEAST_WORDS = 20
_NAME = 22
_TOTAL = 10
_COLUMN = 15  # of one device in the legend
_APART = 12.0  # from this ratio of steps each bar gets its own scale: the short one would be a dot


def where_it_goes(devices: Sequence[DeviceResult], unit: str, paper: Paper) -> RenderableType | None:
    """The bars and their legend; None where no device has an account."""
    shown = [d for d in devices if d.account and d.step_ms is not None and d.step_ms.mid > 0]
    if not shown:
        return None
    longest = max(_step(d) for d in shown)
    alike = longest / min(_step(d) for d in shown) <= _APART
    parts: list[RenderableType] = [_bars(shown, longest if alike else None, paper)]
    if not alike:
        parts.append(
            paper.text(f"Each bar is one {unit} on that device; they are not drawn to one scale.", style="dim", indent=2)
        )
    per_table = max(1, (paper.width - _LEAST_WORDS - 6) // _COLUMN)
    for first in range(0, len(shown), per_table):
        parts.append(Text())
        parts.append(_legend(shown[first : first + per_table], paper))
    return Group(*parts)


def bar(account: Sequence[Share], cells: int, paper: Paper) -> Text:
    """One bar of `cells` cells; each piece begins with its cause's letter, and pieces of less than half a cell are left out."""
    whole = sum(max(part.ms, 0.0) for part in account)
    drawn, begun, passed = Text(), 0, 0.0
    for part in account:
        passed += max(part.ms, 0.0)
        end = round(cells * passed / whole) if whole > 0 else 0
        if end > begun:
            words = cause_words(part.cause)
            fill = words.plain_fill if paper.ascii_only else words.fill
            drawn.append(words.letter + fill * (end - begun - 1), style=words.style)
        begun = end
    return drawn


def _bars(devices: Sequence[DeviceResult], longest: float | None, paper: Paper) -> Table:
    names = min(_NAME, max(len(d.name) for d in devices))
    cells = max(_LEAST_BAR, paper.width - 2 - names - 2 - _TOTAL - 2)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=names + 2, no_wrap=True)
    table.add_column(width=cells, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for device in devices:
        length = max(1, round(cells * _step(device) / (longest or _step(device))))
        table.add_row(
            Text("  " + paper.short(device.name, names)), bar(device.account, length, paper), paper.text(_total(device))
        )
    return table


def _legend(devices: Sequence[DeviceResult], paper: Paper) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("", width=3, justify="right", no_wrap=True)
    table.add_column("", max_width=max(_LEAST_WORDS, paper.width - 5 - _COLUMN * len(devices)))
    for device in devices:
        table.add_column(paper.short(device.name, _COLUMN - 1), justify="right", width=_COLUMN - 1, no_wrap=True)
    for cause in _causes(devices):
        words = cause_words(cause)
        cells = [paper.text(_piece(device, cause)) for device in devices]
        table.add_row(
            Text(words.letter, style=f"bold {words.style}"),
            paper.text(f"{cause}: {words.words}" if words.words else cause),
            *cells,
        )
    return table


def _causes(devices: Sequence[DeviceResult]) -> list[str]:
    """The causes that take time on any of these devices, the largest share first."""
    largest: dict[str, float] = {}
    for device in devices:
        for part in device.account:
            if part.ms > 0:
                largest[part.cause] = max(largest.get(part.cause, 0.0), part.share)
    return sorted(largest, key=lambda cause: -largest[cause])


def _piece(device: DeviceResult, cause: str) -> str:
    part = next((p for p in device.account if p.cause == cause and p.ms > 0), None)
    return "–" if part is None else f"{part_of(part.ms, _step(device))} {percentage(part.share):>5}"


def _total(device: DeviceResult) -> str:
    predicted = device.source == "predicted"
    return ("≈ " if predicted else "") + duration(_step(device), PREDICTED_DIGITS if predicted else MEASURED_DIGITS)


def _step(device: DeviceResult) -> float:
    return device.step_ms.mid if device.step_ms is not None else 0.0
