"""A run: one answer, or many cells of one, kept in a folder. `run.json` says what it is; each part is written once, whole.

    RUN/run.json                  what it is (`RunHead`)
    RUN/NAME.parquet              tables of the whole, for Polars, pandas, DuckDB
    RUN/parts/SLUG-HASH.json      finished parts: key → value
    RUN/parts/SLUG-HASH.NAME.parquet   tables of a part

Nothing in it is an absolute path, so a folder that was copied from elsewhere opens.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import polars as pl

from breakeven.errors import InputError
from breakeven.store.head import HEAD, RunHead, head_bytes, new_head, read_head
from breakeven.store.places import Place, place

_PARTS: Final = "parts"
_TABLE: Final = ".parquet"
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]*$")


class _PartFile(msgspec.Struct, frozen=True):
    """One file of finished parts.

    Attributes:
        parts: value of each key.
        tables: names of the tables beside it, with the SHA-256 of each file.
    """

    parts: dict[str, Any]  # any JSON value
    tables: dict[str, str] = {}
    schema: str = "breakeven/part/1"


@dataclass
class Run:
    """A run, open for reading, or for writing by one process at a time.

    Attributes:
        head: what `run.json` says.
        warnings: what could not be read, one sentence each.
    """

    head: RunHead
    warnings: list[str] = field(default_factory=list)
    _place: Place = field(kw_only=True)
    _held: ExitStack | None = field(default=None, kw_only=True)
    _known: dict[str, tuple[Any, str]] | None = field(default=None, kw_only=True)  # key → (JSON value, its file's stem)

    @property
    def path(self) -> str:
        """The folder or URL, as the user gave it."""
        return self._place.name

    def put(self, key: str, value: Any = None, tables: Mapping[str, pl.DataFrame] | None = None) -> None:
        """Keeps a finished part: all of it or nothing.

        Args:
            key: its name, any text; a part that is there already is replaced.
            value: anything that JSON can hold.
            tables: frames by name.

        Raises:
            InputError: it cannot be written.
        """
        stem, sums = _stem(key), {}
        for name, frame in (tables or {}).items():
            content = table_bytes(frame)
            self._write(f"{_PARTS}/{stem}.{_checked(name)}{_TABLE}", content)
            sums[name] = hashlib.sha256(content).hexdigest()
        self._write(f"{_PARTS}/{stem}.json", msgspec.json.encode(_PartFile({key: value}, sums)))
        self._parts()[key] = (_plain(value), stem)

    def put_many(self, values: Mapping[str, Any]) -> None:
        """Keeps many finished parts in one file: all of them or none. For values that are quickly made."""
        if values:
            stem = _stem("\n".join(values))
            self._write(f"{_PARTS}/{stem}.json", msgspec.json.encode(_PartFile(dict(values))))
            self._parts().update({key: (_plain(value), stem) for key, value in values.items()})

    def has(self, key: str) -> bool:
        """Whether this part is finished."""
        return key in self._parts()

    def get(self, key: str) -> Any:
        """A part's value as JSON made it.

        Raises:
            KeyError: there is no such part.
        """
        return self._parts()[key][0]

    def keys(self) -> tuple[str, ...]:
        """Every finished part, sorted."""
        return tuple(sorted(self._parts()))

    def tables(self, key: str) -> dict[str, pl.DataFrame]:
        """The tables of a part.

        Raises:
            KeyError: there is no such part.
            InputError: one is damaged.
        """
        stem = self._parts()[key][1]
        said = _decoded(self._place.read(f"{_PARTS}/{stem}.json"))
        found = {}
        for name, digest in (said.tables if said else {}).items():
            file = f"{_PARTS}/{stem}.{name}{_TABLE}"
            content = self._place.read(file)
            if content is None or hashlib.sha256(content).hexdigest() != digest:
                raise InputError(f"{self.path}: {file} is missing or was changed after it was written")
            found[name] = pl.read_parquet(io.BytesIO(content))
        return found

    def put_table(self, name: str, frame: pl.DataFrame) -> None:
        """Keeps a table of the whole run as `NAME.parquet`; one of that name is replaced."""
        self._write(f"{_checked(name)}{_TABLE}", table_bytes(frame))

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of the whole run; None: it has none of that name.

        Raises:
            InputError: the file is damaged.
        """
        content = self._place.read(f"{name}{_TABLE}")
        try:
            return None if content is None else pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{self.path}: {name}{_TABLE} is damaged: {str(error).splitlines()[0][:120]}") from error

    def table_names(self) -> tuple[str, ...]:
        """Names of the tables of the whole run."""
        return tuple(n.removesuffix(_TABLE) for n in self._place.names() if n.endswith(_TABLE))

    def put_file(self, name: str, content: bytes) -> None:
        """Keeps a file of the whole run, such as a page."""
        self._write(name, content)

    def file(self, name: str) -> bytes | None:
        """A file of the whole run; None: it has none of that name."""
        return self._place.read(name)

    def files(self) -> tuple[str, ...]:
        """Names of the files of the whole run."""
        return self._place.names()

    def finish(self) -> None:
        """Says that the run is complete, and lets go of it."""
        self.head = msgspec.structs.replace(self.head, finished=True)
        self._write(HEAD, head_bytes(self.head))
        self.close()

    def close(self) -> None:
        """Lets go of the folder, so that another process may write."""
        if self._held is not None:
            held, self._held = self._held, None
            held.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, name: str, content: bytes) -> None:
        if self._held is None:
            raise ValueError(f"{self.path} is open for reading")
        self._place.write(name, content)

    def _parts(self) -> dict[str, tuple[Any, str]]:
        if self._known is None:
            self._known = {}
            for stem, said in self._read_parts():
                for key, value in said.parts.items():
                    if key not in self._known or stem == _stem(key):  # a part of its own is newer than one among many
                        self._known[key] = (value, stem)
        return self._known

    def _read_parts(self) -> Iterator[tuple[str, _PartFile]]:
        for name in self._place.names(_PARTS):
            if name.endswith(".json"):
                said = _decoded(self._place.read(f"{_PARTS}/{name}"))
                if said is None:
                    self.warnings.append(f"{_PARTS}/{name} is damaged: what it held counts as not done")
                else:
                    yield name.removesuffix(".json"), said


def create(
    path: str, kind: str, *, title: str = "", settings: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None, machine: Mapping[str, Any] | None = None, resume: bool = False,
) -> Run:  # fmt: skip  # Any: JSON values
    """Begins a run, open for writing; close it, or use it in a `with`.

    Args:
        path: a folder that is not there or empty, or an fsspec URL.
        kind: the verb that makes it: `why`, `sweep`, …
        title: what it is about, for lists (the script's name).
        settings: what was asked; a run can only be resumed with the same.
        versions: of what took part.
        machine: where it was made.
        resume: go on with the run that is there; where there is none, begin it.

    Raises:
        InputError: something else is there, it was begun with other settings, another process writes to it, or it cannot be
            written.
    """
    where = place(path)
    asked = _plain(dict(settings or {}))
    if where.read(HEAD) is not None:
        if not resume:
            raise InputError(f"{path} holds a run already; --resume goes on with it, or choose another folder")
        run = open_run(path, write=True)
        _same(run, kind, asked)
        return run
    if where.taken():
        raise InputError(f"{path} is there already and holds no run; choose another folder")
    head = new_head(kind, title, asked, dict(versions or {}), _plain(dict(machine or {})))
    where.make({HEAD: head_bytes(head)})
    return open_run(path, write=True)


@dataclass(frozen=True)
class Whole:
    """What a run that is written at once holds.

    Attributes:
        parts: values by key (any JSON values).
        tables: tables of the whole by name.
        files: other files of the whole by name.
    """

    parts: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def write_run(
    path: str, kind: str, whole: Whole, *, title: str = "", settings: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None, machine: Mapping[str, Any] | None = None,
) -> RunHead:  # fmt: skip  # Any: JSON values
    """Writes a finished run at once: the folder appears with everything in it, or not at all.

    Raises:
        InputError: something is there already, or it cannot be written.
    """
    check_free(path)
    head = new_head(kind, title, _plain(dict(settings or {})), dict(versions or {}), _plain(dict(machine or {})))
    files = {f"{_PARTS}/{_stem(key)}.json": msgspec.json.encode(_PartFile({key: v})) for key, v in whole.parts.items()}
    files |= {f"{_checked(name)}{_TABLE}": table_bytes(frame) for name, frame in whole.tables.items()}
    files |= whole.files
    head = msgspec.structs.replace(head, finished=True)
    place(path).make({**files, HEAD: head_bytes(head)})
    return head


def check_free(path: str) -> None:
    """Makes sure, before any work is done, that a new run can be written there.

    Raises:
        InputError: something is there already, or nothing can be written there.
    """
    where = place(path)
    if where.read(HEAD) is not None:
        raise InputError(f"{path} holds a run already; choose another folder")
    if where.taken():
        raise InputError(f"{path} is there already and holds no run; choose another folder")
    where.check()


def open_run(path: str, *, write: bool = False) -> Run:
    """Opens a run that is there.

    Args:
        path: its folder or URL.
        write: hold it for writing; close it, or use it in a `with`.

    Raises:
        InputError: there is no run, a newer version wrote it, or (writing) another process writes to it.
    """
    where = place(path)
    head = read_head(where.read(HEAD), path)
    if not write:
        return Run(head, _place=where)
    held = ExitStack()
    held.enter_context(where.claim())
    return Run(read_head(where.read(HEAD), path), _place=where, _held=held)


def _same(run: Run, kind: str, asked: Mapping[str, Any]) -> None:
    """Makes sure that a run that is resumed was begun in the same way."""
    other = [key for key in {**run.head.settings, **asked} if run.head.settings.get(key) != asked.get(key)]
    if run.head.kind == kind and not other:
        return
    run.close()
    if run.head.kind != kind:
        raise InputError(f"{run.path} is a run of `{run.head.kind}`, not of `{kind}`; choose another folder")
    was, now = run.head.settings.get(other[0]), asked.get(other[0])
    raise InputError(f"{run.path} was begun with {other[0]} = {was!r}, now it is {now!r}; choose another folder")


def table_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as a Parquet file."""
    stream = io.BytesIO()
    frame.write_parquet(stream, compression="zstd")
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """The value as it comes back from JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _decoded(content: bytes | None) -> _PartFile | None:
    try:
        return None if content is None else msgspec.json.decode(content, type=_PartFile)
    except msgspec.DecodeError:
        return None


def _stem(key: str) -> str:
    """A file's name for a key: readable, and unlike that of any other key."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", key)[:40].strip("-") or "part"
    return f"{slug}-{hashlib.sha256(key.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"a table's name is letters, digits, - and _, not {name!r}")
    return name
