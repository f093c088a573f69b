"""An optimizer that walks over its parameters one by one gets its fused form, or its for-each form where it has no fused one."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, both, has_stars, with_argument, without_argument
from breakeven.remedies.edits.source import Change, Source

#: Optimizers with `fused=True` on the CPU and on CUDA: torch 2.4 and later (documentation of torch.optim, "Algorithms").
_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
_FOREACH = ("RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD", "Rprop", "Adafactor")
#: Arguments with which the fused form does not go together.
_AGAINST = ("differentiable",)


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Change the constructor; a line may point to it or to a step of an optimizer."""
    steps = [source.span(call) for call in source.methods("step")]
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no optimizer of torch.optim that could be fused is made here"
    for call in source.find(cst.Call):
        name = (source.meaning(call.func) or "").removeprefix("torch.optim.").split(".")[-1]
        if not (source.meaning(call.func) or "").startswith("torch.optim.") or name not in _FUSED + _FOREACH:
            continue
        if not sites.touch(source.span(source.statement(call)), *steps):
            continue
        why_not = _objection(source, call, name)
        if why_not is None:
            changes[call] = (
                both(without_argument("foreach"), with_argument("fused", "True"))
                if name in _FUSED
                else without_argument("foreach")
            )
        else:
            reason = why_not
    return source.changed(changes) if changes else Refused(reason)


def _objection(source: Source, call: cst.Call, name: str) -> str | None:
    """Why this optimizer stays as it is."""
    where = f"(line {source.line(call)})"
    if has_stars(call):
        return f"the optimizer's arguments come out of a dict {where}"
    fused, foreach = argument(call, "fused"), argument(call, "foreach")
    if fused is not None:
        return f"the script sets fused itself {where}"
    if name in _FOREACH and (foreach is None or source.code(foreach.value) != "False"):
        return f"{name} has no fused form, and its for-each form is not switched off {where}"
    if any(argument(call, word) is not None for word in _AGAINST):
        return f"a differentiable optimizer cannot be fused {where}"
    for other in source.find(cst.Arg):
        if other.keyword is not None and other.keyword.value == "sparse" and source.code(other.value) != "False":
            return f"gradients are sparse (line {source.line(other)}), which the fused form does not take"
    return None


EDIT = Edit(
    id="fused_optimizer",
    promise="tolerance",
    tolerance=1e-4,
    apply=apply,
    safe_when="An optimizer of torch.optim with readable arguments, dense gradients, not differentiable.",
    unsafe_when="Parameters that are complex or on a device without the fused form, and torch before 2.4.",
    changes="The same formula in one kernel: results differ by rounding.",
)
