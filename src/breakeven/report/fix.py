"""The page and the JSON of `breakeven fix`. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from breakeven.report.json import encode
from breakeven.report.numbers import MEASURED_DIGITS, approximately, duration
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results import Interval
from breakeven.results.proof import FixReport, Proof, Tried


def fix_json(report: FixReport) -> bytes:
    """The certificate as JSON (schema `breakeven/fix/1`)."""
    return encode(report)


def render_fix(report: FixReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    blocks: list[RenderableType] = [paper.text(f"breakeven fix {report.script}", style="dim"), _answer(report, paper)]
    looked = [one for one in report.remedies if one.lines]
    if looked:
        blocks.append(Group(paper.text("Remedies", style="bold underline"), *(_tried(one, paper) for one in looked)))
    if report.diff:
        blocks.append(Group(paper.text("The change", style="bold underline"), *_diff(report.diff, paper)))
    notes = [*untouched(report), *report.warnings]
    if notes:
        blocks.append(Group(paper.text("Notes", style="dim underline"), *(paper.text(n, "dim", 2) for n in notes)))
    return Group(*(part for block in blocks for part in (block, Text())))


def _answer(report: FixReport, paper: Paper) -> RenderableType:
    lines = [paper.text(sentence, style="bold") for sentence in verdict_of(report)]
    if report.predicted is not None:
        lines.append(paper.text(f"Predicted for {device_words(report)}: ≈ {times(report.predicted)} (simulated).", indent=2))
    if report.proof is not None:
        lines += [paper.text(said, indent=2) for said in proven(report.proof)]
    if report.error is not None:
        lines.append(paper.text(f"The predicted saving is {100 * report.error:+.0f} % off the proven one.", indent=2))
    return Group(*lines)


def verdict_of(report: FixReport) -> Iterator[str]:
    """What came of it, in a sentence."""
    proof = report.proof
    if report.written:
        yield f"{report.script} was changed; the text as it was is in {report.backup}."
    elif not report.diff:
        yield "Nothing to change: no remedy that can be carried out here is kept."
    elif proof is None:
        yield "This change is not proven yet: --prove runs both versions, --write changes the file after that."
    elif proof.kept:
        yield "This change is proven; --write makes it."
    else:
        yield f"This change is not kept: {proof.reason}."


def proven(proof: Proof) -> Iterator[str]:
    """What a proof showed, in sentences."""
    if proof.speedup is not None and proof.before_ms is not None and proof.after_ms is not None:
        steps = f"{duration(proof.before_ms.mid, MEASURED_DIGITS)} before, {duration(proof.after_ms.mid, MEASURED_DIGITS)} after"
        yield (
            f"Measured on this machine's {proof.device.upper()}: {times(proof.speedup)} the steps a second "
            f"({steps} a step; {proof.pairs} pairs of blocks in alternation)."
        )
    if proof.cpu_speedup is not None:
        yield f"By processor time, which other programs do not disturb: {times(proof.cpu_speedup)}."
    if proof.equality is not None:
        yield proof.equality.sentence
    if proof.race is not None:
        race = proof.race
        yield f"Loss after {race.seconds:.1f} s of training each: {race.before.mid:.4g} before, {race.after.mid:.4g} after."


def times(speedup: Interval) -> str:
    """A speed-up with its interval."""
    return f"{speedup.mid:.2f}× ({speedup.low:.2f}–{speedup.high:.2f})"


def device_words(report: FixReport) -> str:
    """The device that gains are predicted for."""
    return "this machine's CPU" if report.device == "cpu" else f"the {report.device}"


def _tried(one: Tried, paper: Paper) -> RenderableType:
    mark = {True: "+", False: "-", None: "?"}[one.kept]
    lines = [paper.text(f"{mark} {one.title} [{one.id}], line {', '.join(map(str, one.lines))}: {one.reason}", indent=2)]
    if one.gain_ms is not None:
        lines.append(paper.text(f"predicted to save {approximately(one.gain_ms)} of a step", "italic", 4))
    if one.proof is not None and one.proof.speedup is not None:
        lines.append(paper.text(f"measured: {times(one.proof.speedup)}", "", 4))
    if one.note:
        lines.append(paper.text(one.note, "dim", 4))
    return Group(*lines)


def _diff(diff: str, paper: Paper) -> Iterator[RenderableType]:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.splitlines():
        safe = "".join(c if c.isprintable() else "?" for c in line.expandtabs())
        text = safe.encode("ascii", "replace").decode() if paper.ascii_only else safe
        yield Padding(Text(text, style=styles.get(line[:1], ""), no_wrap=True, overflow="ellipsis"), (0, 0, 0, 2))


def untouched(report: FixReport) -> Iterator[str]:
    """Those that were asked for and could not be carried out; of all others the page is silent."""
    for one in report.remedies:
        if not one.lines and (one.promise is None or len(report.remedies) <= 3):
            yield f"{one.id}: {one.reason}"
