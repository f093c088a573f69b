"""The fitted weights: read from `costs/data/`, looked up by what is priced and on which device, nearest first."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part
from breakeven.costs.operations import BLENDS
from breakeven.costs.rates import Rates, rates
from breakeven.costs.table import Axis, Grid
from breakeven.machine.gpus import gpus

#: What may stand in for a variant that was not measured on a device, when the other was.
_RELATED: Final[Mapping[str, tuple[str, ...]]] = {
    "gemm": ("linear", "bmm"),
    "linear": ("gemm", "bmm"),
    "bmm": ("gemm", "linear"),
    "sigmoid1": ("tanh1",),
    "stream": ("add2", "mul1"),
}
#: Variants whose arithmetic may run on matrix units.
PRODUCTS: Final = ("gemm", "linear", "bmm", "conv2d", "recurrent")
#: Dtypes that may stand in for one another on a device, by kind; the rates are always the asked dtype's own.
_PEERS: Final[Mapping[str, tuple[str, ...]]] = {
    "plain": ("float32", "float64", "float16", "tf32", "bfloat16"),
    "tensor": ("float16", "bfloat16", "tf32"),
}
#: What an interval grows by, as a natural logarithm each way, when the model is lent. Medians of measured over lent, from the
#: rows that allow it: `gemm` and `linear` by one another on T4 −0.02 and 0.10, on P100 −0.21 and 0.38 (DeepBench, NeuSight).
_OTHER_OPERATION: Final = 0.3
#: float32 by float16 on the P100: products −0.04, convolutions 0.52, recurrent layers −0.85 (DeepBench).
_OTHER_DTYPE: Final = 0.4
#: Another board with the same chip: A100 80 GB by A100 40 GB, −0.10 (linear), −0.09 (bmm), −0.01 (add), 0.03 (softmax)
#: (NeuSight).
_OTHER_BOARD: Final = 0.1
#: How far clocks of boards with one chip may be apart (natural logarithm): V100 PCIe and SXM2 are 0.11 apart; a P4, which its
#: 75 W hold back, and a GTX 1080 with the same chip 0.44.
_CLOCKS: Final = 0.15
#: Tables hold thousandths of a natural logarithm.
_STEP: Final = 1e-3
_LN2: Final = math.log(2.0)


#: Fixed terms that every call has, however small; the others fade out with the work.
BASE: Final = ("kernel", "steps")
#: Share of them in a price from which on the call is tiny: nothing but launches, whatever the shape.
MOSTLY: Final = 0.6
#: Index of the factors of tiny calls.
TINY: Final = 9

#: Ten factors, as a list for single calls and as an array for tables: index 3 · kind + limit, and last those of tiny calls.
Intervals: TypeAlias = tuple[list[float], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Model:
    """What turns a part's terms into a time, for one variant on one device, or on what is nearest to it.

    Attributes:
        weights: of compute, traffic and fixed terms, each by name; none is negative.
        grid: logarithms of the corrections, or None.
        low, high: factors of the 90 % interval, by the kind of shape (three) and what limits: compute, bandwidth or fixed time;
            the tenth where hardly anything but launches is paid for.
        others: models of other generations; the quickest counts.
    """

    compute: tuple[tuple[str, float], ...]
    traffic: tuple[tuple[str, float], ...]
    fixed: tuple[tuple[str, float], ...]
    grid: Grid | None
    low: Intervals
    high: Intervals
    names: frozenset[str]
    least: tuple[tuple[str, float], ...]
    bounded: bool
    blend: float
    others: tuple[Model, ...] = ()

    def terms(self, part: Part) -> tuple[Values, Values, Values]:
        """µs of compute, traffic and fixed terms, before correction."""
        return _weighted(self.compute, part.compute), _weighted(self.traffic, part.traffic), _weighted(self.fixed, part.fixed)

    def base(self, part: Part) -> Values:
        """µs of the fixed terms that every call has."""
        return _weighted(self.least, part.fixed)

    def correction(self, x: Arithmetic, part: Part, plain: Values, share: Values) -> Values:
        """The factor on `plain` from the table. It never raises the `share` of a product that is its base.

        A table of factors is gentle: its fit kept it from falling faster than the formula grows. A blended one holds times, and
        never falls: the price is plain^(1 − blend) · table^blend, which then never falls either, whatever the shape. Above its
        last knots it goes on in proportion to the work.
        """
        if self.grid is None:
            return 1.0
        value = self.grid.at(x, part.coordinates) * _STEP
        if self.blend:
            value = self.blend * (value + self.grid.beyond(x, part.coordinates) * _LN2 - x.log2(plain) * _LN2)
        return x.exp(x.where(value > 0.0, value * (1.0 - share), value) if self.bounded else value)


def _weighted(weights: tuple[tuple[str, float], ...], terms: Mapping[str, Values]) -> Values:
    total: Values = 0.0
    for name, weight in weights:
        if name in terms:  # a model lent from a related operation may know others
            total = total + weight * terms[name]
    return total


@lru_cache(maxsize=8192)
def model(variant: str, device: Rates, dtype: str, graph: bool = False) -> Model:
    """The model of a variant: fitted to this very device, else to what is nearest.

    Nearest are, in this order: another dtype of the same kind on the device; a related operation on it; another board with its
    chip; its generation; the nearest
    generation of its vendor; everything. What is lent from another dtype or operation has a wider interval, what comes from other
    devices one that was calibrated on devices left out.

    Raises:
        LookupError: nothing at all was fitted for it (a variant that the data files lack).
    """
    names = [variant, *_RELATED.get(variant, ())]
    if graph:
        names = [f"{name}.graph" for name in names] + names
    data = _data()
    kind = kind_of(variant, device, dtype)
    for name in names:
        for one in (dtype, *_PEERS[kind]):
            found = data.get(name, {}).get(f"{device.name}|{one}")
            if found is not None:
                lent = (0.0 if one == dtype else _OTHER_DTYPE) + (
                    0.0 if name.removesuffix(".graph") == variant else _OTHER_OPERATION
                )
                return found if lent == 0.0 else _widened(found, lent)
    for twin in _twins(device):
        for name in names:
            found = data.get(name, {}).get(f"{twin}|{dtype}")
            if found is not None:
                return _widened(found, _OTHER_BOARD if name.removesuffix(".graph") == variant else _OTHER_OPERATION)
    for key in further(variant, device, kind):
        for name in names:
            if key in data.get(name, {}):
                first, *others = (data[name][k] for k in serving(variant, device, kind, data[name]))
                return replace(first, others=tuple(others), names=first.names.union(*(o.names for o in others)))
    raise LookupError(f"no model of {variant}")


@lru_cache(maxsize=512)
def _twins(device: Rates) -> tuple[str, ...]:
    """Measured boards with this chip (architecture, multiprocessors, clock within a seventh), the nearest bandwidth first."""
    names = {key.split("|")[0] for models in _data().values() for key in models}
    measured = [rates(gpu) for gpu in gpus() if gpu.name in names and gpu.name != device.name]
    same = [r for r in measured if (r.architecture, r.sms) == (device.architecture, device.sms)]
    same = [r for r in same if abs(math.log(r.vector["float32"] / device.vector["float32"])) < _CLOCKS]
    return tuple(r.name for r in sorted(same, key=lambda r: abs(math.log(r.bandwidth / device.bandwidth))))


def kind_of(variant: str, device: Rates, dtype: str) -> str:
    """`tensor` where an operation of products runs on matrix units in this dtype, else `plain`."""
    return "tensor" if variant.startswith(PRODUCTS) and dtype in device.tensor else "plain"


def _widened(found: Model, by: float) -> Model:
    low, high = ([math.exp(sign * by) * f for f in factors[0]] for sign, factors in ((-1.0, found.low), (1.0, found.high)))
    return replace(found, low=_both(low), high=_both(high))


def further(variant: str, device: Rates, kind: str) -> Iterator[str]:
    """Keys beyond the device: of products its vendor's generations, nearest first; of streams its kind of memory; then all.

    Where nobody measured the operation on matrix units, the step from one kernel to the next is still its generation's.
    """
    if not variant.startswith(PRODUCTS):
        yield f"{device.memory} memory|{kind}"
    for one in dict.fromkeys((kind, "plain")):
        if variant.startswith(PRODUCTS):
            yield from _generations(device, one)
        yield f"*|{one}"
    yield "*|any"


def _generations(device: Rates, kind: str) -> Iterator[str]:
    for distance in range(10):
        for generation in dict.fromkeys((device.generation + distance, device.generation - distance)):
            yield f"{device.vendor} {generation}|{kind}"


def serving(variant: str, device: Rates, kind: str, known: Container[str]) -> list[str]:
    """The keys among those known that serve a device which was not measured; the quickest counts.

    They are one, but for recurrent layers of a generation that was not measured: the nearest's library may have chosen badly
    (cuDNN 6 takes three times as long at batch 32 as at 16, and longer than at 64), and later ones choose at least as well as the
    best of those before. So on a V100 that is left out: off by 27 % (median), by the nearest generation alone 46 %.
    """
    found = [key for key in further(variant, device, kind) if key in known]
    generations = [key for key in found if key.startswith(device.vendor)]
    own = f"{device.vendor} {device.generation}|"
    if not variant.startswith("recurrent") or not generations or found[0].startswith(("*", own)):
        return found[:1]
    return [key for key in generations if key.split("|")[1] == found[0].split("|")[1]]


@lru_cache(maxsize=1)
def _data() -> dict[str, dict[str, Model]]:
    found: dict[str, dict[str, Model]] = {}
    for file in sorted((files("breakeven.costs") / "data").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".json"):
            for variant, stored in json.loads(file.read_text(encoding="utf-8")).get("variants", {}).items():
                axes = tuple(Axis(*axis) for axis in stored["axes"])
                found[variant] = {key: _model(one, axes, variant) for key, one in stored["models"].items()}
    return found


def _model(stored: dict[str, Any], axes: tuple[Axis, ...], variant: str) -> Model:
    # Any: one JSON object holds mappings and lists
    grid = None
    if "table" in stored and axes:
        grid = Grid.of(axes, [float(v) for v in stored["table"]])
    low, high = ([float(v) for v in stored[name]] for name in ("low", "high"))
    compute, traffic, fixed = (
        tuple((name, float(weight)) for name, weight in stored.get(kind, {}).items()) for kind in ("compute", "traffic", "fixed")
    )
    names = frozenset(n for n, _ in (*compute, *traffic, *fixed))
    least = tuple((n, w) for n, w in fixed if n in BASE)
    bounded, blend = variant.startswith(PRODUCTS), BLENDS.get(variant, 0.0)
    return Model(compute, traffic, fixed, grid, _both(low), _both(high), names, least, bounded, blend)


def _both(factors: list[float]) -> Intervals:
    return factors, np.array(factors)
