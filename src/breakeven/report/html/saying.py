"""What the templates may call: numbers, causes and remedies in the very words of the terminal's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

from breakeven.report.advice import the_device
from breakeven.report.numbers import (
    MEASURED_DIGITS,
    PREDICTED_DIGITS,
    approximately,
    duration,
    factor,
    measured,
    percentage,
    predicted,
    probability,
)
from breakeven.report.words import cause_words, remedy_words
from breakeven.results import DeviceResult, Remedy, Verdict


def step(device: DeviceResult) -> str:
    """A device's step: `13.5 ms`, or `≈ 5.3 ms` where it was not measured, or a dash."""
    if device.step_ms is None:
        return "–"
    if device.source == "predicted":
        return f"≈ {duration(device.step_ms.mid, PREDICTED_DIGITS)}"
    return duration(device.step_ms.mid, MEASURED_DIGITS)


def how(device: DeviceResult, samples: int | None = None) -> str:
    """Where a device's step comes from, with its spread or range."""
    if device.step_ms is None:
        return f"not {device.source}"
    if device.source == "predicted":
        return predicted(device.step_ms)
    return "measured once" if samples == 1 else measured(device.step_ms)


def sure(verdict: Verdict) -> str:
    """How sure a verdict is."""
    around = f"{factor(verdict.factor)[1]}×"
    if verdict.tie:
        other = the_device(verdict.over)
        return f"Nine times in ten {the_device(verdict.device)} is {around} as fast as {other}: either may win."
    chance = probability(verdict.probability)
    return f"Probability that {the_device(verdict.device)} is the faster one: {chance}. Nine times in ten the factor is {around}."


def remedy_text(remedy: Remedy) -> str:
    """What to do, with a capital letter."""
    words = remedy.sentence or remedy_words(remedy.id)
    return words[:1].upper() + words[1:]


def near(file: str, script: str) -> str:
    """A file's name as it is seen from the folder of the script; elsewhere its whole name."""
    folder = PurePath(script).parent
    return str(PurePath(file).relative_to(folder)) if PurePath(file).is_relative_to(folder) else file


def line_ms(ms: float | None) -> str:
    """A line's part of a step; a dash where it has none."""
    return duration(ms, PREDICTED_DIGITS) if ms else "–"


def cause_text(cause: str) -> str:
    """A cause with what it means."""
    words = cause_words(cause).words
    return f"{cause}: {words}" if words else cause


SAYINGS: Mapping[str, Callable[..., object]] = {
    "approximately": approximately, "cause_text": cause_text, "cause_words": cause_words, "duration": duration, "how": how,
    "line_ms": line_ms, "measured": measured, "near": near, "percentage": percentage, "remedy_text": remedy_text,
    "step": step, "sure": sure, "the_device": the_device,
}  # fmt: skip
