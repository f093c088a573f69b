"""ONNX's LSTM, GRU and RNN: one fused call of PyTorch where their activations are its own. Gates are in another order there."""

from __future__ import annotations

from breakeven.errors import InputError
from breakeven.models.kinds import Product
from breakeven.models.onnx.node import Node

#: Activations of each direction where none are named (ONNX's operators).
_OWN = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(node: Node) -> tuple[str, float, tuple[Product, ...]]:
    """The layer; its value is what PyTorch's gives: (outputs, last states)."""
    steps, batch, inputs = node.shape(0)
    if node.whole("layout"):
        raise InputError("layout=1 is not understood")
    if node.has(7) or node.has(4):
        raise InputError("peepholes and lengths of single sequences are not understood")
    hidden = node.whole("hidden_size")
    direction = str(node.attributes.get("direction", "forward"))
    ways = 2 if direction == "bidirectional" else 1
    named = [str(one) for one in node.attributes.get("activations", [])] or _OWN[node.op] * ways
    relu = node.op == "RNN" and named == ["Relu"] * ways
    if (named != _OWN[node.op] * ways and not relu) or "clip" in node.attributes or node.whole("input_forget"):
        raise InputError(f"activations={', '.join(named)}, clip and input_forget are not understood")
    before = node.op == "GRU" and not node.whole("linear_before_reset")
    bias = node.has(3)
    said = [str(inputs), str(hidden)]
    if before:
        said += ['"gru"', "state=torch.tanh", "gates=torch.sigmoid", "reset_after=False"]
        node.needs += ["Unfused", "start_recurrent"]
    said += ['nonlinearity="relu"'] if relu else []
    said += [] if bias else ["bias=False"]
    said += ["bidirectional=True"] if ways == 2 else []
    node.makes.append(f"$me = {'Unfused' if before else f'nn.{node.op}'}({', '.join(said)})")
    node.makes += ['start_recurrent($me, "glorot", "orthogonal", "zeros", biases=2)'] if before else []
    rows = GATES[node.op] * hidden * ways
    node.arrays += [
        ("input_weights", (rows, inputs)),
        ("recurrent_weights", (rows, hidden)),
        *([("bias", (2 * rows,))] if bias else []),
    ]
    text = node.text(0)
    if direction == "reverse":
        text = f"{text}.flip(0)"
    flops = 2.0 * batch * steps * rows * (inputs + hidden)
    sizes = (("hidden", hidden), ("batch", batch), ("timesteps", steps), ("input", inputs), ("bidirectional", ways - 1))
    products = (Product(node.op.lower(), sizes, "batch"),)
    states = [at for at in (5, 6) if node.has(at) and not _zeros(node, at)]
    if before:
        if states:
            raise InputError("a first state of a GRU with linear_before_reset=0 is not understood")
        return f"(lambda y: (y.transpose(0, 1), None))($me({text}.transpose(0, 1))[0])", flops, products
    if not states:
        return f"$me({text})", flops, products
    given = [node.text(at) if node.has(at) else f"torch.zeros_like({node.text(states[0])})" for at in (5, 6)]
    return f"$me({text}, {f'({given[0]}, {given[1]})' if node.op == 'LSTM' else given[0]})", flops, products


def outputs(node: Node) -> tuple[str, ...]:
    """How each output is read off the layer's value `@`."""
    ways = 2 if node.attributes.get("direction", "forward") == "bidirectional" else 1
    hidden = node.whole("hidden_size")
    turned = ".flip(0)" if node.attributes.get("direction") == "reverse" else ""
    first = f"@[0]{turned}.unflatten(-1, ({ways}, {hidden})).transpose(1, 2)"
    if node.op == "GRU" and not node.whole("linear_before_reset"):
        last = "@[0][-1:]" if ways == 1 else f"torch.stack([@[0][-1, :, :{hidden}], @[0][0, :, {hidden}:]])"
        return first, last
    return (first, "@[1][0]", "@[1][1]") if node.op == "LSTM" else (first, "@[1]")


def _zeros(node: Node, at: int) -> bool:
    return at in node.known and not node.known[at].any()
