"""Numbers as a student reads them: two figures and a unit that fits, and words for many."""

from __future__ import annotations


def ms(value: float) -> str:
    """A length of time.

    >>> ms(2.64), ms(0.0152), ms(6600.0), ms(0.0)
    ('2.6 ms', '15 µs', '6.6 s', '0 ms')
    """
    if value == 0:
        return "0 ms"
    if abs(value) < 0.1:
        return f"{_figures(value * 1000)} µs"
    return f"{_figures(value)} ms" if abs(value) < 1000 else f"{_figures(value / 1000)} s"


def of_step(part: float, whole: float) -> str:
    """A part of a step, both in one unit.

    >>> of_step(1.92, 2.61), of_step(0.03, 0.31)
    ('1.9 of 2.6 ms', '0.03 of 0.31 ms')
    """
    if whole >= 1000:
        return f"{_figures(part / 1000)} of {_figures(whole / 1000)} s"
    return f"{_figures(part)} of {_figures(whole)} ms"


def percent(fraction: float) -> str:
    """A fraction in whole per cent.

    >>> percent(0.734)
    '73 %'
    """
    return f"{100 * fraction:.0f} %"


def times(factor: float) -> str:
    """How many times.

    >>> times(1.93), times(14.2)
    ('1.9 times', '14 times')
    """
    return f"{_figures(factor)} times"


def count(number: float, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> count(1, "copy", "copies"), count(147.2, "operation")
    ('1 copy', '147 operations')
    """
    whole = round(number)
    return f"{whole:,} {one if whole == 1 else many or one + 's'}"


def often(number: float) -> str:
    """How many times something happens; what is seen at all happens at least once.

    >>> often(1), often(2.2), often(37.0), often(0.3)
    ('once', 'twice', '37 times', 'once')
    """
    whole = max(1, round(number))
    return {1: "once", 2: "twice"}.get(whole, f"{whole:,} times")


def size(number: float) -> str:
    """Bytes.

    >>> size(4), size(3.1e6)
    ('4 bytes', '3.1 MB')
    """
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if number >= limit:
            return f"{_figures(number / limit)} {unit}"
    return f"{number:.0f} bytes"


def _figures(value: float) -> str:
    """Two figures, whole from ten on.

    >>> _figures(1.94), _figures(0.031), _figures(147.4), _figures(1047.4)
    ('1.9', '0.031', '147', '1,047')
    """
    if abs(value) >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.2g}"
