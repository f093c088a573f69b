"""Timings beside those of earlier runs on this machine: intervals that hold what changes from run to run."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from breakeven.measure.request import CODE, JOB, TimeRequest
from breakeven.results.records import Interval
from breakeven.results.timing import TimeReport, Timing
from breakeven.stats.between import Spread, spread_of, widened
from breakeven.store.timings import Kept, keep_timings, read_timings

#: What is the same thing in every run: a function may have become another one.
_REPEATABLE: Final = (JOB, CODE)
#: Runs of one thing that count, the last ones: a machine may have become another one.
_LAST: Final = 20


def beside_earlier(report: TimeReport, request: TimeRequest) -> TimeReport:
    """A report whose intervals hold the spread of runs on this machine; the runs are remembered.

    The spread is pooled over everything that was timed on the same device under the same settings, by whether the machine was
    busy: a job that is timed for the first time has the spread of the others.
    """
    if request.tune_cpu or report.failed is not None:
        return report
    own = [None if timing.call_ms is None else _kept(timing, report, request) for timing in report.timings]
    seen = read_timings()
    new = [kept for kept in own if kept is not None]
    if new and request.kind in _REPEATABLE:
        keep_timings(new)
        seen = (*seen, *new)
    pairs = zip(report.timings, own, strict=True)
    return replace(
        report, timings=tuple(timing if kept is None else _with(timing, _spread(kept, seen)) for timing, kept in pairs)
    )


def _spread(one: Kept, seen: Iterable[Kept]) -> Spread | None:
    groups: dict[str, list[float]] = defaultdict(list)
    for kept in seen:
        if (kept.place, kept.busy) == (one.place, one.busy):
            groups[kept.job].append(kept.ms)
    return spread_of(group[-_LAST:] for group in groups.values())


def _with(timing: Timing, spread: Spread | None) -> Timing:
    """The timing with its interval at least as wide as runs lie apart."""
    if spread is None or timing.call_ms is None:
        return timing
    own = timing.call_ms
    call = Interval(*widened(own.low, own.mid, own.high, spread.factor(timing.level)))
    return replace(timing, call_ms=call, this_run_ms=own, runs=spread.runs)


def _kept(timing: Timing, report: TimeReport, request: TimeRequest) -> Kept:
    assert timing.call_ms is not None
    machine = [str(report.machine.get(key)) for key in ("cpu", "cores", "threads")]
    versions = [f"{name} {version}" for name, version in sorted(report.versions.items())]
    what = (request.target, request.kind, request.setup, request.size, request.dtype)
    return Kept(
        job=_hashed(map(str, what)),
        place=_hashed((timing.device, timing.device_name, *machine, *versions)),
        busy=any(doubt.id == "busy_machine" for doubt in timing.doubts),
        ms=timing.call_ms.mid,
    )


def _hashed(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
