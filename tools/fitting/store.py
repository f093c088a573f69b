"""A variant's models as they are stored: weights, tables in thousandths, and intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from breakeven.costs.models import further
from breakeven.costs.operations import BLENDS
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu
from fitting.fit import Fitted, Trained, fit_variant, options_of
from fitting.intervals import ENOUGH, SHARE, SOME, Errors, Factors, factors, pooled, quantile, tiny
from fitting.measurements import Group

#: What a device that nobody measured may be off by, where there are too few devices to leave one out (natural logarithm).
_UNTRIED = 0.7
#: Rows of fold 3 from which on a device's errors there say something.
_TO_COMPARE = 8


def stored(fitted: Fitted, groups: list[Group]) -> dict[str, dict[str, object]]:
    """Every model of a variant by its key."""
    own: dict[str, Errors] = {}
    for group, model in fitted.of_groups:
        calibration = group.fold == 3
        error, limits = np.log(group.time_us / model.predict(group)), model.limits(group)
        own[f"{group.gpu}|{group.dtype}"] = Errors(error[calibration], limits[calibration], np.asarray(group.source)[calibration])
    few = [k for k, e in own.items() if len(e.error) < (ENOUGH if groups[0].places.shape[1] > 1 else SOME)]
    if few:
        extra = crossed(fitted.variant, groups)
        scale = narrower({k: own[k] for k in few}, extra) if options_of(fitted.variant).narrower else 1.0
        for key in few:
            if key in extra:
                own[key] = own[key].joined(replace(extra[key], error=extra[key].error * scale))
    for group, _ in fitted.of_groups:
        if f"{group.gpu}|{group.dtype}" not in fitted.models:
            own.pop(f"{group.gpu}|{group.dtype}", None)
    of_device = factors(fitted.variant, {k: e for k, e in own.items() if k in fitted.models})
    away = elsewhere(fitted, groups)
    return {key: _model(model, of_device.get(key, away)) for key, model in sorted(fitted.models.items())}


def crossed(variant: str, groups: list[Group]) -> dict[str, Errors]:
    """Errors on folds 0, 1 and 2, each by a fit to the other two: more unseen rows for devices that have few."""
    found: dict[str, Errors] = {}
    for fold in (0, 1, 2):
        fitted = fit_variant(
            variant,
            groups,
            lambda g, out=fold: (g.fold < 3) & (g.fold != out),
            tables=groups[0].places.shape[1] < 3 or variant in BLENDS,
        )
        for group, model in fitted.of_groups:
            rows = group.fold == fold
            error, limits = np.log(group.time_us / model.predict(group)), model.limits(group)
            one = Errors(error[rows], limits[rows], np.asarray(group.source)[rows])
            key = f"{group.gpu}|{group.dtype}"
            found[key] = found[key].joined(one) if key in found else one
    return found


def narrower(own: dict[str, Errors], crossed_errors: dict[str, Errors]) -> float:
    """How much smaller fold 3's errors by the whole fit are than crossed ones, whose fits had a third of the rows less.

    The median over devices of the ratio of their 90 % quantiles, as it is an interval that is wanted; never above 1.
    """
    ratios = [
        quantile(np.abs(own[key].error), SHARE) / max(quantile(np.abs(crossed_errors[key].error), SHARE), 1e-9)
        for key in own
        if key in crossed_errors and len(own[key].error) >= _TO_COMPARE
    ]
    return min(float(np.median(ratios)), 1.0) if ratios else 1.0


def elsewhere(fitted: Fitted, groups: list[Group]) -> Factors:
    """Factors for devices that were not measured: from each device as the others predict it."""
    errors = [(e[g.fold < 4], limits[g.fold < 4]) for g, e, limits in left_out(fitted.variant, groups)]
    errors = [(e, limits) for e, limits in errors if len(e)]
    if len(errors) < 2:
        low, high = float(np.exp(-_UNTRIED)), float(np.exp(_UNTRIED))
        least, most = tiny(fitted.variant, np.zeros(0), np.zeros(0))
        return [*[low] * 9, least], [*[high] * 9, most]
    return pooled(fitted.variant, errors)


def left_out(variant: str, groups: list[Group]) -> list[tuple[Group, np.ndarray, np.ndarray]]:
    """Each device's rows with the logarithm of measured over predicted, and limits, by a fit that has not seen that device."""
    found = []
    for name in sorted({g.gpu for g in groups}):
        others = [g for g in groups if g.gpu != name]
        if not any((g.fold < 3).any() for g in others):
            continue
        fitted = fit_variant(variant, others, devices=False)
        for group in (g for g in groups if g.gpu == name):
            model = nearest(fitted, group)
            found.append((group, np.log(group.time_us / model.predict(group)), model.limits(group)))
    return found


def nearest(fitted: Fitted, group: Group) -> Trained:
    """The model that serves a device which was not measured, as `costs.models` would look it up."""
    device = rates(find_gpu(group.gpu))
    for key in further(group.variant, device, group.kind):
        if key in fitted.models:
            return fitted.models[key]
    return fitted.models.get(f"*|{group.kind}", fitted.models["*|any"])


def _model(model: Trained, intervals: Factors) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind in ("compute", "traffic", "fixed"):
        found[kind] = {n.split(":")[1]: w for n, w in model.weights.items() if n.startswith(kind)}
    if model.table is not None:
        found["table"] = [round(float(v) * 1000) for v in model.table]
    found["low"], found["high"] = ([round(f, 4) for f in factor] for factor in intervals)
    return found
