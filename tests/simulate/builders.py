"""Prices and host times of the tests' own making."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, OpStreamBuilder, Site
from breakeven.timeline.opstream import Call, attributes


@dataclass(frozen=True)
class Prices:
    kernels: NDArray[np.int64]
    device_ns: NDArray[np.float64]
    limited_by: NDArray[np.str_]
    engine: NDArray[np.str_]
    family: NDArray[np.str_]


@dataclass(frozen=True)
class Hosts:
    before_ns: NDArray[np.float64]
    issue_ns: NDArray[np.float64]
    log_sigma: float = 0.0


def prices(stream: OpStream, ns: dict[str, float], *, kernels: dict[str, int] | None = None, spread: float = 1.0) -> Prices:
    """Each operation at its time (others run nothing on the device), low and high a factor `spread` away."""
    ops = stream.calls["op"].to_list()
    mid = np.array([ns.get(op, 0.0) for op in ops])
    engines = {"copy::h2d": "copy_h2d", "copy::d2h": "copy_d2h"}
    return Prices(
        kernels=np.array([(kernels or {}).get(op, 1) if op in ns else 0 for op in ops]),
        device_ns=np.stack([mid / spread, mid, mid * spread]),
        limited_by=np.array(["small_kernel" if op in ns and op not in engines else "" for op in ops]),
        engine=np.array([engines.get(op, "stream") if op in ns else "" for op in ops]),
        family=np.array([op.split("::")[0] for op in ops]),
    )


def hosts(stream: OpStream, before_ns: float, issue_ns: float, log_sigma: float = 0.0) -> Hosts:
    return Hosts(np.full(len(stream), before_ns), np.full(len(stream), issue_ns), log_sigma)


def training(steps: int = 3, *, read_loss: bool = True) -> OpStream:
    """A batch copied over and waited for, three operations, and the loss read back."""
    builder = OpStreamBuilder()
    for step in range(steps):
        here = step * (6 if read_loss else 4)
        copy = Call("copy::h2d", "copy", "cuda:0", attributes=attributes(bytes=4096, pinned=False))
        builder.add(copy, step=step, phase="input", site=Site("train.py", 10), waits_for=here)
        for line, op in enumerate(("aten::mm", "aten::add", "aten::mm")):
            builder.add(Call(op, "compute", "cuda:0"), step=step, phase="forward", site=Site("train.py", 11 + line))
        if read_loss:
            back = builder.add(Call("copy::d2h", "copy", "cuda:0", attributes=attributes(bytes=4)), step=step)
            builder.add(Call("sync::item", "sync", "cuda:0"), step=step, site=Site("train.py", 20), waits_for=back)
    return builder.build(steps=steps)
