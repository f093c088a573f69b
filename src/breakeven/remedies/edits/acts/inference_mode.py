"""Evaluation runs under `torch.inference_mode()`: no graph is recorded."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.host_values import gives_tensors_away
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.switches import module_name
from breakeven.remedies.edits.values import module_class

_GUARDS = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.set_grad_enabled")
_NAMES = ("eval", "valid", "test", "predict", "accuracy", "infer", "score")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Decorate functions that evaluate, and turn their no_grad into inference_mode, where no tensor leaves them."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    stored = _module_stores(source)
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no evaluation that records a graph here"
    for function in source.find(cst.FunctionDef):
        if not sites.touch(source.span(function)) or not _evaluates(source, function) or source.calls(*_GUARDS, within=function):
            continue
        why_not = stored or _goes_backward(source, function) or gives_tensors_away(source, function)
        if why_not is not None:
            reason = f"{function.name.value} stays: {why_not}"
            continue
        changes[function] = _decorated(f"{torch}.inference_mode()")
    for loop in source.find(cst.For):
        if not sites.touch(source.span(loop)) or not _follows_eval(source, loop):
            continue
        why_not = stored or _goes_backward(source, loop) or gives_tensors_away(source, loop)
        if why_not is not None:
            reason = f"the loop at line {source.line(loop)} stays: {why_not}"
            continue
        changes[loop] = _wrapped(f"{torch}.inference_mode()")
    for block in source.find(cst.With):
        call = _no_grad(source, block)
        if call is None or not sites.touch(source.span(block)) or not _works(source, block):
            continue
        why_not = stored or _goes_backward(source, block) or gives_tensors_away(source, block)
        if why_not is not None:
            reason = f"the block at line {source.line(block)} stays: {why_not}"
            continue
        changes[call] = lambda node: node.with_changes(func=cst.parse_expression(f"{torch}.inference_mode"))
    return source.changed(changes) if changes else Refused(reason)


def _evaluates(source: Source, function: cst.FunctionDef) -> bool:
    """Whether a function evaluates a model: it says `eval()`, or is called so, and calls something that it was given."""
    if isinstance(source.parents.get(source.parents[function]), cst.ClassDef):
        return False
    says = any(not call.args for call in source.methods("eval", within=function))
    named = any(word in function.name.value.lower() for word in _NAMES) and "train" not in function.name.value.lower()
    return (says or named) and _works(source, function)


def _works(source: Source, region: cst.CSTNode) -> bool:
    """Whether a model may be called within: something under a name that is called and is neither a builtin nor imported."""
    return any(
        isinstance(call.func, cst.Name | cst.Attribute) and source.meaning(call.func) is None
        for call in source.find(cst.Call, region)
    )


def _goes_backward(source: Source, region: cst.CSTNode) -> str | None:
    for call in (
        *source.methods("backward", "step", "requires_grad_", within=region),
        *source.calls("torch.autograd.grad", within=region),
    ):
        return f"it differentiates or trains (line {source.line(call)})"
    for call in source.methods("train", within=region):
        after = [one for one in source.find(cst.Call, region) if source.line(one) > source.line(call)]
        if any(isinstance(one.func, cst.Name) and source.meaning(one.func) is None for one in after):
            return f"it goes back to training (line {source.line(call)})"
    return None


def _module_stores(source: Source) -> str | None:
    """A module of this file that keeps what it computes: under inference mode it would keep what cannot be trained on."""
    for owner in source.find(cst.ClassDef):
        if module_class(source, owner.name) is None:
            continue
        for target in source.find(cst.Attribute, owner):
            function = source.function(target)
            is_init = isinstance(function, cst.FunctionDef) and function.name.value == "__init__"
            is_self = isinstance(target.value, cst.Name) and target.value.value == "self"
            if is_self and not is_init and isinstance(source.parents[target], cst.AssignTarget | cst.AugAssign | cst.Subscript):
                holder = source.parents[target]
                if isinstance(holder, cst.Subscript) and not isinstance(source.parents[holder], cst.AssignTarget):
                    continue
                if isinstance(holder, cst.AugAssign) and holder.target is not target:
                    continue
                return f"a module keeps what it computes (line {source.line(target)})"
    return None


def _follows_eval(source: Source, loop: cst.For) -> bool:
    """Whether a loop stands right after `model.eval()` (or after a few plain lines after it), outside any guard."""
    block = source.block(loop)
    if block is None or source.calls(*_GUARDS, within=loop) or any(_no_grad(source, one) for one in source.above(loop)):
        return False
    function = source.function(loop)
    if isinstance(function, cst.FunctionDef) and (_evaluates(source, function) or function.decorators):
        return False
    place = list(block.body).index(loop)
    for earlier in reversed(block.body[:place]):
        if not isinstance(earlier, cst.SimpleStatementLine):
            return False
        if source.methods("eval", within=earlier):
            return True
    return False


def _no_grad(source: Source, node: cst.CSTNode) -> cst.Call | None:
    """The call of no_grad that a `with` block is for, if that is all it is for."""
    if not isinstance(node, cst.With) or len(node.items) != 1 or node.items[0].asname is not None:
        return None
    call = node.items[0].item
    return call if isinstance(call, cst.Call) and source.meaning(call.func) == "torch.no_grad" and not call.args else None


def _decorated(code: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.FunctionDef)
        return node.with_changes(decorators=[*node.decorators, cst.Decorator(cst.parse_expression(code))])

    return change


def _wrapped(code: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        body = cst.IndentedBlock([node.with_changes(leading_lines=())])
        return cst.With([cst.WithItem(cst.parse_expression(code))], body, leading_lines=node.leading_lines)

    return change


EDIT = Edit(
    id="inference_mode",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A function or a loop evaluates a model, neither differentiates nor trains, and gives away only numbers.",
    unsafe_when="Tensors that evaluation makes are trained on later, or a module keeps what it computes.",
    changes="No number.",
)
