"""Prices of a stream's distinct calls: time on the device, time of the host, and what limits them.

A call's kernels run one after another, so their times add; low and high add as well (errors within a family go together).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.host_model import HostCost, host_cost, host_model
from breakeven.costs.price import price
from breakeven.costs.works import Operation, Work, works
from breakeven.costs.works.effort import Effort, effort
from breakeven.costs.works.records import PRICED_DTYPES, stream
from breakeven.machine.records import Gpu
from breakeven.timeline import schema
from breakeven.units import NS_PER_US

#: Columns of the priced table (INTERFACE.md, "predict", and `stream`).
_SIZES = (
    "b", "m", "n", "k", "trans_a", "trans_b", "c", "h", "w", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "hidden",
    "batch", "timesteps", "input", "layers", "bidirectional", "elements", "inputs", "rows", "cols", "bytes", "pinned",
)  # fmt: skip

#: Families whose errors go together, by operation of the vocabulary.
FAMILIES: dict[str, str] = {
    "gemm": "matmul", "bmm": "matmul", "linear": "matmul", "conv2d": "conv2d", "rnn": "recurrent", "lstm": "recurrent",
    "gru": "recurrent", "softmax": "rows", "layernorm": "rows", "copy_h2d": "copies", "copy_d2h": "copies",
    "copy_d2d": "elementwise",
    **dict.fromkeys(("add", "mul", "div", "pow", "relu", "gelu", "tanh", "sigmoid", "stream"), "elementwise"),
}  # fmt: skip

Pricer = Callable[[pl.DataFrame, Gpu], pl.DataFrame]


@dataclass(frozen=True)
class CallCosts:
    """Costs of each distinct call of a stream, in the order of `stream.calls` (n calls).

    Attributes:
        kernels: kernels and copies that it runs on the device (0: none, such as a view, a wait, work on the CPU).
        device_ns: (3, n) low, mid, high time on the device, all its kernels together.
        forward_host_ns: host time of issuing it on a GPU from Python's thread, launches included, reference host.
        backward_host_ns: the same when the autograd engine issues it.
        cpu_host_ns: framework time of the same call when it runs on the CPU, reference host.
        cpu_backward_host_ns: the same when the autograd engine issues it.
        cpu_operations: operations that the CPU runs for it (more than 1 for a fused call, and for lists where the CPU loops).
        flops: arithmetic of the call, wherever it runs.
        bytes: its least traffic.
        limited_by: compute, bandwidth or small_kernel; empty without kernels.
        engine: stream, copy_h2d or copy_d2h; empty without kernels.
        family: pricing family of its longest kernel; empty without kernels.
        unknown: operations without an entry, priced by their bytes.
    """

    kernels: NDArray[np.int64]
    device_ns: NDArray[np.float64]
    forward_host_ns: NDArray[np.float64]
    backward_host_ns: NDArray[np.float64]
    cpu_host_ns: NDArray[np.float64]
    cpu_backward_host_ns: NDArray[np.float64]
    cpu_operations: NDArray[np.int64]
    flops: NDArray[np.float64]
    bytes: NDArray[np.float64]
    limited_by: NDArray[np.str_]
    engine: NDArray[np.str_]
    family: NDArray[np.str_]
    unknown: tuple[str, ...]


def price_calls(calls: pl.DataFrame, gpu: Gpu, *, pricer: Pricer = price) -> CallCosts:
    """Price every distinct call of a stream for one device.

    Args:
        calls: columns `schema.CALLS`.
        gpu: device of the catalog.
        pricer: prices a table of the `predict` vocabulary (another one in tests).
    """
    ops = operations(calls)
    devices = calls[schema.CALL_DEVICE.name].to_list()
    all_works: list[tuple[Work, ...]] = []
    efforts: list[Effort] = []
    unknown: dict[str, None] = {}
    for op, device in zip(ops, devices, strict=True):
        found, known = works(op)
        efforts.append(_summed([effort(work) for work in found]))
        found, known = (found, known) if _on_device(op, device) else ((), True)
        if not known:
            unknown.setdefault(op.name)
        all_works.append(found)
    flat = [work for found in all_works for work in found]
    owner = np.repeat(np.arange(len(all_works)), [len(found) for found in all_works])
    priced, limits, unpriced = _price(flat, gpu, pricer)
    for at in unpriced:
        unknown.setdefault(ops[owner[at]].name)
    kernels = np.zeros(len(all_works), dtype=np.int64)
    np.add.at(kernels, owner, [work.kernels * work.count for work in flat])
    device_ns = np.zeros((3, len(all_works)))
    for row in range(3):
        np.add.at(device_ns[row], owner, priced[row])
    longest = _longest(owner, priced[1], len(all_works))
    hosts = _hosts(ops, kernels, devices)
    return CallCosts(
        kernels=kernels,
        device_ns=device_ns,
        forward_host_ns=np.array([h.forward_ns for h in hosts]),
        backward_host_ns=np.array([h.backward_ns for h in hosts]),
        cpu_host_ns=np.array([h.cpu_forward_ns for h in hosts]),
        cpu_backward_host_ns=np.array([h.cpu_backward_ns for h in hosts]),
        cpu_operations=np.array([_cpu_operations(op) for op in ops], dtype=np.int64),
        flops=np.array([e.flops for e in efforts]),
        bytes=np.array([e.bytes for e in efforts]),
        limited_by=np.array([limits[at] if at >= 0 else "" for at in longest], dtype=np.str_),
        engine=np.array([_engine(flat[at]) if at >= 0 else "" for at in longest], dtype=np.str_),
        family=np.array([FAMILIES[flat[at].op] if at >= 0 else "" for at in longest], dtype=np.str_),
        unknown=tuple(unknown),
    )


def _on_device(op: Operation, device: str) -> bool:
    return device != "cpu" or op.name.startswith("copy::")


def _summed(efforts: Sequence[Effort]) -> Effort:
    return Effort(sum(e.flops for e in efforts), sum(e.bytes for e in efforts))


def _cpu_operations(op: Operation) -> int:
    """Operations on the CPU: as recorded; a list operation stands for one per tensor (optimizers loop on the CPU)."""
    if op.name.startswith("copy::"):
        return 0  # what moves between devices stays where it is
    tensors = op.attributes.get("tensors") if op.name.startswith("aten::_foreach") else None
    return int(op.attributes.get("cpu_ops") or tensors or 1)


def operations(calls: pl.DataFrame) -> list[Operation]:
    """Calls of a stream as records, attributes decoded."""
    columns = [
        calls[column.name].to_list()
        for column in (
            schema.CALL_OP, schema.CALL_INPUTS, schema.CALL_INPUT_DTYPES, schema.CALL_OUTPUTS, schema.CALL_DTYPE,
            schema.CALL_ATTRIBUTES,
        )
    ]  # fmt: skip
    return [
        Operation(name, _shapes(inputs), tuple(dtypes or ()), _shapes(outputs), dtype or "", _decoded(attributes))
        for name, inputs, dtypes, outputs, dtype, attributes in zip(*columns, strict=True)
    ]


def _shapes(shapes: Sequence[Sequence[int]] | None) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(shape) for shape in shapes or ())


def _decoded(attributes: str | None) -> dict[str, Any]:  # JSON values
    return msgspec.json.decode(attributes, type=dict[str, Any]) if attributes else {}


def _price(flat: list[Work], gpu: Gpu, pricer: Pricer) -> tuple[NDArray[np.float64], list[str], list[int]]:
    """(3, m) nanoseconds of each work, what limits it, and which could not be priced as what they are (then by their bytes)."""
    if not flat:
        return np.zeros((3, 0)), [], []
    distinct = {work: at for at, work in enumerate(dict.fromkeys(flat))}
    rows = list(distinct)
    table = pricer(_table(rows, gpu), gpu)
    low, mid, high = (table[name].cast(pl.Float64).to_numpy().copy() for name in ("low_us", "mid_us", "high_us"))
    limits = [limit or "small_kernel" for limit in table["limited_by"].to_list()]
    missing = np.flatnonzero(~np.isfinite(mid))
    if len(missing):
        _price_by_bytes(rows, missing, gpu, pricer, (low, mid, high), limits)
    count = np.array([work.count for work in rows], dtype=np.float64)
    spread = np.array([work.spread for work in rows])
    ns = np.stack([low / spread, mid, high * spread]) * count * NS_PER_US
    at = np.array([distinct[work] for work in flat])
    absent = set(missing.tolist())
    return ns[:, at], [limits[i] for i in at], [i for i, row in enumerate(at) if row in absent]


def _price_by_bytes(
    rows: list[Work], missing: NDArray[np.int64], gpu: Gpu, pricer: Pricer,
    prices: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], limits: list[str],
) -> None:  # fmt: skip
    """Fill rows that the pricer does not know by their traffic, with an interval four times as wide each way."""
    stand_ins = [stream(int(effort(rows[i]).bytes / rows[i].count), 1) for i in missing]
    table = pricer(_table(stand_ins, gpu), gpu)
    for column, target, factor in zip(("low_us", "mid_us", "high_us"), prices, (0.25, 1.0, 4.0), strict=True):
        target[missing] = table[column].to_numpy() * factor
    for i, limit in zip(missing, table["limited_by"].to_list(), strict=True):
        limits[i] = limit


def _table(rows: Sequence[Work], gpu: Gpu) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in _SIZES}  # numbers or nothing
    for at, work in enumerate(rows):
        for name, value in work.sizes:
            columns[name][at] = value
    return pl.DataFrame(
        {
            "op": [work.op for work in rows],
            "dtype": [_dtype(work, gpu) for work in rows],
            "direction": [work.direction for work in rows],
            **{name: pl.Series(values, dtype=pl.Int64) for name, values in columns.items()},
        }
    )


def _dtype(work: Work, gpu: Gpu) -> str:
    """TF32 runs as float32 where a device has none; a stream of another type counts by its bytes alone."""
    if work.dtype == "tf32" and gpu.tensor_tf32_tflops is None:
        return "float32"
    return work.dtype if work.dtype in PRICED_DTYPES else "float32"


def _longest(owner: NDArray[np.int64], mid: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Position of each call's longest work; -1 for a call without."""
    longest = np.full(count, -1, dtype=np.int64)
    order = np.argsort(mid, kind="stable")
    longest[owner[order]] = order
    return longest


def _engine(work: Work) -> str:
    return work.op if work.op in ("copy_h2d", "copy_d2h") else "stream"


def _hosts(operations: Sequence[Operation], kernels: NDArray[np.int64], devices: Sequence[str]) -> list[HostCost]:
    model = host_model()
    return [
        host_cost(op.name, int(launches), len(op.inputs), device, model)
        for op, launches, device in zip(operations, kernels, devices, strict=True)
    ]
