"""One bar per device: where its pieces lie, in percent of the width, so that they need no script and no inline style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from breakeven.report.html.saying import cause_text, step
from breakeven.report.numbers import part_of, percentage
from breakeven.report.words import CAUSES, cause_words
from breakeven.results import DeviceResult

#: From this ratio of steps on each bar gets its own scale, as on the terminal: the short one would be a dot.
_APART = 12.0
#: Percent of the width from which a piece has room for its letter.
_LETTER = 3.0


@dataclass(frozen=True)
class Piece:
    """One cause's piece of a bar; `number` is its colour."""

    cause: str
    number: int
    letter: str
    x: str
    width: str
    middle: str
    lettered: bool
    title: str


@dataclass(frozen=True)
class Bar:
    """One device's bar."""

    device: str
    source: str
    total: str
    pieces: tuple[Piece, ...]
    end: str
    label: str


@dataclass(frozen=True)
class Row:
    """One cause in the legend; a cell per device."""

    number: int
    letter: str
    text: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """All bars and their legend.

    Attributes:
        bars: one per device.
        rows: one per cause, the largest share first.
        alike: the bars have one scale.
    """

    bars: tuple[Bar, ...]
    rows: tuple[Row, ...]
    alike: bool


def chart(devices: Sequence[DeviceResult]) -> Chart | None:
    """The bars of these devices; None where none has an account."""
    shown = [d for d in devices if d.account and d.step_ms is not None and d.step_ms.mid > 0]
    if not shown:
        return None
    longest = max(_mid(d) for d in shown)
    alike = longest / min(_mid(d) for d in shown) <= _APART
    return Chart(tuple(_bar(d, longest if alike else _mid(d)) for d in shown), tuple(_rows(shown)), alike)


def cause_number(cause: str) -> int:
    """A cause's place in the list of colours; the last one is for those that have none."""
    names = list(CAUSES)
    return names.index(cause) if cause in names else len(names)


def causes() -> list[dict[str, str]]:
    """Name, letter and words of each cause, by its number: what the page's script draws with."""
    return [{"name": name, "letter": words.letter, "words": words.words} for name, words in CAUSES.items()]


def _bar(device: DeviceResult, longest: float) -> Bar:
    whole = sum(max(part.ms, 0.0) for part in device.account) or 1.0
    length = 100.0 * _mid(device) / longest
    pieces, begun = [], 0.0
    for part in device.account:
        width = length * max(part.ms, 0.0) / whole
        if width > 0:
            pieces.append(_piece(device, part.cause, part.ms, part.share, begun, width))
        begun += width
    said = ", ".join(f"{p.cause} {p.title.rsplit(', ', 1)[-1]}" for p in pieces)
    label = f"{device.name}, {device.source}, {step(device)}: {said}"
    return Bar(device.name, device.source, step(device), tuple(pieces), _percent(length), label)


def _piece(device: DeviceResult, cause: str, ms: float, share: float, begun: float, width: float) -> Piece:
    title = f"{cause_text(cause)}, {part_of(ms, _mid(device))}, {percentage(share)}"
    return Piece(
        cause, cause_number(cause), cause_words(cause).letter, _percent(begun), _percent(width), _percent(begun + width / 2),
        width >= _LETTER, title,
    )  # fmt: skip


def _rows(devices: Sequence[DeviceResult]) -> list[Row]:
    largest: dict[str, float] = {}
    for device in devices:
        for part in device.account:
            if part.ms > 0:
                largest[part.cause] = max(largest.get(part.cause, 0.0), part.share)
    order = sorted(largest, key=lambda cause: -largest[cause])
    return [
        Row(cause_number(cause), cause_words(cause).letter, cause_text(cause), tuple(_cell(device, cause) for device in devices))
        for cause in order
    ]  # fmt: skip


def _cell(device: DeviceResult, cause: str) -> str:
    part = next((p for p in device.account if p.cause == cause and p.ms > 0), None)
    return "–" if part is None else f"{part_of(part.ms, _mid(device))} ({percentage(part.share)})"


def _percent(value: float) -> str:
    return f"{value:.3f}%"


def _mid(device: DeviceResult) -> float:
    return device.step_ms.mid if device.step_ms is not None else 0.0
