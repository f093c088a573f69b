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
    "attend": _ATTEND,
    "SelfAttention": _SELF_ATTENTION,
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
