"""unfused_rnn: a recurrent layer written as a loop over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from breakeven.diagnose.evidence import Evidence, sites_of
from breakeven.diagnose.wording import count, of_step
from breakeven.results.records import Finding
from breakeven.timeline.time_loops import TimeLoop, time_loops
from breakeven.whatif.fuse_rnn import fuse_rnn
from breakeven.whatif.hoist_projection import hoist_projection

#: Names of cuDNN's layers as PyTorch writes them.
_LAYERS = {"rnn": "nn.RNN", "gru": "nn.GRU", "lstm": "nn.LSTM"}


def unfused_rnn(evidence: Evidence) -> Finding | None:
    """A cell is called, or its products are written out, once for each time step.

    What it sees: in one step the same product or cell over and over, each time on the next slice of a tensor that is as long
        as the loop.
    Why it costs: each time step costs the host several launches forward and more backward; a fused layer is one call for all
        of them.
    Evidence: the step simulated with one cuDNN call forward and one backward in the loop's place; for a cell that cuDNN does
        not have, with the product with the input taken out of the loop.
    Example: `for t in range(T): h, c = cell(x[:, t], (h, c))`.
    Remedy: `nn.LSTM`, `nn.GRU` or `nn.RNN` over the whole sequence; else hoist the product with the input.
    When it is wrong: where a time step feeds on the output of the one before (sampling), it cannot be fused. A mask on the
        state (recurrent dropout) has to become one on the recurrent weights.
    """
    loops = time_loops(evidence.stream)
    if not loops:
        return None
    loop = loops[0]
    if loop.cell is None and not loop.projected_inside:
        return None
    stream = evidence.stream
    rewrite = fuse_rnn if loop.cell else hoist_projection
    price = evidence.price(rewrite(stream))
    rows = np.zeros(len(stream), dtype=bool)
    for one in loops:
        rows[one.forward] = True
    return Finding(
        id="unfused_rnn",
        device=evidence.device.name,
        cause="launch",
        price_ms=price,
        sentence=_sentence(evidence, loops, max(0.0, price.mid)),
        sites=sites_of(evidence, rows, lambda at: rewrite(stream, at), most=3),
        remedies=_remedies(loop),
    )


def _remedies(loop: TimeLoop) -> tuple[str, ...]:
    hoist = ("hoist_projection",) if loop.projected_inside else ()
    return ("fuse_rnn",) if loop.cell else (*hoist, "cuda_graph", "compile")


def _sentence(evidence: Evidence, loops: Sequence[TimeLoop], saved: float) -> str:
    loop, steps = loops[0], max(1, evidence.stream.steps)
    operations = count(round(sum(len(one.forward) + len(one.backward) for one in loops) / steps), "operation")
    what = f"A loop over {loop.passes} time steps makes {operations} of the step"
    gain = of_step(saved, evidence.step_ms)
    if loop.cell:
        return f"{what}; {_LAYERS[loop.cell]} does it in one call each way and would save {gain}."
    return f"{what}, the product with the input among them; taken out of the loop it would save {gain}."
