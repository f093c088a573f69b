"""Small literal streams and a literal price list, in round numbers, so that a claim can be worked out by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.account import account, shares
from breakeven.diagnose.evidence import CpuSide, Evidence
from breakeven.diagnose.pricing import Pricing
from breakeven.results.facts import Facts
from breakeven.results.records import DeviceResult, Interval, Verdict
from breakeven.simulate import run, schedule
from breakeven.timeline import OpStream, OpStreamBuilder, Site, edit, schema
from breakeven.timeline.opstream import Call, attributes

#: Prices of the literal GPU: 10 µs to issue an operation, 2 µs for the smallest kernel, 0.1 ns for each further element.
ISSUE_NS, FLOOR_NS, ELEMENT_NS = 10_000.0, 2_000.0, 0.1
#: Of its copies and waits: 10 µs, and 0.1 ns for each byte; a wait costs the host 5 µs besides.
COPY_NS, BYTE_NS, WAIT_NS = 10_000.0, 0.1, 5_000.0
#: Double precision takes this many times as long, half precision this part.
DOUBLE, HALF = 32.0, 0.25

FORWARD, BACKWARD, OPTIMIZER, INPUT, OTHER = (
    schema.Phase.FORWARD, schema.Phase.BACKWARD, schema.Phase.OPTIMIZER, schema.Phase.INPUT, schema.Phase.OTHER,
)  # fmt: skip


@dataclass(frozen=True)
class LiteralCosts:
    """`costs.calls.CallCosts` as far as the simulator reads it."""

    kernels: NDArray[np.int64]
    device_ns: NDArray[np.float64]
    limited_by: NDArray[np.str_]
    engine: NDArray[np.str_]
    family: NDArray[np.str_]


@dataclass(frozen=True)
class LiteralHost:
    """`costs.host.HostTimes` as far as the simulator reads it."""

    before_ns: NDArray[np.float64]
    issue_ns: NDArray[np.float64]
    log_sigma: float = 0.1


def literal_costs(stream: OpStream) -> LiteralCosts:
    """Prices by the constants above."""
    calls = edit.calls_of(stream)
    mid = np.array([_device_ns(call) for call in calls])
    engine = np.array(["" if t == 0 else _engine(call) for t, call in zip(mid, calls, strict=True)], dtype=np.str_)
    limit = np.where(mid > 10 * FLOOR_NS, "compute", np.where(mid > 0, "small_kernel", ""))
    family = np.array([c.op for c in calls], dtype=np.str_)
    return LiteralCosts(
        (mid > 0).astype(np.int64), np.array([mid / 1.2, mid, mid * 1.2]), limit, engine, family
    )  # fmt: skip


def literal_host(stream: OpStream, costs: LiteralCosts) -> LiteralHost:
    """Host times by the constants above: what a graph replays costs none."""
    calls = edit.calls_of(stream)
    each = np.array([_issue_ns(call) for call in calls])
    return LiteralHost(np.nan_to_num(edit.host_ns(stream)), each[edit.column(stream, schema.ROW_CALL)])


PRICING = Pricing(literal_costs, literal_host)


def evidence(
    stream: OpStream,
    *,
    cpu_ms: float = 5.0,
    facts: Facts | None = None,
    verdict: Verdict | None = None,
    cpu: CpuSide | None = None,
) -> Evidence:
    """Evidence of a stream on the literal GPU."""
    step = PRICING.step(stream)
    costs = literal_costs(stream)
    played = account(run(schedule(stream, costs, literal_host(stream, costs))), "cuda:0")
    gpu = DeviceResult("Literal GPU", "gpu", "predicted", Interval(step.low, step.mid, step.high), shares(played.median()))
    return Evidence(
        stream, gpu, PRICING.rows(stream), PRICING.price(step),
        cpu or CpuSide(Interval(cpu_ms * 0.95, cpu_ms, cpu_ms * 1.05)), facts or Facts(), None, verdict,
    )  # fmt: skip


class Script:
    """Writes a stream down, line by line, the way a script would cause it."""

    def __init__(self, batch: int | None = None) -> None:
        self.builder, self.batch, self.step = OpStreamBuilder(), batch, 0

    def op(
        self, name: str, *shapes: tuple[int, ...], line: int = 10, out: tuple[int, ...] | None = None, phase: str = FORWARD,
        fixed: tuple[bool, ...] = (), dtype: str = "float32", device: str = "cuda:0", host_us: float = 0,
        cpu_us: float | None = None, values: dict[str, object] | None = None,
    ) -> int:  # fmt: skip
        """A computing operation."""
        call = Call(
            name, schema.Kind.COMPUTE, device, shapes, (dtype,) * len(shapes), fixed or (False,) * len(shapes),
            ((out or shapes[0]),) if shapes or out else (), dtype, attributes(**(values or {})),
        )  # fmt: skip
        return self._add(call, phase, line, host_us, cpu_us)

    def linear(self, rows: int, width: int, out: int, *, line: int = 10, phase: str = FORWARD, dtype: str = "float32") -> int:
        """A product with a weight."""
        return self.op(
            "aten::addmm", (out,), (rows, width), (width, out), line=line, out=(rows, out), fixed=(True, False, True),
            phase=phase, dtype=dtype, values={"flops": rows * width * out},
        )  # fmt: skip

    def copy_in(self, nbytes: int, *, line: int = 5, pinned: bool = False, shape: tuple[int, ...] = ()) -> int:
        """A copy to the device; a pageable one is waited for."""
        call = Call(
            "copy::h2d", schema.Kind.COPY, "cuda:0", (shape,) if shape else (), ("float32",) * bool(shape),
            (False,) * bool(shape), (shape,) if shape else (), "float32",
            attributes(bytes=nbytes, pinned=pinned, non_blocking=pinned),
        )  # fmt: skip
        at = len(self.builder._rows[schema.ROW_CALL.name])
        return self._add(call, INPUT, line, 0, None, waits=-1 if pinned else at)

    def item(self, *, line: int = 20, how: str = "sync::item") -> int:
        """A value that is read back, as `.item()` does."""
        back = Call("copy::d2h", schema.Kind.COPY, "cuda:0", attributes=attributes(bytes=4, pinned=False))
        copied = self._add(back, OTHER, line, 0, None)
        return self._add(Call(how, schema.Kind.SYNC, "cpu"), OTHER, line, 0, None, waits=copied)

    def host(self, name: str, ms: float, *, line: int = 3, phase: str = OTHER, values: dict[str, object] | None = None) -> int:
        """Work of the host."""
        return self._add(
            Call(name, schema.Kind.HOST, "cpu", attributes=attributes(**(values or {}))), phase, line, ms * 1000, None
        )

    def next_step(self) -> None:
        """The rows that follow belong to the next step."""
        self.step += 1

    def stream(self, unit: str = "step") -> OpStream:
        """What was written."""
        return self.builder.build(steps=self.step + 1, unit=unit, batch=self.batch)

    def _add(self, call: Call, phase: str, line: int, host_us: float, cpu_us: float | None, waits: int = -1) -> int:
        site = Site("train.py", line, f"line {line}")
        cpu = None if cpu_us is None else int(cpu_us * 1000)
        return self.builder.add(
            call, step=self.step, phase=phase, site=site, host_ns=int(host_us * 1000), cpu_ns=cpu, waits_for=waits
        )  # fmt: skip


def _device_ns(call: Call) -> float:
    values = edit.values_of(call)
    if call.kind == schema.Kind.COPY:
        return COPY_NS + BYTE_NS * float(values.get("bytes", 0))
    if not edit.on_device(call) or call.op in ("aten::select", "aten::view", "aten::t", "aten::unbind"):
        return 0.0
    work = float(values.get("timesteps", 1)) * _elements(call)
    rate = {"float64": DOUBLE, "float16": HALF}.get(call.dtype, 1.0)
    return FLOOR_NS + ELEMENT_NS * work * rate


def _elements(call: Call) -> float:
    if call.op == "aten::addmm":
        return float(math.prod(call.inputs[1]) * call.inputs[2][-1])
    return float(sum(math.prod(s) for s in call.outputs or call.inputs))


def _engine(call: Call) -> str:
    return {"copy::h2d": "copy_h2d", "copy::d2h": "copy_d2h"}.get(call.op, "stream")


def _issue_ns(call: Call) -> float:
    if call.kind == schema.Kind.HOST:
        return 0.0
    if call.kind == schema.Kind.SYNC:
        return WAIT_NS
    return 0.0 if edit.values_of(call).get("graph") else ISSUE_NS
