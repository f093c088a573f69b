"""Recurrent layers: a chain of time steps, each a small product with weights that stay or are read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families import matmul
from breakeven.costs.families.part import Part, Wanted, ramp, uncached, waves
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from breakeven.units import ITEM_SIZE

_COLUMNS: Final[Mapping[str, float | None]] = {
    "hidden": None,
    "batch": None,
    "timesteps": None,
    "input": 0.0,
    "layers": 1.0,
    "bidirectional": 0.0,
}
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"rnn": _COLUMNS, "lstm": _COLUMNS, "gru": _COLUMNS}
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")
PASSES: Final = {"backward": ("backward_inputs", "backward_params"), "both": ("forward", "backward_inputs", "backward_params")}
GATES: Final = {"rnn": 1.0, "gru": 3.0, "lstm": 4.0}
_TABLE: Final = (Axis(3.0, 1.0, 6), Axis(8.0, 1.0, 5))
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    f"recurrent.{one}": _TABLE for one in ("forward", "backward_inputs", "backward_params")
}
#: Time steps until clocks and caches have settled: on a V100 the first few hundred cost about 3 ms more (DeepBench, 187 against
#: 1500).
_FIRST: Final = 200.0
#: MHz at which what takes a number of cycles is counted: dependent reads, barriers and start-ups are slow where the clock is.
_CLOCK: Final = 1500.0
#: Tiles of (batch × gates·hidden) in one time step.
_TILES: Final = ((16, 128), (32, 64), (32, 128), (64, 64), (128, 64), (128, 128))


def chain(x: Arithmetic, op: str, direction: str, c: Mapping[str, Values], dtype: str, r: Rates, wanted: Wanted) -> Part:
    """The recurrent part of one layer and way: `timesteps` products (batch × hidden)(hidden × gates·hidden) in a chain.

    The terms: the arithmetic of all steps, and in whole tiles and waves step by step; the weights read once per step, and where
    the L2 cannot keep them; the states' traffic; the steps themselves (a dependent kernel or a barrier each); a kernel. The
    gradients of the weights are one product over all steps, and have its terms too.
    """
    gates, peak, size = GATES[op], r.matrix[dtype], float(ITEM_SIZE[dtype])
    hidden, batch, steps = c["hidden"], c["batch"], c["timesteps"]
    flops = steps * 2.0 * batch * hidden * hidden * gates / peak
    compute = {"flops": flops}
    names = wanted(f"recurrent.{direction}")
    for height, width in _TILES:
        if f"wave{height}x{width}" not in names:
            continue
        tiles = x.ceil(batch / height) * x.ceil(gates * hidden / width)
        compute[f"wave{height}x{width}"] = waves(x, tiles, steps * 2.0 * height * width * hidden / peak, flops, r.sms)
    weights = gates * hidden * hidden * size
    read = steps * weights / r.bandwidth
    states = steps * batch * hidden * size / r.bandwidth
    traffic = {
        "weights": read,
        "weights_gru": read if op == "gru" else 0.0,
        "weights_beyond_l2": steps * x.maximum(weights - r.l2_bytes, 0.0) / r.bandwidth,
        "weights_once": weights / r.bandwidth,
        "states": states,
        "states_of_gates": states * gates,
    }
    cycles = _CLOCK / r.clock_mhz
    depth = steps * hidden * 1e-3 * cycles
    work, moved = flops * peak / steps, (read + states) * r.bandwidth / steps
    step = ramp(work, moved)
    fixed = {
        "kernel": 1.0,
        "ramp": ramp(work * steps, moved * steps),
        "steps": steps,
        "ramp_steps": steps * step * cycles,
        f"ramp_steps_{op}": steps * step * cycles,
        "steps_wide": steps * cycles * (hidden / 1024.0) ** 0.5,
        "depth": depth,
        "depth_gru": depth if op == "gru" else 0.0,
        "first_steps": x.minimum(steps, _FIRST) * step,
    }
    if direction == "backward_params":
        for height, width in ((64, 64), (128, 128)):
            tiles = x.ceil(gates * hidden / height) * x.ceil(hidden / width)
            compute[f"at_once{height}x{width}"] = waves(x, tiles, 2.0 * height * width * steps * batch / peak, flops, r.sms)
    least = x.maximum(flops / r.ceiling(dtype), uncached(x, weights + steps * batch * hidden * size, r))
    return Part(f"recurrent.{direction}", compute, traffic, fixed, (x.log2(batch), x.log2(hidden)), least)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """Every layer and way of a stack: its chain of steps, and the product of its inputs over all steps at once."""
    gates, hidden, ways, layers = GATES[op], c["hidden"], 1.0 + c["bidirectional"], c["layers"]
    rows, columns = c["batch"] * c["timesteps"], gates * hidden
    has_input = x.where(c["input"] > 0.0, 1.0, 0.0)
    products = [(x.maximum(c["input"], 1.0), ways * has_input), (hidden * ways, ways * (layers - 1.0) * has_input)]
    products = [product for product in products if x.some(product[1])]
    found = []
    for one in PASSES.get(direction, (direction,)):
        found.append(chain(x, op, one, c, dtype, r, wanted).repeated(layers * ways))
        for depth, times in products:
            sizes = {
                "forward": (1.0, rows, columns, depth),
                "backward_inputs": (1.0, rows, depth, columns),
                "backward_params": (1.0, columns, depth, rows),
            }[one]
            found.append(matmul.product(x, "gemm", sizes, dtype, r, wanted).repeated(times))
    return found
