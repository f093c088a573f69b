"""A variant's models as they are stored: weights, tables in thousandths, and intervals."""

from __future__ import annotations

import math

import numpy as np

from breakeven.costs.models import serving
from breakeven.costs.operations import BLENDS
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu
from fitting.fit import Fitted, Trained, fit_variant
from fitting.intervals import ENOUGH, SOME, Errors, Factors, factors, pooled, tiny
from fitting.measurements import PARTS, Group

#: What a device that nobody measured may be off by, where there are too few devices to leave one out (natural logarithm).
_UNTRIED = 0.7


def stored(fitted: Fitted, groups: list[Group]) -> dict[str, dict[str, object]]:
    """Every model of a variant by its key."""
    own: dict[str, Errors] = {}
    for group, model in fitted.of_groups:
        own[f"{group.gpu}|{group.dtype}"] = _errors(group, model, group.fold == 3)
    enough = ENOUGH if groups[0].places.shape[1] > 1 else SOME
    few = {k for k, e in own.items() if len(e.error) < enough and k in fitted.models}
    if few:
        for key, extra in crossed(fitted.variant, groups, few).items():
            own[key] = own[key].joined(extra)
    alike = sorted(few) if groups[0].places.shape[1] > 1 else []  # over one size a device has its own form: where its caches end
    of_device = factors(fitted.variant, {k: e for k, e in own.items() if k in fitted.models}, alike)
    away = elsewhere(fitted, groups)
    return {key: _model(model, of_device.get(key, away)) for key, model in sorted(fitted.models.items())}


def crossed(variant: str, groups: list[Group], keys: set[str]) -> dict[str, Errors]:
    """Errors of some devices on folds 0, 1 and 2, each part by a fit to the others: unseen rows for devices that have few.

    A tenth of the shapes is left out at a time, so that the fits know nearly as much as the one that is stored.
    """
    found: dict[str, Errors] = {}
    tables = groups[0].places.shape[1] < 3 or variant in BLENDS
    for out in range(PARTS):
        fitted = fit_variant(
            variant,
            groups,
            lambda g, out=out: (g.fold < 3) & (g.part != out),
            devices=lambda g: f"{g.gpu}|{g.dtype}" in keys,
            tables=tables,
        )
        for group, model in fitted.of_groups:
            key = f"{group.gpu}|{group.dtype}"
            if key in keys:
                one = _errors(group, model, (group.fold < 3) & (group.part == out))
                found[key] = found[key].joined(one) if key in found else one
    return found


def _errors(group: Group, model: Trained, rows: np.ndarray) -> Errors:
    error, limits = np.log(group.time_us / model.predict(group)), model.limits(group)
    return Errors(error[rows], limits[rows])


def elsewhere(fitted: Fitted, groups: list[Group]) -> Factors:
    """Factors for devices that were not measured: from each device as the others predict it."""
    errors = [(e[g.fold < 4], limits[g.fold < 4]) for g, e, limits in left_out(fitted.variant, groups)]
    errors = [(e, limits) for e, limits in errors if len(e)]
    if len(errors) < 2:
        low, high = float(np.exp(-_UNTRIED)), float(np.exp(_UNTRIED))
        least, most = tiny(fitted.variant, np.zeros(0), np.zeros(0), SOME)
        return [*[low] * 9, least], [*[high] * 9, most]
    return pooled(fitted.variant, errors)


def left_out(variant: str, groups: list[Group]) -> list[tuple[Group, np.ndarray, np.ndarray]]:
    """Each device's rows with the logarithm of measured over predicted, and limits, by a fit that has not seen that device."""
    found = []
    for name in sorted({g.gpu for g in groups}):
        others = [g for g in groups if g.gpu != name]
        if not any((g.fold < 3).any() for g in others):
            continue
        fitted = fit_variant(variant, others, devices=lambda _: False)
        for group in (g for g in groups if g.gpu == name):
            time, limits = unmeasured(fitted, group)
            found.append((group, np.log(group.time_us / time), limits))
    return found


def unmeasured(fitted: Fitted, group: Group) -> tuple[np.ndarray, np.ndarray]:
    """µs and limits of a device which was not measured, by what `costs.models` would look up; the quickest counts."""
    keys = serving(group.variant, rates(find_gpu(group.gpu)), group.kind, fitted.models)
    serve = [fitted.models[key] for key in keys]
    times = np.stack([one.predict(group) for one in serve])
    best = times.argmin(0)
    return times.min(0), np.stack([one.limits(group) for one in serve])[best, np.arange(len(best))]


def _model(model: Trained, intervals: Factors) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind in ("compute", "traffic", "fixed"):
        found[kind] = {n.split(":")[1]: w for n, w in model.weights.items() if n.startswith(kind)}
    if model.table is not None:
        found["table"] = [math.floor(float(v) * 1000 + 0.5) for v in model.table]
    found["low"], found["high"] = ([round(f, 4) for f in factor] for factor in intervals)
    return found
