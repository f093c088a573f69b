"""Set-up in an imported timeline: which host events are first calls, that no further step would pay again.

A profiler records that a launch took half a second and not that the driver loaded a library in it. Told from what is seen:
the first launch of a kernel, the first call of an operation, memory that is asked for once and never again.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.imported.steps import Steps
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.nesting import nesting
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

_Bools = NDArray[np.bool_]

#: A launch that loads code takes from 1 ms up (7 to 26 ms in a100_moe_small.json.gz, 626 ms in a100_pt_batch512.json.gz);
#: one that does not takes 4 to 8 µs.
_LOADING_NS: Final = 1_000_000

#: An operation's own time from which its first calls may hold a compilation: 148 ms in a100_pt_batch256.json.gz; Python callbacks
#: and copies on the host stay below.
_COMPILING_NS: Final = 5_000_000

#: So often an operation is compiled: TorchScript's profiling executor does it at its first and its second call.
_COMPILATIONS: Final = 2

#: Part of all allocation time that falls into the later half of the steps, from which on it is no set-up.
_RECURRING: Final = 0.2

#: Calls of the runtime and the driver of CUDA and ROCm.
RUNTIME_CALL: Final = re.compile(r"^(?:cuda|cu|hip)[A-Z]")
#: Operations that wait for the device or copy on the host: long for another reason.
_WAITING: Final = re.compile(r"(?i)::(?:copy_|_to_copy|to|item|_local_scalar_dense|nonzero|is_nonzero|tolist|equal)$")
_OPERATION: Final = re.compile(r"^[A-Za-z_][\w.<>:]*$")


def with_set_up(timeline: Timeline, steps: Steps | None) -> Timeline:
    """The same timeline, set-up marked with the cause `warmup`."""
    host = timeline.on_lanes("host")
    if not host.any() or not _has_device(timeline):
        return timeline
    set_up = _loads(timeline, host) | _compiles(timeline, host)
    if not _allocates_on(timeline, host, steps):
        set_up |= host & timeline.kinds.among(Kind.ALLOC)
    return timeline.with_cause(set_up, "warmup") if set_up.any() else timeline


def _has_device(timeline: Timeline) -> bool:
    return any(lane.kind in ("stream", "copy") for lane in timeline.lanes)


def _loads(timeline: Timeline, host: _Bools) -> _Bools:
    """Long calls that launch a kernel for the first time, or that are the first of their name and launch nothing."""
    events, codes = timeline.events, timeline.names.codes
    other = ~timeline.kinds.among(Kind.SYNC, Kind.COPY, Kind.ALLOC, Kind.STEP)
    long = np.flatnonzero(host & other & (column(events, schema.EVENT_DURATION) >= _LOADING_NS))
    found = np.zeros(len(host), dtype=np.bool_)
    if not len(long):
        return found
    long = long[timeline.names.matching(RUNTIME_CALL)[long]]
    link = column(events, schema.EVENT_LINK)
    work = np.flatnonzero(link >= 0)
    launches_first, launches = (np.zeros(len(host), dtype=np.bool_) for _ in range(2))
    launches_first[link[_firsts(codes, work, len(timeline.names.values))]] = True
    launches[link[work]] = True
    first_of_name = np.zeros(len(host), dtype=np.bool_)
    first_of_name[_firsts(codes, np.flatnonzero(host), len(timeline.names.values))] = True
    found[long] = launches_first[long] | (~launches[long] & first_of_name[long])
    return found


def _firsts(codes: NDArray[np.int32], which: Ints, count: int) -> Ints:
    """The first of these events for each name that they have."""
    first = np.full(count, -1, dtype=np.int64)
    first[codes[which[::-1]]] = which[::-1]
    return first[first >= 0]


def _compiles(timeline: Timeline, host: _Bools) -> _Bools:
    """Operations of long own time at their first calls, where later ones are short or there are none."""
    found = np.zeros(len(host), dtype=np.bool_)
    events, names = timeline.events, timeline.names
    long = host & (column(events, schema.EVENT_DURATION) >= _COMPILING_NS)
    long &= names.matching(_OPERATION) & ~names.matching(_WAITING) & ~names.matching(RUNTIME_CALL) & (timeline.causes.codes < 0)
    if not long.any():
        return found
    which = np.flatnonzero(host)
    duration = column(events, schema.EVENT_DURATION)[which]
    nested = nesting(column(events, schema.EVENT_LANE)[which], column(events, schema.EVENT_START)[which], duration)
    own = duration - _inside(nested.parent, duration)
    codes = names.codes[which]
    for at in np.flatnonzero(long[which] & (own >= _COMPILING_NS)).tolist():
        same = np.flatnonzero(codes == codes[at])
        place = int(np.searchsorted(same, at))
        later = own[same[_COMPILATIONS:]]
        if place < _COMPILATIONS and (not len(later) or own[at] >= 20 * np.median(later)):
            found[which[at]] = True
    return found


def _inside(parent: Ints, duration: Ints) -> Ints:
    inner = parent >= 0
    return np.bincount(parent[inner], weights=duration[inner], minlength=len(duration)).astype(np.int64)


def _allocates_on(timeline: Timeline, host: _Bools, steps: Steps | None) -> bool:
    """Whether device memory is asked for and given back step after step; in a trace of a single pass that cannot be seen."""
    if steps is None or len(steps) < 2:
        return False
    events, allocs = timeline.events, host & timeline.kinds.among(Kind.ALLOC)
    start, duration = column(events, schema.EVENT_START)[allocs], column(events, schema.EVENT_DURATION)[allocs]
    middle = steps.spans.start[len(steps) // 2]
    total = int(duration.sum())
    return total > 0 and int(duration[start >= middle].sum()) >= _RECURRING * total
