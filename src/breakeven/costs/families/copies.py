"""Copies between host and device over the link, and on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part, Wanted, uncached
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "copy_h2d": {"bytes": None, "pinned": 0.0},
    "copy_d2h": {"bytes": None, "pinned": 0.0},
    "copy_d2d": {"bytes": None},
}
DIRECTIONS: Final = ("forward",)
#: Copies are few and from many hosts: no table of corrections.
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    "copy_d2d": (),
    "copy_h2d.pinned": (),
    "copy_h2d.pageable": (),
    "copy_d2h.pinned": (),
    "copy_d2h.pageable": (),
}
#: Pageable copies up to this many bytes go through the command buffer at once (CUDA C Programming Guide, asynchronous execution:
#: "host to device copies of 64 KB or less").
_STAGED: Final = 65536.0


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """Bytes over the link; pageable memory goes through a pinned buffer by pieces. On the device they are read and written."""
    moved = c["bytes"]
    if op == "copy_d2d":
        memory = 2.0 * moved / r.bandwidth
        traffic = {"bytes": memory}
        fixed = {"kernel": 1.0, "ramp": memory / (memory + 1.0)}
        return [Part(op, {}, traffic, fixed, (), uncached(x, 2.0 * moved, r))]
    link = moved / r.link
    traffic = {
        "bytes": link,
        "beyond_staged": x.maximum(moved - _STAGED, 0.0) / r.link,
        "beyond_4k": x.maximum(moved - 4096.0, 0.0) / r.link,
    }
    if c["pinned"] > 0.0:
        return [Part(f"{op}.pinned", {}, traffic, {"kernel": 1.0, "ramp": link / (link + 1.0)}, (), link)]
    return [Part(f"{op}.pageable", {}, traffic, {"kernel": 1.0}, (), link)]
