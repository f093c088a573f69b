"""`torch.randn(n).to(device)` becomes `torch.randn(n, device=device)`."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, has_stars, with_argument
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.values import is_device

_RANDOM = ("rand", "randn", "randint", "randperm", "normal")
_PLAIN = ("zeros", "ones", "full", "empty", "arange", "linspace", "eye", "tensor")
_MADE = {f"torch.{name}": name for name in (*_RANDOM, *_PLAIN)}


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Pass the device to the function that makes the tensor."""
    changes: dict[cst.CSTNode, Change] = {}
    draws = False
    reason = "no tensor is made on the host and moved in one expression here"
    for call in source.methods("to", "cuda"):
        assert isinstance(call.func, cst.Attribute)
        maker = call.func.value
        if (
            not isinstance(maker, cst.Call)
            or source.meaning(maker.func) not in _MADE
            or not sites.touch(source.span(source.statement(call)))
        ):
            continue
        device = _device(source, call)
        where = f"(line {source.line(call)})"
        if device is None:
            reason = f"it is not clear that it is moved to a device {where}"
        elif has_stars(maker) or argument(maker, "device") is not None or argument(maker, "out") is not None:
            reason = f"its arguments cannot be read, or it has a device {where}"
        elif argument(maker, "requires_grad") is not None or argument(maker, "pin_memory") is not None:
            reason = f"the tensor on the host is needed itself {where}"
        elif argument(maker, "generator") is not None:
            reason = f"its numbers come from a generator on the host {where}"
        elif _MADE[source.meaning(maker.func) or ""] in _RANDOM and not _is_drawn_each_time(source, call) and sites.lines is None:
            reason = f"data are drawn once; on the device other numbers would be drawn {where}"
        else:
            draws = draws or _MADE[source.meaning(maker.func) or ""] in _RANDOM
            changes[call] = _made_there(device)
    note = "Random numbers come from the device's generator: on a GPU, other draws from the same seed." if draws else ""
    return source.changed(changes, note) if changes else Refused(reason)


def _is_drawn_each_time(source: Source, node: cst.CSTNode) -> bool:
    """Whether a line runs in every step: in a loop, or in a function that does not train itself."""
    function = source.function(node)
    return bool(source.loops(node)) or (function is not None and not source.methods("backward", within=function))


def _device(source: Source, call: cst.Call) -> str | None:
    """The device that a call moves to, as code, if it does nothing but move."""
    assert isinstance(call.func, cst.Attribute)
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != "non_blocking"]
    if call.func.attr.value == "cuda":
        return '"cuda"' if not kept else None
    if len(kept) != 1 or kept[0].star or (kept[0].keyword is not None and kept[0].keyword.value != "device"):
        return None
    return source.code(kept[0].value) if is_device(source, kept[0].value) else None


def _made_there(device: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        made = with_argument("device", device)(node.func.value)
        assert isinstance(made, cst.Call)
        return made.with_changes(lpar=[*node.lpar, *made.lpar], rpar=[*made.rpar, *node.rpar])

    return change


EDIT = Edit(
    id="create_on_device",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A tensor is made by a function of torch that takes a device, and moved in the same expression.",
    unsafe_when="Random numbers must be the same on the CPU and on a GPU.",
    changes="No number on the same device. Random numbers on a GPU come from its own generator: other draws of the same kind.",
)
