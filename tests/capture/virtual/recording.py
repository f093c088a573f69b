"""Records a few lines under the virtual GPU, in this process, and puts everything back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch", reason="the virtual GPU runs PyTorch")

from breakeven.capture.virtual import Fact, install  # noqa: E402  # torch first, or there is nothing to test
from breakeven.timeline import OpStream, schema  # noqa: E402  # the same


@dataclass(frozen=True)
class Row:
    """One row, with what its call says."""

    op: str
    device: str
    phase: str
    dtype: str
    inputs: list[list[int]]
    outputs: list[list[int]]
    parameters: list[bool]
    said: dict[str, Any]  # JSON values
    waits_for: int
    step: int
    line: str
    host_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class Recorded:
    """What a recording gave."""

    stream: OpStream
    facts: Mapping[str, tuple[Fact, ...]]
    rows: tuple[Row, ...]

    @property
    def names(self) -> list[str]:
        """Operations in order."""
        return [row.op for row in self.rows]

    def the(self, op: str) -> Row:
        """The one row of this operation."""
        found = [row for row in self.rows if row.op == op]
        assert len(found) == 1, f"{op}: {len(found)} rows among {self.names}"
        return found[0]

    def waits(self) -> list[str]:
        """The waits and the copies, in order."""
        return [row.op for row in self.rows if row.op.startswith(("sync::", "copy::"))]


def record(step: Callable[[], object], *, before: Callable[[], object] | None = None, steps: int = 1, **options: Any) -> Recorded:
    """Run `before` unrecorded, then `step` as often as asked, each a step. `options` are those of `install`."""
    with install(**options) as session:
        if before is not None:
            before()
        session.start()
        for _ in range(steps):
            step()
            session.edge()
        stream = session.stop()
        return Recorded(stream, session.facts, rows_of(stream))


def rows_of(stream: OpStream) -> tuple[Row, ...]:
    """Rows of a stream as records."""
    s = schema
    return tuple(
        Row(
            r[s.CALL_OP.name],
            r[s.CALL_DEVICE.name],
            r[s.ROW_PHASE.name],
            r[s.CALL_DTYPE.name],
            r[s.CALL_INPUTS.name],
            r[s.CALL_OUTPUTS.name],
            r[s.CALL_PARAMETERS.name],
            msgspec.json.decode(r[s.CALL_ATTRIBUTES.name]),
            r[s.ROW_WAITS.name],
            r[s.ROW_STEP.name],
            stream.sites[r[s.ROW_SITE.name]].text if r[s.ROW_SITE.name] >= 0 else "",
            r[s.ROW_HOST.name],
            r[s.ROW_CPU.name],
        )
        for r in stream.table().iter_rows(named=True)
    )
