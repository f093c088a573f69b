"""Steps of cells that were not recorded, on one GPU: sizes by their laws, priced as one table, simulated as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.calls import FAMILIES, CallCosts, price_calls
from breakeven.costs.host import HostRate, HostTimes, times_at
from breakeven.costs.price import price
from breakeven.costs.works.records import PRICED_DTYPES
from breakeven.machine.records import Gpu
from breakeven.simulate.arrays import step_ns
from breakeven.simulate.draws import Factors, call_factors
from breakeven.simulate.schedule import Schedule, schedule
from breakeven.sweep.aligned import Aligned, Kernel, Recording
from breakeven.sweep.drawn import alike
from breakeven.sweep.launches import Launches, launches
from breakeven.sweep.laws import LOOSE, Law, law
from breakeven.sweep.positive import shares
from breakeven.timeline import schema
from breakeven.units import NS_PER_MS, NS_PER_US

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Cells priced in one table.
BLOCK: Final = 512


@dataclass(frozen=True)
class Laws:
    """How the kernels' sizes follow from the parameters.

    Attributes:
        laws: of each kernel, one law for each column.
        launches: of the rows that are issued in more launches in one cell than in another.
        exact: every size follows exactly.
        error: the largest log error of an approximate one.
    """

    laws: tuple[tuple[Law, ...], ...]
    launches: tuple[Launches, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether every size follows exactly."""
        return all(one.error == 0 for kernel in self.laws for one in kernel)

    @property
    def error(self) -> float:
        """The largest log error of any size."""
        return max((one.error for kernel in self.laws for one in kernel), default=0.0)

    @property
    def hold(self) -> bool:
        """Whether they can be used at all."""
        return self.error <= LOOSE


def laws_of(aligned: Aligned, parameters: Floats) -> Laws:
    """The law of every size of every kernel; equal rows of sizes are looked at once."""
    known: dict[bytes, Law] = {}

    def of(sizes: Floats) -> Law:
        name = sizes.tobytes()
        if name not in known:
            known[name] = law(sizes, parameters)
        return known[name]

    laws = tuple(tuple(of(column) for column in kernel.sizes.T) for kernel in aligned.kernels)
    return Laws(laws, launches(aligned.varied, parameters))


@dataclass(frozen=True)
class Steps:
    """Predicted steps: middles in ms, shape (m,), and draws, shape (m, n)."""

    mid: Floats
    draws: Floats


@dataclass(frozen=True)
class Scaled:
    """One GPU's steps at any values of the parameters.

    Attributes:
        aligned: the recordings side by side.
        laws: of the kernels' sizes.
        gpu: the device.
        plan: the issues of the shared step, in order.
        issue_ns: host time of each issue in the first cell.
        issue: of each recorded cell, host time of each row's issues over that of the first cell, shape (n, rows).
        before_ns: of each recorded cell, the user's own work before each row, shape (n, rows).
        at: where the recorded cells lie, shape (n, d).
        log_sigma: uncertainty of the host's framework part.
        odd_ns: of each recorded cell, low, mid, high time of the odd rows, shape (3, n, odd).
        apart_ns: the same of what only some cells have, by the shared row that it is counted to, shape (3, n, rows).
        left: of each recorded cell, log of its kernels' time over what approximate laws make of it, shape (n,).
        draws: worlds.
        seed: of the worlds.
    """

    aligned: Aligned
    laws: Laws
    gpu: Gpu
    plan: Schedule
    issue_ns: Floats
    issue: Floats
    before_ns: Floats
    at: Floats
    log_sigma: float
    odd_ns: Floats
    apart_ns: Floats
    draws: int
    seed: int
    left: Floats

    def steps(self, parameters: Floats, at: Floats) -> Steps:
        """The steps at other values.

        Args:
            parameters: positive, shape (m, d).
            at: where these cells lie, as `design.places` says, shape (m, d).
        """
        blocks = [slice(a, a + BLOCK) for a in range(0, len(parameters), BLOCK)]
        priced = [self._rows_ns(parameters[b], at[b]) for b in blocks]
        near = [shares(at[b], self.at) for b in blocks]
        issued = [self._issue_ns(parameters[b], n) for b, n in zip(blocks, near, strict=True)]
        mid = np.concatenate([self._middle(p[1], n, i) for p, n, i in zip(priced, near, issued, strict=True)])
        rows, of, issue = np.concatenate(priced, axis=1), np.concatenate(near), np.concatenate(issued)
        drawn, nearest = alike(_regime(rows, mid))
        relative = np.stack([self._draws(rows[:, c], of[c], issue[c]) / mid[c] for c in drawn])
        return Steps(mid, mid[:, None] * relative[nearest])

    def device_ms(self, parameters: Floats, at: Floats) -> Floats:
        """Time of all kernels of a step, at the middle of their prices, shape (m,)."""
        total: Floats = self._rows_ns(parameters, at)[1].sum(axis=1) / NS_PER_MS
        return total

    def _rows_ns(self, parameters: Floats, at: Floats) -> Floats:
        """Low, mid and high time on the device of each row, shape (3, m, rows)."""
        count, height = len(parameters), len(self.aligned.step)
        out = np.zeros((3, count, height))
        if self.aligned.kernels:
            each = self._kernels_ns(parameters)
            for row, kernel in zip(self.aligned.row, self.aligned.kernel, strict=True):
                out[:, :, row] += each[:, kernel]
        if self.aligned.odd:
            by_cell = np.log(np.maximum(self.odd_ns, 1e-3))  # (3, n, odd)
            out[:, :, list(self.aligned.odd)] += np.exp(np.einsum("mn,qno->qmo", shares(at, self.at), by_cell))
        if self.apart_ns.any():
            out += np.einsum("mn,qnr->qmr", shares(at, self.at), self.apart_ns)
        if self.left.any():
            out *= np.exp(shares(at, self.at) @ self.left)[:, None]
        return out

    def _kernels_ns(self, parameters: Floats) -> Floats:
        """Low, mid and high of each kernel, shape (3, kernels, m)."""
        sizes = [np.stack([one.values(parameters) for one in laws], axis=1) for laws in self.laws.laws]
        table = _table(self.aligned.kernels, sizes, self.gpu)
        priced = price(table, self.gpu)
        columns = [priced[name].cast(pl.Float64).to_numpy() for name in ("low_us", "mid_us", "high_us")]
        shaped = np.stack(columns).reshape(3, len(sizes), len(parameters))
        count = np.stack([size[:, -1] for size in sizes])
        spread = np.array([k.like.spread for k in self.aligned.kernels])[:, None]
        wide = np.stack([1 / spread, np.ones_like(spread), spread])
        found: Floats = np.nan_to_num(shaped) * wide * count[None] * NS_PER_US
        return found

    def _issue_ns(self, parameters: Floats, near: Floats) -> Floats:
        """Host time of each issue, shape (m, issues)."""
        relative = near @ self.issue
        for one in self.laws.launches:
            relative[:, one.of.row] = one.relative(parameters)
        return np.asarray(relative[:, self.plan.row] * self.issue_ns)

    def _middle(self, rows_ns: Floats, near: Floats, issue: Floats) -> Floats:
        device = self._issues(rows_ns)
        before = (near @ self.before_ns)[:, self.plan.row]
        host = _shared(before, self._first()) + np.rint(issue)
        return np.asarray(step_ns(self.plan, host.T.astype(np.int64), device.T) / NS_PER_MS)

    def _draws(self, rows_ns: Floats, near: Floats, issue: Floats) -> Floats:
        factors = Factors.of(self.draws, self.seed)
        of_row = call_factors(_Rows(rows_ns, self._families()), factors)
        device = self._issues(rows_ns[1][None])[0][:, None] * of_row[self.plan.row]
        framework = np.exp(factors.framework * self.log_sigma)
        before = (near @ self.before_ns)[self.plan.row]
        host = _shared(before, self._first())[:, None] + issue[:, None] * framework
        return np.asarray(step_ns(self.plan, np.rint(host).astype(np.int64), np.rint(device).astype(np.int64)) / NS_PER_MS)

    def _first(self) -> NDArray[np.bool_]:
        row = self.plan.row
        return np.asarray(np.concatenate([[True], row[1:] != row[:-1]]) if len(row) else np.zeros(0, dtype=np.bool_))

    def _issues(self, rows_ns: Floats) -> Ints:
        """Rows shared among their issues in nearly equal whole parts, shape (m, issues)."""
        part, of = _parts(self._first())
        total = np.rint(rows_ns).astype(np.int64)[:, self.plan.row]
        shared: Ints = total * (part + 1) // of - total * part // of
        return np.where(self.plan.engine >= 0, shared, 0)

    def _families(self) -> NDArray[np.str_]:
        names = np.array([""] * len(self.aligned.step), dtype="<U16")
        for row, kernel in zip(self.aligned.row, self.aligned.kernel, strict=True):
            names[row] = FAMILIES[self.aligned.kernels[kernel].like.op]
        return names


@dataclass(frozen=True)
class _Rows:
    """A step's rows as the prices that draws are made from."""

    device_ns: Floats
    family: NDArray[np.str_]
    kernels: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    limited_by: NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=np.str_))
    engine: NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=np.str_))


def scaled(
    aligned: Aligned, laws: Laws, parameters: Floats, at: Floats, gpu: Gpu, rate: HostRate, *, draws: int = 200, seed: int = 0,
    costs: Callable[[pl.DataFrame, Gpu], CallCosts] = price_calls,
) -> Scaled:  # fmt: skip
    """Everything that does not depend on the cell, worked out once.

    Args:
        aligned: the recordings side by side.
        laws: of their sizes.
        parameters: of their cells, shape (n, d).
        at: where their cells lie, shape (n, d).
        gpu: the device.
        rate: of the host that it sits in.
        draws: worlds.
        seed: of the worlds.
        costs: prices a stream's calls.
    """
    each = [costs(cell.stream.calls, gpu) for cell in aligned.cells]
    hosts = [times_at(cell.stream, cost, rate) for cell, cost in zip(aligned.cells, each, strict=True)]
    plan = schedule(aligned.step, each[0], times_at(aligned.step, each[0], rate))
    first = replace(plan, source=None, limits=None)
    runs = np.unique(plan.row[plan.engine >= 0]).astype(np.int64)
    apart = [_apart(cell, cost, host, runs) for cell, cost, host in zip(aligned.cells, each, hosts, strict=True)]
    odd = np.stack([_of_rows(cell, cost, aligned.odd) for cell, cost in zip(aligned.cells, each, strict=True)], axis=1)
    pairs = list(zip(aligned.cells, hosts, strict=True))
    own = np.stack([_mean(host.before_ns, cell) + more.host_ns for (cell, host), more in zip(pairs, apart, strict=True)])
    issue = np.stack([_mean(host.issue_ns, cell) for cell, host in pairs])
    relative = np.where(issue[:1] > 0, issue / np.maximum(issue[:1], 1e-9), 1.0)
    found = Scaled(
        aligned, laws, gpu, first, plan.issue_ns.astype(np.float64), relative, own, at, _log_sigma(hosts), odd,
        np.stack([more.device_ns for more in apart], axis=1), draws, seed, np.zeros(len(at)),
    )  # fmt: skip
    return found if laws.exact else replace(found, left=_left(found, parameters, each))


def _left(found: Scaled, parameters: Floats, costs: Sequence[CallCosts]) -> Floats:
    """What approximate laws leave over at the cells that they were found from: it is carried to the cells around."""
    said = found.device_ms(parameters, found.at)
    own = [_device_ms(cell, cost) for cell, cost in zip(found.aligned.cells, costs, strict=True)]
    return np.asarray(np.log(np.maximum(own, 1e-9) / np.maximum(said, 1e-9)))


def _device_ms(cell: Recording, costs: CallCosts) -> float:
    """Kernels of one step of a recording: the mean of those that are laid side by side."""
    call = cell.stream.rows[schema.ROW_CALL.name].to_numpy()
    rows = np.concatenate([*cell.shared, *cell.apart])
    return float(np.nan_to_num(costs.device_ns[1])[call[rows]].sum()) / len(cell.shared) / NS_PER_MS


def _mean(rows_ns: Floats, cell: Recording) -> Floats:
    """Of each shared row, its time's mean over the steps."""
    return np.asarray(np.mean([np.nan_to_num(rows_ns)[rows] for rows in cell.shared], axis=0))


@dataclass(frozen=True)
class _Apart:
    """What the rows cost that only this cell has, at the shared row that they come before: ns, shapes (rows,) and (3, rows)."""

    host_ns: Floats
    device_ns: Floats


def _apart(cell: Recording, costs: CallCosts, host: HostTimes, runs: Ints) -> _Apart:
    """Means over the steps of a cell. Time on the device goes to the next shared row that runs there; else to the last."""
    height = len(cell.shared[0])
    found = _Apart(np.zeros(height), np.zeros((3, height)))
    host_ns = np.nan_to_num(host.before_ns) + np.nan_to_num(host.issue_ns)
    call = cell.stream.rows[schema.ROW_CALL.name].to_numpy()
    for shared, apart in zip(cell.shared, cell.apart, strict=True):
        before = np.searchsorted(shared, apart)
        np.add.at(found.host_ns, before % height, host_ns[apart] / len(cell.shared))
        if len(runs):
            device = np.nan_to_num(costs.device_ns[:, call[apart]]) / len(cell.shared)
            to = runs[np.minimum(np.searchsorted(runs, before), len(runs) - 1)]
            for one, more in zip(found.device_ns, device, strict=True):
                np.add.at(one, to, more)
    return found


def _log_sigma(hosts: Sequence[HostTimes]) -> float:
    return float(np.mean([h.log_sigma for h in hosts]))


def _of_rows(cell: Recording, costs: CallCosts, odd: Sequence[int]) -> Floats:
    """Low, mid, high time of some shared rows of one cell, shape (3, odd); the mean of its steps."""
    call = cell.stream.rows[schema.ROW_CALL.name].to_numpy()
    return np.asarray(np.mean([costs.device_ns[:, call[rows[list(odd)]]] for rows in cell.shared], axis=0))


def _table(kernels: Sequence[Kernel], sizes: Sequence[Floats], gpu: Gpu) -> pl.DataFrame:
    """All kernels at all cells, one under the other."""
    names = sorted({c for k in kernels for c in k.columns[:-1]})
    count = len(sizes[0])
    columns: dict[str, pl.Series] = {
        "op": _repeated([k.like.op for k in kernels], count),
        "dtype": _repeated([_dtype(k, gpu) for k in kernels], count),
        "direction": _repeated([k.like.direction for k in kernels], count),
    }
    for name in names:
        held = [s[:, k.columns.index(name)] if name in k.columns else None for k, s in zip(kernels, sizes, strict=True)]
        whole = [np.full(count, np.nan) if h is None else h for h in held]
        columns[name] = pl.Series(name, np.concatenate(whole), nan_to_null=True).cast(pl.Int64)
    return pl.DataFrame(columns)


def _repeated(words: Sequence[str], count: int) -> pl.Series:
    return pl.Series(np.repeat(np.array(words, dtype=object), count).tolist(), dtype=pl.String())


def _dtype(kernel: Kernel, gpu: Gpu) -> str:
    """TF32 runs as float32 where a device has none; a stream of another type counts by its bytes alone."""
    dtype = kernel.like.dtype
    if dtype == "tf32" and gpu.tensor_tf32_tflops is None:
        return "float32"
    return dtype if dtype in PRICED_DTYPES else "float32"


def _shared(values: Floats, first: NDArray[np.bool_]) -> Floats:
    """The user's own work stands before the first issue of a row."""
    return np.where(first, np.rint(values), 0.0)


def _parts(first: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Of each issue: which part of its row it is, and of how many."""
    group = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    of = np.bincount(group, minlength=len(starts))[group] if len(first) else np.zeros(0, dtype=np.int64)
    return np.arange(len(first)) - starts[group], of


def _regime(rows_ns: Floats, mid_ms: Floats) -> Floats:
    """What the relative draws of a cell depend on: the device's part of the step, and how wide its price is; shape (m, 2)."""
    low, mid, high = rows_ns.sum(axis=2)
    wide = np.log(np.maximum(high, 1e-3) / np.maximum(low, 1e-3))
    return np.stack([mid / NS_PER_MS / np.maximum(mid_ms, 1e-12), wide], axis=1)


__all__ = ["Laws", "Scaled", "Steps", "laws_of", "scaled"]
