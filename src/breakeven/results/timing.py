"""Records of `breakeven time`; their field names are those of its JSON. Missing is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.results.records import Interval


@dataclass(frozen=True)
class Doubt:
    """A reason to take a number with care, to be said before the number.

    Attributes:
        id: `few`, `not_steady`, `drift`, `bimodal`, `outliers`, `throttled`, `busy_machine`, `coarse_clock`, `time_up`.
        sentence: what it is, in words.
    """

    id: str
    sentence: str


@dataclass(frozen=True)
class Trap:
    """What a careless stopwatch would have read instead.

    Attributes:
        id: `not_synchronised` (the clock read before the device was done) or `first_call` (set-up inside the timed part).
        ms: what it would have read; None: it could not be told.
        factor: that against the honest number.
        caught: it would have misled: off by a tenth or more, and by more than the noise.
    """

    id: str
    ms: float | None
    factor: float | None
    caught: bool


@dataclass(frozen=True)
class Merit:
    """A figure of merit.

    Attributes:
        unit: `GFLOP/s` or `GB/s`.
        value: by the median.
        peak: what the device can do at most; None: not known.
        share: value over peak.
        peak_source: where the peak is from.
    """

    unit: str
    value: float
    peak: float | None = None
    share: float | None = None
    peak_source: str = ""


@dataclass(frozen=True)
class Timing:
    """One contestant's time: a job on a device, under some settings.

    Attributes:
        name: of the contestant, as the page shows it.
        device: as PyTorch calls it.
        device_name: as its driver calls it.
        call_ms: median time of a call where calls follow each other, with its interval of level `level`; None: it failed. Where
            earlier runs on this machine tell how far runs lie apart, the interval holds that too.
        alone_ms: a call by itself, waited for: what a person sees who makes one; None: not measured.
        level: of the interval.
        samples: batches that were timed.
        calls: calls in each batch.
        warmup_calls: calls before the steady state.
        stopped: why the measurement ended: `precise` (the interval is as narrow as was asked for) or `time_up`.
        doubts: reasons for care.
        traps: what careless stopwatches would have read.
        merits: figures of merit.
        energy_j: energy of a call, with what the device uses when idle; None: not readable.
        epoch_energy_j: the same of an epoch, where the job knows how many calls make one.
        against: how many times as long it takes as the first contestant, batch by batch; None: it is the first.
        error: why there is no number.
        this_run_ms: the same with the interval of this run alone; None: too few earlier runs to tell how far they lie apart.
        runs: runs on this device and machine, this one included, that tell it.
    """

    name: str
    device: str
    device_name: str
    call_ms: Interval | None
    alone_ms: float | None = None
    level: float = 0.95
    samples: int = 0
    calls: int = 0
    warmup_calls: int = 0
    stopped: str | None = None
    doubts: tuple[Doubt, ...] = ()
    traps: tuple[Trap, ...] = ()
    merits: tuple[Merit, ...] = ()
    energy_j: float | None = None
    epoch_energy_j: float | None = None
    against: Interval | None = None
    error: str | None = None
    this_run_ms: Interval | None = None
    runs: int = 0


@dataclass(frozen=True)
class Tuned:
    """What `--tune-cpu` found.

    Attributes:
        settings: the best ones, as sentences of code (`torch.set_num_threads(2)`); empty: as it was is best.
        gain: how many times faster they are than the settings before, from batches that had no part in the choice.
        proven: the interval lies above 1.
        rejected: what does not apply or did not help, and why.
        sentence: the answer in words.
    """

    settings: tuple[str, ...]
    gain: Interval | None
    proven: bool
    rejected: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""


@dataclass(frozen=True)
class TimeReport:
    """The whole answer of `breakeven time`."""

    target: str
    timings: tuple[Timing, ...]
    tuned: Tuned | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    failed: str | None = None
    schema: str = "breakeven/time/1"
