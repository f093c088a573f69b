"""Compiling the model that a script trains: shared by the remedies that differ in the mode only."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused
from breakeven.remedies.edits.models import Model, models
from breakeven.remedies.edits.rewriting import after
from breakeven.remedies.edits.source import Change, Source

_AGAINST = (
    "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.jit.script", "torch.jit.trace", "copy.deepcopy",
    "torch.save", "torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.make_graphed_callables", "torch.func.functional_call",
)  # fmt: skip
_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "share_memory")


def compiled(source: Source, mode: str | None) -> Edited | Refused:
    """Put `model.compile()` after the line that makes or moves each trained model: parameters keep their names."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no model is made and trained in one function here"
    if compiles(source):
        return Refused("the script compiles already")
    for model in models(source):
        against = objection(source, model)
        if against is not None:
            reason = f"{model.name} stays: {against}"
            continue
        said = f'mode="{mode}"' if mode else ""
        changes[model.ready] = after(source, f"{model.name}.compile({said})\n")
    note = "The first steps take longer while the model is compiled: seconds to a minute."
    return source.changed(changes, note) if changes else Refused(reason)


def compiles(source: Source) -> bool:
    """Whether the script uses torch.compile already, as a call, a method or a decorator."""
    decorated = any(source.meaning(one.decorator) == "torch.compile" for one in source.find(cst.Decorator))
    return decorated or bool(source.calls("torch.compile") or source.methods("compile"))


def objection(source: Source, model: Model) -> str | None:
    """What in the script does not go together with compiling a model; None where nothing does."""
    for call in source.calls(*_AGAINST):
        whole = any(isinstance(arg.value, cst.Name) and arg.value.value == model.name for arg in call.args)
        if source.meaning(call.func) not in ("torch.save", "copy.deepcopy") or whole:
            return f"{source.code(call.func)} does not go together with it (line {source.line(call)})"
    for call in source.methods(*_HOOKS):
        return f"hooks on modules may be missed (line {source.line(call)})"
    for owner in model.classes:
        for read in source.methods("item", "tolist", "numpy", within=owner):
            return f"the model reads its tensors on the host (line {source.line(read)})"
        for node in source.calls("print", within=owner):
            return f"the model prints (line {source.line(node)})"
    return None
