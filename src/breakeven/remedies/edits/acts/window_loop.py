"""A loop that trains on one time step per turn sends a window of them through each call."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import expression
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.values import number

_LONGEST = 32


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`for t in range(n)` with slices `x[t:t + 1]` → `for t in range(0, n, w)` with slices `x[t:t + w]`."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loop trains on one time step of a sequence per turn here"
    note = ""
    for loop in source.find(cst.For):
        header = loop.iter
        if not isinstance(header, cst.Call) or source.meaning(header.func) != "range" or not isinstance(loop.target, cst.Name):
            continue
        if not sites.touch(source.span(loop)) or len(header.args) != 1 or not source.methods("step", within=loop):
            continue
        t = loop.target.value
        slices = [one for one in source.find(cst.Slice, loop.body) if _offset(source, one, t) is not None]
        if not slices:
            continue
        uses = [n for n in source.find(cst.Name, loop.body) if n.value == t]
        if any(not any(source.holds(one, name) for one in slices) for name in uses):
            reason = f"the time step is used for more than slices (line {source.line(loop)})"
            continue
        steps = number(source, header.args[0].value)
        window = _window(int(steps)) if steps is not None else None
        if window is None:
            reason = f"the number of time steps is not a number that windows divide (line {source.line(loop)})"
            continue
        changes[header] = expression(f"range(0, {source.code(header.args[0].value)}, {window})")
        for one in slices:
            assert one.upper is not None
            changes[one.upper] = expression(_end(t, (_offset(source, one, t) or 0) + window))
        note = f"One update and one loss per {window} time steps; gradients flow through the window."
    return source.changed(changes, note) if changes else Refused(reason)


def _window(steps: int) -> int | None:
    """The longest window up to 32 that divides the steps."""
    found = [width for width in range(2, _LONGEST + 1) if steps % width == 0]
    return found[-1] if found else None


def _offset(source: Source, one: cst.Slice, t: str) -> int | None:
    """The k of a slice `t + k:t + k + 1`."""
    if one.lower is None or one.upper is None or one.step is not None:
        return None
    lower, upper = _shift(source, one.lower, t), _shift(source, one.upper, t)
    return lower if lower is not None and upper == lower + 1 else None


def _shift(source: Source, node: cst.BaseExpression, t: str) -> int | None:
    code = source.code(node).replace(" ", "")
    if code == t:
        return 0
    rest = code.removeprefix(t + "+")
    return int(rest) if rest != code and rest.isdigit() else None


def _end(t: str, offset: int) -> str:
    return f"{t} + {offset}"


EDIT = Edit(
    id="window_loop",
    promise="changes_mathematics",
    tolerance=None,
    apply=apply,
    safe_when="The loop uses the time step in slices of one step only, and the number of steps is known.",
    unsafe_when="Each step needs the model as the step before has left it (online learning).",
    changes="Fewer updates, each with gradients through a window: judge it by the loss at equal time.",
)
