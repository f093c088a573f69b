"""The page of `breakeven fix`: the change, each remedy with what was predicted and what was proven, and the proof."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from breakeven.report.fix import device_words, proven, times, untouched, verdict_of
from breakeven.report.html.bars import Bar, Piece
from breakeven.report.html.writing import document
from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, digits, duration
from breakeven.results import Interval
from breakeven.results.proof import Difference, FixReport, Proof, Tried

_MARKS = {True: "kept", False: "not kept", None: "not proven"}
#: Colours of a bar: of the script as it is, and of the changed one.
_AS_IT_IS, _CHANGED = 11, 2
_DIFF_KINDS = {"+": "added", "-": "removed", "@": "where"}
_PROMISES = {
    "bitwise": "the same bits", "tolerance": "the same numbers but for rounding",
    "changes_mathematics": "another training, which must reach as low a loss in the same time",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """One remedy on the page."""

    title: str
    id: str
    mark: str
    kept: bool | None
    where: str
    reason: str
    gain: Interval | None
    proven: tuple[str, ...]
    note: str


def fix_page(report: FixReport, command: str | None = None) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer.
        command: what was typed; None: as far as the answer tells.
    """
    looked = [one for one in report.remedies if one.lines]
    return document(
        "fix.html.j2", None, report=report, title=f"breakeven fix {report.script}", headline=" ".join(verdict_of(report)),
        predicted=_predicted(report), off=_off(report), proven_lines=tuple(proven(report.proof)) if report.proof else (),
        device=device_words(report), bars=tuple(_bars(report)), remedies=tuple(_shown(one) for one in looked),
        certificate=tuple(_certificate(report)), differences=_differences(report.proof), diff=tuple(_diff(report.diff)),
        notes=(*untouched(report), *report.warnings), asked=tuple(_others(report)),
        command=command or shlex.join(["breakeven", "fix", report.script]),
    )  # fmt: skip


def _others(report: FixReport) -> Iterator[tuple[str, str]]:
    """Remedies that were looked for and found nothing to change: id and why."""
    told = set(untouched(report))
    for one in report.remedies:
        if not one.lines and f"{one.id}: {one.reason}" not in told:
            yield one.id, one.reason


def _predicted(report: FixReport) -> str | None:
    if report.predicted is None:
        return None
    return f"≈ {times(report.predicted)} the steps a second on {device_words(report)}, simulated."


def _off(report: FixReport) -> str | None:
    return None if report.error is None else f"The predicted saving is {100 * report.error:+.0f} % off the proven one."


def _bars(report: FixReport) -> Iterator[Bar]:
    """A step before and after, as it was measured in the proof; and after, as it was predicted from the one before."""
    proof = report.proof
    rows: list[tuple[str, str, float, int]] = []
    if proof is not None and proof.before_ms is not None and proof.after_ms is not None:
        here = proof.device.upper()
        rows += [(f"As it is, on this {here}", "measured", proof.before_ms.mid, _AS_IT_IS)]
        rows += [(f"Changed, on this {here}", "measured", proof.after_ms.mid, _CHANGED)]
    if report.step_ms is not None and report.predicted is not None and report.predicted.mid > 0:
        if not rows or report.device != "cpu":
            source = "measured" if report.device == "cpu" else "predicted"
            rows.append((f"As it is, on {device_words(report)}", source, report.step_ms.mid, _AS_IT_IS))
        before = proof.before_ms.mid if rows and report.device == "cpu" and proof and proof.before_ms else report.step_ms.mid
        rows.append((f"Changed, predicted for {device_words(report)}", "predicted", before / report.predicted.mid, _CHANGED))
    longest = max((ms for _, _, ms, _ in rows), default=0.0)
    for name, source, ms, number in rows:
        width = f"{100 * ms / longest:.3f}%"
        total = f"≈ {duration(ms, PREDICTED_DIGITS)}" if source == "predicted" else duration(ms, MEASURED_DIGITS)
        piece = Piece("", number, "", "0%", width, "0%", False, f"{name}: {total}")
        yield Bar(name, source, total, (piece,), width, f"{name}, {source}: one step takes {total}")


def _shown(one: Tried) -> Shown:
    at = ", ".join(map(str, one.lines))
    lines = f"line{'s' if len(one.lines) > 1 else ''} {at}"
    proof = tuple(proven(replace(one.proof, race=None))) if one.proof is not None else ()
    return Shown(one.title, one.id, _MARKS[one.kept], one.kept, lines, one.reason, one.gain_ms, proof, one.note)


def _certificate(report: FixReport) -> Iterator[tuple[str, str]]:
    """What the proof rests on, as pairs of a name and a value."""
    proof = report.proof
    if proof is None:
        return
    yield "Ran on", _machine(report.machine) or f"this machine's {proof.device.upper()}"
    yield "Compared", f"{proof.pairs} pairs of blocks of {proof.block} steps, the two versions in alternation"
    if proof.speedup is not None:
        yield "Steps a second", f"{times(proof.speedup)} as many"
    if proof.cpu_speedup is not None:
        yield "By processor time", f"{times(proof.cpu_speedup)} as many"
    equality = proof.equality
    if equality is not None:
        yield "Promised", _PROMISES.get(equality.promise, equality.promise)
        if equality.tolerance is not None:
            yield "Allowed difference", f"{equality.tolerance:.1e}, relative"
        yield "Steps compared", f"the first {equality.steps}, and one after the timed ones"
        if equality.repeatable is not None:
            yield "Run twice, the unchanged script", "gives the same bits" if equality.repeatable else "gives other bits"
        yield "The promise holds", "yes" if equality.holds else "no"
    if proof.race is not None:
        race = proof.race
        ends = f"{digits(race.before.mid, 4)} before, {digits(race.after.mid, 4)} after"
        yield "Loss after the same time", f"{ends}, {race.seconds:.1f} s each, {race.steps[0]:,} and {race.steps[1]:,} steps"
    yield "Kept", f"{'yes' if proof.kept else 'no'}: {proof.reason}"


def _machine(machine: Mapping[str, object]) -> str:
    cpu = machine.get("cpu", machine)
    model = cpu.get("model") if isinstance(cpu, Mapping) else None
    return str(model) if model else ""


def _differences(proof: Proof | None) -> Sequence[tuple[str, str, str, str, str]]:
    """Losses, gradients and parameters: how far they lie apart."""
    if proof is None or proof.equality is None:
        return ()
    return [_difference(one) for one in proof.equality.differences]


def _difference(one: Difference) -> tuple[str, str, str, str, str]:
    def size(value: float | None) -> str:
        return "–" if value is None else "0" if value == 0 else f"{value:.1e}"

    first = "–" if one.first_step is None else str(one.first_step)
    return one.what, "yes" if one.bitwise else "no", size(one.largest), first, size(one.last)


def _diff(diff: str) -> Iterator[tuple[str, str]]:
    """Each line of the change with its kind."""
    for line in diff.splitlines():
        kind = "file" if line.startswith(("+++", "---")) else _DIFF_KINDS.get(line[:1], "same")
        yield kind, line
