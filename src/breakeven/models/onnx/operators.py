"""ONNX's operators as PyTorch writes them, by name. What is in no table is named, never guessed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from breakeven.errors import InputError
from breakeven.models.kinds import Product
from breakeven.models.onnx.node import TYPES, Node
from breakeven.models.onnx.recurrence import recurrent
from breakeven.models.onnx.windows import WINDOWS
from breakeven.models.translation import number


@dataclass(frozen=True)
class Told:
    """A node as text, with its arithmetic for the whole batch."""

    calls: str
    flops: float = 0.0
    products: tuple[Product, ...] = ()


Tell = Callable[[Node], "str | tuple[str, float, tuple[Product, ...]]"]


def told(node: Node) -> Told:
    """What a node becomes.

    Raises:
        InputError: it is not understood.
    """
    found = OPERATORS.get(node.op)
    if found is None:
        raise InputError("no operator that is read is called so")
    given = found(node)
    return Told(given) if isinstance(given, str) else Told(*given)


def _plain(text: str) -> Tell:
    return lambda node: text.replace("@", node.text(0))


def _between(sign: str) -> Tell:
    return lambda node: f"({node.text(0)} {sign} {node.text(1)})"


def _divide(node: Node) -> str:
    whole = node.types[0] not in (1, 10, 11, 16)
    text = f"{node.text(0)}, {node.text(1)}"
    return f'torch.div({text}, rounding_mode="trunc")' if whole else f"({node.text(0)} / {node.text(1)})"


def _gemm(node: Node) -> tuple[str, float, tuple[Product, ...]]:
    a, b = node.text(0), node.array(1)
    a = f"{a}.t()" if node.whole("transA") else a
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    rows, inner = reversed(node.shape(0)) if node.whole("transA") else node.shape(0)
    columns = node.out()[-1]
    flops, products = 2.0 * rows * inner * columns, (Product("linear", (("m", rows), ("n", columns), ("k", inner)), "m"),)
    if alpha == beta == 1 and not (node.has(2) and len(node.shape(2)) != 1):
        weight = b if node.whole("transB") else f"{b}.t()"
        return f"F.linear({a}, {weight}{', ' + node.array(2) if node.has(2) else ''})", flops, products
    b = f"{b}.t()" if node.whole("transB") else b
    text = f"{number(alpha)} * ({a} @ {b})"
    return f"({text} + {number(beta)} * {node.array(2)})" if node.has(2) else f"({text})", flops, products


def _matmul(node: Node) -> tuple[str, float, tuple[Product, ...]]:
    a, b = node.shape(0), node.shape(1)
    out, inner = node.out(), a[-1]
    flops = 2.0 * math.prod(out) * inner
    products: tuple[Product, ...] = ()
    if len(b) == 2 and a:
        products = (Product("gemm", (("m", math.prod(a[:-1])), ("n", b[-1]), ("k", inner)), "m"),)
    elif len(b) > 2 and len(a) > 1:
        products = (Product("bmm", (("b", math.prod(out[:-2])), ("m", out[-2]), ("n", out[-1]), ("k", inner)), "b"),)
    return f"({node.text(0)} @ {node.text(1)})", flops, products


def _softmax(name: str) -> Tell:
    def tell(node: Node) -> str:
        rank = len(node.shape(0))
        axis = node.axis(node.whole("axis", -1 if node.opset >= 13 else 1))
        if node.opset >= 13 or axis == rank - 1:
            return f"F.{name}({node.text(0)}, {axis})"
        sizes = ", ".join(map(str, node.shape(0)[axis:]))
        return f"F.{name}({node.text(0)}.flatten({axis}), {axis}).unflatten({axis}, ({sizes}))"

    return tell


def _clip(node: Node) -> str:
    said = []
    for at, name in ((1, "min"), (2, "max")):
        if name in node.attributes:
            said.append(f"{name}={number(node.real(name, 0.0))}")
        elif node.has(at):
            said.append(f"{name}={node.text(at)}")
    return f"torch.clamp({node.text(0)}, {', '.join(said)})" if said else node.text(0)


def _dropout(node: Node) -> str:
    """Its rate is an attribute before version 12 of the operators, then an input."""
    if node.has(1) and 1 not in node.known:
        raise InputError("its rate is only known when the graph runs")
    rate = float(node.known[1].reshape(-1)[0]) if node.has(1) else node.real("ratio", 0.5)
    if not 0 <= rate <= 1:
        raise InputError(f"its rate {rate:g} is no probability")
    return f"F.dropout({node.text(0)}, {rate:.6g}, self.training)"


def _batch_norm(node: Node) -> str:
    names = [node.array(1, "torch.ones({})"), node.array(2, "torch.zeros({})")]
    moving = [node.array(3, "torch.zeros({})"), node.array(4, "torch.ones({})")]
    node.makes += [f"{one}.requires_grad_(False)" for one in moving]
    node.arrays[:] = [one for one in node.arrays if one[0] not in ("weights_3", "weights_4")]
    epsilon = number(node.real("epsilon", 1e-5))
    momentum = number(round(1 - node.real("momentum", 0.9), 9))
    return f"F.batch_norm({node.text(0)}, {moving[0]}, {moving[1]}, {names[0]}, {names[1]}, self.training, {momentum}, {epsilon})"


def _layer_norm(node: Node) -> str:
    axis = node.axis(node.whole("axis", -1))
    sizes = ", ".join(map(str, node.shape(0)[axis:]))
    arrays = [node.array(1, "torch.ones({})"), node.array(2, "torch.zeros({})") if node.has(2) else "None"]
    return f"F.layer_norm({node.text(0)}, ({sizes},), {arrays[0]}, {arrays[1]}, {number(node.real('epsilon', 1e-5))})"


def _instance_norm(node: Node) -> str:
    arrays = [node.array(1, "torch.ones({})"), node.array(2, "torch.zeros({})")]
    return f"F.instance_norm({node.text(0)}, None, None, {arrays[0]}, {arrays[1]}, eps={number(node.real('epsilon', 1e-5))})"


def _group_norm(node: Node) -> str:
    if node.opset < 21:
        raise InputError("group normalisation before version 21 of the operators is not understood")
    arrays = [node.array(1, "torch.ones({})"), node.array(2, "torch.zeros({})")]
    epsilon = number(node.real("epsilon", 1e-5))
    return f"F.group_norm({node.text(0)}, {node.whole('num_groups')}, {arrays[0]}, {arrays[1]}, {epsilon})"


def _reshape(node: Node) -> str:
    return f"{node.text(0)}.reshape({', '.join(map(str, node.out())) or '()'})"


def _transpose(node: Node) -> str:
    rank = len(node.shape(0))
    order = node.attributes.get("perm") or list(range(rank))[::-1]
    return f"{node.text(0)}.permute({', '.join(str(int(one)) for one in order)})"


def _concat(node: Node) -> str:
    axis = node.axis(node.whole("axis"))
    return f"torch.cat([{', '.join(node.text(at) for at in range(len(node.inputs)))}], {axis})"


def _split(node: Node) -> str:
    axis = node.axis(node.whole("axis"))
    sizes = node.constant(1, "split")
    if sizes is None:
        count = node.whole("num_outputs", len(node.given))
        size = -(-node.shape(0)[axis] // count)
        return f"{node.text(0)}.split({size}, {axis})"
    return f"{node.text(0)}.split(({', '.join(map(str, sizes))},), {axis})"


def _slice(node: Node) -> str:
    starts, ends = node.constant(1, "starts") or [], node.constant(2, "ends") or []
    axes = node.constant(3, "axes") or list(range(len(starts)))
    steps = node.constant(4) or [1] * len(starts)
    text, shape = node.text(0), node.shape(0)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = node.axis(axis)
        taken = range(shape[at])[slice(start, None if step < 0 and end < -shape[at] else end, step)]
        if step < 0:
            text = f"{text}.flip({at})"
            taken = range(shape[at])[slice(shape[at] - 1 - taken.start, shape[at], -step)][: len(taken)]
        if (taken.start, taken.stop, taken.step) != (0, shape[at], 1):
            colons = ":, " * at
            text = f"{text}[{colons}{taken.start}:{taken.stop}{f':{taken.step}' if taken.step != 1 else ''}]"
    return text


def _gather(node: Node) -> str:
    axis = node.axis(node.whole("axis"))
    if 1 in node.known and node.known[1].size == 1:
        at = int(node.known[1].reshape(()))
        return f"{node.text(0)}.select({axis}, {at})" + f".unsqueeze({axis})" * node.known[1].ndim
    if axis == 0 and len(node.shape(0)) == 2 and 0 in node.stored:
        return f"F.embedding({node.text(1)}.long(), {node.array(0)})"
    if len(node.shape(1)) == 1:
        return f"{node.text(0)}.index_select({axis}, {node.text(1)}.long())"
    colons = ":, " * axis
    return f"{node.text(0)}[{colons}{node.text(1)}.long()]"


def _squeeze(node: Node) -> str:
    return _reshape(node)


def _expand(node: Node) -> str:
    return f"{_tensor(node, 0)}.expand({', '.join(map(str, node.out()))})"


def _tensor(node: Node, at: int) -> str:
    """An input as an array, also where it is one number."""
    text = node.text(at)
    return text if text.startswith(("$", "(")) else f"torch.tensor({text})"


def _reduce(how: str) -> Tell:
    def tell(node: Node) -> str:
        axes = node.constant(1, "axes")
        if axes is None and node.whole("noop_with_empty_axes"):
            return node.text(0)
        axes = list(range(len(node.shape(0)))) if not axes else [node.axis(one) for one in axes]
        said = f"({', '.join(map(str, axes))},)"
        keep = ", keepdim=True" if node.whole("keepdims", 1) else ""
        text = node.text(0)
        if how == "sumsq":
            return f"torch.square({text}).sum({said}{keep})"
        if how == "norm":
            return f"torch.linalg.vector_norm({text}, 2, {said}{keep})"
        if how == "norm1":
            return f"{text}.abs().sum({said}{keep})"
        return f"{text}.{how}({said}{keep})"

    return tell


def _where(node: Node) -> str:
    return f"torch.where({_tensor(node, 0)}, {node.text(1)}, {node.text(2)})"


def _folded_many(sign: str) -> Tell:
    def tell(node: Node) -> str:
        texts = [node.text(at) for at in range(len(node.inputs))]
        if sign == "+":
            return f"({' + '.join(texts)})"
        if sign == "mean":
            return f"(({' + '.join(texts)}) / {len(texts)})"
        text = texts[0]
        for one in texts[1:]:
            text = f"torch.clamp({text}, {'min' if sign == 'max' else 'max'}={one})"
        return text

    return tell


def _cast(node: Node) -> str:
    kind = TYPES.get(node.whole("to"))
    if kind is None:
        raise InputError(f"the element type {node.whole('to')} is not understood")
    return f"{_tensor(node, 0)}.to(torch.{kind})"


def _prelu(node: Node) -> str:
    slope = node.array(1, "torch.full({}, 0.25)")
    text = node.text(0)
    return f"(torch.relu({text}) - {slope} * torch.relu(-{text}))"


def _gelu(node: Node) -> str:
    tanh = node.attributes.get("approximate", "none") == "tanh"
    return f"F.gelu({node.text(0)}{', approximate=' + chr(34) + 'tanh' + chr(34) if tanh else ''})"


def _tile(node: Node) -> str:
    return f"{node.text(0)}.repeat({', '.join(map(str, node.constant(1) or []))})"


def _arg(how: str) -> Tell:
    def tell(node: Node) -> str:
        keep = ", keepdim=True" if node.whole("keepdims", 1) else ""
        return f"{node.text(0)}.{how}({node.axis(node.whole('axis'))}{keep})"

    return tell


def _trilu(node: Node) -> str:
    at = (node.constant(1) or [0])[0]
    return f"torch.{'triu' if node.whole('upper', 1) else 'tril'}({node.text(0)}, {at})"


def _hard_sigmoid(node: Node) -> str:
    return f"torch.clamp({number(node.real('alpha', 0.2))} * {node.text(0)} + {number(node.real('beta', 0.5))}, 0.0, 1.0)"


def _with(text: str, name: str, default: float) -> Tell:
    return lambda node: text.replace("@", node.text(0)).replace("%", number(node.real(name, default)))


#: Operator → what it becomes.
OPERATORS: Final[dict[str, Tell]] = {
    "Add": _between("+"), "Sub": _between("-"), "Mul": _between("*"), "Div": _divide, "Pow": _between("**"),
    "Equal": _between("=="), "Greater": _between(">"), "Less": _between("<"), "GreaterOrEqual": _between(">="),
    "LessOrEqual": _between("<="), "And": _between("&"), "Or": _between("|"), "Not": _plain("(~@)"),
    "Relu": _plain("F.relu(@)"), "Sigmoid": _plain("torch.sigmoid(@)"), "Tanh": _plain("torch.tanh(@)"),
    "Exp": _plain("torch.exp(@)"), "Log": _plain("torch.log(@)"), "Sqrt": _plain("torch.sqrt(@)"),
    "Abs": _plain("torch.abs(@)"), "Neg": _plain("(-@)"),
    "Reciprocal": _plain("torch.reciprocal(@)"), "Erf": _plain("torch.erf(@)"), "Sin": _plain("torch.sin(@)"),
    "Cos": _plain("torch.cos(@)"), "Floor": _plain("torch.floor(@)"), "Ceil": _plain("torch.ceil(@)"),
    "Sign": _plain("torch.sign(@)"),
    "Softplus": _plain("F.softplus(@)"), "Softsign": _plain("F.softsign(@)"), "Mish": _plain("F.mish(@)"),
    "HardSwish": _plain("F.hardswish(@)"), "HardSigmoid": _hard_sigmoid, "Identity": _plain("@"), "Selu": _plain("F.selu(@)"),
    "Elu": _with("F.elu(@, %)", "alpha", 1.0), "LeakyRelu": _with("F.leaky_relu(@, %)", "alpha", 0.01),
    "Celu": _with("F.celu(@, %)", "alpha", 1.0), "PRelu": _prelu, "Gelu": _gelu, "Clip": _clip,
    "Softmax": _softmax("softmax"), "LogSoftmax": _softmax("log_softmax"), "Dropout": _dropout,
    "Gemm": _gemm, "MatMul": _matmul, "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm, "GroupNormalization": _group_norm, "Reshape": _reshape, "Flatten": _reshape,
    "Squeeze": _squeeze, "Unsqueeze": _squeeze, "Transpose": _transpose, "Concat": _concat, "Split": _split, "Slice": _slice,
    "Gather": _gather, "Expand": _expand, "Where": _where, "Cast": _cast, "Tile": _tile, "Trilu": _trilu,
    "Sum": _folded_many("+"), "Mean": _folded_many("mean"), "Max": _folded_many("max"), "Min": _folded_many("min"),
    "ReduceMean": _reduce("mean"), "ReduceSum": _reduce("sum"), "ReduceMax": _reduce("amax"), "ReduceMin": _reduce("amin"),
    "ReduceL2": _reduce("norm"), "ReduceL1": _reduce("norm1"), "ReduceSumSquare": _reduce("sumsq"),
    "ArgMax": _arg("argmax"), "ArgMin": _arg("argmin"), "LSTM": recurrent, "GRU": recurrent, "RNN": recurrent, **WINDOWS,
}  # fmt: skip
