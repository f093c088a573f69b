"""Values in the source: module constants, function defaults, dataclass fields, arguments of calls (`DataLoader(batch_size=)`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from breakeven.sweep.names.found import Found, Kind, Span, called, literal, plain, referred

Function = ast.FunctionDef | ast.AsyncFunctionDef


def constants(tree: ast.Module, file: str) -> Iterator[Found]:
    """`NAME = value` in a module's body, also inside `if` and `try` there, and in the body of a plain class."""
    for body, owner in _bodies(tree):
        for node in body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            for target in targets:
                yield from _assigned(target, value, file, owner)


def _assigned(target: ast.expr, value: ast.expr | None, file: str, owner: str) -> Iterator[Found]:
    if isinstance(target, ast.Name) and value is not None and _may_be_set(value):
        span = Span.of(file, value)
        yield Found(Kind.CONSTANT, target.id, file, value.lineno, (span,), literal(value), referred(value), owner)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, part, file, owner)


def _may_be_set(value: ast.expr) -> bool:
    """A number or text, or arithmetic on such; not an object that something makes."""
    if literal(value) is not None:
        return True
    if isinstance(value, ast.Call):
        return called(value) in ("int", "float", "get", "getenv", "min", "max", "round")
    return isinstance(value, (ast.BinOp, ast.IfExp, ast.Name))


def _bodies(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], str]]:
    waiting: list[tuple[list[ast.stmt], str]] = [(tree.body, "")]
    while waiting:
        body, owner = waiting.pop(0)
        yield body, owner
        for node in body:
            if isinstance(node, ast.If):
                waiting += [(node.body, owner), (node.orelse, owner)]
            elif isinstance(node, ast.Try):
                waiting += [(node.body, owner), *((h.body, owner) for h in node.handlers)]
            elif isinstance(node, ast.With):
                waiting.append((node.body, owner))
            elif isinstance(node, ast.ClassDef) and not is_dataclass(node):
                waiting.append((node.body, node.name))


def locals_of_main(tree: ast.Module, file: str) -> Iterator[Found]:
    """`name = value` at the head of a function, where it is assigned once: what a `main` holds instead of constants."""
    for function in [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]:
        names: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                names.setdefault(node.targets[0].id, []).append(node.value)
        for name, values in names.items():
            if len(values) == 1 and literal(values[0]) is not None:
                value = values[0]
                span = Span.of(file, value)
                yield Found(Kind.CONSTANT, name, file, value.lineno, (span,), literal(value), None, function.name)


def fields(tree: ast.Module, file: str) -> Iterator[Found]:
    """Fields of dataclasses and their like with a default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and is_dataclass(node):
            for part in node.body:
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value is not None:
                    value = _field_default(part.value)
                    span = Span.of(file, value)
                    yield Found(
                        Kind.FIELD, part.target.id, file, value.lineno, (span,), literal(value), referred(value), node.name
                    )


def _field_default(value: ast.expr) -> ast.expr:
    """`field(default=3)` holds its value inside."""
    if isinstance(value, ast.Call) and called(value) in ("field", "Field", "ib", "attrib"):
        inner = next((k.value for k in value.keywords if k.arg == "default"), None)
        return inner or (value.args[0] if value.args and called(value) == "Field" else value)
    return value


def is_dataclass(node: ast.ClassDef) -> bool:
    """A class whose annotated names are fields: dataclass, attrs, pydantic, NamedTuple."""
    decorators = {ast.unparse(d.func if isinstance(d, ast.Call) else d).split(".")[-1] for d in node.decorator_list}
    bases = {ast.unparse(b).split(".")[-1] for b in node.bases}
    return bool(decorators & {"dataclass", "define", "frozen", "attrs", "s", "configclass", "chz"}) or bool(
        bases & {"BaseModel", "BaseSettings", "NamedTuple", "TrainingArguments"}
    )


def defaults(tree: ast.Module, file: str) -> Iterator[Found]:
    """Defaults of parameters, where some call of the file leaves them as they are (or none calls it here)."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    for owner, function in _functions(tree):
        arguments = [*function.args.posonlyargs, *function.args.args]
        first = len(arguments) - len(function.args.defaults)
        here = [c for c in calls if called(c) == owner]
        pairs: list[tuple[int | None, ast.arg, ast.expr]] = [
            (at, arguments[at], value) for at, value in enumerate(function.args.defaults, start=first)
        ]
        pairs += [(None, a, v) for a, v in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if v is not None]
        bound = bool(arguments) and arguments[0].arg in ("self", "cls")
        for at, argument, value in pairs:
            place = None if at is None else at - bound
            if not here or any(not _gives(c, argument.arg, place) for c in here):
                span = Span.of(file, value)
                yield Found(Kind.DEFAULT, argument.arg, file, value.lineno, (span,), literal(value), referred(value), owner)


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions with the name that they are called by: a class's `__init__` by its class's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield (node.name if method.name == "__init__" else method.name), method
        elif isinstance(node, ast.Module):
            for part in ast.walk(node):
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _is_method(part, tree):
                    yield part.name, part


def _is_method(function: Function, tree: ast.Module) -> bool:
    return any(isinstance(n, ast.ClassDef) and function in n.body for n in ast.walk(tree))


def _gives(call: ast.Call, name: str, place: int | None) -> bool:
    """Whether a call hands over this argument."""
    if any(k.arg is None or k.arg == name for k in call.keywords):
        return True
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    return starred or (place is not None and len(call.args) > place)


def arguments(tree: ast.Module, file: str, wanted: str) -> Iterator[Found]:
    """Arguments of calls by this name, with a value that is written out or taken from a name."""
    defined = {owner: _positions(function) for owner, function in _functions(tree)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg is not None and plain(keyword.arg) == wanted and _may_be_argument(keyword.value):
                yield _argument(keyword.arg, keyword.value, file, called(node))
        yield from _by_place(node, defined.get(called(node), ()), file, wanted)
        if called(node) == "DataLoader" and wanted == "batchsize" and len(node.args) > 1:
            yield _argument("batch_size", node.args[1], file, called(node))


def _positions(function: Function) -> tuple[str, ...]:
    """Names of the arguments that a call gives by their place."""
    names = tuple(a.arg for a in (*function.args.posonlyargs, *function.args.args))
    return names[1:] if names[:1] in (("self",), ("cls",)) else names


def _by_place(call: ast.Call, names: tuple[str, ...], file: str, wanted: str) -> Iterator[Found]:
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            return
        if plain(name) == wanted and _may_be_argument(value):
            yield _argument(name, value, file, called(call))


def _may_be_argument(value: ast.expr) -> bool:
    return literal(value) is not None or isinstance(value, (ast.Name, ast.Attribute, ast.BinOp))


def _argument(name: str, value: ast.expr, file: str, owner: str) -> Found:
    return Found(Kind.ARGUMENT, name, file, value.lineno, (Span.of(file, value),), literal(value), referred(value), owner)
