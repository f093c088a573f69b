"""Schedule: a stream with its costs as frozen arrays, one entry per issue; what both paths of the simulator play.

A row that runs several kernels becomes several issues, launched at even distances over its host time, so that the
device starts on the first while the host launches the rest. What it does not know: which kernels of two streams could
share the device (they overlap freely here), and what the device's own scheduler would reorder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from breakeven.simulate.inputs import CallPrices, HostSide
from breakeven.timeline import OpStream, schema

Ints = NDArray[np.int64]

#: Launches that a stream takes before the host has to wait. Measured: the launches of a 190 µs kernel start to take
#: 190 µs each after about 1000, per stream (stackoverflow.com/questions/53970187); 1024 by Oneflow-Inc/oneflow#890.
QUEUE_LIMIT: Final = 1024

#: Issues that one row is divided into at most; a row of more kernels is launched in as many equal groups.
MOST_PARTS: Final = 64

#: A stream of fewer recorded steps than this is played again until it has as many, so that its queue is in its usual state.
LEAST_STEPS: Final = 3
#: … unless it has more rows than this: then the start is a small part of it.
LONG_STREAM: Final = 100_000


class Engine:
    """Values of `Schedule.engine`: what an issue runs on."""

    NONE: Final = -1
    STREAM: Final = 0
    H2D: Final = 1
    D2H: Final = 2


_ENGINES = {"stream": Engine.STREAM, "copy_h2d": Engine.H2D, "copy_d2h": Engine.D2H}


@dataclass(frozen=True)
class Loader:
    """Worker processes that prepare batches in the background.

    Attributes:
        workers: how many.
        prefetch: batches that each has under way or ready at most (PyTorch's `prefetch_factor`).
        batch_ns: time in which one worker makes one batch.
    """

    workers: int
    prefetch: int
    batch_ns: int


@dataclass(frozen=True)
class Schedule:
    """Issues in order. All arrays have one entry per issue, shape (n,); times are whole nanoseconds.

    Attributes:
        before_ns: host time before the issue in which no operation runs (Python, the user's own work).
        issue_ns: host time of the issue itself: framework and launch; the device may start at its end.
        device_ns: time on the device; 0 where it runs on none.
        engine: `Engine` value.
        stream: device stream, from 0.
        kernels: places that it takes in the launch queue.
        waits: issue whose end the host waits for after this one; -1: none, itself: a blocking copy.
        after: earlier issue whose end this one waits for on the device (an event of another stream); -1: none.
        takes: it takes a batch from the loader's workers, and waits until there is one.
        row: row of the stream that it belongs to.
        step: step that it belongs to, from 0; never falls.
        skip: leading steps that do not count (the queue is not yet in its usual state).
        queue_limit: launches that a stream holds before the host waits.
        loader: the workers that `takes` takes from.
        source: the stream that it comes from, for names and sites; None in tests.
        limits: limited_by of each call of the source.
    """

    before_ns: Ints
    issue_ns: Ints
    device_ns: Ints
    engine: NDArray[np.int8]
    stream: NDArray[np.int16]
    kernels: Ints
    waits: NDArray[np.int32]
    after: NDArray[np.int32]
    takes: NDArray[np.bool_]
    row: NDArray[np.int32]
    step: NDArray[np.int32]
    skip: int = 0
    queue_limit: int = QUEUE_LIMIT
    loader: Loader | None = None
    source: OpStream | None = None
    limits: NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(self.device_ns)

    @property
    def host_ns(self) -> Ints:
        """Host time before the device may start on the issue."""
        return self.before_ns + self.issue_ns

    @property
    def steps(self) -> int:
        """Number of steps, the skipped ones included."""
        return int(self.step[-1]) + 1 if len(self) else 0

    @property
    def call(self) -> NDArray[np.int32]:
        """Distinct call of each issue (position in `source.calls`), shape (n,)."""
        if self.source is None:
            return np.zeros(len(self), dtype=np.int32)
        calls = self.source.rows[schema.ROW_CALL.name].to_numpy()
        found: NDArray[np.int32] = calls[self.row].astype(np.int32)
        return found


def plain(
    host_ns: Any, device_ns: Any, *, engine: Any = None, stream: Any = None, kernels: Any = None, waits: Any = None,
    after: Any = None, takes: Any = None, step: Any = None, skip: int = 0, queue_limit: int = QUEUE_LIMIT,
    loader: Loader | None = None,
) -> Schedule:  # fmt: skip  # any sequences of whole numbers
    """A schedule of one issue per row from bare sequences: for tests, and for traces that bring their own times.

    An issue with a time on the device runs on a stream unless `engine` says otherwise.

    >>> len(plain([10, 10], [50, 0]))
    2
    """
    n = len(device_ns)

    def whole(values: Any, default: int, dtype: Any) -> NDArray[Any]:  # any sequence of whole numbers, any numpy type
        return np.full(n, default, dtype=dtype) if values is None else np.asarray(values, dtype=dtype)

    device = whole(device_ns, 0, np.int64)
    ran = np.where(device > 0, Engine.STREAM, Engine.NONE) if engine is None else engine
    engines = whole(ran, 0, np.int8)
    return Schedule(
        before_ns=whole(None, 0, np.int64), issue_ns=whole(host_ns, 0, np.int64), device_ns=device, engine=engines,
        stream=whole(stream, 0, np.int16), kernels=np.where(engines >= 0, whole(kernels, 1, np.int64), 0),
        waits=whole(waits, -1, np.int32), after=whole(after, -1, np.int32), takes=whole(takes, 0, np.bool_),
        row=np.arange(n, dtype=np.int32), step=whole(step, 0, np.int32), skip=skip, queue_limit=queue_limit, loader=loader,
    )  # fmt: skip


def schedule(
    stream: OpStream, costs: CallPrices, host: HostSide, *, quantile: str = "mid", queue_limit: int = QUEUE_LIMIT
) -> Schedule:
    """The frozen schedule of a stream at one quantile (`low`, `mid`, `high`) of its device prices.

    A stream of one or two steps is repeated, so that a step is measured with the queue that the step before left.
    """
    calls = _calls(stream, costs, quantile)
    call = stream.rows[schema.ROW_CALL.name].to_numpy()
    parts = np.clip(calls.kernels[call], 1, MOST_PARTS)
    first = np.cumsum(parts) - parts
    row = np.repeat(np.arange(len(call), dtype=np.int32), parts)
    part = np.arange(len(row)) - first[row]
    at, of = call[row], parts[row]
    last = first + parts - 1
    waits = stream.rows[schema.ROW_WAITS.name].to_numpy()
    is_last = part == of - 1
    one = Schedule(
        before_ns=np.where(part == 0, _whole(host.before_ns)[row], 0),
        issue_ns=_share(_whole(host.issue_ns)[row], part, of),
        device_ns=_share(calls.device_ns[at], part, of),
        engine=calls.engine[at],
        stream=calls.stream[at],
        kernels=_share(calls.kernels[at], part, of),
        waits=np.where(is_last & (waits[row] >= 0), last[np.maximum(waits, 0)][row], -1).astype(np.int32),
        after=np.full(len(row), -1, dtype=np.int32),
        takes=np.zeros(len(row), dtype=np.bool_) if calls.loader is None else (calls.takes[at] & (part == 0)),
        row=row,
        step=stream.rows[schema.ROW_STEP.name].to_numpy()[row].astype(np.int32),
        queue_limit=queue_limit, loader=calls.loader, source=stream, limits=costs.limited_by,
    )  # fmt: skip
    return _steady(one, stream)


@dataclass(frozen=True)
class _Calls:
    """Per distinct call, what the schedule needs of it."""

    device_ns: Ints
    kernels: Ints
    engine: NDArray[np.int8]
    stream: NDArray[np.int16]
    takes: NDArray[np.bool_]
    loader: Loader | None


def _calls(stream: OpStream, costs: CallPrices, quantile: str) -> _Calls:
    engine = np.array([_ENGINES.get(str(name), Engine.NONE) for name in costs.engine], dtype=np.int8)
    on_device = engine >= 0
    side, takes, loader = np.zeros(len(engine), dtype=np.int16), np.zeros(len(engine), dtype=np.bool_), None
    told = stream.calls[schema.CALL_ATTRIBUTES.name]
    for at in np.flatnonzero(told.str.contains('"stream":|"batch_ns":').to_numpy()):
        says = msgspec.json.decode(told[int(at)], type=dict[str, Any])  # attributes hold any JSON value
        side[at] = says.get("stream", 0)
        if says.get("workers") and says.get("batch_ns"):
            takes[at] = True
            loader = Loader(int(says["workers"]), int(says.get("prefetch", 2)), int(says["batch_ns"]))
    device = _whole(costs.device_ns[("low", "mid", "high").index(quantile)])
    return _Calls(
        device_ns=np.where(on_device, device, 0),
        kernels=np.where(on_device, np.maximum(costs.kernels, 1), 0).astype(np.int64),
        engine=engine, stream=side, takes=takes, loader=loader,
    )  # fmt: skip


def _whole(values: NDArray[np.float64]) -> Ints:
    return np.rint(np.nan_to_num(values)).astype(np.int64)


def _share(total: Ints, part: Ints, of: Ints) -> Ints:
    """Part number `part` of `of` nearly equal whole parts that sum to `total`."""
    return total * (part + 1) // of - total * part // of


def _steady(one: Schedule, stream: OpStream) -> Schedule:
    """Repeat a short recording, and say which leading steps do not count."""
    steps = one.steps
    if stream.unit == "run" or steps == 0:
        return one
    if steps >= LEAST_STEPS or len(one) > LONG_STREAM:
        return replace(one, skip=1 if steps >= LEAST_STEPS else 0)
    times = -(-LEAST_STEPS // steps)
    shift = np.repeat(np.arange(times, dtype=np.int32), len(one))
    waits = np.tile(one.waits, times)

    def again(values: NDArray[Any]) -> NDArray[Any]:  # any numpy type
        return np.tile(values, times)

    return replace(
        one,
        before_ns=again(one.before_ns), issue_ns=again(one.issue_ns), device_ns=again(one.device_ns),
        engine=again(one.engine), stream=again(one.stream), kernels=again(one.kernels), after=again(one.after),
        takes=again(one.takes), row=again(one.row),
        waits=np.where(waits >= 0, waits + shift * len(one), -1).astype(np.int32),
        step=again(one.step) + shift * np.int32(steps),
        skip=steps,
    )  # fmt: skip
