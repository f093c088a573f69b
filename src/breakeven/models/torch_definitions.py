"""Definitions that a written script may need: each is put into it where a layer asks for it. Text, not code of breakeven."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_STARTS = """\
STARTS = {
    "glorot": nn.init.xavier_uniform_,
    "he": lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
    "narrow-normal": lambda w: nn.init.normal_(w, 0.0, 0.01),
    "orthogonal": nn.init.orthogonal_,
    "zeros": nn.init.zeros_,
    "ones": nn.init.ones_,
}
"""

_START = '''\
def start(layer, how):
    """Initial values of a layer: weights as named, bias zero."""
    STARTS[how](layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
'''

_START_RECURRENT = '''\
def start_recurrent(layer, weights, recurrent, bias, biases):
    """Initial values; with one bias for each gate, the second of the two that PyTorch adds stays zero."""
    for name, parameter in layer.named_parameters():
        if "weight" in name:
            STARTS[weights if "weight_ih" in name else recurrent](parameter)
            continue
        nn.init.zeros_(parameter)
        if "bias_hh" in name:
            parameter.requires_grad_(biases == 2)
        elif bias == "ones":
            nn.init.ones_(parameter)
        elif bias == "narrow-normal":
            nn.init.normal_(parameter, 0.0, 0.01)
        elif bias == "unit-forget-gate" and len(parameter) == 4 * layer.hidden_size:
            with torch.no_grad():
                parameter[layer.hidden_size : 2 * layer.hidden_size] = 1.0
'''

_LAST_OF_BOTH = '''\
def last_of_both(y):
    """The last state of each direction: the backward one ends at the first time step."""
    half = y.size(2) // 2
    return torch.cat([y[:, -1, :half], y[:, 0, half:]], 1)
'''

_HARD_SIGMOID = """\
def hard_sigmoid(x):
    return torch.clamp(0.2 * x + 0.5, 0.0, 1.0)
"""

_UNFUSED = '''\
class Unfused(nn.Module):
    """A recurrent layer whose activations no fused call knows: a loop over the time steps."""

    def __init__(self, inputs, hidden, cell, state, gates, reset_after=True, bidirectional=False, bias=True):
        super().__init__()
        self.hidden_size, self.cell, self.state, self.gates, self.reset_after = hidden, cell, state, gates, reset_after
        rows = {"lstm": 4, "gru": 3, "rnn": 1}[cell] * hidden
        self.sides = ("", "_reverse") if bidirectional else ("",)
        for side in self.sides:
            self.register_parameter(f"weight_ih_l0{side}", nn.Parameter(torch.empty(rows, inputs)))
            self.register_parameter(f"weight_hh_l0{side}", nn.Parameter(torch.empty(rows, hidden)))
            if bias:
                self.register_parameter(f"bias_ih_l0{side}", nn.Parameter(torch.empty(rows)))
                self.register_parameter(f"bias_hh_l0{side}", nn.Parameter(torch.empty(rows)))

    def forward(self, x):
        given = [self.one_way(x if not side else x.flip(1), side) for side in self.sides]
        ways = [y if not side else y.flip(1) for y, side in zip(given, self.sides)]
        return torch.cat(ways, 2), None

    def one_way(self, x, side):
        w, r = getattr(self, f"weight_ih_l0{side}"), getattr(self, f"weight_hh_l0{side}")
        b, rb = getattr(self, f"bias_ih_l0{side}", None), getattr(self, f"bias_hh_l0{side}", None)
        projected = F.linear(x, w, b)
        h = c = x.new_zeros(x.size(0), self.hidden_size)
        states = []
        for t in range(x.size(1)):
            p = projected[:, t]
            if self.cell == "lstm":
                i, f, g, o = (p + F.linear(h, r, rb)).chunk(4, 1)
                c = self.gates(f) * c + self.gates(i) * self.state(g)
                h = self.gates(o) * self.state(c)
            elif self.cell == "gru":
                n = self.hidden_size
                if self.reset_after:
                    q = F.linear(h, r, rb)
                    reset, update = self.gates(p[:, : 2 * n] + q[:, : 2 * n]).chunk(2, 1)
                    new = self.state(p[:, 2 * n :] + reset * q[:, 2 * n :])
                else:
                    q = F.linear(h, r[: 2 * n], None if rb is None else rb[: 2 * n])
                    reset, update = self.gates(p[:, : 2 * n] + q).chunk(2, 1)
                    new = self.state(p[:, 2 * n :] + F.linear(reset * h, r[2 * n :], None if rb is None else rb[2 * n :]))
                h = (1 - update) * new + update * h
            else:
                h = self.state(p + F.linear(h, r, rb))
            states.append(h)
        return torch.stack(states, 1)
'''

_LOOP = '''\
class Loop(nn.Module):
    """A recurrent layer that no fused call runs: a loop over the time steps, with the weights as Keras has them."""

    def __init__(self, inputs, hidden, cell, state, gates=None, bias=True, reset_after=True, recurrent_dropout=0.0,
                 zero_output=False):
        super().__init__()
        self.hidden, self.cell, self.state, self.gates, self.reset_after = hidden, cell, state, gates, reset_after
        self.recurrent_dropout, self.zero_output = recurrent_dropout, zero_output
        rows = {"lstm": 4, "gru": 3, "rnn": 1}[cell] * hidden
        self.kernel = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, rows)))
        self.recurrent_kernel = nn.Parameter(nn.init.orthogonal_(torch.empty(hidden, rows)))
        two = cell == "gru" and reset_after
        self.bias = nn.Parameter(torch.zeros(2, rows) if two else torch.zeros(rows)) if bias else None

    def forward(self, x, mask=None):
        h = c = last = x.new_zeros(x.size(0), self.hidden)
        kept = F.dropout(torch.ones_like(h), self.recurrent_dropout, self.training) if self.recurrent_dropout else None
        projected = None if kept is not None or mask is not None or self.cell == "rnn" else self.project(x)
        outputs = []
        for t in range(x.size(1)):
            p = self.project(x[:, t]) if projected is None else projected[:, t]
            new_h, new_c = self.step(p, h if kept is None else h * kept, h, c)
            given = new_h
            if mask is not None:
                here = mask[:, t : t + 1]
                given = torch.where(here, new_h, torch.zeros_like(last) if self.zero_output else last)
                new_h, new_c = torch.where(here, new_h, h), torch.where(here, new_c, c)
            h, c, last = new_h, new_c, given
            outputs.append(given)
        return torch.stack(outputs, 1)

    def project(self, x):
        p = torch.matmul(x, self.kernel)
        return p if self.bias is None else p + (self.bias[0] if self.bias.dim() == 2 else self.bias)

    def step(self, p, used, h, c):
        n, kernel = self.hidden, self.recurrent_kernel
        if self.cell == "rnn":
            return self.state(p + used @ kernel), c
        if self.cell == "lstm":
            i, f, g, o = (p + used @ kernel).chunk(4, 1)
            c = self.gates(f) * c + self.gates(i) * self.state(g)
            return self.gates(o) * self.state(c), c
        if self.reset_after:
            q = used @ kernel if self.bias is None else used @ kernel + self.bias[1]
            update, reset = self.gates(p[:, : 2 * n] + q[:, : 2 * n]).chunk(2, 1)
            new = self.state(p[:, 2 * n :] + reset * q[:, 2 * n :])
        else:
            update, reset = self.gates(p[:, : 2 * n] + used @ kernel[:, : 2 * n]).chunk(2, 1)
            new = self.state(p[:, 2 * n :] + (reset * used) @ kernel[:, 2 * n :])
        return update * h + (1 - update) * new, c
'''

_ATTEND = '''\
def attend(queries, keys, values, heads, causal=False, dropout=0.0):
    """Scaled dot-product attention; (batch, time, channels) each."""
    q, k, v = (a.unflatten(2, (heads, -1)).transpose(1, 2) for a in (queries, keys, values))
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    return y.transpose(1, 2).flatten(2)
'''

_SELF_ATTENTION = """\
class SelfAttention(nn.Module):
    def __init__(self, inputs, heads, keys, values, outputs, causal=False, dropout=0.0, bias=True):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.query, self.key = nn.Linear(inputs, keys, bias), nn.Linear(inputs, keys, bias)
        self.value, self.out = nn.Linear(inputs, values, bias), nn.Linear(values, outputs, bias)
        for layer in (self.query, self.key, self.value, self.out):
            start(layer, "glorot")

    def forward(self, x):
        dropout = self.dropout if self.training else 0.0
        return self.out(attend(self.query(x), self.key(x), self.value(x), self.heads, self.causal, dropout))
"""

_HEADS = """\
class Heads(nn.Module):
    \"\"\"Attention of several heads: queries look into keys and values.\"\"\"

    def __init__(self, queries, keys, values, heads, width, value_width, outputs, causal=False, dropout=0.0, bias=True):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.query, self.key = nn.Linear(queries, heads * width, bias), nn.Linear(keys, heads * width, bias)
        self.value, self.out = nn.Linear(values, heads * value_width, bias), nn.Linear(heads * value_width, outputs, bias)

    def forward(self, queries, values, keys):
        dropout = self.dropout if self.training else 0.0
        return self.out(attend(self.query(queries), self.key(keys), self.value(values), self.heads, self.causal, dropout))
"""

_SINES = '''\
def sines(steps, width):
    """Positions as sines and cosines of falling frequency; (steps, width)."""
    angles = torch.arange(steps)[:, None] * 10000.0 ** (-2 * (torch.arange(width) // 2) / width)
    return torch.where(torch.arange(width) % 2 == 0, angles.sin(), angles.cos())
'''

#: Name → its text, in the order in which a script defines them.
_DEFINITIONS: Final[dict[str, str]] = {
    "STARTS": _STARTS,
    "start": _START,
    "start_recurrent": _START_RECURRENT,
    "last_of_both": _LAST_OF_BOTH,
    "Unfused": f"{_HARD_SIGMOID}\n\n{_UNFUSED}",
    "Loop": _LOOP,
    "attend": _ATTEND,
    "SelfAttention": _SELF_ATTENTION,
    "Heads": _HEADS,
    "sines": _SINES,
}

#: Name → the definitions that its text uses.
_USES: Final[dict[str, tuple[str, ...]]] = {
    "start": ("STARTS",),
    "start_recurrent": ("STARTS",),
    "SelfAttention": ("attend", "start", "STARTS"),
}


def definitions(needs: Iterable[str]) -> list[str]:
    """The texts of what is needed, and of what that needs, each once, in the order in which a script defines them."""
    wanted = {name for need in needs for name in (need, *_USES.get(need, ()))}
    return [text for name, text in _DEFINITIONS.items() if name in wanted]
