"""Measured rows as the arrays that a fit needs: what each asks of its device, and how long it took."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from breakeven.costs.arithmetic import TABLE, Values
from breakeven.costs.families.part import Part
from breakeven.costs.models import kind_of
from breakeven.costs.operations import OPERATIONS
from breakeven.costs.rates import Rates, rates
from breakeven.machine.gpus import find_gpu

#: Columns whose value decides which variant is priced.
KINDS = ("op", "direction", "graph", "gpu", "dtype", "inputs", "pinned")


class Everything:
    """A set that holds every name: a fit wants all terms."""

    def __contains__(self, name: object) -> bool:
        return True


EVERY = Everything()
#: How the loss of clock goes down where the data are zeros, as in NeuSight's convolutions (the README of the measurements): large
#: ones reach 0.73 of a V100's share of the boost rate on a T4, DeepBench's, of drawn numbers, 0.62: powers of 0.33 and 0.5.
_ZEROS = 0.67
#: How many parts shapes are dealt into where fits are crossed.
PARTS = 10


@dataclass(frozen=True)
class Group:
    """The rows of one variant on one device in one dtype.

    Attributes:
        names: of the terms, in the columns of `terms`; prefixed compute:, traffic: or fixed:.
        terms: (rows × terms) at the data sheet's rates.
        places: (rows × coordinates).
        part: 0 to 9, by the place of the shape alone: a shape is in one part on all devices. For copies the fold.
        cool: the terms at the clock that each row ran at, where its data were zeros; what devices share is fitted to these.
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
    part: np.ndarray
    cool: np.ndarray

    def cooled(self) -> Group:
        """The same rows with `cool` terms."""
        return replace(self, terms=self.cool)

    def under(self, names: tuple[str, ...]) -> np.ndarray:
        """Its terms in columns of these names; zeros where it has none."""
        return _columns(self.names, self.terms, names)

    def only(self, rows: np.ndarray) -> Group:
        """Some of its rows."""
        arrays = ("terms", "places", "least", "time_us", "fold", "source", "kinds", "part", "cool")
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
    words = (TABLE, first["op"], first["direction"], first["dtype"], columns)
    parts = operation.parts(*words, device, lambda _: EVERY)
    if len([p for p in parts if np.any(np.asarray(p.times) > 0)]) != 1:
        return None
    part = parts[0]
    terms = _terms(part)
    count = rows.height

    def full(value: object) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=float), (count,)).copy()

    values = np.stack([full(v) for v in terms.values()], 1)
    cool = values
    if first["op"] == "conv2d":
        at_zeros = _terms(operation.parts(*words, _cool(device), lambda _: EVERY)[0])
        of_zeros = rows["source"].str.starts_with("neusight").to_numpy()
        cool = np.where(of_zeros[:, None], np.stack([full(v) for v in at_zeros.values()], 1), values)
    places = np.stack([full(p) for p in part.coordinates], 1) if part.coordinates else np.zeros((count, 0))
    return Group(
        part.variant + (".graph" if first.get("graph") else ""),
        device.name,
        first["dtype"],
        kind_of(part.variant, device, first["dtype"]),
        device.vendor,
        device.generation,
        device.memory,
        tuple(terms),
        values,
        places,
        full(part.least),
        (rows["measured_us"] - rows["lead_us"]).to_numpy(),
        rows["fold"].to_numpy(),
        rows["source"].str.split("-models").list.first().to_numpy(),
        full(part.kind).astype(int),
        _parts(places) if part.coordinates else rows["fold"].to_numpy(),
        cool,
    )


def _terms(part: Part) -> dict[str, Values]:
    return {f"{kind}:{n}": v for kind in ("compute", "traffic", "fixed") for n, v in getattr(part, kind).items()}


def _cool(device: Rates) -> Rates:
    """A device as it runs on zeros, which take less power."""
    share = device.sustained**_ZEROS
    return replace(device, sustained=share, matrix={d: m / device.sustained * share for d, m in device.matrix.items()})


def _parts(places: np.ndarray) -> np.ndarray:
    rounded = np.ascontiguousarray(np.round(places, 6))
    return np.array([zlib.crc32(row.tobytes()) % PARTS for row in rounded])


def _joined(groups: list[Group]) -> Group:
    names = tuple(dict.fromkeys(n for g in groups for n in g.names))
    arrays = {
        a: np.concatenate([getattr(g, a) for g in groups])
        for a in ("places", "least", "time_us", "fold", "source", "kinds", "part")
    }
    terms, cool = (
        np.concatenate([_columns(g.names, values, names) for g, values in pairs])
        for pairs in ([(g, g.terms) for g in groups], [(g, g.cool) for g in groups])
    )
    return replace(groups[0], names=names, terms=terms, cool=cool, **arrays)


def _columns(own: tuple[str, ...], values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    at = {n: i for i, n in enumerate(own)}
    zeros = np.zeros(len(values))
    return np.stack([values[:, at[n]] if n in at else zeros for n in names], 1)


def stacked(groups: list[Group]) -> Group:
    """Groups of one variant, under one another."""
    return _joined(groups)
