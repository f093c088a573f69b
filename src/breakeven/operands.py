"""Which names on a running line of the user's code hold things that lie on a device, and where each got what it holds.

It reads the line's source and the values of plain names and attributes in it; nothing of the line is run again. What it does not
see: values that have no name (an index, the result of a call inside of the line), and code without source.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Final

from breakeven.foreign import attempt

#: Says on which device a thing lies; None: on none that matters.
Placed = Callable[[object], str | None]

#: Frames that are looked through for where an argument came from.
_CALLERS: Final = 8
#: Tables in which a module of PyTorch keeps its parts by name.
_PARTS: Final = ("_parameters", "_buffers", "_modules")
#: What names a tensor or a module in a module by a string.
_REGISTERING: Final = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


@dataclass(frozen=True)
class Operand:
    """A thing with a name.

    Attributes:
        name: as the line has it, such as `self.hidden`.
        device: that it lies on.
        file: where it got what it holds; None: not found.
        line: from 1; None: not found.
    """

    name: str
    device: str
    file: str | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        """The line, stripped."""
        return linecache.getline(self.file, self.line).strip() if self.file and self.line else ""


def operands(frame: FrameType, line: int, placed: Placed, is_users: Callable[[str], bool]) -> tuple[Operand, ...]:
    """The operands on a line, in the order they are written, each once.

    Args:
        frame: that runs, or was left by an error in, the line.
        line: from 1.
        placed: says where a thing lies.
        is_users: whether a file is the user's own.
    """
    file = frame.f_code.co_filename
    tree = _tree(file, frame)
    found: dict[str, Operand] = {}
    for expression in _expressions(tree, line) if tree is not None else ():
        for chain in _chains(expression):
            named = _first_placed(frame, chain, placed)
            if named is not None and named[0] not in found:
                name, value, device = named
                where = _made(frame, name, value, line, is_users)
                found[name] = Operand(name, device, *(where or (None, None)))
    return tuple(found.values())


def in_words(found: tuple[Operand, ...]) -> str:
    """The operands by device, with the line that made each; empty where fewer than two devices are among them.

    >>> in_words((Operand("x", "cuda:0", "a.py", 3), Operand("h", "cpu", "a.py", 9)))
    'x (line 3) on cuda:0, h (line 9) on cpu'
    """
    devices = list(dict.fromkeys(one.device for one in found))
    if len(devices) < 2:
        return ""
    groups = (
        (", ".join(f"{one.name} (line {one.line})" if one.line else one.name for one in found if one.device == device), device)
        for device in devices
    )
    return ", ".join(f"{names} on {device}" for names, device in groups)


def _tree(file: str, frame: FrameType) -> ast.Module | None:
    source = "".join(linecache.getlines(file, frame.f_globals))
    parsed = attempt(lambda: ast.parse(source))  # it was compiled once; a file may have been changed since
    return parsed.value if source else None


def _expressions(tree: ast.Module, line: int) -> Iterator[ast.AST]:
    """Of the innermost statement that holds the line: all of a simple one, the head of one with a body."""
    holding = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    if not holding:
        return
    innermost = max(holding, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)))
    yield from (child for child in ast.iter_child_nodes(innermost) if not isinstance(child, ast.stmt))


def _chains(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Names with their attributes, such as ("self", "hidden"), as they are read, from left to right."""
    chain = _chain(node)
    if chain is not None:
        if isinstance(getattr(node, "ctx", None), ast.Load):
            yield chain
        return
    if isinstance(node, ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _chains(child)


def _chain(node: ast.AST) -> tuple[str, ...] | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        before = _chain(node.value)
        return None if before is None else (*before, node.attr)
    return None


def _first_placed(frame: FrameType, chain: tuple[str, ...], placed: Placed) -> tuple[str, object, str] | None:
    """The longest beginning of a chain that lies on a device."""
    for length in range(len(chain), 0, -1):
        value = _value(frame, chain[:length])
        device = None if value is None else placed(value)
        if device is not None:
            return ".".join(chain[:length]), value, device
    return None


def _value(frame: FrameType, chain: tuple[str, ...]) -> object | None:
    scope = frame.f_locals if chain[0] in frame.f_locals else frame.f_globals
    value = scope.get(chain[0])
    for name in chain[1:]:
        value = _held(value, name)
    return value


def _held(owner: object, name: str) -> object | None:
    """What an object itself holds under a name, its own tables of parts included; no code of its class is run."""
    try:
        own: Mapping[str, object] = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
    if name in own:
        return own[name]
    return next((table[name] for table in map(own.get, _PARTS) if isinstance(table, dict) and name in table), None)


def _made(
    frame: FrameType | None, name: str, value: object, line: int, is_users: Callable[[str], bool]
) -> tuple[str, int] | None:
    """The line that gave a name what it holds; for an argument, that of the caller's name for the same thing."""
    for _ in range(_CALLERS):
        if frame is None:
            return None
        found = _assigned(frame, name, line)
        if found is not None:
            return frame.f_code.co_filename, found
        frame = frame.f_back
        while frame is not None and (not is_users(frame.f_code.co_filename) or (held := _name_of(frame, value)) is None):
            frame = frame.f_back
        if frame is not None and held is not None:
            name, line = held, frame.f_lineno
    return None


def _name_of(frame: FrameType, value: object) -> str | None:
    return next((name for name, held in list(frame.f_locals.items()) if held is value and name.isidentifier()), None)


def _assigned(frame: FrameType, name: str, line: int) -> int | None:
    """The last assignment of a name before a line in its function, else the last one in it (a loop comes round again)."""
    code = frame.f_code
    tree = _tree(code.co_filename, frame)
    if tree is None:
        return None
    own = name.startswith("self.") and name.count(".") == 1
    local = "." in name or name in frame.f_locals
    scope: ast.AST = tree
    if own:
        scope = _around(tree, ast.ClassDef, code.co_firstlineno) or tree
    elif local and code.co_name != "<module>":
        scope = _around(tree, (ast.FunctionDef, ast.AsyncFunctionDef), code.co_firstlineno) or tree
    deep = own or "." in name
    lines = sorted({at for target, at in _targets(scope, deep) if target == name})
    if own or not lines:  # an attribute may be set by a method that stands further below
        return next(iter(lines), None)
    return max((at for at in lines if at < line), default=lines[-1])


def _around(tree: ast.Module, kind: type[ast.AST] | tuple[type[ast.AST], ...], line: int) -> ast.AST | None:
    """The innermost definition that holds a line."""
    nodes = [n for n in ast.walk(tree) if isinstance(n, kind) and _begin(n) <= line <= (getattr(n, "end_lineno", None) or 0)]
    return max(nodes, key=_begin, default=None)


def _begin(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", [])
    return int(min([getattr(node, "lineno", 0), *(d.lineno for d in decorators)]))


def _targets(scope: ast.AST, deep: bool) -> Iterator[tuple[str, int]]:
    """What is assigned to in a scope, each with its line; loops and `with … as` count too.

    Args:
        scope: a module or a definition.
        deep: in the definitions inside of it as well.
    """
    for node in ast.walk(scope) if deep else _shallow(scope):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            chain = _chain(node)
            if chain is not None:
                yield ".".join(chain), node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REGISTERING and node.args:
            owner, named = _chain(node.func.value), node.args[0]
            if owner is not None and isinstance(named, ast.Constant) and isinstance(named.value, str):
                yield ".".join((*owner, named.value)), node.lineno


def _shallow(scope: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _shallow(child)
