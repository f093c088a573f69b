"""A loop over time calls a cell that one fused call could do.

**What it sees.** `nn.LSTMCell`, `GRUCell` or `RNNCell` in a loop over time, and the same cells written by hand with products,
sigmoid and tanh, where the input of a time step needs no earlier output, and the state goes on as it is.

**Why it costs.** Several launches for each time step instead of one call for all of them, forward and backward.

**Example.** `for t in range(x.size(1)): h, c = self.cell(x[:, t], (h, c))`.

**Remedy.** `nn.LSTM`, `nn.GRU` or `nn.RNN` with the same weights.

**When it is wrong.** It stays silent where cuDNN has no such cell: another activation, normalisation or dropout between time
steps, feedback of the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts
from breakeven.lint.recurrence import time_loops


def find(facts: Facts) -> Iterator[Hit]:
    """The calls of cells; of cells written by hand the product with the state."""
    for time in time_loops(facts):
        if time.cells:
            for event in time.cells:
                yield hit(event, f"{event.name} is called for each time step; one fused call does the whole sequence")
        elif time.fusable:
            yield hit(time.state_products[0], "a cell written by hand that one fused call could do for the whole sequence")


CHECK = Check(code="BE107", id="unfused_rnn", remedies=("fuse_rnn",), find=find)
