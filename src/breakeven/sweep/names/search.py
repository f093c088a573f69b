"""From a name that a person types to the one place in the script that holds the value; else what it could mean."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from breakeven.errors import InputError
from breakeven.sweep.names.assignments import arguments, constants, defaults, fields, locals_of_main
from breakeven.sweep.names.found import Found, Kind, plain
from breakeven.sweep.names.layers import layers
from breakeven.sweep.names.options import keys, options

#: Endings that people leave out: `batch` for `batch_size`.
_ENDINGS: Final = ("size", "dim", "dims", "units", "len", "length", "s", "steps")
#: Further names of the same thing.
_SAME: Final = {"batch": ("bs",), "batchsize": ("bs",), "hidden": ("nhid",), "seq": ("sequencelength",)}
_MOST_SHOWN: Final = 8


def bind(name: str, script: Path) -> Found:
    """The place that a parameter's name means in a script and the modules beside it that it imports.

    Args:
        name: as typed: `hidden`, `--hidden-size`, `BATCH`, `model.width`; `NAME@LINE` where a name stands on several lines.
        script: the script's file.

    Raises:
        InputError: no such name, or several places that it could mean; the message lists them.
    """
    wanted, _, line = name.partition("@")
    if not plain(wanted):
        raise InputError(f"--vary {name}: a parameter needs a name, as in --vary hidden=64,256")
    sources = _sources(script)
    found = _best(plain(wanted), sources)
    if line:
        if not line.isdigit():
            raise InputError(f"--vary {name}: after @ comes the line's number, as in {wanted}@31")
        found = [f for f in found if f.line == int(line)]
    if not found:
        raise InputError(f"--vary {wanted}: {script.name} has no parameter of that name{_near(plain(wanted), sources)}")
    if len(found) > 1:
        said = "; ".join(_said(f, script) for f in found[:_MOST_SHOWN])
        raise InputError(f"--vary {wanted} could mean {said}; name one as {wanted}@{found[0].line}")
    return _followed(found[0], sources)


def _followed(found: Found, sources: Sequence[tuple[str, ast.Module]]) -> Found:
    """The constant that an argument or a default only hands on: whatever else the script makes of it changes too."""
    if found.refers is None or found.kind in (Kind.OPTION, Kind.KEY):
        return found
    held = [f for file, tree in sources for f in constants(tree, file) if f.name == found.refers and not f.owner]
    return held[0] if len(held) == 1 else found


def candidates(script: Path) -> tuple[Found, ...]:
    """Everything in a script that could be varied: what an unknown name is told."""
    return tuple(f for file, tree in _sources(script) for f in _everything(tree, file) if f.today is None or _is_number(f))


def _is_number(found: Found) -> bool:
    return isinstance(found.today, (int, float)) and not isinstance(found.today, bool)


def _said(found: Found, script: Path) -> str:
    file = "" if Path(found.file) == script else f" in {Path(found.file).name}"
    return found.words.replace(")", f"{file})") if file else found.words


def _best(wanted: str, sources: Sequence[tuple[str, ast.Module]]) -> list[Found]:
    """What the name means: the very name before its longer forms, and those before what only layers say."""
    for names in (_exact(wanted), _longer(wanted), _alike(wanted)):
        found = [f for file, tree in sources for f in _named(tree, file, names)]
        if found:
            return _settled(found)
    found = [f for file, tree in sources for f in layers(tree, file, wanted)]
    return _once(found)


def _exact(wanted: str) -> frozenset[str]:
    return frozenset((wanted,))


def _longer(wanted: str) -> frozenset[str]:
    shorter = {wanted[: -len(e)] for e in _ENDINGS if wanted.endswith(e) and len(wanted) > len(e) + 2}
    return frozenset({wanted + ending for ending in _ENDINGS} | shorter | {f"n{wanted}", f"num{wanted}", f"{wanted}size"})


def _alike(wanted: str) -> frozenset[str]:
    return frozenset(s for group in ((k, *v) for k, v in _SAME.items()) if wanted in group for s in group) - {wanted}


def _named(tree: ast.Module, file: str, names: frozenset[str]) -> Iterator[Found]:
    for found in _everything(tree, file):
        bare = plain(found.name.rpartition(".")[2])
        if plain(found.name) in names or bare in names:
            yield found
    for name in names:
        yield from arguments(tree, file, name)


def _everything(tree: ast.Module, file: str) -> Iterator[Found]:
    for part in (options, keys, constants, fields, defaults, locals_of_main):
        yield from part(tree, file)


def _settled(found: list[Found]) -> list[Found]:
    """Leaves one where several lead to the same value, and what decides at run time where one is over the others.

    An option of the command line or a key of the configuration decides over constants and defaults. What only hands on a name
    that is itself among the found (`batch_size=BATCH`) is that name.
    """
    deciding = [f for f in found if f.kind in (Kind.OPTION, Kind.KEY)]
    if deciding:
        return _once(deciding)
    names = {f.name for f in found if f.kind in (Kind.CONSTANT, Kind.FIELD)}
    bound = {f.name for f in found if f.kind in (Kind.CONSTANT, Kind.FIELD, Kind.DEFAULT)}
    left = [f for f in found if f.refers is None or f.refers not in (names if f.kind == Kind.DEFAULT else bound)]
    return _joined(_once(left or found))


def _once(found: list[Found]) -> list[Found]:
    seen: dict[tuple[str, str, int], Found] = {}
    for one in found:
        seen.setdefault((one.file, one.name, one.line) if one.kind != Kind.LAYER else (one.file, one.owner, one.line), one)
    return list(seen.values())


def _joined(found: list[Found]) -> list[Found]:
    """Arguments of one call's name that all hold the same (`DataLoader(batch_size=BATCH)` twice) are set together."""
    alike = {(f.kind, f.owner, f.today, f.refers) for f in found}
    if len(found) > 1 and len(alike) == 1 and found[0].kind == Kind.ARGUMENT and (found[0].today or found[0].refers):
        return [replace(found[0], spans=tuple(s for f in found for s in f.spans))]
    return found


def _near(wanted: str, sources: Sequence[tuple[str, ast.Module]]) -> str:
    names = dict.fromkeys(
        f.name for file, tree in sources for f in _everything(tree, file) if _is_number(f) or f.kind in (Kind.OPTION, Kind.KEY)
    )
    if not names:
        return "; nothing in it could be varied by name"
    close = difflib.get_close_matches(wanted, [plain(n) for n in names], n=3, cutoff=0.5)
    order = sorted(names, key=lambda n: close.index(plain(n)) if plain(n) in close else len(close))
    return f"; it has {', '.join(order[: 2 * _MOST_SHOWN])}"


def _sources(script: Path) -> list[tuple[str, ast.Module]]:
    """The script, and the modules beside it that it imports, theirs too."""
    found: dict[Path, ast.Module] = {}
    waiting = [script]
    while waiting:
        path = waiting.pop(0).resolve()
        if path in found:
            continue
        try:
            found[path] = ast.parse(path.read_bytes(), str(path))
        except (OSError, SyntaxError, ValueError):
            continue
        waiting += [p for p in _beside(found[path], path) if p not in found]
    return [(str(path), tree) for path, tree in found.items()]


def _beside(tree: ast.Module, path: Path) -> Iterator[Path]:
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            inside = [f"{node.module}.{a.name}" if node.module else a.name for a in node.names]
            names = [*([node.module] if node.module else []), *inside]
        for name in names:
            for file in (path.parent / f"{name.replace('.', '/')}.py", path.parent / name.replace(".", "/") / "__init__.py"):
                if file.is_file():
                    yield file
