"""The fitted constants: read once from `costs/data/`, looked up by operation, device and dtype, nearest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from breakeven.costs.rates import Rates


@dataclass(frozen=True)
class Constants:
    """What turns a part's terms into a time.

    Attributes:
        floor_us: a kernel's fixed time.
        arithmetic, traffic: how many times longer than at the data sheet's rate.
        chain_us: per link of the chain.
        low, high: factors of the 90 % interval.
    """

    floor_us: float
    arithmetic: float
    traffic: float
    chain_us: float
    low: float
    high: float


@lru_cache(maxsize=4096)
def constants(variant: str, device: Rates, dtype: str, graph: bool) -> Constants:
    """The constants of a part: of this very device, else of its architecture, its vendor, of all devices."""
    table = _data()[f"{variant}.graph" if graph and f"{variant}.graph" in _data() else variant]
    kind = "tensor" if dtype in device.tensor else "plain"
    for key in (
        f"{device.name}|{dtype}",
        f"{device.name}|{kind}",
        f"{device.architecture}|{kind}",
        f"{device.vendor}|{kind}",
        f"*|{kind}",
        "*",
    ):
        if key in table:
            return Constants(**table[key])
    raise LookupError(f"no constants for {variant} in {kind} arithmetic")


@lru_cache(maxsize=1)
def _data() -> dict[str, dict[str, dict[str, float]]]:
    text = (files("breakeven.costs") / "data" / "constants.json").read_text(encoding="utf-8")
    variants: dict[str, dict[str, dict[str, float]]] = json.loads(text)["variants"]
    return variants
