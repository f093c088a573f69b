"""Loops over time in a stream: a recurrent cell, or products and pointwise work by hand, repeated for every time step.

What it cannot see is data flow: a loop over *layers* of one size looks the same by its shapes. It is therefore taken
for a loop over time only where each pass also takes a slice of a tensor that is as long as there are passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import edit, schema
from breakeven.timeline.opstream import OpStream

#: From so many passes in one step on it is a loop over time that is worth a call of its own.
LEAST_PASSES = 8

_CELLS = {"_thnn_fused_lstm_cell": "lstm", "_thnn_fused_gru_cell": "gru", "lstm_cell": "lstm", "gru_cell": "gru"} | {
    "rnn_tanh_cell": "rnn", "rnn_relu_cell": "rnn",
}  # fmt: skip
_PRODUCTS = ("addmm", "mm", "linear", "matmul", "mv", "addmv", "bmm", "baddbmm")
_SLICES = ("select", "slice", "narrow", "index", "index_select", "embedding", "as_strided", "squeeze")
_SPLITS = ("unbind", "split", "chunk", "unsafe_split", "unsafe_chunk", "split_with_sizes", "tensor_split")
_NOT_IN_CUDNN = ("native_layer_norm", "layer_norm", "native_batch_norm", "native_group_norm", "group_norm")
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


@dataclass(frozen=True)
class TimeLoop:
    """A loop over time that was found in one step.

    Attributes:
        forward: its rows in the forward pass.
        backward: its rows in the backward pass.
        passes: time steps.
        cell: `rnn`, `gru`, `lstm`; None: a cell of the user's own, which cuDNN does not have.
        hidden: width of the state.
        width: width of the input; None: not seen.
        batch: samples.
        layers: cells for each time step.
        projected_inside: the product with the input, which needs no state, is in the loop.
    """

    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    passes: int
    cell: str | None
    hidden: int
    width: int | None
    batch: int
    layers: int
    projected_inside: bool


def time_loops(stream: OpStream, sites: Collection[int] | None = None) -> tuple[TimeLoop, ...]:
    """Loops over time in each recorded step: at most one for each round of it (a forward pass and its backward pass)."""
    reading = _Reading(stream)
    found = [loop for rows in reading.steps() for loop in reading.loops(rows)]
    return tuple(loop for loop in found if sites is None or reading.touches(loop, sites))


class _Reading:
    """A stream as the search reads it: names, shapes and arrays, once."""

    def __init__(self, stream: OpStream) -> None:
        self.calls = edit.calls_of(stream)
        self.names = [call.op.removeprefix("aten::") for call in self.calls]
        self.call = edit.column(stream, schema.ROW_CALL)
        self.step = edit.column(stream, schema.ROW_STEP)
        self.site = edit.column(stream, schema.ROW_SITE)
        self.phase = edit.phases(stream)
        compute = [c.kind == schema.Kind.COMPUTE and c.device.startswith(edit.ACCELERATOR) for c in self.calls]
        self.compute = edit.marked(stream, compute)

    def steps(self) -> list[NDArray[np.int64]]:
        """Rows of each recorded step."""
        edges = np.flatnonzero(np.diff(self.step)) + 1
        return [rows.astype(np.int64) for rows in np.split(np.arange(len(self.step)), edges) if len(rows)]

    def rounds(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """A step's rows, cut where a forward pass begins after a backward pass: closures, accumulated gradients, two networks."""
        backward = self.phase[rows] == schema.Phase.BACKWARD
        forward = ~backward & (self.phase[rows] != schema.Phase.OPTIMIZER) & self.compute[rows]
        passes = np.flatnonzero(backward | forward)
        begins = passes[1:][forward[passes[1:]] & backward[passes[:-1]]]
        return [part for part in np.split(rows, begins) if len(part)]

    def loops(self, rows: NDArray[np.int64]) -> list[TimeLoop]:
        """The loops over time of one step; where no round has one (each pass learns by itself), that of the step as a whole."""
        rounds = self.rounds(rows)
        found = [loop for part in rounds if (loop := self.loop(part)) is not None]
        whole = self.loop(rows) if not found and len(rounds) > 1 else None
        return found if whole is None else [whole]

    def touches(self, loop: TimeLoop, sites: Collection[int]) -> bool:
        return bool(np.isin(self.site[loop.forward], list(sites)).any())

    def loop(self, rows: NDArray[np.int64]) -> TimeLoop | None:
        """The loop over time in these rows."""
        forward = rows[self.compute[rows] & (self.phase[rows] != schema.Phase.BACKWARD)]
        forward = forward[self.phase[forward] != schema.Phase.OPTIMIZER]
        anchors = self._anchors(forward)
        if anchors is None:
            return None
        inside = self._region(forward, anchors)
        counts = Counter(self.call[inside].tolist())
        passes = self._passes(forward, counts, len(anchors))
        if passes is None and self.names[self.call[anchors[0]]] not in _CELLS:
            return None
        passes = passes or len(anchors)
        backward = rows[self.compute[rows] & (self.phase[rows] == schema.Phase.BACKWARD)]
        return self._described(inside, self._repeated(backward, passes - 1), passes, counts)

    def _anchors(self, forward: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Rows of the call that stands for one pass: a fused cell, else a product with a parameter, repeated."""
        counts = Counter(self.call[forward].tolist())
        often = [c for c, n in counts.items() if n >= LEAST_PASSES]
        cells = [c for c in often if self.names[c] in _CELLS]
        products = [c for c in often if self.names[c] in _PRODUCTS]
        if not cells and not products:
            return None
        best = max(cells or products, key=lambda c: counts[c])
        found: NDArray[np.int64] = forward[self.call[forward] == best]
        return found

    def _region(self, forward: NDArray[np.int64], anchors: NDArray[np.int64]) -> NDArray[np.int64]:
        """All rows of the loop: from the first anchor to the last, and as far to both sides as the passes repeat."""
        first, last = np.searchsorted(forward, [anchors[0], anchors[-1]])
        calls = self.call[forward]
        period = max(1, round((last - first) / max(1, len(anchors) - 1)))
        lead = 0
        while lead < period and first - lead > 0 and calls[first - lead - 1] == calls[first - lead - 1 + period]:
            lead += 1
        tail = 0
        while tail < period and last + tail + 1 < len(calls) and calls[last + tail + 1] == calls[last + tail + 1 - period]:
            tail += 1
        return forward[first - lead : last + tail + 1]

    def _passes(self, forward: NDArray[np.int64], inside: Counter[int], anchors: int) -> int | None:
        """Passes over time, known by a tensor of that length which is taken apart; None: no such tensor."""
        for call, count in inside.items():
            if self.names[call] in _SLICES and count >= LEAST_PASSES - 1:
                for size in (n for shape in self.calls[call].inputs[:1] for n in shape):
                    if count <= size + 1 and anchors >= size - 1 and size >= LEAST_PASSES and count >= size - 1:
                        return int(size)
        for call in set(self.call[forward].tolist()):
            if self.names[call] in _SPLITS:
                pieces = len(self.calls[call].outputs)
                if LEAST_PASSES <= pieces <= anchors + 1 or (pieces < 2 and self._long_enough(call, anchors)):
                    return pieces if pieces >= LEAST_PASSES else anchors
        return None

    def _long_enough(self, call: int, anchors: int) -> bool:
        return any(size == anchors for shape in self.calls[call].inputs[:1] for size in shape)

    def _repeated(self, rows: NDArray[np.int64], least: int) -> NDArray[np.int64]:
        """From the first to the last row whose call is repeated that often."""
        counts = Counter(self.call[rows].tolist())
        often = np.flatnonzero([counts[c] >= max(2, least) for c in self.call[rows].tolist()])
        return rows[often[0] : often[-1] + 1] if len(often) else rows[:0]

    def _described(
        self, inside: NDArray[np.int64], backward: NDArray[np.int64], passes: int, counts: Counter[int]
    ) -> TimeLoop | None:
        cells = [(c, n) for c, n in counts.items() if self.names[c] in _CELLS and n >= passes - 1]
        products = [self._sides(c) for c, n in counts.items() if self.names[c] in _PRODUCTS for _ in range(round(n / passes))]
        sides = [s for s in products if s is not None]
        hidden = self._state(cells[0][0]) if cells else _state_of(sides)
        if not hidden:
            return None
        cell = _CELLS[self.names[cells[0][0]]] if cells else self._kind(counts, passes, sides, hidden)
        layers = max(1, round(sum(n for _, n in cells) / passes))
        batch = max((rows for rows, _, _ in sides), default=1)
        inputs = [k for _, k, n in sides if k != hidden and n % hidden == 0]
        joint = [k - hidden for _, k, n in sides if k > hidden and n == hidden]
        width = inputs[0] if inputs else None
        inside_width = bool(inputs) and not (joint and not cells)
        return TimeLoop(inside, backward, passes, cell, hidden, width, batch, layers, inside_width)

    def _state(self, call: int) -> int:
        """Width of a fused cell's state: the last dimension of its first output, else a quarter of its gates."""
        record = self.calls[call]
        if record.outputs and record.outputs[0]:
            return record.outputs[0][-1]
        gates = record.inputs[0][-1] if record.inputs and record.inputs[0] else 0
        return gates // _GATES[_CELLS[self.names[call]]]

    def _sides(self, call: int) -> tuple[int, int, int] | None:
        """(rows, width in, width out) of a product of an activation with a parameter."""
        record = self.calls[call]
        flags = record.parameters or (False,) * len(record.inputs)
        moving = [s for s, flag in zip(record.inputs, flags, strict=False) if not flag and s]
        if not moving or not record.outputs or not record.outputs[0] or not any(flags):
            return None
        shape, out = moving[0], record.outputs[0]
        return (shape[0] if len(shape) > 1 else 1, shape[-1], out[-1])

    def _kind(self, counts: Counter[int], passes: int, sides: list[tuple[int, int, int]], hidden: int) -> str | None:
        """Which of cuDNN's cells it is, from the activations of one pass; None: another."""
        each: Counter[str] = Counter()
        for call, count in counts.items():
            each[self.names[call].removesuffix("_")] += round(count / passes)
        if any(each[name] for name in _NOT_IN_CUDNN):
            return None
        if each["tanh"] == 2 and each["sigmoid"]:
            return "lstm"
        if each["tanh"] + each["relu"] == 1 and not each["sigmoid"]:
            return "rnn"
        gates = sum(n // hidden for _, k, n in sides if k == hidden)
        same = all(k == hidden for _, k, _ in sides)
        return "gru" if each["tanh"] == 1 and each["sigmoid"] and gates == (6 if same else 3) else None


def _state_of(sides: list[tuple[int, int, int]]) -> int | None:
    """Width of the state: what a product takes and gives back (once or for each gate), or what input and state together give."""
    recurrent = [k for _, k, n in sides if n in (k, 3 * k, 4 * k)]
    if recurrent:
        return recurrent[0]
    joint = [n for _, k, n in sides if n < k]
    return joint[0] if joint else None
