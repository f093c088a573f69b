"""Options of the command line: argparse, click, typer, absl; keys of Hydra and OmegaConf. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from breakeven.sweep.names.found import Found, Kind, Span, called, literal, referred

_DEFINES = re.compile(r"^DEFINE_(integer|float|string|bool|boolean|enum)$")
_KEY = re.compile(r"^(\s*)([A-Za-z_][\w-]*)\s*:\s*(.*?)\s*(?:#.*)?$")


def options(tree: ast.Module, file: str) -> Iterator[Found]:
    """Every option that the script declares, in the order of the source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _declared(node, file)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_typer(node, tree):
            yield from _typer_options(node, file)


def _declared(node: ast.Call, file: str) -> Iterator[Found]:
    name = called(node)
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if name in ("add_argument", "option"):
        flags = [t for t in texts if t.startswith("-")]
        longest = next((t for t in flags if t.startswith("--")), flags[0] if flags else None)
        if longest is not None and not _is_flag(node):
            default = _keyword(node, "default")
            yield Found(Kind.OPTION, longest.split("/")[0], file, node.lineno, (), literal(default), referred(default))
        elif not flags and texts and name == "add_argument":
            yield from _positional(node, texts[0], file)
    elif _DEFINES.match(name) and texts:
        default = node.args[1] if len(node.args) > 1 else _keyword(node, "default")
        yield Found(Kind.OPTION, f"--{texts[0]}", file, node.lineno, (), literal(default), referred(default))


def _positional(node: ast.Call, name: str, file: str) -> Iterator[Found]:
    """An argument without dashes that may be left out: its default is what can be set."""
    default = _keyword(node, "default")
    if default is not None and literal(default) is not None:
        span = Span.of(file, default)
        yield Found(Kind.DEFAULT, name, file, node.lineno, (span,), literal(default), None, called(node))


def _is_flag(node: ast.Call) -> bool:
    """An option that takes no value."""
    action, flag = literal(_keyword(node, "action")), literal(_keyword(node, "is_flag"))
    return bool(flag) or (isinstance(action, str) and action not in ("store", "append", "extend"))


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in node.keywords if k.arg == name), None)


def _is_typer(node: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> bool:
    """A command of a typer program, or the function that `typer.run` (or Fire) is given."""
    source = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    source |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    if "typer" in source and any(isinstance(d, ast.Call) and called(d) in ("command", "callback") for d in node.decorator_list):
        return True
    if not source & {"typer", "fire"}:
        return False
    runs = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n) in ("run", "Fire")]
    return any(isinstance(a, ast.Name) and a.id == node.name for call in runs for a in call.args)


def _typer_options(node: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Iterator[Found]:
    for argument, default in _defaults(node):
        value, name = default, f"--{argument.arg.replace('_', '-')}"
        if isinstance(default, ast.Call) and called(default) == "Option":
            value = default.args[0] if default.args else _keyword(default, "default") or default
            name = _given_name(default.args[1:]) or name
        elif isinstance(argument.annotation, ast.Subscript):  # Annotated[int, typer.Option("--name")]
            inner = [n for n in ast.walk(argument.annotation) if isinstance(n, ast.Call) and called(n) == "Option"]
            name = _given_name(inner[0].args) if inner and _given_name(inner[0].args) else name
        yield Found(Kind.OPTION, name, file, argument.lineno, (), literal(value), referred(value))


def _given_name(arguments: list[ast.expr]) -> str:
    texts = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return next((t for t in texts if t.startswith("--")), "")


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    positional = [*node.args.posonlyargs, *node.args.args]
    for argument, default in zip(reversed(positional), reversed(node.args.defaults), strict=False):
        yield argument, default
    for argument, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if keyword is not None:
            yield argument, keyword


def keys(tree: ast.Module, file: str) -> Iterator[Found]:
    """Keys that may be set as `key=value` on the command line: Hydra's configuration file, OmegaConf's dictionaries and files."""
    uses_cli = any(isinstance(n, ast.Attribute) and n.attr == "from_cli" for n in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "hydra.main":
                    yield from _hydra(decorator, file)
        elif uses_cli and isinstance(node, ast.Call) and ast.unparse(node.func) == "OmegaConf.create":
            yield from _dictionary(node.args[0] if node.args else None, file, "")
        elif uses_cli and isinstance(node, ast.Call) and ast.unparse(node.func) == "OmegaConf.load":
            path = literal(node.args[0]) if node.args else None
            if isinstance(path, str):
                yield from _yaml_keys(Path(path) if Path(path).is_absolute() else Path(file).parent / path)


def _hydra(decorator: ast.Call, file: str) -> Iterator[Found]:
    folder, name = literal(_keyword(decorator, "config_path")), literal(_keyword(decorator, "config_name"))
    if isinstance(name, str):
        base = Path(file).parent / (folder if isinstance(folder, str) else ".")
        yield from _yaml_keys(base / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"))


def _dictionary(node: ast.expr | None, file: str, above: str) -> Iterator[Found]:
    if not isinstance(node, ast.Dict):
        return
    for key, value in zip(node.keys, node.values, strict=True):
        name = literal(key) if key is not None else None
        if isinstance(name, str):
            if isinstance(value, ast.Dict):
                yield from _dictionary(value, file, f"{above}{name}.")
            else:
                yield Found(Kind.KEY, above + name, file, value.lineno, (), literal(value))


def _yaml_keys(path: Path) -> Iterator[Found]:
    """Keys of a YAML file by its indentation: enough for the plain nested mappings that configurations are."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    above: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        found = _KEY.match(line)
        if not found:
            continue
        depth, key, value = len(found[1]), found[2], found[3]
        above = [(d, k) for d, k in above if d < depth]
        if value and not value.startswith(("&", "|", ">")):
            yield Found(Kind.KEY, ".".join([*(k for _, k in above), key]), str(path), number, (), _scalar(value))
        else:
            above.append((depth, key))


def _scalar(text: str) -> int | float | bool | str | None:
    try:
        return literal(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return text
