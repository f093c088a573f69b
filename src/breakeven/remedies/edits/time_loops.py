"""Loops over time steps: which pieces of their body are the present slice of a sequence that stays as it is."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.values import is_tensor
from breakeven.remedies.edits.variables import inside, variable


@dataclass(frozen=True)
class TimeSlice:
    """The present slice of a sequence in a loop over time.

    Attributes:
        node: the expression in the loop's body.
        sequence: the code of the sequence, cut to the steps that the loop makes.
        dim: the dimension that is time: 0 or 1.
    """

    node: cst.BaseExpression
    sequence: str
    dim: int


def time_slices(source: Source, loop: cst.For) -> list[TimeSlice]:
    """All present slices in a loop's body, in the order of the text."""
    if isinstance(loop.iter, cst.Call) and source.meaning(loop.iter.func) == "range" and isinstance(loop.target, cst.Name):
        if len(loop.iter.args) != 1:
            return []
        found = [_indexed(source, loop, loop.target.value, node) for node in source.find(cst.Subscript, loop.body)]
        return [one for one in found if one is not None]
    return _iterated(source, loop)


def loop_variable(source: Source, loop: cst.For) -> str | None:
    """The name that counts the time steps, in `for t in range(...)`."""
    counts = isinstance(loop.iter, cst.Call) and source.meaning(loop.iter.func) == "range"
    return loop.target.value if counts and isinstance(loop.target, cst.Name) else None


def trains(source: Source, loop: cst.CSTNode) -> bool:
    """Whether parameters may change within a loop."""
    return bool(source.methods("step", "backward", "copy_", "data", within=loop))


def _indexed(source: Source, loop: cst.For, t: str, node: cst.Subscript) -> TimeSlice | None:
    if not isinstance(node.value, cst.Name) or _is_changed(source, loop, node.value):
        return None
    kinds = [_kind(source, element, t) for element in node.slice]
    dim = kinds.index("time") if kinds.count("time") == 1 else -1
    if dim not in (0, 1) or any(kind != "all" for k, kind in enumerate(kinds) if k != dim):
        return None
    if dim == 0 and not _is_sequence(source, node.value):
        return None
    assert isinstance(loop.iter, cst.Call)
    steps, name = source.code(loop.iter.args[0].value), node.value.value
    whole = steps.replace(" ", "") in (f"{name}.size({dim})", f"{name}.shape[{dim}]", f"len({name})" if dim == 0 else "")
    cut = name if whole else f"{name}[:{steps}]" if dim == 0 else f"{name}[:, :{steps}]"
    return TimeSlice(node, cut, dim)


def _iterated(source: Source, loop: cst.For) -> list[TimeSlice]:
    """The slices of `for x_t in x`, `for x_t in x.unbind(d)`, `for t, x_t in enumerate(x)`."""
    header: cst.BaseExpression = loop.iter
    target: cst.BaseExpression = loop.target
    if isinstance(header, cst.Call) and source.meaning(header.func) == "enumerate" and len(header.args) == 1:
        if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
            return []
        header, target = header.args[0].value, target.elements[1].value
    dim = 0
    if isinstance(header, cst.Call) and isinstance(header.func, cst.Attribute) and header.func.attr.value == "unbind":
        said = source.code(header.args[0].value) if header.args else "0"
        header, dim = header.func.value, int(said) if said in ("0", "1") else -1
    elif isinstance(header, cst.Name) and not _is_sequence(source, header):
        return []
    if dim < 0 or not isinstance(header, cst.Name) or not isinstance(target, cst.Name) or _is_changed(source, loop, header):
        return []
    found = variable(source, target)
    if found is None or len(inside(source, loop, found.stores)) != 1:
        return []
    return [TimeSlice(name, header.value, dim) for name in found.loads if source.holds(loop.body, name)]


def _kind(source: Source, element: cst.SubscriptElement, t: str) -> str:
    if isinstance(element.slice, cst.Index):
        return (
            "time" if source.code(element.slice.value) == t else "all" if source.code(element.slice.value) == "..." else "other"
        )
    if not isinstance(element.slice, cst.Slice):
        return "other"
    return "all" if element.slice.lower is None and element.slice.upper is None and element.slice.step is None else "other"


def _is_sequence(source: Source, name: cst.Name) -> bool:
    """Whether a name is a tensor rather than a list of them: it is asked for what only tensors have."""
    found = variable(source, name)
    if found is None:
        return False
    for load in found.loads:
        above = source.parents[load]
        if (
            isinstance(above, cst.Attribute)
            and above.value is load
            and above.attr.value in ("size", "device", "unbind", "new_zeros", "dim")
        ):
            return True
        if isinstance(above, cst.Attribute) and above.value is load and above.attr.value == "shape":
            return True
    return is_tensor(source, name)


def _is_changed(source: Source, loop: cst.For, name: cst.Name) -> bool:
    """Whether a sequence is bound anew or written to within a loop."""
    found = variable(source, name)
    if found is None or inside(source, loop, found.stores):
        return True
    for load in found.loads:
        if not source.holds(loop, load):
            continue
        above = source.parents[load]
        if isinstance(above, cst.Attribute) and above.attr.value.endswith("_"):
            return True
        if isinstance(above, cst.Subscript) and above.value is load:
            holder = source.parents[above]
            if isinstance(holder, cst.AssignTarget | cst.Del) or (isinstance(holder, cst.AugAssign) and holder.target is above):
                return True
    return False
