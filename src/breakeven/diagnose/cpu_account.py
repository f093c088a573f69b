"""The account of a CPU from a timeline: arithmetic, traffic, overhead, input, other, over the host's own threads.

While a thread is in an operation's own work, that is the owner; Python, dispatch and autograd around it are overhead. What it
does not know: how many cores an operation used.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.diagnose.account import DeviceAccount, StepAccount, marked_windows
from breakeven.diagnose.idle import PYTHON_PAUSE_NS
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Intervals, Ints, first_owner, gaps, sums
from breakeven.timeline.nesting import nesting
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

#: Causes of the CPU's account, in the order of the design.
CPU_CAUSES: Final = ("compute", "bandwidth", "overhead", "input", "other")
_COMPUTE, _BANDWIDTH, _OVERHEAD, _INPUT, _OTHER = range(5)
#: What wins where threads do several things at once; below `_OTHER` comes a thread that only waits.
_RANKS: Final = (_COMPUTE, _BANDWIDTH, _INPUT, _OVERHEAD, _OTHER)

#: Operations whose own time is arithmetic; the others' is traffic, or overhead where they only arrange (below).
_ARITHMETIC: Final = r"(?i)mm\b|mm_|addmm|bmm|matmul|mv\b|linear|conv|lstm|gru|rnn|dot|einsum|attention|svd|qr|solve|cholesky|fft"
#: How profiles of PyTorch name operations; autograd's own marks are no operations.
_OPERATION: Final = r"^(?:[a-z_]\w*)::\w+$"
_COLLECTIVE: Final = r"(?i)gloo|nccl|mpi:|all_?reduce|all_?gather|reduce_?scatter"
#: Operations that touch no element: they make or relabel tensors.
_ARRANGING: Final = (
    r"(?i)::(empty|view|_unsafe_view|reshape|_reshape_alias|t|transpose|permute|expand|as_strided|detach|alias|select|slice|"
    r"squeeze|unsqueeze|narrow|split|chunk|unbind|result_type|is_nonzero|_local_scalar_dense|item|resolve_conj|resolve_neg|"
    r"zeros|ones|empty_like|zeros_like|ones_like|empty_strided|lift_fresh|to|_to_copy|contiguous|expand_as|view_as|flatten)$"
)


def cpu_account(timeline: Timeline, windows: Intervals | None = None) -> DeviceAccount:
    """Divide each step's wall time on the CPU among compute, bandwidth, overhead, input and other.

    Args:
        timeline: with host lanes. Events of kind compute are operations' own work; where there are none, as in
            profiles of PyTorch, the innermost operations count as such.
        windows: account for these stretches instead of the marked steps.

    Raises:
        ValueError: no event lies on a host lane.
    """
    events = timeline.events
    hosts = [i for i, lane in enumerate(timeline.lanes) if lane.kind == "host"]
    shown = np.isin(column(events, schema.EVENT_LANE), hosts) & (events[schema.EVENT_KIND.name] != Kind.STEP).to_numpy()
    shown &= column(events, schema.EVENT_DURATION) > 0
    if not shown.any():
        raise ValueError("no event on a thread of the host: nothing to account for")
    mine = events.filter(pl.Series(shown))
    names, numbers, spans, marked = marked_windows(timeline, np.flatnonzero(shown), windows)
    pieces, owner = _pieces(mine, int(spans.start.min()), int(spans.end.max()))
    by_cause = [
        sums(Intervals(pieces.start[owner == c], pieces.end[owner == c]), spans.start, spans.end) for c in range(len(CPU_CAUSES))
    ]
    return DeviceAccount("cpu", tuple(
        StepAccount(
            names[i], numbers[i], int(spans.start[i]), int(spans.end[i] - spans.start[i]),
            {cause: int(by_cause[c][i]) for c, cause in enumerate(CPU_CAUSES)},
        )
        for i in range(len(spans))
    ), marked)  # fmt: skip


def _pieces(mine: pl.DataFrame, low: int, high: int) -> tuple[Intervals, Ints]:
    """Disjoint pieces that cover [low, high), and the cause of each."""
    start, end, cause = _own_times(mine)
    rank = np.array([_RANKS.index(c) for c in range(len(CPU_CAUSES))])[cause]
    busy, ranks = first_owner(start, end, rank, len(_RANKS))
    pauses = gaps(busy, min(low, int(start.min())), max(high, int(end.max())))
    length = pauses.end - pauses.start
    inside = (pauses.start > start.min()) & (pauses.end < end.max())
    python = np.where((length <= PYTHON_PAUSE_NS) & inside, _OVERHEAD, _OTHER)
    begins = np.concatenate([busy.start, pauses.start])
    by_time = np.argsort(begins, kind="stable")
    both = Intervals(begins[by_time], np.concatenate([busy.end, pauses.end])[by_time])
    return both, np.concatenate([np.array(_RANKS, dtype=np.int64)[ranks], python])[by_time]


def _own_times(mine: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Stretches in which each event is the innermost of its lane, with the cause that it gives."""
    lane, start = column(mine, schema.EVENT_LANE), column(mine, schema.EVENT_START)
    duration = column(mine, schema.EVENT_DURATION)
    found = nesting(lane, start, duration)
    cause = _inherit(_causes(mine, found.parent, found.depth), found.parent, found.depth)
    return _stretches(lane, start, duration, found.parent, found.depth, cause)


def _causes(mine: pl.DataFrame, parent: Ints, depth: Ints) -> Ints:
    """Cause of each event's own time; -1: that of the event around it."""
    name, kind = mine[schema.EVENT_NAME.name], mine[schema.EVENT_KIND.name]
    told = (kind == Kind.COMPUTE).to_numpy()
    works = told if told.any() else _working(name, parent, depth, column(mine, schema.EVENT_DURATION))
    arithmetic = name.str.contains(_ARITHMETIC).to_numpy()
    limit = mine[schema.EVENT_LIMIT.name]
    compute = np.where((limit == "compute").fill_null(False).to_numpy(), True, arithmetic & limit.is_null().to_numpy())
    cause = np.where(works, np.where(compute, _COMPUTE, _BANDWIDTH), -1)
    waits = kind.is_in([Kind.SYNC, Kind.COMMUNICATION]) | name.str.contains(_COLLECTIVE)
    cause[waits.to_numpy()] = _OTHER
    cause[(mine[schema.EVENT_CAUSE.name] == "input").fill_null(False).to_numpy()] = _INPUT
    return cause


def _working(name: pl.Series, parent: Ints, depth: Ints, duration: Ints) -> NDArray[np.bool_]:
    """Operations that do work themselves: no other such operation lies inside them, or most of their time is their own."""
    able = name.str.contains(_OPERATION).to_numpy() & ~name.str.contains(_ARRANGING).to_numpy()
    inner = parent >= 0
    inside = np.bincount(parent[inner], weights=duration[inner], minlength=len(duration))
    around = np.zeros(len(able), dtype=np.bool_)  # around one that works
    for level in range(int(depth.max(initial=0)), 0, -1):
        at = np.flatnonzero((depth == level) & (able | around))
        around[parent[at]] = True
    works: NDArray[np.bool_] = able & (~around | (2 * inside <= duration))
    return works


def _inherit(cause: Ints, parent: Ints, depth: Ints) -> Ints:
    """Events inside a batch's preparation or a wait are part of it; the others that give no cause are overhead."""
    out = cause.copy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        at = np.flatnonzero(depth == level)
        around = out[parent[at]]
        out[at] = np.where((around == _INPUT) | ((around == _OTHER) & (out[at] < 0)), around, out[at])
    return np.where(out < 0, _OVERHEAD, out)


def _stretches(lane: Ints, start: Ints, duration: Ints, parent: Ints, depth: Ints, cause: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut nested events into stretches without overlap within a lane."""
    n = len(start)
    time = np.concatenate([start, start + duration])
    becomes = np.concatenate([cause, np.where(parent >= 0, cause[np.maximum(parent, 0)], -1)])
    both, begins = np.concatenate([lane, lane]), np.repeat([1, 0], n)
    order = np.lexsort((np.concatenate([depth, -depth]), begins, time, both))
    time, becomes, both = time[order], becomes[order], both[order]
    real = (becomes[:-1] >= 0) & (time[1:] > time[:-1]) & (both[1:] == both[:-1])
    return time[:-1][real], time[1:][real], becomes[:-1][real]
