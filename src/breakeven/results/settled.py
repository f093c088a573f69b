"""Records of forecasts and of how they turned out: what `settle` works on and answers with. Missing is None, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.records import Interval


@dataclass(frozen=True)
class Forecast:
    """One prediction as it was made.

    Attributes:
        fingerprint: of the job (`timeline.fingerprint`).
        device: the catalog's name.
        host: the machine that it sits in.
        unit: step, loop or run.
        step_ms: what was told.
        plain_ms: the same without what earlier settlements had taught about the device.
        device_part: relative change of the step for a small relative change of the device's prices, 0 to 1.
        host_part: the same for the host's times.
        made: when, UTC.
        version: of breakeven.
    """

    fingerprint: str
    device: str
    host: str
    unit: str | None
    step_ms: Interval
    plain_ms: Interval
    device_part: float
    host_part: float
    made: str
    version: str


@dataclass(frozen=True)
class Sealed:
    """A forecast and the SHA-256 of its content, taken when it was written."""

    forecast: Forecast
    seal: str


@dataclass(frozen=True)
class Measurement:
    """A step as it was measured: of which job, on what, where it is kept and since when."""

    fingerprint: str | None
    device: str
    step_ms: Interval
    unit: str | None
    origin: str
    made: str


@dataclass(frozen=True)
class Score:
    """How one forecast turned out.

    Attributes:
        device: the catalog's name.
        fingerprint: of the job.
        predicted_ms: what was told.
        measured_ms: what was measured.
        error: predicted over measured, less one.
        inside: the measured middle lies in the predicted interval.
        measured_in: the run or file of the measurement.
        refined: the device's card learned from it.
        why_not: why it did not; None: it did.
    """

    device: str
    fingerprint: str
    predicted_ms: Interval
    measured_ms: Interval
    error: float
    inside: bool
    measured_in: str
    refined: bool
    why_not: str | None = None


@dataclass(frozen=True)
class Lesson:
    """What one settled forecast says of a device; a card is a list of them.

    Attributes:
        forecast: the forecast's seal.
        fingerprint: of the job.
        host: the machine that the device sat in.
        log_ratio: natural logarithm of measured over predicted (without any card).
        sigma: standard deviation of the prediction's logarithm.
        measured_sigma: the same of the measurement.
        device_part: as in the forecast.
        host_part: as in the forecast.
        at: when it was learned, UTC; equal for all of one settlement.
    """

    forecast: str
    fingerprint: str
    host: str
    log_ratio: float
    sigma: float
    measured_sigma: float
    device_part: float
    host_part: float
    at: str


@dataclass(frozen=True)
class CardState:
    """What a device's card says, as factors on its prices and on the times of the host that it sits in."""

    device: str
    lessons: int
    device_factor: Interval
    host: str
    host_factor: Interval


@dataclass(frozen=True)
class Unsettled:
    """A forecast that was not scored, and why."""

    device: str
    fingerprint: str
    reason: str


@dataclass(frozen=True)
class SettleReport:
    """The whole answer of `breakeven settle`; `undone` is how many lessons were taken back."""

    run: str | None
    scores: tuple[Score, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()
    cards: tuple[CardState, ...] = ()
    undone: int | None = None
    warnings: tuple[str, ...] = ()
    schema: str = "breakeven/settle/1"
