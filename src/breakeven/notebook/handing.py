"""Hands a cell to a child as a script: the session's definitions as source, its data as one pickle, the cell as it stands.

The session is only read. What it cannot hand over: what cannot be pickled (open files, running generators); that is said by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from breakeven.errors import InputError
from breakeven.notebook.names import definition, needed

EARLIER: Final = "earlier_cells.py"
DATA: Final = "session.pt"
CELL: Final = "cell.py"

# One line, in the place of the magic's own, so that lines of the script are lines of the cell.
_FIRST: Final = (
    "import sys as _s; _s.path[:0] = [{cwd!r}]; exec(compile(open({earlier!r}, encoding='utf-8').read(), {earlier!r}, 'exec'))"
)


@dataclass
class Handed:
    """What a cell needs of the session.

    Attributes:
        imports: lines that import modules and what libraries define.
        sources: definitions of earlier cells, by name, in the order in which they have to stand.
        data: everything else, by name.
    """

    imports: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # the session's variables


def gather(cell: str, session: Mapping[str, Any], cells: Sequence[str]) -> Handed:  # the session's variables
    """Follow the names that a cell needs through the session.

    Args:
        cell: its source.
        session: the session's variables.
        cells: sources of the cells that ran before, oldest first.
    """
    handed = Handed()
    seen: set[str] = set()
    for name in sorted(needed(cell)):
        _follow(name, session, cells, handed, seen)
    _classes_of_data(session, cells, handed, seen)
    return handed


def write(folder: Path, cell: str, handed: Handed) -> Path:
    """Write the script; where it lies.

    Raises:
        InputError: a variable cannot be pickled.
    """
    import torch

    earlier = folder / EARLIER
    lines = [*handed.imports, *handed.sources.values()]
    if handed.data:
        try:
            torch.save(handed.data, folder / DATA)
        except Exception as error:  # whatever the user's objects raise when they are pickled
            raise InputError(_unpicklable(handed.data, error)) from error
        lines += ["import torch as _t", f"globals().update(_t.load({str(folder / DATA)!r}, weights_only=False))"]
    earlier.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script = folder / CELL
    first = _FIRST.format(cwd=os.getcwd(), earlier=str(earlier))
    script.write_text(f"{first}\n{cell}\n", encoding="utf-8")
    return script


def _follow(name: str, session: Mapping[str, Any], cells: Sequence[str], handed: Handed, seen: set[str]) -> None:
    if name in seen or name not in session:
        return
    seen.add(name)
    value = session[name]
    if isinstance(value, ModuleType):
        handed.imports.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
        return
    module = getattr(value, "__module__", None)
    own = getattr(value, "__qualname__", None)
    if isinstance(value, type) or (callable(value) and isinstance(own, str)):
        if module == "__main__" and isinstance(own, str):
            source = definition(own, cells)
            if source is not None:
                for used in sorted(needed(source)):
                    _follow(used, session, cells, handed, seen)
                handed.sources[own] = source
                if own != name:
                    handed.sources[name] = f"{name} = {own}"
                return
        elif isinstance(own, str) and own.isidentifier() and getattr(sys.modules.get(str(module)), own, None) is value:
            handed.imports.append(f"from {module} import {own} as {name}")
            return
    handed.data[name] = value


def _classes_of_data(session: Mapping[str, Any], cells: Sequence[str], handed: Handed, seen: set[str]) -> None:
    """The session's classes that the data are made of: pickles name them only."""
    import pickle

    class Looking(pickle.Pickler):
        def __init__(self) -> None:
            super().__init__(_Nowhere())
            self.found: set[str] = set()

        def reducer_override(self, thing: Any) -> Any:  # whatever is pickled
            kind = thing if isinstance(thing, type) else type(thing)
            for one in (kind, thing):
                if getattr(one, "__module__", None) == "__main__" and isinstance(getattr(one, "__qualname__", None), str):
                    self.found.add(one.__qualname__)
            return NotImplemented

    looking = Looking()
    for value in handed.data.values():
        try:
            looking.dump(value)
        except Exception:  # noqa: BLE001  # what cannot be pickled is said when it is written
            continue
    for name in sorted(looking.found):
        _follow(name, session, cells, handed, seen)


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)


def _unpicklable(data: Mapping[str, Any], error: Exception) -> str:
    import pickle

    for name, value in data.items():
        try:
            pickle.dump(value, _Nowhere())
        except Exception as own:  # noqa: BLE001  # as above
            said = str(own).splitlines()[0] if str(own) else type(own).__name__
            return f"the variable {name!r} cannot be handed to another process ({said}): make it inside of the cell"
    return f"the cell's variables cannot be handed to another process: {error}"
