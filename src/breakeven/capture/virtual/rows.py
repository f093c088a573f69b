"""The recording itself: flat arrays that grow by a few bytes per operation, and each distinct call once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np
import polars as pl

from breakeven.timeline import OpStream, Site, schema
from breakeven.timeline.opstream import Call, attributes

#: Phases by number, in the order that `PHASES` names them.
INPUT: Final = 0
FORWARD: Final = 1
BACKWARD: Final = 2
OPTIMIZER: Final = 3
OTHER: Final = 4
PHASES: Final = (
    schema.Phase.INPUT, schema.Phase.FORWARD, schema.Phase.BACKWARD, schema.Phase.OPTIMIZER, schema.Phase.OTHER,
)  # fmt: skip


class Rows:
    """Rows of one recording."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._numbers: dict[Call, int] = {}
        self.call = array("i")
        self.phase = array("b")
        self.site = array("i")
        self.host = array("q")
        self.cpu = array("q")
        self.waits = array("i")
        self.edges: list[int] = []
        self.parts: dict[int, int] = {}  # row of a fused call → how many CPU operations stood for it

    def __len__(self) -> int:
        return len(self.call)

    def number(self, call: Call) -> int:
        """Position of a call in `calls`; entered if new."""
        at = self._numbers.setdefault(call, len(self.calls))
        if at == len(self.calls):
            self.calls.append(call)
        return at

    def add(self, call: int, phase: int, site: int, host_ns: int = 0, cpu_ns: int = 0, waits: int = -1) -> int:
        """Append one row; returns its number. `waits` -2: it waits for itself."""
        at = len(self.call)
        self.call.append(call)
        self.phase.append(phase)
        self.site.append(site)
        self.host.append(host_ns)
        self.cpu.append(cpu_ns)
        self.waits.append(at if waits == -2 else waits)
        return at

    def recurrent_batch(self) -> int | None:
        """Batch of a recurrent layer, where there is one: its input's first dimension is often time."""
        for call in self.calls:
            if call.op.startswith("cudnn::"):
                batch: int = msgspec.json.decode(call.attributes)["batch"]
                return batch
        return None

    def freeze(
        self, sites: Sequence[Site], *, overhead_ns: int, unit: str, batch: int | None, warnings: Sequence[str]
    ) -> OpStream:
        """The rows up to the last edge (all of them, where there was none) as a stream."""
        end = self.edges[-1] if self.edges else len(self)
        self._note_parts(end)
        host = np.maximum(np.frombuffer(self.host, np.int64)[:end] - overhead_ns, 0) if end else np.zeros(0, np.int64)
        step = np.searchsorted(np.asarray(self.edges, np.int64), np.arange(end), side="right").astype(np.int32)
        names = pl.Series(PHASES, dtype=pl.String())
        columns = {
            schema.ROW_CALL: pl.Series(np.asarray(self.call[:end], np.int32)),
            schema.ROW_STEP: pl.Series(step),
            schema.ROW_PHASE: names.gather(np.asarray(self.phase[:end], np.int64)),
            schema.ROW_SITE: pl.Series(np.asarray(self.site[:end], np.int32)),
            schema.ROW_HOST: pl.Series(host),
            schema.ROW_CPU: pl.Series(np.asarray(self.cpu[:end], np.int64)),
            schema.ROW_WAITS: pl.Series(np.asarray(self.waits[:end], np.int32)),
        }
        return OpStream.from_columns(
            self.calls, columns, sites=sites, steps=max(len(self.edges), 1), unit=unit, batch=batch, warnings=warnings
        )

    def _note_parts(self, end: int) -> None:
        """Write the number of CPU operations into the attributes of calls that stood for several."""
        for row, count in self.parts.items():
            if row < end and count != 1:
                call = self.calls[self.call[row]]
                said = msgspec.json.decode(call.attributes) | {"cpu_ops": count}
                self.call[row] = self.number(replace(call, attributes=attributes(**said)))
        self.parts.clear()
