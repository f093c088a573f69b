"""One variant: weights for everything, for each generation and for each device, each drawn to the wider one; then its tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from breakeven.costs.models import BASE, MOSTLY, PRODUCTS, TINY
from breakeven.costs.operations import AXES, BLENDS
from breakeven.costs.rates import rates
from breakeven.costs.table import Axis
from breakeven.machine.gpus import find_gpu
from fitting import corrections, growth
from fitting.measurements import Group, stacked
from fitting.nonneg import weights


@dataclass(frozen=True)
class Options:
    """How strongly a fit is held, and the stiffness of the tables.

    Attributes:
        pull: rows that the wider group's weights count for.
        wide, device: of a pooled table and of a device's own; None: no table.
        reach: of a row's word in the table, along each axis; None: tables are smooth, and go on as they are beyond the rows.
        kernel_us: no more fixed time than this per kernel, however small. No row of products, convolutions or NeuSight's (they
            begin at 1.5 times the eager floor, 50 to 100 µs) is small enough to say: kernels of negligible work in traces are.
            Products 2 to 4 µs on a GP100, 3 to 9.5 on A100s, 5.8 to 6.9 on an H100, 6.3 on a B200, 4.9 on an MI300X, 12 on an
            MI250 (`addmm` of 5 × 128 × 128); rows 2 to 10 µs; streams 1 to 7 µs; copies of a few bytes 0.8 to 3 µs.
            No trace holds a whole convolution that small: the shortest kernel of one takes 5.7 µs (A100, a gradient), the helpers
            beside it 2 to 3 µs (A100, RTX 2080 Ti), hence 8 µs.
        floor_us: and no less, for the same reason: the README of the measurements leaves 2.5 µs of a kernel's own fixed time in
            NeuSight's rows; gpu-benches' launches take 2.0 to 3.3 µs.
        step_us: the same of a time step, two or three such kernels in a chain.
        ramp_us: the most of what a call pays besides while its work is small against what was measured; of NeuSight's rows and of
            copies, which say as little of it.
        agreement: rows that the wider group's times count for, on the shapes of all devices: what a device's own rows leave open
            (DeepBench's tables of some devices hold no gradient to an image of few channels) stays as on the others.
        least_rows: below which a table is not worth its knots.
    """

    pull: float = 0.3
    wide: float | None = None
    device: float | None = 0.1
    slope: float = 0.3
    reach: tuple[float, ...] = ()
    least_rows: int = 60
    kernel_us: float = np.inf
    floor_us: float = 2.0
    step_us: float = np.inf
    ramp_us: float = 7.0
    agreement: float = 0.0


@dataclass(frozen=True)
class Trained:
    """Weights by name, and the table that goes with them."""

    axes: tuple[Axis, ...]
    weights: dict[str, float]
    table: np.ndarray | None

    def plain(self, group: Group) -> np.ndarray:
        """µs by the formula alone."""
        return np.maximum(group.terms @ np.array([self.weights.get(n, 0.0) for n in group.names]), 1e-6)

    def limits(self, group: Group) -> np.ndarray:
        """Per row 3 · kind + 0, 1 or 2: compute, traffic or fixed time is the largest; `TINY` where launches are most of it."""
        parts = []
        for kind in ("compute", "traffic", "fixed"):
            parts.append(group.terms @ np.array([self.weights.get(n, 0.0) if n.startswith(kind) else 0.0 for n in group.names]))
        compute, traffic, fixed = parts
        regime = 3 * group.kinds + np.where(fixed >= np.maximum(compute, traffic), 2, np.where(compute >= traffic, 0, 1))
        return np.where(self.share(group) >= MOSTLY, TINY, regime)

    def share(self, group: Group) -> np.ndarray:
        """Share of the time that every call has, however small."""
        base = [self.weights.get(n, 0.0) if n.removeprefix("fixed:") in BASE else 0.0 for n in group.names]
        return (group.terms @ np.array(base)) / self.plain(group)

    def bounded(self, group: Group) -> np.ndarray:
        """Share of the time that no correction raises."""
        return self.share(group) if group.variant.startswith(PRODUCTS) else np.zeros(len(group.time_us))

    def predict(self, group: Group) -> np.ndarray:
        """µs with the corrections."""
        time = self.plain(group)
        if self.table is not None:
            value = corrections.interpolation(self.axes, group.places) @ self.table
            blend = BLENDS.get(group.variant, 0.0)
            if blend:
                value = blend * (value + corrections.beyond(self.axes, group.places) * np.log(2.0) - np.log(time))
            time = time * np.exp(np.where(value > 0.0, value * (1.0 - self.bounded(group)), value))
        return np.maximum(time, group.least)


@dataclass(frozen=True)
class Fitted:
    """Everything fitted for a variant: by key, and for each measured group the model that serves it."""

    variant: str
    models: dict[str, Trained]
    of_groups: list[tuple[Group, Trained]]


_CONVOLUTION = Options(1.0, None, 0.2, reach=(1.0, 2.0, 1.5, 1.5), least_rows=20, kernel_us=8.0, ramp_us=15.0)

#: Chosen by leaving out one of folds 0, 1 and 2 in turn (mean over devices of the median error), not by fold 3 or 4.
OPTIONS: dict[str, Options] = {
    "gemm": Options(0.1, None, None, kernel_us=7.0),
    "linear": Options(1.0, None, 0.1, least_rows=500, kernel_us=7.0),
    "bmm": Options(1.0, None, 0.1, least_rows=500, kernel_us=7.0),
    "conv2d": _CONVOLUTION,
    "conv2d.backward_inputs": replace(_CONVOLUTION, agreement=1.0),
    **dict.fromkeys(("softmax", "layernorm"), Options(kernel_us=6.0, ramp_us=6.0)),
    **dict.fromkeys(
        (f"{op}{n}" for op in ("add", "mul", "div", "pow", "relu", "tanh", "gelu") for n in (1, 2)),
        Options(kernel_us=5.0, ramp_us=5.0),
    ),
    "recurrent": Options(0.3, None, None, kernel_us=10.0, step_us=6.0),
    **dict.fromkeys(("copy_h2d", "copy_d2h"), Options(2.0, ramp_us=40.0, floor_us=0.8)),
    "copy_d2d": Options(2.0, floor_us=1.1),
}

#: Rows that a device needs for weights of its own.
_LEAST_ROWS = 5


def options_of(variant: str) -> Options:
    """The options of a variant."""
    return OPTIONS.get(variant) or OPTIONS.get(variant.split(".")[0], Options())


def fit_variant(
    variant: str,
    groups: list[Group],
    training: Callable[[Group], np.ndarray] = lambda g: g.fold < 3,
    devices: Callable[[Group], bool] = lambda g: True,
    tables: bool = True,
) -> Fitted:
    """Fit all levels of one variant on its training rows."""
    axes = AXES.get(variant.removesuffix(".graph"), ())
    options = options_of(variant)
    if not tables:
        options = replace(options, device=None)
    own = [g for g in (g.only(training(g)) for g in groups) if len(g.time_us)]
    models: dict[str, Trained] = {}
    if not own:
        return Fitted(variant, models, [])

    def shared(alike: list[Group], prior: Trained | None) -> Trained:
        return _fit(variant, axes, [g.cooled() for g in alike], prior, options, options.wide, typical)

    typical = stacked([g.cooled() for g in own])
    everything = models["*|any"] = shared(own, None)
    kinds = sorted({g.kind for g in own})
    for kind in kinds:
        of_kind = [g for g in own if g.kind == kind]
        wide = models[f"*|{kind}"] = shared(of_kind, everything) if len(kinds) > 1 else everything
        for family in sorted({_family(g) for g in of_kind}):
            alike = [g for g in of_kind if _family(g) == family]
            near = models[f"{family}|{kind}"] = shared(alike, wide)
            for group in (g for g in alike if devices(g) and len(g.time_us) >= _LEAST_ROWS):
                models[f"{group.gpu}|{group.dtype}"] = _fit(variant, axes, [group], near, options, options.device, typical)
    served = [(g, models.get(f"{g.gpu}|{g.dtype}", everything)) for g in groups]
    return Fitted(variant, models, served)


def _fit(
    variant: str,
    axes: tuple[Axis, ...],
    groups: list[Group],
    prior: Trained | None,
    options: Options,
    stiffness: float | None,
    typical: Group,
) -> Trained:
    rows = stacked(groups)
    importance = np.concatenate([_importance(g.source) for g in groups])
    before = (
        None
        if prior is None
        else np.array(
            [max(prior.weights.get(n, 0.0) - (options.floor_us if n == "fixed:kernel" else 0.0), 0.0) for n in rows.names]
        )
    )
    bounded = "neusight" in rows.source
    least = options.floor_us if bounded or variant.startswith((*PRODUCTS, "copy")) else 0.0
    most = {"fixed:kernel": options.kernel_us - least, "fixed:steps": options.step_us}
    if bounded or variant.startswith("copy"):
        most |= {n: options.ramp_us for n in rows.names if n.startswith("fixed:ramp")}
    one = rows.terms[:, rows.names.index("fixed:kernel")]
    time = np.maximum(rows.time_us - least * one, 0.5 * rows.time_us)
    caps = np.array([most.get(n, np.inf) for n in rows.names])
    elsewhere = typical.only(_apart(axes, options.reach, rows.places, typical.places)) if options.agreement else typical
    found = weights(rows.terms, time, importance, caps, before, options.pull, elsewhere.under(rows.names), options.agreement)
    found[rows.names.index("fixed:kernel")] += least
    chosen = {n: float(f"{w:.5g}") for n, w in zip(rows.names, found, strict=True) if w > 0.0}
    plain = Trained(axes, chosen, None)
    if stiffness is None or not axes or len(rows.time_us) < options.least_rows:
        return plain
    error = np.log(rows.time_us / plain.plain(rows))
    devices = [rates(find_gpu(name)) for name in sorted({g.gpu for g in groups})]
    share, blend = plain.bounded(rows), BLENDS.get(variant, 0.0)
    if blend:
        stiff = stiffness**2 * corrections.nearness(axes, options.reach)
        values = growth.at_knots(variant, axes, chosen, groups[0].dtype, devices)
        wanted = np.log(plain.plain(rows)) - corrections.beyond(axes, rows.places) * np.log(2.0)
        target = error / (blend * np.where(error > 0.0, np.maximum(1.0 - share, 0.1), 1.0)) + wanted
        target -= corrections.interpolation(axes, rows.places) @ values
        knots = values.reshape([a.count for a in axes])
        room = [np.diff(knots, axis=d) if a.step > 0.0 else np.zeros(0) for d, a in enumerate(axes)]
        values = values + corrections.table(axes, rows.places, target, importance, stiff, room, np.zeros(len(share)), 1.0 / blend)
    else:
        stiff = stiffness**2 * corrections.roughness(axes, options.slope)
        surely = growth.slack(variant.removesuffix(".graph"), axes, chosen, groups[0].dtype, devices)
        room = [np.floor(1000.0 * one) / 1000.0 for one in surely]  # tables are kept in thousandths
        values = corrections.table(axes, rows.places, error, importance, stiff, room, share)
    left = np.log(rows.time_us / Trained(axes, chosen, values).predict(rows))
    helps = np.median(np.abs(left)) < np.median(np.abs(error))
    return Trained(axes, chosen, values if helps else None)


def _apart(axes: tuple[Axis, ...], reach: tuple[float, ...], own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the other rows are further from each of one's own than twice as far as a row's word reaches in the table."""
    far = np.array([2.0 * length if axis.step > 0.0 else 0.5 for axis, length in zip(axes, reach, strict=True)])
    found: np.ndarray = cKDTree(own / far).query(others / far, p=np.inf, distance_upper_bound=1.0)[0] > 1.0
    return found


def _family(group: Group) -> str:
    """What a device is first compared with: products with its generation, streams with its kind of memory."""
    return f"{group.vendor} {group.generation}" if group.variant.startswith(PRODUCTS) else f"{group.memory} memory"


def _importance(source: np.ndarray) -> np.ndarray:
    """Each source of each device speaks with the root of its number of rows: a large table does not speak for the others."""
    _, which, counts = np.unique(source, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] ** -0.5)
