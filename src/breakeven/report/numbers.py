"""Numbers as people read them. A measurement and a prediction never look alike."""

from __future__ import annotations

import math

from breakeven.results import Interval

MEASURED_DIGITS = 3
PREDICTED_DIGITS = 2
#: Times are whole nanoseconds: a tenth of one is what arithmetic left over.
LEAST_MS = 1e-7
_NOISY = 0.25  # half width over middle from which a measurement is called noisy before anything else

#: (from this many milliseconds, milliseconds in the unit, its name)
_UNITS = ((600_000.0, 60_000.0, "min"), (1_000.0, 1_000.0, "s"), (0.1, 1.0, "ms"), (0.0, 0.001, "µs"))


def digits(value: float, count: int) -> str:
    """`value` with `count` significant digits, never in exponent form.

    >>> digits(2.6449, 2), digits(1340.2, 3), digits(0.0456, 2), digits(0.0, 2)
    ('2.6', '1340', '0.046', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "?"
    places = _places(value, count)
    return f"{round(value, places):.{max(places, 0)}f}"


def duration(ms: float, count: int = MEASURED_DIGITS) -> str:
    """A time in the unit that suits its size.

    >>> duration(1.3449), duration(0.0451, 2), duration(6631.0), duration(0), duration(-9e-16)
    ('1.34 ms', '45 µs', '6.63 s', '0 ms', '0 ms')
    """
    ms = ms if abs(ms) >= LEAST_MS else 0.0
    per, unit = _unit(ms)
    return f"{digits(ms / per, count)} {unit}"


def measured(step: Interval) -> str:
    """A measured time with its spread in percent: `measured ±2 %`; a noisy one says so first."""
    half = _half_width(step)
    return ("noisy: " if half > _NOISY else "") + f"measured ±{spread(half)}"


def predicted(step: Interval) -> str:
    """A predicted time's range, in the unit of its middle: `predicted (1.9–3.5)`."""
    return f"predicted ({_around(step)[2]})"


def approximately(price: Interval) -> str:
    """A simulated price or gain: `≈ 1.2 ms (0.8–1.6)`."""
    middle, unit, around = _around(price)
    return f"≈ {middle} {unit}" + (f" ({around})" if around != middle else "")


def part_of(ms: float, whole_ms: float) -> str:
    """A part in the unit of its whole and as fine as that is shown, so that parts can be compared by eye.

    >>> part_of(0.078, 2.6), part_of(0.004, 2.6), part_of(900.0, 6631.0)
    ('0.08 ms', '<0.01 ms', '0.90 s')
    """
    per, unit = _unit(whole_ms)
    places = max(_places(whole_ms / per, MEASURED_DIGITS), 0)
    shown = f"{ms / per:.{places}f}"
    return f"<{10**-places:.{places}f} {unit}" if ms > 0 and float(shown) == 0 else f"{shown} {unit}"


def factor(times: Interval) -> tuple[str, str]:
    """How many times faster, and its range: `1.9`, `1.4–2.6`."""
    places = max(_places(times.mid, PREDICTED_DIGITS), 0)
    return digits(times.mid, PREDICTED_DIGITS), _span(times.low, times.high, places)


def spread(half: float) -> str:
    """Half a width as a part of the middle, in percent."""
    percent = 100 * half
    return "<0.1 %" if percent < 0.1 else f"{digits(percent, 1)} %" if percent < 10 else f"{percent:.0f} %"


def percentage(part: float) -> str:
    """A share of the whole: `67 %`; what rounds to nothing is `<1 %`."""
    return "<1 %" if 0 < part < 0.005 else f"{100 * part:.0f} %"


def probability(chance: float) -> str:
    """How sure a statement is; never said to be certain."""
    return "over 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"


def rate(ms: float, count: int) -> str:
    """Steps in a second."""
    return digits(1000.0 / ms, count) if ms > 0 else "?"


def _half_width(step: Interval) -> float:
    return max(step.high - step.mid, step.mid - step.low) / step.mid if step.mid > 0 else 0.0


def _around(time: Interval) -> tuple[str, str, str]:
    """Middle, unit and range of a time, all in the unit of the middle and with its decimals."""
    per, unit = _unit(time.mid)
    places = max(_places(time.mid / per, PREDICTED_DIGITS), 0)
    return digits(time.mid / per, PREDICTED_DIGITS), unit, _span(time.low / per, time.high / per, places)


def _span(low: float, high: float, places: int) -> str:
    """`0.8–1.6`, both with the decimals of the middle unless nothing would be left."""
    first, last = (_fixed(low, places), _fixed(high, places))
    if first == last:
        return first
    return f"{first} to {last}" if low < 0 else f"{first}–{last}"


def _fixed(value: float, places: int) -> str:
    shown = f"{value:.{places}f}"
    if float(shown) == 0:
        return digits(value, 1)
    return digits(value, PREDICTED_DIGITS) if places == 0 else shown


def _places(value: float, count: int) -> int:
    """Decimals that leave `count` significant digits; negative where digits before the point go too."""
    if value == 0 or not math.isfinite(value):
        return 0
    places = count - 1 - math.floor(math.log10(abs(value)))
    return count - 1 - math.floor(math.log10(abs(round(value, places)) or abs(value)))  # 9.97 becomes 10, not 10.0


def _unit(ms: float) -> tuple[float, str]:
    if ms == 0:
        return 1.0, "ms"
    return next((per, unit) for least, per, unit in _UNITS if abs(ms) >= least)
