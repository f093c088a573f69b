"""The page of `breakeven compare`: one step of each as a bar, which cause moved, and whether that is more than the spread."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from breakeven.report.compare import headline, part_words, signed
from breakeven.report.html.bars import cause_number, chart
from breakeven.report.html.saying import cause_text
from breakeven.report.html.writing import Link, document
from breakeven.report.words import cause_words
from breakeven.results import DeviceResult, Interval, Share
from breakeven.results.compared import Change, CompareReport

#: Percent of the width on each side of the middle that the largest change takes.
_HALF = 50.0
#: Changes that are said in sentences: so many, and none under this part of the first's step. The table has them all.
_MOST_SAID, _LEAST_SAID = 3, 0.01


@dataclass(frozen=True)
class Moved:
    """One cause: its part of both steps, and its change as a bar from the middle."""

    number: int
    letter: str
    text: str
    first: str
    second: str
    change: str
    real: bool
    x: str
    width: str


def compare_page(report: CompareReport, command: str | None = None, links: Sequence[Link] = ()) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer.
        command: what was typed; None: as far as the answer tells.
        links: to pages beside this one.
    """
    names = _names(report)
    largest = max((abs(change.ms) for change in report.changes), default=0.0)
    steps = tuple(_device(report, at, name) for at, name in enumerate(names))
    return document(
        "compare.html.j2", None, links, report=report, title=f"breakeven compare {names[0]} {names[1]}", names=names,
        headline=headline(report) or "No step time in one of them, so the two cannot be set side by side.", steps=steps,
        chart=chart(steps), real=tuple(_real(report))[:_MOST_SAID],
        moved=tuple(_moved(change, report, largest) for change in report.changes),
        command=command or shlex.join(["breakeven", "compare", report.first, report.second]),
    )  # fmt: skip


def _names(report: CompareReport) -> tuple[str, str]:
    """Short names of both, told apart by their place where they are the same."""
    one, two = (PurePath(name).name or name for name in (report.first, report.second))
    return (one, two) if one != two else (f"{one} (first)", f"{two} (second)")


def _device(report: CompareReport, at: int, name: str) -> DeviceResult:
    """One of the two as a device of its own, so that its bar is drawn as all bars are."""
    step = report.step_ms[at]
    whole = step.mid if step is not None and step.mid > 0 else 1.0
    parts = ((c.cause, (c.first_ms, c.second_ms)[at]) for c in report.changes)
    account = tuple(Share(cause, ms, ms / whole) for cause, ms in parts if ms > 0)
    kind = "cpu" if report.devices[at] == "cpu" else "gpu"
    return DeviceResult(name, kind, report.sources[at], step, account)


def _moved(change: Change, report: CompareReport, largest: float) -> Moved:
    width = _HALF * abs(change.ms) / largest if largest else 0.0
    return Moved(
        cause_number(change.cause), cause_words(change.cause).letter, cause_text(change.cause),
        _ms(change.first_ms, report.sources[0]), _ms(change.second_ms, report.sources[1]), signed(change, report), change.real,
        f"{_HALF if change.ms > 0 else _HALF - width:.3f}%", f"{width:.3f}%",
    )  # fmt: skip


def _ms(ms: float, source: str) -> str:
    return part_words(ms, source) if ms else "–"


def _real(report: CompareReport) -> Iterator[str]:
    """A sentence for each change that is more than the spread."""
    step = report.step_ms[0]
    for change in report.changes:
        if not change.real or (step is not None and abs(change.ms) < _LEAST_SAID * step.mid):
            continue
        grew = "more" if change.ms > 0 else "less"
        part = f", {100 * abs(change.ms) / step.mid:.0f} % of the first's step" if isinstance(step, Interval) and step.mid else ""
        source = "predicted" if "predicted" in report.sources else "measured"
        yield f"{cause_text(change.cause)}: {part_words(abs(change.ms), source)} {grew} in the second{part}."
