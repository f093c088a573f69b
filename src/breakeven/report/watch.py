"""A watched loop: one live line, the page at its end, and a table for notebooks."""

from __future__ import annotations

from html import escape
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table

from breakeven.report.numbers import MEASURED_DIGITS, digits, duration, measured, percentage, rate
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.report.text import clean, shorten, shorten_path
from breakeven.results.records import Site
from breakeven.results.watching import Watched

_WORDS: Final = {
    "input": "waiting for the next batch",
    "forward": "forward pass and what the loop does around it",
    "backward": "backward pass",
    "rest": "between backward pass and optimizer, and after it",
    "optimizer": "optimizer",
}
_LINE: Final = 110
_PATH: Final = 50


def watch_line(seen: Watched, width: int = _LINE, ascii_only: bool = False) -> str:
    """Step, device, where it goes, loss, the worst finding: on one line of at most `width` cells."""
    if seen.step_ms is None:
        return clean(f"step {seen.steps}: warming up", ascii_only)
    step = seen.step_ms.mid
    parts = sorted(seen.parts, key=lambda part: -part.ms)
    where = " ".join(f"{part.cause} {percentage(part.share)}" for part in parts if part.share >= 0.01)
    loss = f" · loss {digits(seen.loss, 4)}" if seen.loss is not None else ""
    found = f" · {seen.findings[0].id}" if seen.findings else ""
    said = f"step {seen.steps} · {duration(step)} ({rate(step, MEASURED_DIGITS)}/s) on {seen.device} · {where}{loss}{found}"
    return shorten(clean(said, ascii_only), width, ascii_only)


def render_watch(seen: Watched, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """What was seen, with every finding and its lines."""
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    parts: list[RenderableType] = [paper.text(head(seen), style="bold")]
    if seen.step_ms is not None:
        table = Table.grid(padding=(0, 2, 0, 0))
        for part in sorted(seen.parts, key=lambda part: -part.ms):
            table.add_row(
                paper.text(f"  {part.cause}"), paper.text(duration(part.ms)), paper.text(percentage(part.share)),
                paper.text(_WORDS.get(part.cause, "")),
            )  # fmt: skip
        parts.append(table)
    for finding in seen.findings:
        parts.append(paper.text(f"{finding.id}: {finding.sentence}", style="yellow"))
        parts += [paper.text(where(site), indent=2, style="dim") for site in finding.sites]
    return Group(*parts)


def watch_html(seen: Watched) -> str:
    """The same for notebooks; all text escaped, nothing loaded."""
    rows = "".join(
        f"<tr><td>{_safe(part.cause)}</td><td>{_safe(duration(part.ms))}</td><td>{_safe(percentage(part.share))}</td>"
        f"<td>{_safe(_WORDS.get(part.cause, ''))}</td></tr>"
        for part in sorted(seen.parts, key=lambda part: -part.ms)
    )
    found = "".join(
        f"<li><b>{_safe(f.id)}</b>: {_safe(f.sentence)}"
        + "".join(f"<br><code>{_safe(where(s))}</code>" for s in f.sites)
        + "</li>"
        for f in seen.findings
    )
    return f"<p><b>{_safe(head(seen))}</b></p><table>{rows}</table>" + (f"<ul>{found}</ul>" if found else "")


def head(seen: Watched) -> str:
    """Steps, device, and what one takes, in a sentence."""
    if seen.step_ms is None:
        return f"{seen.steps} steps: too few to say what one takes"
    first = f"; the first took {duration(seen.first_ms)}" if seen.first_ms is not None else ""
    how = f"; parts from {seen.sampled} steps in which each was waited for" if seen.sampled else ""
    return f"{seen.steps} steps on {seen.device}: {duration(seen.step_ms.mid)} each, {measured(seen.step_ms)}{first}{how}"


def where(site: Site) -> str:
    """A line of the user's, as pages name it."""
    return f"{shorten_path(site.file, _PATH)}:{site.line}  {site.text}"


def _safe(text: str) -> str:
    return escape(clean(text))
