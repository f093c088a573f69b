"""Pictures of a sweep: curves with bands and crossings marked, and the map. Altair draws them, vl-convert makes PNG or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, Final

from breakeven.errors import InputError, MissingExtra
from breakeven.results.swept import Cell, SweepReport, Value

SUFFIXES: Final = (".svg", ".png")
_SIZE: Final = 320
_DPI_FACTOR: Final = 2
#: Okabe and Ito's colours (2008), which people with colour blindness can tell apart; the CPU has the first.
_COLOURS: Final = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#0072B2", "#CC79A7", "#F0E442")


def check_picture(path: str) -> None:
    """Makes sure, before any work is done, that a picture can be drawn.

    Raises:
        InputError: the name ends in neither .svg nor .png.
        MissingExtra: what draws it is not installed.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(f"--picture {path}: a picture is a file that ends in {' or '.join(SUFFIXES)}")
    if not can_draw():
        raise MissingExtra("pictures need Altair and vl-convert: pip install 'breakeven[html]'")


def can_draw() -> bool:
    """Whether what draws pictures is installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def picture_of(report: SweepReport, suffix: str) -> bytes:
    """The picture of a sweep.

    Args:
        report: the answer.
        suffix: `.svg` or `.png`.
    """
    import vl_convert

    spec = chart(report).to_json()
    if suffix.lower() == ".png":
        drawn: bytes = vl_convert.vegalite_to_png(spec, scale=_DPI_FACTOR)
        return drawn
    return str(vl_convert.vegalite_to_svg(spec)).encode()


def chart(report: SweepReport) -> Any:  # an Altair chart: its classes are generated
    """The curves of each numeric parameter, and the map of the first two."""
    import altair

    numeric = [p for p in report.parameters if len(p.values) > 1 and all(_is_number(v) for v in p.values)]
    names = list(dict.fromkeys(d.name for cell in report.cells for d in cell.devices))
    colours = altair.Scale(domain=names, range=[_COLOURS[n % len(_COLOURS)] for n in range(len(names))])
    parts = [_curves(report, p.name, colours) for p in numeric]
    if len(numeric) > 1 and all(float(p.values[0]) > 0 for p in numeric[:2]):
        parts.append(_map(report, numeric[0].name, numeric[1].name, colours))
    if not parts:
        parts = [_bars(report, colours)]
    return altair.hconcat(*parts).configure_axis(grid=False).configure_view(stroke=None)


def _data(rows: Sequence[Mapping[str, object]]) -> Any:  # an Altair class: they are generated
    import altair

    return altair.Data(values=list(rows))  # type: ignore[no-untyped-call]  # Altair leaves it without types


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _curves(report: SweepReport, name: str, colours: Any) -> Any:
    """Steps over one parameter, the others at their middle values."""
    import altair

    held = {p.name: p.values[len(p.values) // 2] for p in report.parameters if p.name != name}
    rows = [row for cell in _fitting(report, held) for row in _rows(cell, name)]
    base = altair.Chart(_data(rows)).encode(
        x=altair.X("x:Q", title=name, scale=altair.Scale(type="log", nice=False)),
        color=altair.Color("device:N", scale=colours, title="Device"),
    )
    y = altair.Y("mid:Q", title="one step, ms", scale=altair.Scale(type="log"))
    layers = [
        base.mark_area(opacity=0.18).encode(
            y=altair.Y("low:Q", title="one step, ms", scale=altair.Scale(type="log")), y2="high:Q"
        ),
        base.mark_line(strokeDash=[4, 2]).encode(y=y),
        base.transform_filter("datum.source == 'measured'").mark_point(filled=True, size=45).encode(y=y),
    ]
    along = next(p.values for p in report.parameters if p.name == name)
    crossed = [  # an end of the interval that lies outside the range is drawn to the range's end
        {
            "x": c.value,
            "device": c.gpu,
            "low": along[0] if c.low is None else c.low,
            "high": along[-1] if c.high is None else c.high,
        }
        for c in report.crossings
        if c.parameter == name and c.value is not None and all(c.at.get(n) == v for n, v in held.items())
    ]
    if crossed:
        rule = altair.Chart(_data(crossed)).encode(color=altair.Color("device:N", scale=colours))
        layers.append(rule.mark_rule(strokeWidth=2).encode(x="x:Q"))
        layers.append(rule.mark_rect(opacity=0.08).encode(x="low:Q", x2="high:Q"))
    title = "points: measured; dashed: predicted or between; bands and bars: 90 %"
    others = ", ".join(f"{n} {v}" for n, v in held.items())
    return altair.layer(*layers).properties(
        width=_SIZE,
        height=_SIZE,
        title=altair.Title(f"Break-even over {name}" + (f" at {others}" if others else ""), subtitle=title),
    )


def _fitting(report: SweepReport, held: Mapping[str, Value]) -> Iterator[Cell]:
    return (cell for cell in report.cells if all(cell.values[n] == v for n, v in held.items()))


def _rows(cell: Cell, name: str) -> Iterator[dict[str, object]]:
    for d in cell.devices:
        step = d.step_ms
        yield {
            "x": cell.values[name], "device": d.name, "low": step.low, "mid": step.mid, "high": step.high, "source": d.source
        }  # fmt: skip


def _map(report: SweepReport, x: str, y: str, colours: Any) -> Any:
    """Who is fastest, the surer the darker; and the lines between the CPU and each GPU."""
    import altair

    held = {p.name: p.values[0] for p in report.parameters if p.name not in (x, y)}
    sides = {p.name: _sides([float(v) for v in p.values if _is_number(v)]) for p in report.parameters if p.name in (x, y)}
    rows = [
        {
            "left": sides[x][c.values[x]][0], "right": sides[x][c.values[x]][1], "below": sides[y][c.values[y]][0],
            "above": sides[y][c.values[y]][1], "device": c.fastest, "sure": c.probability,
        }
        for c in _fitting(report, held)
        if c.fastest is not None
    ]  # fmt: skip
    log = altair.Scale(type="log", nice=False, padding=0)
    cells = (
        altair.Chart(_data(rows))
        .mark_rect()
        .encode(
            x=altair.X("left:Q", title=x, scale=log), x2="right:Q", y=altair.Y("below:Q", title=y, scale=log), y2="above:Q",
            color=altair.Color("device:N", scale=colours, title="Device"),
            opacity=altair.Opacity("sure:Q", scale=altair.Scale(domain=[0.3, 1], range=[0.25, 1]), title="probability"),
        )
    )  # fmt: skip
    layers = [cells, *_contours(report, x, y, colours, log)]
    subtitle = "lines: break-even with the CPU; dashed: where the GPU wins in 5 % and 95 % of the draws"
    title = altair.Title(f"Fastest device over {x} and {y}", subtitle=subtitle if len(layers) > 1 else altair.Undefined)
    return altair.layer(*layers).properties(width=_SIZE, height=_SIZE, title=title)


def _sides(values: Sequence[float]) -> dict[Value, tuple[float, float]]:
    """From where to where a value's cell goes: half way to its neighbours, in logarithms."""
    between = [sqrt(a * b) for a, b in pairwise(values)]
    ends = [values[0] ** 2 / between[0], *between, values[-1] ** 2 / between[-1]]
    return {value: (ends[n], ends[n + 1]) for n, value in enumerate(values)}


def _contours(report: SweepReport, x: str, y: str, colours: Any, log: Any) -> Iterator[Any]:
    """The break-even lines in a white border, so that they are seen on a field of their own colour."""
    import altair

    for contour in report.contours:
        if (contour.x, contour.y) != (x, y):
            continue
        for lines, dash in ((contour.lines, [1, 0]), (contour.surely, [2, 3]), (contour.hardly, [2, 3])):
            rows = [
                {"x": px, "y": py, "device": contour.gpu, "line": number, "order": order}
                for number, points in enumerate(lines)
                for order, (px, py) in enumerate(points)
            ]
            if rows:
                base = altair.Chart(_data(rows)).encode(
                    x=altair.X("x:Q", title=x, scale=log), y=altair.Y("y:Q", title=y, scale=log), detail="line:N", order="order:Q"
                )
                whole = dash == [1, 0]
                yield base.mark_line(strokeWidth=5 if whole else 3, color="white", clip=True)
                yield base.mark_line(strokeWidth=2.5 if whole else 1.2, strokeDash=dash, clip=True).encode(
                    color=altair.Color("device:N", scale=colours, title="Device")
                )


def _bars(report: SweepReport, colours: Any) -> Any:
    import altair

    rows = [
        {"cell": ", ".join(f"{n} {v}" for n, v in cell.values.items()), "device": d.name, "mid": d.step_ms.mid}
        for cell in report.cells
        for d in cell.devices
    ]
    return altair.Chart(_data(rows)).mark_bar().encode(
        x=altair.X("mid:Q", title="one step, ms"), y=altair.Y("device:N", title=None), row=altair.Row("cell:N", title=None),
        color=altair.Color("device:N", scale=colours, title="Device"),
    )  # fmt: skip
