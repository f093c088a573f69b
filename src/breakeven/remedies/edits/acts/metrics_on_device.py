"""Losses that a loop reads in every turn are kept on the device, and read with one copy after the loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.readings import Reading, find_readings, reading
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import statements
from breakeven.remedies.edits.source import Change, Loop, New, Source
from breakeven.remedies.edits.switches import fresh, module_name
from breakeven.remedies.edits.values import is_tensor, number
from breakeven.remedies.edits.variables import Variable, bound, leaves, variable

_EVERY = 50
_NOTHING = "no reading of a tensor in a loop here that could wait"
_SHOWING = ("print", "tqdm.write", "tqdm.tqdm.write")
_BAR_METHODS = ("set_postfix", "set_postfix_str", "set_description", "set_description_str")


@dataclass(frozen=True)
class _Site:
    """A statement that takes a reading into a list or a sum.

    Attributes:
        statement: the line.
        loop: the innermost loop around it.
        target: the list or the sum.
        what: the expression taken in.
        adds: whether it is added (`+=`) rather than appended.
    """

    statement: cst.SimpleStatementLine
    loop: Loop
    target: cst.BaseExpression
    what: cst.BaseExpression
    adds: bool


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Defer what is appended or added up; show what is printed only every so often."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    changes: dict[cst.CSTNode, Change] = {}
    before: dict[cst.CSTNode, list[str]] = {}
    after: dict[cst.CSTNode, list[str]] = {}
    refusal = _NOTHING
    groups: dict[tuple[cst.CSTNode, str, bool], list[_Site]] = {}
    for site in _sites(source):
        if find_readings(source, site.what):
            groups.setdefault((site.loop, source.code(site.target), site.adds), []).append(site)
    used: list[str] = []
    for (loop, target, adds), group in groups.items():
        if not any(sites.touch(source.span(site.statement)) for site in group):
            continue
        plan = _plan(source, group)
        if isinstance(plan, str):
            refusal = f"{target} stays (line {source.line(group[0].statement)}): {plan}"
            continue
        kept = fresh(source, *(f"{stem}_on_device" for stem in _stems(target, used)))
        used.append(kept)
        for site, one in zip(group, plan, strict=True):
            item = f"({one.tensor}, {one.beside})" if one.beside is not None else one.tensor
            changes[site.statement] = _line(source, f"{kept}.append({item})")
        before.setdefault(loop, []).append(f"{kept} = []")
        after.setdefault(loop, []).extend(_closing(source, torch, kept, target, plan[0], adds))
    for loop in before:
        changes[loop] = _around(source, before[loop], after[loop])
    shown = _show_less(source, sites, changes)
    if isinstance(shown, str):
        refusal = refusal if refusal != _NOTHING else shown
    else:
        changes |= shown
    note = f"Progress is shown every {_EVERY}th turn only." if not isinstance(shown, str) and shown else ""
    return source.changed(changes, note) if changes else Refused(_decides(source, sites) or refusal)


def _sites(source: Source) -> Iterator[_Site]:
    """The lines `list.append(…)`, `sum += …` and `sum = sum + …` within loops."""
    for line in source.find(cst.SimpleStatementLine):
        loops = source.loops(line)
        if not loops or len(line.body) != 1 or source.block(line) is None:
            continue
        (part,) = line.body
        if isinstance(part, cst.AugAssign) and isinstance(part.operator, cst.AddAssign):
            yield _Site(line, loops[0], part.target, part.value, True)
        elif isinstance(part, cst.Expr) and isinstance(part.value, cst.Call) and isinstance(part.value.func, cst.Attribute):
            call = part.value
            if part.value.func.attr.value == "append" and len(call.args) == 1 and not call.args[0].star:
                yield _Site(line, loops[0], part.value.func.value, call.args[0].value, False)
        elif isinstance(part, cst.Assign) and len(part.targets) == 1 and isinstance(part.value, cst.BinaryOperation):
            target, value = part.targets[0].target, part.value
            if isinstance(value.operator, cst.Add) and source.same(target, value.left) and not value.lpar:
                yield _Site(line, loops[0], target, value.right, True)


def _plan(source: Source, group: list[_Site]) -> list[Reading] | str:
    """How each line of a list or sum is put off; or why it stays."""
    loop, target = group[0].loop, group[0].target
    base = _base(target)
    if base is None:
        return "it belongs to an object that others may read"
    found = variable(source, base)
    if found is None:
        return "nothing in this file binds it"
    objection = _objection(source, loop, group, found)
    if objection is not None:
        return objection
    plan: list[Reading] = []
    for site in group:
        one = reading(source, loop, site.what)
        if isinstance(one, str):
            return one
        plan.append(one)
    if len({(one.later, one.beside is None) for one in plan}) > 1:
        return "its lines take in different things"
    return plan


def _objection(source: Source, loop: Loop, group: list[_Site], found: Variable) -> str | None:
    """Why a list or a sum must be up to date within the loop; None where nobody looks at it there."""
    own = [site.statement for site in group]
    for node in (*found.loads, *found.stores):
        if source.holds(loop, node) and not any(source.holds(line, node) for line in own):
            return f"it is used within the loop (line {source.line(node)})"
        if source.function(node) is not source.function(loop) and not isinstance(node, cst.Param):
            if isinstance(source.parents.get(node), cst.Param):
                continue
            return f"another function uses it (line {source.line(node)})"
    gone = leaves(source, loop)
    if gone is not None:
        return f"the loop may be left past the line after it (line {source.line(gone)})"
    for node in found.stores:
        value = bound(source, node)
        if value is not None and not isinstance(
            value, cst.List | cst.Integer | cst.Float | cst.Dict | cst.Subscript | cst.Call | cst.AugAssign
        ):
            return f"it may have a second name (line {source.line(node)})"
    for name in found.loads:
        above = source.parents[name]
        while isinstance(above, cst.Element | cst.Tuple | cst.List | cst.DictElement | cst.Dict):
            above = source.parents[above]
        again = any(source.holds(outer, name) for outer in source.loops(loop))
        if source.line(name) > source.line(loop) and not again:
            continue
        if isinstance(above, cst.Assign | cst.AugAssign) and not any(source.holds(line, name) for line in own):
            return f"it gets a second name (line {source.line(name)})"
        if isinstance(above, cst.Arg) and source.line(name) < source.line(loop) and not _reads_only(source, above):
            return f"it is given away before the loop (line {source.line(name)})"
    return None


def _reads_only(source: Source, arg: cst.Arg) -> bool:
    call = source.parents[arg]
    return isinstance(call, cst.Call) and source.meaning(call.func) in ("print", "len", "sum", "min", "max")


def _base(target: cst.BaseExpression) -> cst.Name | None:
    """The name that a target is, or is a constant item of."""
    while isinstance(target, cst.Subscript):
        index = target.slice[0].slice
        if (
            len(target.slice) != 1
            or not isinstance(index, cst.Index)
            or not isinstance(index.value, cst.SimpleString | cst.Integer)
        ):
            return None
        target = target.value
    return target if isinstance(target, cst.Name) else None


def _stems(target: str, used: list[str]) -> list[str]:
    stem = "".join(ch if ch.isalnum() else "_" for ch in target).strip("_")
    while "__" in stem:
        stem = stem.replace("__", "_")
    return [name for name in (stem, f"{stem}_more", *(f"{stem}_{k}" for k in range(2, 99))) if f"{name}_on_device" not in used]


def _closing(source: Source, torch: str, kept: str, target: str, one: Reading, adds: bool) -> list[str]:
    """The lines after the loop: one copy to the host, then what the lines in the loop did."""
    value, factor, tensor = fresh(source, "value", "number"), fresh(source, "factor", "beside"), fresh(source, "tensor", "kept")
    later = one.later.format(value=value, factor=factor)
    if one.beside is None:
        values = f"{torch}.stack({kept}).flatten().tolist() if {kept} else []"
        if adds:
            return [f"for {value} in {values}:", f"    {target} += {later}"]
        if later == value:
            return [f"{target}.extend({values})"]
        return [f"{target}.extend({later} for {value} in ({values}))"]
    read = fresh(source, kept.replace("_on_device", "_read"))
    lines = [f"{read} = {torch}.stack([{tensor} for {tensor}, {factor} in {kept}]).flatten().tolist() if {kept} else []"]
    heading = f"for {value}, ({tensor}, {factor}) in zip({read}, {kept})"
    return [*lines, f"{heading}:", f"    {target} += {later}"] if adds else [*lines, f"{target}.extend({later} {heading})"]


def _line(source: Source, code: str) -> Change:
    """Put another line in the place of one, with its comments."""

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.SimpleStatementLine)
        (new,) = statements(source, code)
        return new.with_changes(leading_lines=node.leading_lines, trailing_whitespace=node.trailing_whitespace)

    return change


def _around(source: Source, before: list[str], after: list[str]) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For | cst.While)
        first, *rest = statements(source, "\n".join(before))
        opening = [first.with_changes(leading_lines=node.leading_lines), *rest]
        return cst.FlattenSentinel([*opening, node.with_changes(leading_lines=()), *statements(source, "\n".join(after))])

    return change


def _show_less(source: Source, sites: Sites, taken: dict[cst.CSTNode, Change]) -> dict[cst.CSTNode, Change] | str:
    """Lines that print a tensor in every turn do so every so often, where the loop counts."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = _NOTHING
    for line in source.find(cst.SimpleStatementLine):
        loops = source.loops(line)
        if not loops or not sites.touch(source.span(line)) or not _shows_tensor(source, line):
            continue
        if source.parents[line] is not loops[0].body:
            reason = f"line {source.line(line)} is already shown under a condition"
            continue
        if not _is_step_loop(source, loops[0]):
            reason = f"the loop around line {source.line(line)} has few turns"
            continue
        count = _counter(source, loops[0])
        if count is None:
            reason = f"nothing counts the turns of the loop around line {source.line(line)}"
            continue
        changes[line] = _guarded(source, f"if {count} % {_EVERY} == 0:\n    pass\n")
    return changes or reason


def _guarded(source: Source, code: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.SimpleStatementLine)
        guard = statements(source, code)[0]
        assert isinstance(guard, cst.If)
        body = cst.IndentedBlock([node.with_changes(leading_lines=())])
        return guard.with_changes(body=body, leading_lines=node.leading_lines)

    return change


def _shows_tensor(source: Source, line: cst.SimpleStatementLine) -> bool:
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Expr) or not isinstance(line.body[0].value, cst.Call):
        return False
    call = line.body[0].value
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if source.meaning(call.func) not in _SHOWING and method not in _BAR_METHODS:
        return False
    shown = [arg.value for arg in call.args]
    shown += [part.expression for arg in call.args for part in source.find(cst.FormattedStringExpression, arg)]
    return bool(find_readings(source, call)) or any(is_tensor(source, one) for one in shown)


def _is_step_loop(source: Source, loop: Loop) -> bool:
    """Whether a loop is one over steps, not over epochs: it steps itself, holds no loop, and has many turns."""
    if not source.methods("backward", within=loop) or any(one is not loop for one in source.find(cst.For, loop)):
        return False
    if isinstance(loop, cst.For) and isinstance(loop.iter, cst.Call) and source.meaning(loop.iter.func) == "range":
        turns = number(source, loop.iter.args[-1 if len(loop.iter.args) < 3 else 1].value)
        return turns is None or turns >= 2 * _EVERY
    return True


def _counter(source: Source, loop: Loop) -> str | None:
    """An expression that counts the turns of a loop."""
    if isinstance(loop, cst.For):
        header, target = loop.iter, loop.target
        if isinstance(header, cst.Call) and source.meaning(header.func) == "enumerate" and isinstance(target, cst.Tuple):
            first = target.elements[0].value
            return first.value if isinstance(first, cst.Name) else None
        if isinstance(header, cst.Call) and source.meaning(header.func) == "range" and isinstance(target, cst.Name):
            if len(header.args) < 3:
                return target.value
            step = source.code(header.args[2].value)
            return f"{target.value} // {step}" if step.isidentifier() or step.isdigit() else None
    for part in source.find(cst.AugAssign, loop):
        statement = source.statement(part)
        if isinstance(part.target, cst.Name) and source.code(part.value) == "1" and source.parents[statement] is loop.body:
            return part.target.value
    return None


def _decides(source: Source, sites: Sites) -> str | None:
    """Whether a line that is asked about lets a tensor decide how the loop goes on."""
    tests: list[cst.If | cst.While] = [*source.find(cst.If), *source.find(cst.While)]
    for node in tests:
        test = source.span(node.test)
        if source.loops(node) and sites.touch(test) and (is_tensor(source, node.test) or find_readings(source, node.test)):
            return f"the value decides what the loop does next (line {test[0]})"
    return None


EDIT = Edit(
    id="metrics_on_device",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A loss or a count is appended to a list or added to a sum that nobody reads before the loop is over, and the "
    "tensor is made anew in each turn.",
    unsafe_when="The value decides what the loop does next, or the list is read, shared or left half filled within the loop.",
    changes="No number: the same values are read with one copy after the loop and added in the same order. What is printed in "
    "every turn is printed in every 50th.",
)
