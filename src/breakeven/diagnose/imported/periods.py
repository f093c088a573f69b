"""Steps of a program that marks none, from the period of what it launches; None unless that is certain.

Certain means: at least three periods, all but two in a hundred of the device's events repeat from one to the next, and each holds
what layers of one model do not repeat: kernels of an optimizer, or launches by the program's thread and then by autograd's (a
model of experts copies to the host in every layer: a100_moe_small.json.gz). What it does not know: loops that only infer, and
where in the period the program's own loop begins; it takes the copy of the batch, else the end of the optimizer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from breakeven.diagnose.imported.copies import FROM_DEVICE, TO_DEVICE
from breakeven.timeline import Timeline, queries, schema
from breakeven.timeline.coded import Coded
from breakeven.timeline.intervals import Intervals, Ints
from breakeven.timeline.timeline import column

#: Periods that must be seen.
_LEAST_PERIODS: Final = 3
#: Device events in a period, from which on it is no loop over one operation.
_LEAST_EVENTS: Final = 4
#: Part of the events that must be those of the period before.
_ALIKE: Final = 0.98
#: Times that what marks a period may come in it.
_MOST_MARKS: Final = 64

#: Kernels of PyTorch's and Apex's optimizers over lists of tensors.
_OPTIMIZER: Final = re.compile(r"(?i)multi_tensor_apply|fused_?(?:adam|sgd|lamb)")


@dataclass(frozen=True)
class Period:
    """What repeats.

    Attributes:
        spans: the steps, in the host's time where launches are known, else in the device's.
        events: of the device, in each.
        alike: part of the events that are those of the period before.
    """

    spans: Intervals
    events: int
    alike: float


def period_of(timeline: Timeline) -> Period | None:
    """The period of the device with most kernels; None where there is none, or none that is certain."""
    devices = queries.devices(timeline)
    if not devices:
        return None
    events = timeline.events
    at = queries.on_device(timeline, devices[0])
    link, start = column(events, schema.EVENT_LINK), column(events, schema.EVENT_START)
    called = np.where(link[at] >= 0, start[link[at]], start[at])
    order = np.lexsort((start[at], called))
    at, called = at[order], called[order]
    names = timeline.names
    codes = names.codes[at].astype(np.int64)
    thread = np.where(link[at] >= 0, column(events, schema.EVENT_LANE)[link[at]], -1)
    for pattern, behind in ((TO_DEVICE, False), (_OPTIMIZER, True), (FROM_DEVICE, True)):
        found = _repeats(codes, names, pattern)
        if found is not None and (pattern is _OPTIMIZER or _trains(codes, names, thread, found[0])):
            length, places, alike = found
            return _spans(timeline, at, called, length, _edge(places, length, behind), alike)
    return None


def _trains(codes: Ints, names: Coded, thread: Ints, length: int) -> bool:
    """Whether each period holds kernels of an optimizer, or launches of one thread and then of another."""
    optimizer = np.array([_OPTIMIZER.search(name) is not None for name in names.values])[codes]
    back = np.flatnonzero((thread[1:] != thread[:-1]) & (thread[1:] >= 0) & (thread[:-1] >= 0))
    held = [np.bincount(np.flatnonzero(optimizer) // length), np.bincount(back // length, minlength=1)]
    whole = len(codes) // length
    return any(int((count[:whole] > 0).sum()) >= whole for count in held)


def _repeats(codes: Ints, names: Coded, pattern: re.Pattern[str]) -> tuple[int, Ints, float] | None:
    """Length of the period, the places of its mark, and how alike periods are; the shortest that is certain."""
    best: tuple[int, Ints, float] | None = None
    for code in np.unique(codes).tolist():
        if pattern.search(names.values[code]) is None:
            continue
        places = np.flatnonzero(codes == code)
        length = _distance(places)
        if length is None or length < _LEAST_EVENTS or len(codes) < _LEAST_PERIODS * length:
            continue
        alike = float((codes[length:] == codes[:-length]).mean())
        if alike >= _ALIKE and (best is None or length < best[0]):
            best = (length, places, alike)
    return best


def _distance(places: Ints) -> int | None:
    """Distance after which the places of a mark repeat; None: they do not."""
    for together in range(1, min(_MOST_MARKS, len(places) // _LEAST_PERIODS) + 1):
        apart = places[together:] - places[:-together]
        value, count = np.unique(apart, return_counts=True)
        if count.max() >= _ALIKE * len(apart):
            return int(value[np.argmax(count)])
    return None


def _edge(places: Ints, length: int, behind: bool) -> int:
    """Where in the period a step begins: at the mark after the longest stretch without any, or behind the one before it."""
    phases = np.unique(places % length)
    before = np.diff(phases, prepend=phases[-1] - length)
    longest = int(np.argmax(before))
    return int(phases[longest - 1]) + 1 if behind else int(phases[longest])


def _spans(timeline: Timeline, at: Ints, called: Ints, length: int, first: int, alike: float) -> Period | None:
    """Steps from mark to mark; the last ends with its own work where it is whole."""
    edges = np.arange(first % length, len(at), length)
    begins = called[edges]
    ends = begins[1:]
    if len(edges) and edges[-1] + length <= len(at):
        last = at[edges[-1] :]
        done = column(timeline.events, schema.EVENT_START)[last] + column(timeline.events, schema.EVENT_DURATION)[last]
        ends = np.append(ends, done.max())
    begins = begins[: len(ends)]
    if len(ends) < _LEAST_PERIODS or (ends <= begins).any():
        return None
    return Period(Intervals(begins, ends), length, alike)
