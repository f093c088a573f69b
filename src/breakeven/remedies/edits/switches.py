"""Switches at the top of a script: one line of set-up after its imports."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused
from breakeven.remedies.edits.rewriting import after
from breakeven.remedies.edits.source import Change, Source

_IMPORTS = cst.Import | cst.ImportFrom


def switched_on(source: Source, code: str, needs: tuple[str, ...] = ("torch",), note: str = "") -> Edited | Refused:
    """Put a line after the imports; `code` names modules as `{torch}`, and those that are missing are imported.

    Args:
        source: the script.
        code: one line, a format string with the modules' names.
        needs: the modules.
        note: what to tell the user.
    """
    if "torch" in needs and not _imports_torch(source):
        return Refused("the file does not import torch at its top")
    names, missing = {}, []
    for module in needs:
        name = module_name(source, module)
        names[module] = name or module
        if name is None:
            if taken(source, module):
                return Refused(f"the name {module!r} stands for something else in this file")
            missing.append(f"import {module}\n")
    place = end_of_imports(source)
    if place is None:
        return Refused("the file has no imports at its top")
    return source.changed({place: after(source, "".join(missing) + "\n" + code.format(**names) + "\n")}, note)


def import_change(source: Source, module: str) -> dict[cst.CSTNode, Change] | None:
    """The change that imports a module at the top: none where it is there; None where its name stands for something else."""
    if module_name(source, module) is not None:
        return {}
    place = end_of_imports(source)
    if taken(source, module) or place is None:
        return None
    return {place: after(source, f"import {module}\n")}


def module_name(source: Source, module: str) -> str | None:
    """The name under which a module is imported at the top of the file, if it is and nothing else has that name."""
    for statement in source.module.body:
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if not isinstance(part, cst.Import):
                continue
            for alias in part.names:
                if source.code(alias.name).strip() == module or (
                    alias.asname is None and source.code(alias.name).startswith(module + ".")
                ):
                    name = source.code(alias.asname.name).strip() if alias.asname else module
                    return name if len(assigned(source, name)) == 0 else None
    return None


def assigned(source: Source, name: str) -> list[cst.CSTNode]:
    """Every place in the file that binds a name other than by importing it."""
    found: list[cst.CSTNode] = [n for n in source.find(cst.Name) if n.value == name and _is_target(source, n)]
    found += [n for n in source.find(cst.Param) if n.name.value == name]
    found += [n for n in source.find(cst.FunctionDef) if n.name.value == name]
    found += [n for n in source.find(cst.ClassDef) if n.name.value == name]
    return found


def _is_target(source: Source, name: cst.Name) -> bool:
    """Whether a name is bound where it stands: itself or within a tuple."""
    node: cst.CSTNode = name
    above = source.parents[node]
    while isinstance(above, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
        node, above = above, source.parents[above]
    if isinstance(above, cst.AssignTarget):
        return True
    return isinstance(above, cst.For | cst.CompFor | cst.NamedExpr | cst.AugAssign | cst.AnnAssign) and above.target is node


def taken(source: Source, name: str) -> bool:
    """Whether a name occurs anywhere in the file as a plain name."""
    attributes = {id(node.attr) for node in source.find(cst.Attribute)}
    keywords = {id(node.keyword) for node in source.find(cst.Arg) if node.keyword is not None}
    return any(n.value == name and id(n) not in attributes and id(n) not in keywords for n in source.find(cst.Name))


def fresh(source: Source, *wishes: str, taken: Collection[str] = ()) -> str:
    """The first of these names that the file does not use and nothing has taken; else one made from the first by a number."""
    used = {node.value for node in source.find(cst.Name)} | set(taken)
    for name in (*wishes, *(f"{wishes[0]}_{k}" for k in range(2, 1000))):
        if name not in used:
            return name
    raise AssertionError("a file does not use a thousand names of one stem")


def end_of_imports(source: Source) -> cst.SimpleStatementLine | cst.BaseCompoundStatement | None:
    """The last import of the leading run of imports at the top of the file; at least past the first import of torch."""
    last: cst.SimpleStatementLine | cst.BaseCompoundStatement | None = None
    seen_torch = not _imports_torch(source)
    for statement in source.module.body:
        is_import = isinstance(statement, cst.SimpleStatementLine) and any(isinstance(part, _IMPORTS) for part in statement.body)
        if is_import:
            assert isinstance(statement, cst.SimpleStatementLine)
            last = statement
            seen_torch = seen_torch or _is_torch(source, statement)
        elif isinstance(statement, cst.Try) and _sets_up(statement):
            last = statement
        elif seen_torch and last is not None and not _sets_up(statement):
            break
    return last


def _sets_up(statement: cst.CSTNode) -> bool:
    """Whether a statement among imports is their set-up (a docstring, a guarded import) rather than the script's own work."""
    if isinstance(statement, cst.Try):
        return any(isinstance(part, _IMPORTS) for line in statement.body.body if isinstance(line, cst.SimpleStatementLine)
                   for part in line.body)  # fmt: skip
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(part, cst.Expr) and isinstance(part.value, cst.SimpleString) for part in statement.body
    )


def _imports_torch(source: Source) -> bool:
    return any(isinstance(s, cst.SimpleStatementLine) and _is_torch(source, s) for s in source.module.body)


def _is_torch(source: Source, statement: cst.SimpleStatementLine) -> bool:
    for part in statement.body:
        if isinstance(part, cst.Import) and any(source.code(alias.name).split(".")[0].strip() == "torch" for alias in part.names):
            return True
        if (
            isinstance(part, cst.ImportFrom)
            and part.module is not None
            and source.code(part.module).split(".")[0].strip() == "torch"
        ):
            return True
    return False
