"""The models that a script trains: where they are made, and which optimizer holds their parameters."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.values import made_by, module_class
from breakeven.remedies.edits.variables import Variable, bound, variable


@dataclass(frozen=True)
class Model:
    """A model whose parameters an optimizer of the same function holds.

    Attributes:
        name: its name.
        found: its variable.
        makers: the calls that make it.
        ready: the last line that binds or moves it before it trains, which set-up can follow.
        classes: the classes of this file that it and its parts may be of.
    """

    name: str
    found: Variable
    makers: tuple[cst.Call, ...]
    ready: cst.SimpleStatementLine
    classes: tuple[cst.ClassDef, ...]


def models(source: Source) -> list[Model]:
    """The models of a file, in the order of the text."""
    made: dict[cst.CSTNode, Model] = {}
    for call in source.methods("parameters"):
        assert isinstance(call.func, cst.Attribute)
        name = call.func.value
        holder = next((one for one in source.above(call) if isinstance(one, cst.Call)), None)
        if not isinstance(name, cst.Name) or holder is None or not (source.meaning(holder.func) or "").startswith("torch.optim."):
            continue
        found = variable(source, name)
        makers = made_by(source, name)
        ready = _ready(source, found) if found is not None and makers else None
        if found is not None and ready is not None and found.stores[0] not in made:
            made[found.stores[0]] = Model(name.value, found, tuple(makers), ready, _classes(source))
    return list(made.values())


def _ready(source: Source, found: Variable) -> cst.SimpleStatementLine | None:
    """The last line that binds the model, in one block with all the others."""
    lines = [source.statement(store) for store in found.stores if bound(source, store) is not None]
    if len(lines) != len(found.stores) or any(source.loops(line) for line in lines):
        return None
    if len({source.parents[line] for line in lines}) != 1:
        return None
    last = max(lines, key=source.line)
    moved = [source.statement(load) for load in found.loads if _moves(source, load)]
    later = [line for line in moved if source.parents[line] is source.parents[last] and source.line(line) > source.line(last)]
    end = max([last, *later], key=source.line)
    return end if isinstance(end, cst.SimpleStatementLine) and len(end.body) == 1 else None


def _moves(source: Source, load: cst.Name) -> bool:
    """Whether a reading is the line `model.to(device)` or the like."""
    attribute = source.parents[load]
    call = source.parents[attribute] if isinstance(attribute, cst.Attribute) else None
    moves = isinstance(attribute, cst.Attribute) and attribute.attr.value in ("to", "cuda", "float", "double", "half")
    return moves and call is not None and isinstance(source.parents[call], cst.Expr)


def _classes(source: Source) -> tuple[cst.ClassDef, ...]:
    return tuple(one for one in source.find(cst.ClassDef) if module_class(source, one.name) is not None)
