"""Measured rows as the arrays that a fit needs: what each asks of its device, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from breakeven.costs.arithmetic import TABLE
from breakeven.costs.models import kind_of
from breakeven.costs.operations import OPERATIONS
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu

#: Columns whose value decides which variant is priced.
KINDS = ("op", "direction", "graph", "gpu", "dtype", "inputs", "pinned")


class Everything:
    """A set that holds every name: a fit wants all terms."""

    def __contains__(self, name: object) -> bool:
        return True


EVERY = Everything()


@dataclass(frozen=True)
class Group:
    """The rows of one variant on one device in one dtype.

    Attributes:
        names: of the terms, in the columns of `terms`; prefixed compute:, traffic: or fixed:.
        terms: (rows × terms) at the data sheet's rates.
        places: (rows × coordinates).
        time_us: on the device, the timer's lead taken off.
    """

    variant: str
    gpu: str
    dtype: str
    kind: str
    vendor: str
    generation: int
    memory: str
    names: tuple[str, ...]
    terms: np.ndarray
    places: np.ndarray
    least: np.ndarray
    time_us: np.ndarray
    fold: np.ndarray
    source: np.ndarray
    kinds: np.ndarray

    def only(self, rows: np.ndarray) -> Group:
        """Some of its rows."""
        arrays = ("terms", "places", "least", "time_us", "fold", "source", "kinds")
        return replace(self, **{a: getattr(self, a)[rows] for a in arrays})


def read(folder: Path) -> list[Group]:
    """All rows that one part prices alone, by variant, device and dtype; irregular rows are left out."""
    found: dict[tuple[str, str, str], list[Group]] = {}
    for path in sorted(folder.glob("*.parquet")):
        table = pl.read_parquet(path)
        if "op" not in table.columns or "measured_us" not in table.columns:
            continue
        table = table.filter(pl.col("irregular") == 0).with_columns(pl.col("dtype").fill_null("float32"))
        for _, rows in table.group_by([c for c in KINDS if c in table.columns], maintain_order=True):
            group = _group(rows)
            if group is not None:
                found.setdefault((group.variant, group.gpu, group.dtype), []).append(group)
    return [_joined(groups) for groups in found.values()]


def _group(rows: pl.DataFrame) -> Group | None:
    first = rows.row(0, named=True)
    operation = OPERATIONS[first["op"]]
    device = rates(find_gpu(first["gpu"]))
    columns: dict[str, np.ndarray | float] = {}
    for name, default in operation.columns.items():
        if name in ("inputs", "pinned"):
            columns[name] = float(first.get(name) if first.get(name) is not None else default or 0.0)
        elif name in rows.columns:
            columns[name] = rows[name].cast(pl.Float64).fill_null(default if default is not None else np.nan).to_numpy()
        else:
            columns[name] = np.full(rows.height, 1.0 if default is None else default)
    parts = operation.parts(TABLE, first["op"], first["direction"], first["dtype"], columns, device, lambda _: EVERY)
    if len([p for p in parts if np.any(np.asarray(p.times) > 0)]) != 1:
        return None
    part = parts[0]
    terms = {f"{kind}:{n}": v for kind in ("compute", "traffic", "fixed") for n, v in getattr(part, kind).items()}
    count = rows.height

    def full(value: object) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()

    places = np.stack([full(p) for p in part.coordinates], 1) if part.coordinates else np.zeros((count, 0))
    return Group(
        part.variant + (".graph" if first.get("graph") else ""), device.name, first["dtype"], kind_of(part.variant, device, first["dtype"]),
        device.vendor, device.generation, device.memory, tuple(terms), np.stack([full(v) for v in terms.values()], 1), places, full(part.least),
        (rows["measured_us"] - rows["lead_us"]).to_numpy(), rows["fold"].to_numpy(), rows["source"].str.split("-models").list.first().to_numpy(), full(part.kind).astype(int),
    )  # fmt: skip


def _joined(groups: list[Group]) -> Group:
    names = tuple(dict.fromkeys(n for g in groups for n in g.names))
    terms = np.concatenate([_columns(g, names) for g in groups])
    arrays = {
        a: np.concatenate([getattr(g, a) for g in groups]) for a in ("places", "least", "time_us", "fold", "source", "kinds")
    }
    return replace(groups[0], names=names, terms=terms, **arrays)


def _columns(group: Group, names: tuple[str, ...]) -> np.ndarray:
    at = {n: i for i, n in enumerate(group.names)}
    zeros = np.zeros(len(group.time_us))
    return np.stack([group.terms[:, at[n]] if n in at else zeros for n in names], 1)


def stacked(groups: list[Group]) -> Group:
    """Groups of one variant, under one another."""
    return _joined(groups)
