"""A loader makes its batches in two worker processes."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import dataset, is_on_device, loaders
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, with_argument
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.variables import variable

_WORKERS = "2"
_RANDOM = ("random.", "numpy.random.", "torch.rand", "torch.bernoulli", "torch.multinomial", "torch.normal")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Add `num_workers=2` where the data set is a class of this file that only reads, behind a guarded entry."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loader that makes its batches in the training process here"
    for loader in loaders(source, sites):
        workers = argument(loader, "num_workers", 5)
        if workers is not None and source.code(workers.value) != "0":
            continue
        objection = _objection(source, loader)
        if objection is None:
            changes[loader] = with_argument("num_workers", _WORKERS)
        else:
            reason = f"the loader at line {source.line(loader)} stays: {objection}"
    return source.changed(changes) if changes else Refused(reason)


def _objection(source: Source, loader: cst.Call) -> str | None:
    if not _is_guarded(source, loader):
        return "workers that are spawned would run the script again: it needs `if __name__ == '__main__':`"
    if argument(loader, "collate_fn") is not None or argument(loader, "timeout") is not None:
        return "it collates in its own way"
    workers = argument(loader, "num_workers", 5)
    if workers is not None and workers.keyword is None:
        return "its arguments have no names"
    data = dataset(source, loader)
    if data is None or not isinstance(data, cst.Call):
        return "it is not clear what its data set is"
    if is_on_device(source, data):
        return "its data may be on the device"
    owner = _owner(source, data)
    if owner is None:
        return "its data set is in memory or not in this file"
    for call in source.find(cst.Call, owner):
        if (source.meaning(call.func) or "").startswith(_RANDOM) or source.methods(
            "random_", "uniform_", "normal_", within=owner
        ):
            return f"its data set draws random numbers (line {source.line(call)}), which workers draw otherwise"
    for target in source.find(cst.AssignTarget, owner):
        function = source.function(target)
        keeps = any(isinstance(one, cst.Attribute) for one in (target.target, *target.target.children))
        if keeps and isinstance(function, cst.FunctionDef) and function.name.value != "__init__":
            return f"its data set keeps what it reads (line {source.line(target)})"
    return None


def _owner(source: Source, data: cst.Call) -> cst.ClassDef | None:
    found = variable(source, data.func) if isinstance(data.func, cst.Name) else None
    if found is None or len(found.stores) != 1 or not isinstance(found.stores[0], cst.ClassDef):
        return None
    owner = found.stores[0]
    return owner if isinstance(source.parents[owner], cst.Module) else None


def _is_guarded(source: Source, node: cst.CSTNode) -> bool:
    """Whether a piece of code runs only in the program itself: under the guard, or in a function."""
    for above in source.above(node):
        if isinstance(above, cst.If) and "__name__" in source.code(above.test):
            return True
        if isinstance(above, cst.FunctionDef):
            return any("__name__" in source.code(one.test) for one in source.find(cst.If))
    return False


EDIT = Edit(
    id="loader_workers",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="The data set is a class of this file that only reads, draws nothing at random and is on the host, and the "
    "script's entry is guarded.",
    unsafe_when="No core is free, or an item is so cheap that sending it from a worker costs more than making it.",
    changes="No number: the order of the batches stays.",
)
