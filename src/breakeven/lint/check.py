"""What a check of lint is: a code, the finding and the remedies that it names, and where it sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from breakeven.lint.reading.facts import Event, Facts, Loop


class Hit(NamedTuple):
    """A place that a check has something to say about; lines and columns count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Check:
    """One check."""

    code: str
    id: str
    remedies: tuple[str, ...]
    find: Callable[[Facts], Iterator[Hit]]


def hit(event: Event, message: str) -> Hit:
    """A hit where something happens."""
    return Hit(event.line, event.column, message)


def on_device(facts: Facts, event: Event) -> bool:
    """Whether the tensor of an event lies on a GPU, surely or as far as a file that leaves the device open can tell."""
    device = event.value.device if event.value else None
    return device not in ("cpu", "meta") and (device is not None or facts.device)


def line_in(loop: Loop, event: Event) -> int:
    """The line in a loop's own body that leads to an event."""
    first, last = loop.line, getattr(loop.node, "end_lineno", loop.line)
    inside = [line for line in (*event.calls, event.line) if first <= line <= last]
    return inside[0] if inside else event.line


def loops_of(events: list[Event]) -> list[Loop]:
    """The loops around some events, each once."""
    found: list[Loop] = []
    for event in events:
        found += [loop for loop in event.loops if not any(loop is other for other in found)]
    return found
