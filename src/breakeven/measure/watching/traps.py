"""What the user's own stopwatch gets wrong, from the regions that were timed twice. Pure: it reads no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from breakeven.measure.watching.clocks import Region
from breakeven.results.records import Finding, Interval
from breakeven.units import NS_PER_MS

#: From this part of the true time on that a clock does not see, its figure is no measurement (as rule `timing_bug` has it).
LEAST_UNSEEN: Final = 0.2
#: An unseen time below this is what waiting itself costs.
_WAIT_NS: Final = 50_000
#: A first pass holds set-up where it takes this much longer than a usual one, and longer than any other by this much.
_SET_UP, _ABOVE_ALL = 1.5, 1.2
#: Part of a region that a first step's extra time must take to matter.
_MATTERS: Final = 0.05
_FEW: Final = 4


def traps(regions: Iterable[Region], device: str, steps_ns: Sequence[float], first_ns: int | None) -> tuple[Finding, ...]:
    """Findings about the regions.

    Args:
        regions: as they were timed.
        device: that the steps ran on.
        steps_ns: steady steps, for comparison.
        first_ns: the first step.
    """
    found = []
    for region in regions:
        found += [f for f in (_not_waited(region, device), _set_up(region, device, steps_ns, first_ns)) if f is not None]
    return tuple(found)


def _not_waited(region: Region, device: str) -> Finding | None:
    both = [(shown, true) for shown, true in zip(region.shown_ns, region.true_ns, strict=True) if true is not None]
    unseen = [true - shown for shown, true in both]
    if not both or median(unseen) < _WAIT_NS:
        return None
    shown, true = median(s for s, _ in both), median(t for _, t in both)
    if true <= 0 or (true - shown) / true < LEAST_UNSEEN:
        return None
    low, high = min(t for _, t in both) / NS_PER_MS, max(t for _, t in both) / NS_PER_MS
    return Finding(
        "timing_bug", device, "other", None,
        f"The clock of line {region.closed.line} is read while {device} still works: from line {region.opened.line} on it shows "
        f"{shown / NS_PER_MS:.3g} ms, and the work takes {true / NS_PER_MS:.3g} ms ({low:.3g} to {high:.3g}, waited for "
        f"{len(both)} times). Synchronise before both lines.",
        (region.closed, region.opened), ("synchronise",),
    )  # fmt: skip


def _set_up(region: Region, device: str, steps_ns: Sequence[float], first_ns: int | None) -> Finding | None:
    times = [shown if true is None else true for shown, true in zip(region.shown_ns, region.true_ns, strict=True)]
    if len(times) >= _FEW:
        first, usual = times[0], median(times[1:])
        if first > _SET_UP * usual and first > _ABOVE_ALL * max(times[1:]):
            return _first(region, device, first - usual, first, f"the later {len(times) - 1} took {usual / NS_PER_MS:.3g} ms")
        return None
    begin, end = region.steps[0]
    if begin == 0 and end > _FEW and first_ns is not None and steps_ns:
        usual = median(steps_ns)
        extra = first_ns - usual
        if first_ns > _SET_UP * usual and extra > _MATTERS * times[0]:
            without = f"its first step took {first_ns / NS_PER_MS:.3g} ms instead of {usual / NS_PER_MS:.3g} ms"
            return _first(region, device, extra, times[0], without)
    return None


def _first(region: Region, device: str, extra: float, whole: float, why: str) -> Finding:
    price = extra / NS_PER_MS
    return Finding(
        "warmup", device, "warmup", Interval(price, price, price),
        f"What lines {region.opened.line} to {region.closed.line} time holds first-call set-up: the first "
        f"time {whole / NS_PER_MS:.3g} ms, of which {price:.3g} ms are set-up ({why}). "
        "Run it a few times before the clock starts.",
        (region.opened, region.closed), ("warm_up",),
    )  # fmt: skip
