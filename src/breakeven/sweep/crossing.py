"""Crossings: where one device's curve comes to lie above the other's, found between the points, draw by draw for the interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.results.swept import Crossing, Value
from breakeven.sweep.curves import through

Floats = NDArray[np.float64]

#: Points of the smooth curve between two given ones, between which the root is a straight line's.
_FINE: Final = 24
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True)
class Line:
    """Two devices along one parameter.

    Attributes:
        parameter: its name.
        values: rising, positive, shape (n,).
        first: step of the one in ms: middles, shape (n,).
        second: of the other.
        first_draws: shape (n, m).
        second_draws: draws that belong to those, shape (n, m).
        name: what the second is called.
        at: the other parameters.
        today: the parameter's value in the script.
    """

    parameter: str
    values: Floats
    first: Floats
    second: Floats
    first_draws: Floats
    second_draws: Floats
    name: str
    at: Mapping[str, Value]
    today: Value | None = None


def crossing(line: Line) -> Crossing:
    """Where the second device begins, or ceases, to be the faster one.

    The curves are interpolated in logarithms (`curves.through`). The interval holds 90 % of the draws' crossings; an end that
    is None lies outside the range in more than 5 % of them.
    """
    middle = (np.log(line.first) - np.log(line.second))[:, None]
    drawn = np.log(line.first_draws) - np.log(line.second_draws)
    if len(line.values) < 2:
        return _one_point(line, middle, drawn)
    x = np.log(line.values)
    fine = np.unique(np.concatenate([np.linspace(a, b, _FINE) for a, b in pairwise(x)]))
    lead, leads = through(x, middle, fine)[:, 0], through(x, drawn, fine)
    wins = float((leads > 0).any(axis=0).mean())
    outcome = _outcome(lead)
    if outcome in ("always", "never"):
        return _answer(line, outcome, None, (None, None), None, wins)
    flip = outcome == "up_to"
    value = _last_behind(fine, lead[:, None], flip)[0]
    if outcome == "between":
        value = _first_ahead(fine, lead)
        until = _first_ahead(-fine[::-1], lead[::-1])
        return _answer(line, outcome, value, _ends(_first_aheads(fine, leads), value), float(np.exp(-until)), wins)
    return _answer(line, outcome, value, _ends(_last_behind(fine, leads, flip), value), None, wins)


def _outcome(lead: Floats) -> str:
    if (lead > 0).all():
        return "always"
    if (lead <= 0).all():
        return "never"
    if lead[-1] > 0:
        return "from"
    return "up_to" if lead[0] > 0 else "between"


def _last_behind(x: Floats, leads: Floats, flip: bool) -> Floats:
    """Logarithm of the value beyond which the lead stays positive, per curve; -inf: it always is, inf: never at the end."""
    if flip:
        return -_last_behind(-x[::-1], leads[::-1], False)
    behind = leads <= 0
    last = len(x) - 1 - np.argmax(behind[::-1], axis=0)
    always, never = ~behind.any(axis=0), behind[-1]
    at = np.minimum(last, len(x) - 2)
    column = np.arange(leads.shape[1])
    a, b = leads[at, column], leads[at + 1, column]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = x[at] + (x[at + 1] - x[at]) * (-a / (b - a))
    found: Floats = np.where(always, -np.inf, np.where(never, np.inf, root))
    return found


def _first_ahead(x: Floats, lead: Floats) -> float:
    """Logarithm of the first value at which the lead turns positive."""
    return float(_first_aheads(x, lead[:, None])[0])


def _first_aheads(x: Floats, leads: Floats) -> Floats:
    ahead = leads > 0
    first = np.argmax(ahead, axis=0)
    never, always = ~ahead.any(axis=0), ahead[0]
    at = np.maximum(first, 1)
    column = np.arange(leads.shape[1])
    a, b = leads[at - 1, column], leads[at, column]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = x[at - 1] + (x[at] - x[at - 1]) * (-a / (b - a))
    found: Floats = np.where(never, np.inf, np.where(always, -np.inf, root))
    return found


def _ends(drawn: Floats, middle: float) -> tuple[float | None, float | None]:
    low, high = np.quantile(drawn, [LOW, HIGH], method="inverted_cdf")
    return _number(min(float(low), middle)), _number(max(float(high), middle))


def _number(log: float) -> float | None:
    return float(np.exp(log)) if np.isfinite(log) else None


def _one_point(line: Line, middle: Floats, drawn: Floats) -> Crossing:
    outcome = "always" if middle[0, 0] > 0 else "never"
    return _answer(line, outcome, None, (None, None), None, float((drawn[0] > 0).mean()))


def _answer(
    line: Line, outcome: str, log: float | None, ends: tuple[float | None, float | None], until: float | None, wins: float
) -> Crossing:
    value = None if log is None else float(np.exp(log))
    said = _sentence(line, outcome, value, ends, until, wins)
    return Crossing(
        line.parameter, dict(line.at), line.name, line.today, outcome, value, ends[0], ends[1], until, wins, said
    )  # fmt: skip


def _sentence(
    line: Line, outcome: str, value: float | None, ends: tuple[float | None, float | None], until: float | None, wins: float
) -> str:
    span = f"from {end(line.values[0])} to {end(line.values[-1])}"
    where = "".join(f", {name} {given}" for name, given in line.at.items())
    today = f"; today it is {line.today}" if line.today is not None else ""
    if outcome == "always":
        sure = "" if wins > HIGH else f" (in {wins:.0%} of the draws)"
        return f"The {line.name} wins at every {line.parameter} {span}{where}{sure}{today}."
    if outcome == "never":
        chance = f"; that it does somewhere has a probability of {wins:.0%}" if wins > LOW else ""
        return f"The {line.name} wins at no {line.parameter} {span}{where}{chance}{today}."
    low = figures(ends[0]) if ends[0] is not None else f"under {end(line.values[0])}"
    high = figures(ends[1]) if ends[1] is not None else f"over {end(line.values[-1])}"
    about = f"{line.parameter} of about {figures(value or 0.0)} ({low} to {high})"
    if outcome == "from":
        return f"From a {about} on{where}, the {line.name} wins{today}."
    if outcome == "up_to":
        return f"Up to a {about}{where}, the {line.name} wins{today}."
    return f"From a {about} to one of about {figures(until or 0.0)}{where}, the {line.name} wins{today}."


def end(value: float) -> str:
    """An end of the range, which is known as it was typed.

    >>> end(4096.0), end(0.25)
    ('4,096', '0.25')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def figures(value: float) -> str:
    """Two figures are what the interval is worth; whole numbers below 100 as they are.

    >>> figures(1873.0), figures(0.0123), figures(16.0)
    ('1,900', '0.012', '16')
    """
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
