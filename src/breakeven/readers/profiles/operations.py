"""Operations of a PyTorch trace with their shapes, as an OpStream: what the host asked for, with no clock.

Read apart from the events, since shapes are most of a trace's text and few questions need them. What a trace does not say:
shapes of outputs (worked out for convolutions and products, else left out), and which inputs are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np

from breakeven.costs.works import TABLES
from breakeven.costs.works.free import FREE
from breakeven.costs.works.records import words
from breakeven.readers.profiles.calls import STEP_MARK
from breakeven.readers.profiles.event_records import Number
from breakeven.readers.profiles.files import Source
from breakeven.readers.profiles.json_events import stream_of
from breakeven.timeline import OpStream, OpStreamBuilder
from breakeven.timeline.nesting import nesting
from breakeven.timeline.opstream import Call, attributes
from breakeven.timeline.schema import Kind, Phase
from breakeven.units import NS_PER_US

Floats = np.typing.NDArray[np.float64]

_DTYPES: Final = {
    "float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long int": "int64",
    "long": "int64", "int": "int32", "short": "int16", "signed char": "int8", "unsigned char": "uint8", "bool": "bool",
}  # fmt: skip

#: Composite operations: what runs is inside them (PyTorch's CompositeImplicit kernels, native_functions.yaml).
_COMPOSITES: Final = frozenset(words(
    """
    linear matmul conv1d conv2d conv3d layer_norm batch_norm _batch_norm_impl_index instance_norm group_norm to contiguous
    reshape softmax log_softmax dropout max_pool2d flatten chunk item nll_loss cross_entropy_loss cross_entropy embedding_bag
    type_as expand_as one_hot scaled_dot_product_attention feature_dropout einsum tensor_split is_nonzero nll_loss_nd
    """
))  # fmt: skip
_KNOWN: Final = frozenset(name for table in TABLES for name in table) | FREE
_ENGINE: Final = "autograd::engine::evaluate_function"
_READS: Final = {"aten::_local_scalar_dense": "sync::item", "aten::nonzero": "sync::nonzero"}
_CONVOLUTIONS: Final = frozenset(
    {"aten::convolution", "aten::_convolution", "aten::cudnn_convolution", "aten::miopen_convolution"}
)


class _Arguments(msgspec.Struct, gc=False):
    dims: Any = msgspec.field(default=None, name="Input Dims")  # lists of lists, where the profiler recorded shapes
    old_dims: Any = msgspec.field(default=None, name="Input dims")  # as torch 1.8 spells it
    types: Any = msgspec.field(default=None, name="Input type")
    concrete: Any = msgspec.field(default=None, name="Concrete Inputs")


class _Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: Number = None
    dur: Number = None
    args: _Arguments | None = None


@dataclass(frozen=True)
class Operations:
    """Operations of a trace.

    Attributes:
        stream: those that run, in the order of issue, over all marked steps.
        events: what the profiler recorded on the host in a step, on average: operations with all that lie in them.
        frames: stack frames of Python in a step, on average.
        start: of each row, ns after the first mark; NaN: a wait, which has none. Shape (rows,).
        end: the same of its end.
    """

    stream: OpStream
    events: float
    frames: float
    start: Floats
    end: Floats


@dataclass
class _Found:
    """Host events under way."""

    operations: list[_Event] = field(default_factory=list)
    marks: dict[str, tuple[float, float]] = field(default_factory=dict)
    frames: list[float] = field(default_factory=list)

    def take(self, batch: list[_Event]) -> None:
        """Keep operations, marks and the times of frames."""
        for event in batch:
            if event.ph != "X" or not isinstance(event.ts, int | float) or not isinstance(event.dur, int | float):
                continue
            if event.name.startswith(STEP_MARK):
                self.marks.setdefault(event.name, (float(event.ts), float(event.ts + event.dur)))
            elif event.cat in ("cpu_op", "Operator"):
                self.operations.append(event)
            elif event.cat == "python_function":
                self.frames.append(float(event.ts))


def operations_of(source: Source) -> Operations | None:
    """The operations of one trace's marked steps; None where no shapes were recorded or no step is marked."""
    found = _Found()
    stream_of(source.blocks(), _Event, found.take)
    spans = sorted(found.marks.values())
    if not spans or not any(e.args and (e.args.dims or e.args.old_dims) for e in found.operations):
        return None
    begins, ends = (np.array([span[i] for span in spans]) for i in (0, 1))
    stream, row_start, row_end = _stream(found.operations, begins, ends)
    inside = _steps(np.array([float(e.ts) for e in found.operations]), begins, ends)  # type: ignore[arg-type]  # numbers, see take
    frames = _steps(np.array(found.frames), begins, ends)
    return Operations(
        stream, float((inside >= 0).sum()) / len(spans), float((frames >= 0).sum()) / len(spans), row_start, row_end
    )


def _steps(time: np.typing.NDArray[np.float64], begins: Any, ends: Any) -> np.typing.NDArray[np.int64]:  # arrays of floats
    """Step that each time lies in; -1: none."""
    at = np.searchsorted(begins, time, side="right") - 1
    return np.where((at >= 0) & (time < ends[np.maximum(at, 0)]), at, -1)


def _stream(operations: Sequence[_Event], begins: Any, ends: Any) -> tuple[OpStream, Floats, Floats]:  # arrays of floats
    """Rows in the order of issue, with their times: of nested operations the outermost that is no composite."""
    builder = OpStreamBuilder()
    last = -1
    times: list[tuple[float, float]] = []
    for event, step, backward in _recorded(operations, begins, ends):
        call = _call(event)
        phase = Phase.BACKWARD if backward else Phase.FORWARD
        at = builder.add(call, step=step, phase=phase)
        times.append((float(event.ts or 0), float(event.ts or 0) + float(event.dur or 0)))
        if call.kind == Kind.COMPUTE:
            last = at
        if event.name in _READS and last >= 0:
            builder.add(Call(_READS[event.name], Kind.SYNC, "cpu"), step=step, phase=phase, waits_for=last)
            times.append((np.nan, np.nan))
    known = (np.array(times, dtype=np.float64).reshape(-1, 2) - float(begins[0])) * NS_PER_US
    return builder.build(steps=len(begins)), known[:, 0], known[:, 1]


def _recorded(operations: Sequence[_Event], begins: Any, ends: Any) -> Iterator[tuple[_Event, int, bool]]:  # arrays of floats
    """Operations that a recorder would see, in the order of time, with their step and whether the engine issued them."""
    start = np.array([e.ts for e in operations], dtype=np.float64)
    length = np.array([e.dur for e in operations], dtype=np.float64)
    threads: dict[tuple[Any, Any], int] = {}
    lane = np.array([threads.setdefault((e.pid, e.tid), len(threads)) for e in operations], dtype=np.int64)
    origin = np.floor(start.min())
    nested = nesting(
        lane, np.rint((start - origin) * 1000).astype(np.int64), np.rint(np.maximum(length, 0) * 1000).astype(np.int64)
    )
    wanted = np.array([_is_recorded(e.name) for e in operations])
    engine = np.array([e.name.startswith(_ENGINE) for e in operations])
    hidden, issued = np.zeros(len(start), dtype=np.bool_), engine.copy()
    for level in range(1, int(nested.depth.max(initial=0)) + 1):
        mine = np.flatnonzero(nested.depth == level)
        parent = nested.parent[mine]
        hidden[mine] = hidden[parent] | wanted[parent]
        issued[mine] |= issued[parent]
    step = _steps(start, begins, ends)
    for at in np.argsort(start, kind="stable").tolist():
        if wanted[at] and not hidden[at] and step[at] >= 0:
            yield operations[at], int(step[at]), bool(issued[at])


def _is_recorded(name: str) -> bool:
    if not name.startswith("aten::"):
        return False
    bare = name.removeprefix("aten::")
    return bare not in _COMPOSITES and (bare in _KNOWN or bare.removesuffix("_") in _KNOWN)


def _call(event: _Event) -> Call:
    """One call with the shapes and types of its tensors."""
    given = event.args or _Arguments()
    dims = given.dims if given.dims is not None else given.old_dims
    types = given.types if isinstance(given.types, list) else []
    shapes, dtypes = [], []
    for at, shape in enumerate(dims if isinstance(dims, list) else []):
        said = types[at] if at < len(types) else ""
        for one in _tensors(shape, said):
            shapes.append(one)
            dtypes.append(_DTYPES.get(str(said).removeprefix("c10::").removesuffix(" &"), _DTYPES.get(str(said), "")))
    floating = next((d for d in dtypes if d.startswith(("float", "bfloat"))), "float32")
    return Call(
        event.name, Kind.COMPUTE, "cuda:0", tuple(shapes), tuple(d or floating for d in dtypes), tuple(False for _ in shapes),
        _outputs(event.name, shapes, given.concrete), floating, _attributes(event.name, given.concrete),
    )  # fmt: skip


def _tensors(shape: Any, said: Any) -> Iterator[tuple[int, ...]]:  # of the file: anything
    """Shapes of the tensors of one argument: of one tensor, of a list of them; numbers have none."""
    if not isinstance(shape, list) or said in ("Scalar", "ScalarList", ""):
        return
    if shape and all(isinstance(inner, list) for inner in shape):
        for inner in shape:
            yield from _tensors(inner, "tensor")
    elif all(isinstance(side, int) and 0 <= side < 1 << 40 for side in shape):
        yield tuple(shape)


def _outputs(name: str, inputs: Sequence[tuple[int, ...]], concrete: Any) -> tuple[tuple[int, ...], ...]:  # of the file
    """Shapes of the outputs, where the inputs' say them."""
    if name in _CONVOLUTIONS and len(inputs) >= 2 and len(inputs[0]) == len(inputs[1]) >= 3:
        stride, padding, dilation = (_numbers(concrete, at, default) for at, default in ((3, 1), (4, 0), (5, 1)))
        sides = [
            (side + 2 * _at(padding, i) - _at(dilation, i) * (kernel - 1) - 1) // max(1, _at(stride, i)) + 1
            for i, (side, kernel) in enumerate(zip(inputs[0][2:], inputs[1][2:], strict=True))
        ]
        return ((inputs[0][0], inputs[1][0], *(max(1, side) for side in sides)),)
    if name in ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"):
        return ()
    broad = [shape for shape in inputs if shape]
    if len(broad) >= 1 and name.rstrip("_") in _POINTWISE:
        longest = max(len(shape) for shape in broad)
        padded = [(1,) * (longest - len(shape)) + shape for shape in broad]
        return (tuple(max(sides) for sides in zip(*padded, strict=True)),)
    return ()


_POINTWISE: Final = frozenset(
    f"aten::{name}" for name in words("add sub mul div pow relu gelu tanh sigmoid silu exp sqrt rsqrt neg abs clamp where")
)


def _attributes(name: str, concrete: Any) -> str:  # of the file: anything
    """Strides and padding of convolutions."""
    if name not in _CONVOLUTIONS or not isinstance(concrete, list):
        return "{}"
    return attributes(stride=_numbers(concrete, 3, 1), padding=_numbers(concrete, 4, 0), groups=_numbers(concrete, 8, 1)[0])


def _numbers(concrete: Any, at: int, default: int) -> list[int]:  # of the file: anything
    """Whole numbers of one concrete argument, such as `[1, 1]`."""
    text = concrete[at] if isinstance(concrete, list) and at < len(concrete) else ""
    found = [int(part) for part in str(text).strip("[]").split(",") if part.strip().lstrip("-").isdecimal() and len(part) < 12]
    return found or [default]


def _at(values: Sequence[int], at: int) -> int:
    return values[at] if at < len(values) else values[-1]
