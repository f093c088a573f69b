"""A tensor that stays on the host is moved to the device of the model that takes it."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, moved
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.values import is_device, made_by
from breakeven.remedies.edits.variables import bound, changes_within, variable

_MADE = tuple(
    f"torch.{name}"
    for name in ("zeros", "ones", "full", "empty", "arange", "linspace", "eye", "tensor", "rand", "randn", "randint")
)


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`start = torch.zeros(n)` → `start = torch.zeros(n).to(device)`, where a model on that device is called with it."""
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.find(cst.Call):
        device = _device_of(source, call.func)
        if device is None:
            continue
        for arg in call.args:
            made = _made_on_host(source, arg.value)
            if made is None or not sites.touch(source.span(source.statement(call)), source.span(source.statement(made))):
                continue
            if not _is_known_at(source, device, made):
                continue
            changes[made] = moved(source.code(device))
    return source.changed(changes) if changes else Refused("no tensor made on the host meets a model on a device here")


def _device_of(source: Source, func: cst.BaseExpression) -> cst.BaseExpression | None:
    """The device that a model was moved to: the one argument of `.to(...)` in the expressions that bind it."""
    if not isinstance(func, cst.Name) or not made_by(source, func):
        return None
    found = variable(source, func)
    values = [bound(source, store) for store in found.stores] if found is not None else []
    moves = [call for value in values if value is not None for call in source.methods("to", within=value)]
    loads = found.loads if found is not None else ()
    moves += [
        call for load in loads for call in source.methods("to", within=source.statement(load))
        if isinstance(call.func, cst.Attribute) and call.func.value is load
    ]  # fmt: skip
    devices = [call.args[0].value for call in moves if len(call.args) == 1 and is_device(source, call.args[0].value)]
    return devices[0] if len(devices) == 1 else None


def _made_on_host(source: Source, node: cst.BaseExpression) -> cst.Call | None:
    """The call that makes a tensor on the host, where a name is bound to nothing else."""
    found = variable(source, node) if isinstance(node, cst.Name) else None
    value = bound(source, found.stores[0]) if found is not None and len(found.stores) == 1 else None
    if not isinstance(value, cst.Call) or source.meaning(value.func) not in _MADE or argument(value, "device") is not None:
        return None
    return value


def _is_known_at(source: Source, device: cst.BaseExpression, made: cst.Call) -> bool:
    """Whether the device's name has its value where the tensor is made, in the same function or in the module."""
    if isinstance(device, cst.SimpleString):
        return True
    found = variable(source, device) if isinstance(device, cst.Name) else None
    if found is None or any(changes_within(source, loop, device) for loop in source.loops(made)):
        return False
    functions = {source.function(store) for store in found.stores}
    same = functions == {source.function(made)} and all(source.line(store) < source.line(made) for store in found.stores)
    return same or (functions == {None} and source.function(made) is not None)


EDIT = Edit(
    id="move_to_device",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A model of this file is moved to one device and called with a tensor that torch makes on the host.",
    unsafe_when="The tensor is needed on the host as well.",
    changes="No number; on a GPU the script ran into an error before.",
)
