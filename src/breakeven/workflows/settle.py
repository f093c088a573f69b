"""`breakeven settle`: scores the sealed forecasts of a run against what was measured, and teaches the device's card."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from breakeven import store
from breakeven.diagnose.imported.profiler_cost import without_profiler
from breakeven.errors import InputError, NoAnswer, UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.results import Interval, WhyReport
from breakeven.results.settled import Forecast, Lesson, Measurement, Score, Sealed, SettleReport, Unsettled
from breakeven.store import cards, seals
from breakeven.store.run import Run
from breakeven.store.search import runs_in
from breakeven.workflows.answers import is_kept, kept
from breakeven.workflows.cards import card_state
from breakeven.workflows.trace import looked_at

_Z90 = 1.6448536269514722


def settle(path: str, measured: str | None = None) -> SettleReport:
    """Scores every forecast of a run for which a measurement of the same job on the same device is known.

    Args:
        path: the run with the forecasts.
        measured: a run, the JSON of `why`, or a profiler's trace of the job; None: the runs beside this one are looked through.

    Raises:
        InputError: one of them cannot be read.
        NoAnswer: there are no forecasts, or none was measured.
    """
    run = store.open(path)
    made = list(seals.forecasts(run))
    if not made:
        raise NoAnswer(f"{path} holds no forecasts: nothing in it was predicted")
    warnings: list[str] = []
    known = list(_beside(run, warnings) if measured is None else _named(measured))
    scores: list[Score] = []
    open_ones: list[Unsettled] = []
    lessons: dict[str, list[Lesson]] = {}
    at = datetime.now(timezone.utc).isoformat()
    for sealed in made:
        score, lesson = _scored(sealed, known, measured is not None, at)
        if isinstance(score, Unsettled):
            open_ones.append(score)
            continue
        scores.append(score)
        if lesson is not None:
            lessons.setdefault(score.device, []).append(lesson)
    if not scores:
        where = f"in {measured}" if measured else f"in the runs beside {path}; --measured names one, or a trace of the job"
        raise NoAnswer(f"no forecast of {path} can be settled: {open_ones[0].device}: {open_ones[0].reason} ({where})")
    hosts = {sealed.forecast.device: sealed.forecast.host for sealed in made}
    scores = _taught(scores, lessons)
    states = [card_state(device, hosts[device]) for device in dict.fromkeys(s.device for s in scores)]
    return SettleReport(
        path, tuple(scores), tuple(open_ones), tuple(s for s in states if s is not None),
        warnings=(*run.warnings, *warnings),
    )  # fmt: skip


def undo() -> SettleReport:
    """Takes back what the last settlement taught.

    Raises:
        InputError: nothing was settled.
    """
    before, after = cards.undo()
    hosts = {c.device: c.lessons[-1].host for c in after if c.lessons}
    states = [card_state(device, host) for device, host in hosts.items()]
    taken = sum(len(c.lessons) for c in before) - sum(len(c.lessons) for c in after)
    return SettleReport(None, cards=tuple(s for s in states if s is not None), undone=taken)


def _scored(
    sealed: Sealed, known: list[Measurement], named: bool, at: str
) -> tuple[Score, Lesson | None] | tuple[Unsettled, None]:  # fmt: skip
    """How a forecast turned out, and what that teaches."""
    made = sealed.forecast
    if not seals.is_whole(sealed):
        return Unsettled(made.device, made.fingerprint, "it was changed after it was sealed"), None
    on_device = [m for m in known if _same_device(m.device, made.device)]
    same_job = [m for m in on_device if m.fingerprint == made.fingerprint and m.made >= made.made]
    found = same_job or (on_device if named else [])
    if not found:
        reason = "the same job was not measured there since" if on_device else "nothing was measured there"
        return Unsettled(made.device, made.fingerprint, reason), None
    best = max(found, key=lambda m: m.made)
    why_not = _why_not(made, best)
    score = Score(
        made.device, made.fingerprint, made.step_ms, best.step_ms, made.step_ms.mid / best.step_ms.mid - 1,
        made.step_ms.low <= best.step_ms.mid <= made.step_ms.high, best.origin, why_not is None, why_not,
    )  # fmt: skip
    return score, _lesson(sealed, best.step_ms, at) if why_not is None else None


def _why_not(made: Forecast, found: Measurement) -> str | None:
    """Why a measurement teaches nothing; None: it does."""
    if found.fingerprint is not None and found.fingerprint != made.fingerprint:
        return "the measured job asks for other operations or shapes than the forecast's"
    if found.unit is not None and made.unit is not None and found.unit != made.unit:
        return f"the forecast is of a {made.unit} and the measurement of a {found.unit}"
    if made.device_part + made.host_part <= 0 or made.plain_ms.low <= 0:
        return "the forecast does not say what the step depends on"
    return None


def _lesson(sealed: Sealed, measured: Interval, at: str) -> Lesson:
    made, plain = sealed.forecast, sealed.forecast.plain_ms
    return Lesson(
        sealed.seal, made.fingerprint, made.host, math.log(measured.mid / plain.mid), _sigma(plain), _sigma(measured),
        made.device_part, made.host_part, at,
    )  # fmt: skip


def _sigma(interval: Interval) -> float:
    """Standard deviation of the logarithm, from a 90 % interval."""
    return math.log(max(interval.high, interval.mid) / max(min(interval.low, interval.mid), 1e-12)) / (2 * _Z90)


def _taught(scores: list[Score], lessons: dict[str, list[Lesson]]) -> list[Score]:
    """Writes the lessons on the cards; a forecast that was settled before teaches nothing again."""
    before = {device: {lesson.forecast for lesson in cards.read_card(device).lessons} for device in lessons}
    again = {device for device, new in lessons.items() if all(le.forecast in before[device] for le in new)}
    for device, new in lessons.items():
        cards.add_lessons(device, new)
    return [replace(s, refined=False, why_not="it was settled before") if s.refined and s.device in again else s for s in scores]


def _same_device(one: str, other: str) -> bool:
    """Whether two names mean one device of the catalog."""
    try:
        return find_gpu(one).name == find_gpu(other).name
    except UnknownDevice:
        return one == other


def _beside(run: Run, warnings: list[str]) -> Iterator[Measurement]:
    """Measurements in the runs of the folder that holds this one, this one too."""
    for other in runs_in(_parent(run.path), warnings):
        for one in seals.measurements(other):
            yield replace(one, origin=other.path)


def _parent(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[0] if "://" in path else str(Path(path).expanduser().absolute().parent)


def _named(path: str) -> Iterator[Measurement]:
    """Measurements in what the user names."""
    if not is_kept(path):
        yield _traced(path)
        return
    answer = kept(path) if Path(path).is_file() else None
    if answer is not None:
        yield from _measured(answer.report, path)
    else:
        for one in seals.measurements(store.open(path)):
            yield replace(one, origin=path)


def _measured(report: WhyReport, path: str) -> Iterator[Measurement]:
    for device in report.devices:
        if device.source == "measured" and device.step_ms is not None:
            yield Measurement(None, device.name, device.step_ms, report.unit, path, "")


def _traced(path: str) -> Measurement:
    """The step of a profiler's trace, less what the profiler cost where that is known; of which job, the user vouches for."""
    if not Path(path).exists():
        raise InputError(f"no such run or trace: {path}")
    look = looked_at((Path(path),))
    evidence = look.evidence
    if evidence.step_ms is None or evidence.steps is None:
        raise NoAnswer(f"{path} marks no steps, so it does not say how long one takes")
    step = without_profiler(evidence, look.trace.source) or evidence.step_ms
    return Measurement(None, "cpu" if evidence.on_cpu else evidence.device, step, "step", path, "")
