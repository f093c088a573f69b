"""unfused_rnn: a recurrent layer that runs cell by cell, in a trace."""

from __future__ import annotations

import re

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding, Interval

_OUTER = re.compile(r"^aten::(?:lstm_cell|gru_cell|rnn_tanh_cell|rnn_relu_cell)$")
_CELLS = re.compile(r"^aten::(?:_thnn_fused_lstm_cell|_thnn_fused_gru_cell)$")
_FUSED = re.compile(r"^aten::(?:_cudnn_rnn|miopen_rnn|mkldnn_rnn_layer)$")
_MANY = 8


def unfused_rnn(evidence: TraceEvidence) -> Finding | None:
    """Cells of a recurrent layer are called one by one.

    What it sees: `lstm_cell`, `gru_cell` and their like, many in a step.
    Why it costs: each time step issues some ten operations; cuDNN's layer is one.
    Evidence: the host's time in those cells, as far as the device (or the CPU's arithmetic) waits for the host.
    Example: `for t in range(100): h = cell(x[t], h)`.
    Remedy: `nn.LSTM`, `nn.GRU` or `nn.RNN` over the whole sequence; where they are used, what makes cuDNN refuse them.
    When it is wrong: where each step needs the output of the one before in another way than the layer has it.
    """
    host = evidence.host_in_steps
    cells = host.named(_CELLS)
    outer = host.named(_OUTER)
    used = outer if len(outer) else cells
    number = len(used) / evidence.count
    if number < _MANY or len(host.named(_FUSED)):
        return None
    within = used.total_ms / evidence.count
    waiting = evidence.price("overhead" if evidence.on_cpu else "launch").mid
    mid = min(within, waiting)
    price = Interval(0.5 * mid, mid, max(mid, min(2 * within, waiting)))
    cause = "overhead" if evidence.on_cpu else "launch"
    saves = part(evidence, price)
    sentence = f"A recurrent layer runs cell by cell, {count(number, 'cell')} a step; as one layer it would save {saves}."
    return finding(evidence, "unfused_rnn", cause, price, sentence, ("fuse_rnn", "hoist_projection"))
