"""Recurrent layers: a chain of time steps, each a small product with weights that stay or are read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families import matmul
from breakeven.costs.families.terms import Terms, scaled
from breakeven.costs.rates import Rates
from breakeven.units import ITEM_SIZE

_COLUMNS: Final[Mapping[str, float | None]] = {
    "hidden": None, "batch": None, "timesteps": None, "input": 0.0, "layers": 1.0, "bidirectional": 0.0,
}  # fmt: skip
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"rnn": _COLUMNS, "lstm": _COLUMNS, "gru": _COLUMNS}
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")
GATES: Final = {"rnn": 1.0, "gru": 3.0, "lstm": 4.0}


def chained(x: Arithmetic, c: Mapping[str, Values], gates: float, dtype: str, r: Rates) -> Terms:
    """The recurrent part of one layer and direction: `timesteps` products (batch × hidden)(hidden × gates·hidden), one after another."""
    size = float(ITEM_SIZE[dtype])
    hidden, batch, steps = c["hidden"], c["batch"], c["timesteps"]
    flops = 2.0 * batch * hidden * hidden * gates
    tiles = x.ceil(batch / 32.0) * x.ceil(gates * hidden / 64.0)
    arithmetic = steps * x.maximum(flops, 2.0 * 32.0 * 64.0 * hidden * tiles) / r.matrix[dtype]
    weights = gates * hidden * hidden * size
    traffic = steps * (weights + (gates + 2.0) * batch * hidden * size) / r.bandwidth
    return Terms(arithmetic, traffic, steps, 1.0, steps * flops / r.matrix[dtype])


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """Every layer and direction of a stack: its chain of steps, and the product of its inputs over all steps at once."""
    gates, ways = GATES[op], 1.0 + c["bidirectional"]
    layers, hidden = c["layers"], c["hidden"]
    passes = {
        "backward": ("backward_inputs", "backward_params"), "both": ("forward", "backward_inputs", "backward_params"),
    }.get(direction, (direction,))  # fmt: skip
    rows = c["batch"] * c["timesteps"]
    found = []
    chain = chained(x, c, gates, dtype, r)
    for one in passes:
        found.append((f"{op}.{one}", scaled(chain, layers * ways)))
        first = {"m": rows, "n": gates * hidden, "k": x.maximum(c["input"], 1.0)}
        later = {"m": rows, "n": gates * hidden, "k": hidden * ways}
        has_input = x.where(c["input"] > 0.0, 1.0, 0.0)
        for sizes, times in ((first, ways * has_input), (later, ways * (layers - 1.0) * has_input)):
            m, n, k = sizes["m"], sizes["n"], sizes["k"]
            turned = {"forward": (m, n, k), "backward_inputs": (m, k, n), "backward_params": (k, n, m)}[one]
            product = matmul.terms(x, dict(zip("mnk", turned, strict=True)), dtype, r)
            found.append(("gemm", scaled(product, times)))
    return found
