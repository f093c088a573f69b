"""Set-up in an imported timeline: which host events are first calls, that no further step would pay again.

A profiler records that a launch took half a second and not that the driver loaded a library in it. Told from what is seen:
the first launch of a kernel, the first call of an operation, memory that is asked for once and never again.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
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

_CALL: Final = r"^(?:cuda|cu|hip)[A-Z]"
#: Operations that wait for the device or copy on the host: long for another reason.
_WAITING: Final = r"(?i)::(?:copy_|_to_copy|to|item|_local_scalar_dense|nonzero|is_nonzero|tolist|equal)$"
_OPERATION: Final = r"^[A-Za-z_][\w.<>:]*$"


def with_set_up(timeline: Timeline, steps: Steps | None) -> Timeline:
    """The same timeline, set-up marked with the cause `warmup`."""
    events = timeline.events
    lane = column(events, schema.EVENT_LANE)
    host = np.isin(lane, [i for i, x in enumerate(timeline.lanes) if x.kind == "host"])
    if not host.any() or not _has_device(timeline):
        return timeline
    set_up = _loads(events, host) | _compiles(events, host)
    if not _allocates_on(events, host, steps):
        set_up |= host & (events[schema.EVENT_KIND.name] == Kind.ALLOC).to_numpy()
    if not set_up.any():
        return timeline
    cause = pl.when(pl.Series(set_up)).then(pl.lit("warmup")).otherwise(pl.col(schema.EVENT_CAUSE.name))
    return Timeline(events.with_columns(cause.alias(schema.EVENT_CAUSE.name)), timeline.lanes, timeline.origin, timeline.sites)


def _has_device(timeline: Timeline) -> bool:
    return any(lane.kind in ("stream", "copy") for lane in timeline.lanes)


def _loads(events: pl.DataFrame, host: _Bools) -> _Bools:
    """Long calls that launch a kernel for the first time, or that are the first of their name and launch nothing."""
    name = events[schema.EVENT_NAME.name]
    kind = events[schema.EVENT_KIND.name]
    other = ~kind.is_in([Kind.SYNC, Kind.COPY, Kind.ALLOC, Kind.STEP]).to_numpy()
    long = np.flatnonzero(host & other & (column(events, schema.EVENT_DURATION) >= _LOADING_NS))
    found = np.zeros(len(host), dtype=np.bool_)
    if not len(long):
        return found
    long = long[name[long].str.contains(_CALL).to_numpy()]
    codes = name.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    link = column(events, schema.EVENT_LINK)
    work = np.flatnonzero(link >= 0)
    first_of_kernel = work[np.unique(codes[work], return_index=True)[1]]
    launched = np.unique(link[first_of_kernel])
    launches_any = np.unique(link[work])
    calls = np.flatnonzero(host)
    first_of_name = calls[np.unique(codes[calls], return_index=True)[1]]
    found[long] = np.isin(long, launched) | (~np.isin(long, launches_any) & np.isin(long, first_of_name))
    return found


def _compiles(events: pl.DataFrame, host: _Bools) -> _Bools:
    """Operations of long own time at their first calls, where later ones are short or there are none."""
    found = np.zeros(len(host), dtype=np.bool_)
    if not _any_long(events, host):
        return found
    which = np.flatnonzero(host)
    duration = column(events, schema.EVENT_DURATION)[which]
    nested = nesting(column(events, schema.EVENT_LANE)[which], column(events, schema.EVENT_START)[which], duration)
    own = duration - _inside(nested.parent, duration)
    name = events[schema.EVENT_NAME.name][which]
    able = name.str.contains(_OPERATION).to_numpy() & ~name.str.contains(_WAITING).to_numpy()
    able &= ~name.str.contains(_CALL).to_numpy() & events[schema.EVENT_CAUSE.name][which].is_null().to_numpy()
    codes = name.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    for at in np.flatnonzero(able & (own >= _COMPILING_NS)).tolist():
        same = np.flatnonzero(codes == codes[at])
        place = int(np.searchsorted(same, at))
        later = own[same[_COMPILATIONS:]]
        if place < _COMPILATIONS and (not len(later) or own[at] >= 20 * np.median(later)):
            found[which[at]] = True
    return found


def _any_long(events: pl.DataFrame, host: _Bools) -> bool:
    """Whether any operation is long enough to hold a compilation."""
    long = events[np.flatnonzero(host & (column(events, schema.EVENT_DURATION) >= _COMPILING_NS))][schema.EVENT_NAME.name]
    return bool((long.str.contains(_OPERATION) & ~long.str.contains(_WAITING) & ~long.str.contains(_CALL)).any())


def _inside(parent: Ints, duration: Ints) -> Ints:
    inner = parent >= 0
    return np.bincount(parent[inner], weights=duration[inner], minlength=len(duration)).astype(np.int64)


def _allocates_on(events: pl.DataFrame, host: _Bools, steps: Steps | None) -> bool:
    """Whether device memory is asked for and given back step after step; in a trace of a single pass that cannot be seen."""
    if steps is None or len(steps) < 2:
        return False
    allocs = host & (events[schema.EVENT_KIND.name] == Kind.ALLOC).to_numpy()
    start, duration = column(events, schema.EVENT_START)[allocs], column(events, schema.EVENT_DURATION)[allocs]
    middle = steps.spans.start[len(steps) // 2]
    total = int(duration.sum())
    return total > 0 and int(duration[start >= middle].sum()) >= _RECURRING * total
