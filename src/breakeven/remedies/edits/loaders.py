"""Data loaders of a script: their arguments, the data set behind them, and what can be said about it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from breakeven.remedies.edits.answers import Sites
from breakeven.remedies.edits.rewriting import argument, has_stars
from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.values import is_device
from breakeven.remedies.edits.variables import bound, variable

_LOADER = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_MOVES = ("to", "cuda")


def loaders(source: Source, sites: Sites) -> Iterator[cst.Call]:
    """The loaders that are made in this file; a line may point to where one is made or to the loop over its batches."""
    made = [call for call in source.calls(*_LOADER) if not has_stars(call)]
    for call in made:
        if sites.touch(source.span(source.statement(call)), *(source.span(loop) for loop in loops_over(source, call))):
            yield call


def loops_over(source: Source, loader: cst.Call) -> list[cst.For]:
    """The loops over a loader's batches, as far as its name shows them."""
    statement = source.statement(loader)
    targets = [t for t in source.find(cst.Name, statement) if isinstance(source.parents[t], cst.AssignTarget | cst.Element)]
    found = [variable(source, name) for name in targets]
    loads = [load for one in found if one is not None for load in one.loads]
    loops = [loop for loop in source.find(cst.For) if any(source.holds(loop.iter, load) for load in loads)]
    return [*loops, *(loop for loop in source.find(cst.For) if source.holds(loop.iter, loader))]


def dataset(source: Source, loader: cst.Call) -> cst.BaseExpression | None:
    """The expression that makes a loader's data set, as far as a name leads back to one."""
    arg = argument(loader, "dataset", 0)
    return None if arg is None else origin(source, arg.value)


def origin(source: Source, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Where a value comes from: names followed back to the one expression that they are bound to."""
    for _ in range(12):
        if not isinstance(node, cst.Name):
            return node
        found = variable(source, node)
        if found is None or len(found.stores) != 1:
            return None
        value = bound(source, found.stores[0])
        if value is None:
            return _unpacked_split(source, found.stores[0])
        node = value
    return None


def _unpacked_split(source: Source, store: cst.CSTNode) -> cst.BaseExpression | None:
    """The `random_split(...)` that a name is unpacked from."""
    for above in source.above(store):
        if isinstance(above, cst.Assign):
            is_split = isinstance(above.value, cst.Call) and source.meaning(above.value.func) == "torch.utils.data.random_split"
            return above.value if is_split else None
        if isinstance(above, cst.SimpleStatementLine):
            return None
    return None


def is_on_device(source: Source, node: cst.CSTNode, depth: int = 6) -> bool:
    """Whether an expression, or a value that goes into it, is moved to a device."""
    for call in source.find(cst.Call, node):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "cuda":
            return True
        if (
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "to"
            and any(is_device(source, a.value) for a in call.args)
        ):
            return True
        if argument(call, "device") is not None:
            return True
    for name in source.find(cst.Name, node):
        value = origin(source, name) if depth and isinstance(source.scopes.get(name), object) else None
        if value is not None and value is not name and value is not node and is_on_device(source, value, depth - 1):
            return True
    return False


def moves(source: Source, loader: cst.Call) -> list[cst.Call]:
    """The calls that move a batch of a loader to a device, in the loops over it: `x.to(device)`, `x.cuda()`."""
    found: list[cst.Call] = []
    for loop in loops_over(source, loader):
        targets = {name.value for name in source.find(cst.Name, loop.target)}
        for call in source.methods(*_MOVES, within=loop.body):
            assert isinstance(call.func, cst.Attribute)
            receiver = call.func.value
            if not isinstance(receiver, cst.Name) or receiver.value not in targets:
                continue
            if call.func.attr.value == "cuda" or (call.args and is_device(source, call.args[0].value)):
                found.append(call)
    return found
