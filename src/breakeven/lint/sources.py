"""Files to look at: scripts, the Python files of packages, and the code cells of notebooks, as one text each."""

from __future__ import annotations

import os
import pathlib
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from breakeven.errors import InputError

#: Folders that hold no code of the user's.
_SKIPPED = {"__pycache__", "node_modules", "build", "dist", "site-packages", "venv", "env"}
_ENDINGS = (".py", ".ipynb")


@dataclass(frozen=True)
class Source:
    """A file's code. `places` maps a line of it to the cell and the line in the cell, for notebooks."""

    path: str
    text: str
    places: tuple[tuple[int, int], ...] = ()


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []


def find_files(paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """The files that some paths name: files as they are, folders with all beneath them but hidden ones and environments.

    Raises:
        InputError: a path names nothing, or a file that is neither a script nor a notebook.
    """
    found: dict[pathlib.Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_beneath(path))
        elif not path.exists():
            raise InputError(f"no such file or folder: {path}")
        elif path.suffix not in _ENDINGS:
            raise InputError(f"{path} is neither a Python file nor a notebook (.py, .ipynb)")
        else:
            found[path] = None
    return list(found)


def _beneath(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    for root, folders, names in os.walk(folder):
        here = pathlib.Path(root)
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and f not in _SKIPPED and not (here / f / "pyvenv.cfg").exists()
        )
        yield from (here / name for name in sorted(names) if name.endswith(_ENDINGS))


def read(path: pathlib.Path) -> Source:
    """The code of one file.

    Raises:
        InputError: it cannot be read as what its name says.
    """
    try:
        if path.suffix == ".ipynb":
            return _notebook(path)
        with tokenize.open(path) as file:
            return Source(str(path), file.read())
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text in the encoding that it names"
        raise InputError(f"{path}: {reason}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not a notebook: {error}") from error


def _notebook(path: pathlib.Path) -> Source:
    """The code cells one after the other; lines that are no Python (`%magic`, `!command`) become comments."""
    cells = msgspec.json.decode(path.read_bytes(), type=_Notebook).cells
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    for number, cell in enumerate(cells, 1):
        if cell.cell_type != "code":
            continue
        text = cell.source if isinstance(cell.source, str) else "".join(cell.source)
        foreign = text.lstrip().startswith("%%")
        for row, line in enumerate(text.splitlines(), 1):
            python = not foreign and not line.lstrip().startswith(("%", "!", "?"))
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(line if python else f"{indent}pass  # {line.lstrip()}")
            places.append((number, row))
    return Source(str(path), "\n".join(lines) + "\n", tuple(places))
