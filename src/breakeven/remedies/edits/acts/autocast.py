"""The forward pass and the loss run under autocast with bfloat16."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.models import models
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.switches import module_name
from breakeven.remedies.edits.values import is_device
from breakeven.remedies.edits.variables import bound, names, variable


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Put the lines of a step from the first call of the model to the loss into a `with torch.autocast(...)`."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    if source.calls("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"):
        return Refused("the script uses autocast already")
    device = _device(source)
    if device is None:
        return Refused("the device that the script trains on has no plain name")
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no step of the form loss = …; loss.backward() with a model made here"
    trained = {model.name for model in models(source)}
    for call in source.methods("backward"):
        assert isinstance(call.func, cst.Attribute)
        line, block = source.statement(call), source.block(source.statement(call))
        loops = source.loops(call)
        if block is None or not loops or block is not loops[0].body or not isinstance(call.func.value, cst.Name):
            continue
        first = _first_use(source, block, trained)
        last = _last_bound(source, block, call.func.value)
        if first is None or last is None or not first <= last < list(block.body).index(line):
            continue
        if not sites.touch(source.span(loops[0])):
            continue
        group = block.body[first : last + 1]
        if any(source.methods("step", "zero_grad", "backward", within=one) for one in group[1:]):
            reason = f"the optimizer works between the model and the loss (line {source.line(group[0])})"
            continue
        changes[block] = _grouped(first, last, f"{torch}.autocast({device}, dtype={torch}.bfloat16)")
    return source.changed(changes, at=()) if changes else Refused(reason)


def _device(source: Source) -> str | None:
    """Code for the device's type."""
    for name in source.find(cst.Name):
        if name.value in ("device", "dev", "DEVICE") and is_device(source, name):
            found = variable(source, name)
            values = [bound(source, store) for store in found.stores] if found is not None else []
            made = [v for v in values if v is not None]
            if not made or len(made) != len(values):
                continue
            if all(isinstance(v, cst.Call) for v in made):
                return f"{name.value}.type"
            return (
                name.value
                if all(isinstance(v, cst.SimpleString | cst.IfExp) for v in made) and ":" not in "".join(map(source.code, made))
                else None
            )
    for call in source.methods("to", "cuda"):
        assert isinstance(call.func, cst.Attribute)
        if call.func.attr.value == "cuda" or (call.args and source.code(call.args[0].value).strip("'\"") == "cuda"):
            return '"cuda"'
    return None


def _first_use(source: Source, block: cst.IndentedBlock | cst.Module, trained: set[str]) -> int | None:
    for place, line in enumerate(block.body):
        if any(isinstance(call.func, cst.Name) and call.func.value in trained for call in source.find(cst.Call, line)):
            return place if isinstance(line, cst.SimpleStatementLine) else None
    return None


def _last_bound(source: Source, block: cst.IndentedBlock | cst.Module, loss: cst.Name) -> int | None:
    last = None
    for place, line in enumerate(block.body):
        bound_here = [
            n
            for n in names(source, line)
            if n.value == loss.value and isinstance(source.parents[n], cst.AssignTarget | cst.AugAssign)
        ]
        if bound_here and source.line(line) < source.line(loss):
            last = place if isinstance(line, cst.SimpleStatementLine) else None
    return last


def _grouped(first: int, last: int, code: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.IndentedBlock)
        head, *rest = node.body[first : last + 1]
        assert isinstance(head, cst.SimpleStatementLine)
        body = cst.IndentedBlock([head.with_changes(leading_lines=()), *rest])
        block = cst.With([cst.WithItem(cst.parse_expression(code))], body, leading_lines=head.leading_lines)
        return node.with_changes(body=[*node.body[:first], block, *node.body[last + 1 :]])

    return change


EDIT = Edit(
    id="autocast",
    promise="changes_mathematics",
    tolerance=None,
    apply=apply,
    safe_when="A loop calls the model, makes the loss and goes backward on lines of its own.",
    unsafe_when="The loss is sensitive to bfloat16's three decimal figures, or the GPU is older than Ampere.",
    changes="Products and convolutions are computed in bfloat16: judge it by the loss at equal time.",
)
