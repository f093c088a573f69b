"""OpStream: what the host asked for, in issue order, with no clock.

Distinct calls are kept once (`calls`) and the order as positions into them (`rows`), so that a loop of a million
time steps stays small and a price is worked out once per distinct call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl

from breakeven.timeline import schema


@dataclass(frozen=True)
class Site:
    """A line of the user's source."""

    file: str
    line: int
    text: str = ""
    function: str = ""


@dataclass(frozen=True)
class OpStream:
    """Frozen table of operations.

    Attributes:
        calls: columns `schema.CALLS`, each distinct call once.
        rows: columns `schema.ROWS`, issue order.
        sites: source lines that rows refer to.
        steps: number of recorded steps (rows of all of them follow each other).
        unit: `step`, `loop` or `run`.
        batch: samples per step where known (leading dimension of what enters the model), else None.
        warnings: what the recording could not do, one sentence each.
    """

    calls: pl.DataFrame
    rows: pl.DataFrame
    sites: tuple[Site, ...] = ()
    steps: int = 1
    unit: str = "step"
    batch: int | None = None
    warnings: tuple[str, ...] = ()

    def table(self) -> pl.DataFrame:
        """Rows and calls joined: one wide row per operation, issue order."""
        calls = self.calls.with_row_index(schema.ROW_CALL.name).with_columns(pl.col(schema.ROW_CALL.name).cast(pl.Int32))
        return self.rows.join(calls, on=schema.ROW_CALL.name, how="left", maintain_order="left")

    @classmethod
    def from_columns(
        cls, calls: Sequence[Call], rows: Mapping[schema.Column, pl.Series], *, sites: Sequence[Site] = (), steps: int = 1,
        unit: str = "step", batch: int | None = None, warnings: Sequence[str] = (),
    ) -> OpStream:  # fmt: skip
        """A stream from whole columns, for recordings of millions of rows; `rows` has every column of `schema.ROWS`."""
        table = pl.DataFrame([rows[column].cast(column.dtype).alias(column.name) for column in schema.ROWS])
        return cls(call_table(calls), table, tuple(sites), steps, unit, batch, tuple(warnings))

    def __len__(self) -> int:
        return self.rows.height


@dataclass(frozen=True)
class Call:
    """One distinct call, as the builder takes it; hashable, so that equal calls are kept once."""

    op: str
    kind: str
    device: str
    inputs: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] = ()
    parameters: tuple[bool, ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""
    attributes: str = "{}"


def call_table(calls: Sequence[Call]) -> pl.DataFrame:
    """Distinct calls as the table `schema.CALLS`, in their order."""
    columns = {column.name: [getattr(call, column.name) for call in calls] for column in schema.CALLS}
    return pl.DataFrame(columns, schema={c.name: c.dtype for c in schema.CALLS})


def attributes(**values: Any) -> str:  # any JSON value
    """Attributes of a call as canonical JSON (sorted keys), the form that `schema.CALL_ATTRIBUTES` holds.

    >>> attributes(stride=[1, 1], bytes=4)
    '{"bytes":4,"stride":[1,1]}'
    """
    return msgspec.json.encode(dict(sorted(values.items()))).decode()


@dataclass
class OpStreamBuilder:
    """Collects operations one by one; `build` freezes them. The only way an OpStream is made from scratch."""

    _calls: dict[Call, int] = field(default_factory=dict)
    _sites: dict[Site, int] = field(default_factory=dict)
    _rows: dict[str, list[Any]] = field(default_factory=lambda: {c.name: [] for c in schema.ROWS})

    def add(
        self, call: Call, *, step: int = 0, phase: str = schema.Phase.OTHER, site: Site | None = None,
        host_ns: int | None = None, cpu_ns: int | None = None, waits_for: int = -1,
    ) -> int:  # fmt: skip
        """Append one operation; returns its row number."""
        at = len(self._rows[schema.ROW_CALL.name])
        where = -1 if site is None else self._sites.setdefault(site, len(self._sites))
        call_at = self._calls.setdefault(call, len(self._calls))
        for column, value in zip(schema.ROWS, (call_at, step, phase, where, host_ns, cpu_ns, waits_for), strict=True):
            self._rows[column.name].append(value)
        return at

    def build(self, *, steps: int = 1, unit: str = "step", batch: int | None = None, warnings: Sequence[str] = ()) -> OpStream:
        """The frozen stream of everything added so far."""
        return OpStream(
            calls=call_table(tuple(self._calls)),
            rows=pl.DataFrame(self._rows, schema={c.name: c.dtype for c in schema.ROWS}),
            sites=tuple(self._sites), steps=steps, unit=unit, batch=batch, warnings=tuple(warnings),
        )  # fmt: skip
