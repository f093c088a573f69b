"""Samples are stacked on the host and moved with one copy."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import moved
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.values import is_device
from breakeven.remedies.edits.variables import changes_within, variable

_JOINS = ("torch.stack", "torch.cat", "torch.concat", "torch.vstack", "torch.hstack", "torch.nn.utils.rnn.pad_sequence")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`torch.stack([x.to(d) for x in xs])` → `torch.stack([x for x in xs]).to(d)`, and the same for lists filled in a loop."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no list of tensors that are moved one by one and then joined here"
    for join in source.calls(*_JOINS):
        if not join.args or join.args[0].keyword is not None:
            continue
        given = join.args[0].value
        moves: list[cst.BaseExpression] = []
        if isinstance(given, cst.ListComp | cst.GeneratorExp):
            moves = [given.elt]
        elif isinstance(given, cst.Name):
            filled = _filled(source, given, join)
            if isinstance(filled, str):
                reason = filled
                continue
            moves = filled
        else:
            continue
        devices = [_device(source, move) for move in moves]
        if not moves or None in devices or len(set(devices)) != 1:
            continue
        spans = [source.span(source.statement(move)) for move in moves]
        if not sites.touch(*spans, source.span(source.statement(join))):
            continue
        if any(_device_changes(source, move) for move in moves):
            reason = f"the device is not the same for all (line {source.line(join)})"
            continue
        for move in moves:
            assert isinstance(move, cst.Call)
            changes[move] = _bare
        changes[join] = moved(devices[0] or "")
    return source.changed(changes) if changes else Refused(reason)


def _filled(source: Source, name: cst.Name, join: cst.Call) -> list[cst.BaseExpression] | str:
    """What is appended to a list that is otherwise only joined, once."""
    found = variable(source, name)
    if found is None:
        return "the list is not of this file"
    moves: list[cst.BaseExpression] = []
    for load in found.loads:
        attribute = source.parents[load]
        call = source.parents[attribute] if isinstance(attribute, cst.Attribute) else None
        if (
            isinstance(attribute, cst.Attribute)
            and attribute.attr.value == "append"
            and isinstance(call, cst.Call)
            and len(call.args) == 1
        ):
            moves.append(call.args[0].value)
        elif load is not name:
            return f"{name.value} is used otherwise (line {source.line(load)})"
    return moves


def _device(source: Source, node: cst.BaseExpression) -> str | None:
    """The device that an expression moves to, and does nothing else with."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if node.func.attr.value == "cuda" and not node.args:
        return '"cuda"'
    if node.func.attr.value != "to" or len(node.args) != 1 or not is_device(source, node.args[0].value):
        return None
    return source.code(node.args[0].value)


def _device_changes(source: Source, node: cst.BaseExpression) -> bool:
    """Whether the device comes from what differs from turn to turn."""
    assert isinstance(node, cst.Call)
    loops = source.loops(node)
    return any(changes_within(source, loop, arg.value) for arg in node.args for loop in loops[:1]) or any(
        isinstance(arg.value, cst.Attribute) for arg in node.args if not isinstance(arg.value, cst.SimpleString)
    )


def _bare(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.func.value


EDIT = Edit(
    id="merge_copies",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="Each sample is moved to the same device, and the list of them is only joined.",
    unsafe_when="The joined batch does not fit into the host's memory.",
    changes="No number.",
)
