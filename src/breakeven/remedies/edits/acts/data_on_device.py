"""Data whose batches are moved in every step are moved once, before the loop."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import before
from breakeven.remedies.edits.source import Change, Loop, New, Source
from breakeven.remedies.edits.values import is_device, is_tensor
from breakeven.remedies.edits.variables import Variable, changes_within, inside, variable


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`x = data[rows].to(device)` → `x = data[rows]`, with `data = data.to(device)` before the outermost loop."""
    changes: dict[cst.CSTNode, Change] = {}
    lines: dict[Loop, dict[str, str]] = {}
    reason = "no batch is cut from a tensor and moved in a loop here"
    for call in source.methods("to"):
        assert isinstance(call.func, cst.Attribute)
        cut = call.func.value
        loops = source.loops(call)
        if not loops or not isinstance(cut, cst.Subscript) or not isinstance(cut.value, cst.Name):
            continue
        if not sites.touch(source.span(source.statement(call))) or not _only_moves(source, call):
            continue
        found = variable(source, cut.value)
        loop = loops[-1]
        objection = "it is bound elsewhere" if found is None else _objection(source, loop, found, call)
        if objection is not None:
            reason = f"{cut.value.value} stays (line {source.line(call)}): {objection}"
            continue
        changes[call] = _cut
        lines.setdefault(loop, {})[cut.value.value] = source.code(call.args[0].value)
    for loop, moved in lines.items():
        changes[loop] = before(source, "".join(f"{name} = {name}.to({device})\n" for name, device in moved.items()))
    return source.changed(changes, "The data must fit into the device's memory.") if changes else Refused(reason)


def _only_moves(source: Source, call: cst.Call) -> bool:
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != "non_blocking"]
    return bool(call.args) and len(kept) == 1 and call.args[0] is kept[0] and is_device(source, kept[0].value)


def _objection(source: Source, loop: Loop, found: Variable, call: cst.Call) -> str | None:
    """Why the data stay on the host: they may be no tensor, change, or are used otherwise from the loop on."""
    if source.function(loop) is not None and any(isinstance(store, cst.Param) for store in found.stores):
        return "the function is given it, and may be given something else than a tensor"
    assert isinstance(call.func, cst.Attribute)
    if not is_tensor(source, found.loads[0]) and not _is_cut_as_tensor(source, call.func.value):
        return "it may be no tensor"
    if inside(source, loop, found.stores) or changes_within(source, loop, call.args[0].value):
        return "it, or the device, changes in the loop"
    for load in found.loads:
        above = source.parents[load]
        if source.function(load) is not source.function(loop):
            return f"another function uses it (line {source.line(load)})"
        if source.line(load) < source.line(loop) and not source.holds(loop, load):
            continue
        cut = isinstance(above, cst.Subscript) and above.value is load
        attribute = source.parents[above] if cut else None
        moved = source.parents[attribute] if isinstance(attribute, cst.Attribute) and attribute.attr.value == "to" else None
        counted = isinstance(above, cst.Arg) and source.code(source.parents[above]).startswith("len(")
        sized = isinstance(above, cst.Attribute) and above.attr.value in ("shape", "size", "dtype")
        if not counted and not sized and not (isinstance(moved, cst.Call) and source.same(moved.args[0], call.args[0])):
            return f"it is used otherwise (line {source.line(load)})"
    return None


def _is_cut_as_tensor(source: Source, cut: cst.BaseExpression) -> bool:
    """Whether a name is cut as only a tensor can be whose piece takes `.to`: by a slice, a tensor, or several indices."""
    if not isinstance(cut, cst.Subscript):
        return False
    first = cut.slice[0].slice
    return len(cut.slice) > 1 or isinstance(first, cst.Slice) or (isinstance(first, cst.Index) and is_tensor(source, first.value))


def _cut(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.func.value


EDIT = Edit(
    id="data_on_device",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A tensor of the script is cut and moved in a loop, always to one device, and used in no other way from there on.",
    unsafe_when="The data do not fit into the device's memory beside the training.",
    changes="No number.",
)
