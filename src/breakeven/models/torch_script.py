"""Writes a description as a plain PyTorch training script: the same layers, sizes and options, on made-up data of the same shape.

It says how long a step takes, not how well it learns: the data is random. Each line remembers the user's line that it stands for.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from breakeven.models.check import identifier
from breakeven.models.kinds import Activation, Computed, Input
from breakeven.models.network import Layer, Model, Network, Place, Shape, Training
from breakeven.models.torch_definitions import definitions
from breakeven.models.torch_layers import PLAIN, Value, Written, written

#: Mini-batches of data that are made up where the number of observations is not known: it changes how long an epoch is, no step.
BATCHES = 4
#: Names that the script uses itself.
_TAKEN = frozenset(["x", "y", "torch", "nn", "batch", "self", *dir(object), *keyword.kwlist])
#: Attributes of a PyTorch module that a layer must not hide.
_MODULE = frozenset(
    ["training", "forward", "train", "eval", "modules", "parameters", "buffers", "children", "type", "float", "half", "double",
     "bfloat16", "to", "cpu", "cuda", "apply", "compile", "zero_grad", "state_dict", "share_memory"]
)  # fmt: skip


@dataclass(frozen=True)
class Script:
    """A script and where its lines come from.

    Attributes:
        text: the script.
        places: line of the script (from 1) → line of the user's file.
    """

    text: str
    places: Mapping[int, Place]


@dataclass(frozen=True)
class _Line:
    text: str
    place: Place | None = None


def write(model: Model, source: str = "") -> Script:
    """The training script of a model.

    Args:
        model: what to train.
        source: name of the file that it was read from, for the docstring.
    """
    network, training = model.network, model.training
    names = _names(network)
    layers = _layers(network, training, names)
    lines = [
        _Line(f'"""Training of {_said(source)}: its layers, sizes and options, on random data of the same shape."""'), _Line(""),
        _Line("import torch"), _Line("import torch.nn as nn"), _Line("import torch.nn.functional as F"), _Line(""),
        _Line(f"EPOCHS = {training.epochs}"), _Line(f"BATCH = {model.batch}"),
        _Line(f"OBSERVATIONS = {model.observations or BATCHES * model.batch}"), _Line(""),
        _Line(f'device = "{training.environment}"'),
    ]  # fmt: skip
    for text in definitions(need for one in layers.values() for need in one.needs):
        lines += [_Line(""), _Line(""), *map(_Line, text.rstrip().splitlines())]
    lines += [_Line(""), _Line(""), *_module(network, layers, names), _Line(""), _Line("")]
    lines += _prepare(network, training, names)
    lines += [_Line(""), *_loop(network, training, names)]
    places = {number: line.place for number, line in enumerate(lines, 1) if line.place is not None}
    return Script("\n".join(line.text for line in lines) + "\n", places)


def _said(source: str) -> str:
    plain = "".join(c for c in source if c.isprintable() and c not in '"\\')
    return f"the network in {plain}" if plain else "a network"


def _names(network: Network) -> dict[str, str]:
    """Each layer's name as an attribute of the module."""
    names: dict[str, str] = {}
    for layer in network.layers:
        names[layer.name] = identifier(layer.name, {*names.values(), *_TAKEN, *_MODULE})
    return names


def _layers(network: Network, training: Training, names: Mapping[str, str]) -> dict[str, Written]:
    """Every layer's code. A softmax before a cross entropy is left to the loss, which takes both at once."""
    variables = _variables(network, names)
    values: dict[str, Value] = {}
    code: dict[str, Written] = {}
    for layer in network.layers:
        fed = tuple(values[name] for name in layer.inputs)
        if isinstance(layer.kind, Input):
            fed = (Value(variables[layer.name], network.shapes[layer.name]),)
        if layer is network.layers[-1] and _in_loss(layer, training):
            one = Written(fed[0].text, layout=fed[0].layout)
        else:
            shared = layer.kind.shares if isinstance(layer.kind, Computed) else None
            one = written(layer.kind, names[shared or layer.name], fed)
        code[layer.name] = one
        values[layer.name] = Value(variables[layer.name], network.shapes[layer.name], one.layout)
    return code


def _in_loss(layer: Layer, training: Training) -> bool:
    if not isinstance(layer.kind, Activation):
        return False
    function = layer.kind.function
    return (function, training.loss) in (("softmax", "cross_entropy"), ("sigmoid", "binary_cross_entropy"))


def _variables(network: Network, names: Mapping[str, str]) -> dict[str, str]:
    """The variable that holds each layer's value: `x` along a chain, a name of its own where a value is read later again."""
    inputs = [layer.name for layer in network.layers if isinstance(layer.kind, Input)]
    after = {layer.name: nxt for layer, nxt in zip(network.layers, network.layers[1:], strict=False)}
    readers: dict[str, int] = {}
    for layer in network.layers:
        for name in layer.inputs:
            readers[name] = readers.get(name, 0) + 1
    variables = {}
    for layer in network.layers:
        following = after.get(layer.name)
        chained = following is None or (readers.get(layer.name) == 1 and following.inputs == (layer.name,))
        lone_input = not isinstance(layer.kind, Input) or len(inputs) == 1
        variables[layer.name] = "x" if chained and lone_input else f"x_{names[layer.name]}"
    return variables


def _module(network: Network, layers: Mapping[str, Written], names: Mapping[str, str]) -> list[_Line]:
    variables = _variables(network, names)
    lines = [_Line("class Network(nn.Module):"), _Line("    def __init__(self):"), _Line("        super().__init__()")]
    for layer in network.layers:
        lines += [_Line(f"        {text}", layer.place) for text in layers[layer.name].makes]
    given = ", ".join(variables[layer.name] for layer in network.inputs)
    lines += [_Line(""), _Line(f"    def forward(self, {given}):")]
    for layer in network.layers:
        text = f"{variables[layer.name]} = {layers[layer.name].calls}"
        if layers[layer.name].calls != variables[layer.name]:
            lines.append(_Line(f"        {text}", layer.place))
    last = network.layers[-1]
    out = Value(variables[last.name], network.output, layers[last.name].layout)
    return [*lines, _Line(f"        return {out.to(PLAIN)}", last.place)]


def _data(layer: Layer, shape: Shape) -> str:
    kind = layer.kind
    assert isinstance(kind, Input)
    sizes = [] if shape.time is None else [shape.time]
    if kind.words is not None:
        return f"torch.randint({kind.words}, ({', '.join(['OBSERVATIONS', *map(str, sizes)])}{',' if not sizes else ''}))"
    axes = [*shape.spatial, shape.channels] if kind.last else [shape.channels, *shape.spatial]
    return f"torch.randn({', '.join(map(str, ['OBSERVATIONS', *sizes, *axes]))})"


def _targets(shape: Shape, training: Training) -> str:
    sizes = ["OBSERVATIONS", *([] if shape.time is None else [str(shape.time)])]
    spatial = [str(size) for size in shape.spatial]
    if training.loss == "cross_entropy":
        whole = ", ".join([*sizes, *spatial])
        return f"torch.randint({shape.channels}, ({whole}{',' if len(sizes) + len(spatial) == 1 else ''}))"
    whole = ", ".join([*sizes, str(shape.channels), *spatial])
    return f"torch.randint(2, ({whole})).float()" if training.loss == "binary_cross_entropy" else f"torch.randn({whole})"


def _prepare(network: Network, training: Training, names: Mapping[str, str]) -> list[_Line]:
    place = training.place
    lines = [_Line("torch.manual_seed(0)")]
    lines += [_Line(f"{name} = {_data(layer, network.shapes[layer.name])}", layer.place) for layer, name in _sets(network, names)]
    if not training.learns:
        return [*lines, _Line("network = Network().to(device).eval()", place)]
    lines += [_Line(f"targets = {_targets(network.output, training)}", place), _Line("network = Network().to(device)", place)]
    lines += [_Line(text, place) for text in _optimizer(training)]
    if training.period is not None:
        text = f"torch.optim.lr_scheduler.StepLR(optimizer, step_size={training.period}, gamma={training.factor!r})"
        lines.append(_Line(f"scheduler = {text}", place))
    return lines


def _sets(network: Network, names: Mapping[str, str]) -> Iterable[tuple[Layer, str]]:
    lone = len(network.inputs) == 1
    return [(layer, "data" if lone else f"data_{names[layer.name]}") for layer in network.inputs]


_ADAMS = {"adam": "Adam", "adamw": "AdamW", "adamax": "Adamax", "nadam": "NAdam"}
_ADAPTIVE = {"adagrad": "Adagrad", "adadelta": "Adadelta"}


def _optimizer(training: Training) -> list[str]:
    lines = ["learned = [p for p in network.parameters() if p.requires_grad]"]
    groups = "learned"
    if training.decay:
        lines += [
            'named = [(name.rpartition(".")[2], p) for name, p in network.named_parameters() if p.requires_grad]',
            'weights = [p for name, p in named if "bias" not in name]',
            'biases = [p for name, p in named if "bias" in name]',
        ]
        groups = f'[{{"params": weights, "weight_decay": {training.decay!r}}}, {{"params": biases}}]'
    if training.solver == "sgd":
        ahead = ", nesterov=True" if training.nesterov and training.momentum else ""
        made = f"SGD({groups}, lr={training.rate!r}, momentum={training.momentum!r}{ahead})"
    elif training.solver in _ADAMS:
        betas = f"({training.beta1!r}, {training.beta2!r})"
        made = f"{_ADAMS[training.solver]}({groups}, lr={training.rate!r}, betas={betas}, eps={training.epsilon!r})"
    elif training.solver in _ADAPTIVE:
        made = f"{_ADAPTIVE[training.solver]}({groups}, lr={training.rate!r}, eps={training.epsilon!r})"
    else:
        made = f"RMSprop({groups}, lr={training.rate!r}, alpha={training.beta2!r}, eps={training.epsilon!r})"
    return [*lines, f"optimizer = torch.optim.{made}"]


def _loss(shape: Shape, training: Training) -> str:
    if training.loss == "cross_entropy":
        if shape.time is not None:
            return "F.cross_entropy(y.flatten(0, 1), t.flatten(0, 1))"
        return "F.cross_entropy(y, t)"
    if training.loss == "half_squares":
        steps = "" if shape.time is None else f" / {shape.time}"
        return f'0.5 * F.mse_loss(y, t, reduction="sum") / len(t){steps}'
    return {
        "binary_cross_entropy": "F.binary_cross_entropy_with_logits(y, t)", "squares": "F.mse_loss(y, t)",
        "absolute": "F.l1_loss(y, t)", "huber": "F.huber_loss(y, t)",
    }[training.loss]  # fmt: skip


def _loop(network: Network, training: Training, names: Mapping[str, str]) -> list[_Line]:
    place = training.place
    sets = list(_sets(network, names))
    lone = len(sets) == 1
    inputs = ["x" if lone else f"x_{names[layer.name]}" for layer, _ in sets]
    if not training.learns:
        return [_Line(one, place if one.strip() else None) for one in _forward_loop(sets, inputs)]
    once = {"once": "torch.randperm(OBSERVATIONS)", "never": "torch.arange(OBSERVATIONS)"}.get(training.shuffle)
    text = [f"order = {once}"] if once else []
    text += ["iteration = 0", "", "for epoch in range(EPOCHS):"]
    text += [] if once else ["    order = torch.randperm(OBSERVATIONS)"]
    text += ["    for first in range(0, OBSERVATIONS - BATCH + 1, BATCH):", "        chosen = order[first : first + BATCH]"]
    text += [f"        {x} = {data}[chosen].to(device)" for x, (_, data) in zip(inputs, sets, strict=True)]
    text += [
        "        t = targets[chosen].to(device)",
        "        optimizer.zero_grad()",
        f"        y = network({', '.join(inputs)})",
    ]
    text += [f"        loss = {_loss(network.output, training)}", "        loss.backward()"]
    text += [f"        {line}" for line in _clipped(training)]
    text += ["        optimizer.step()", "        iteration += 1"]
    if training.read_every is not None:
        said = 'print(f"epoch {epoch + 1}, iteration {iteration}: loss {loss.item():.4f}")'
        indent = "        "
        if training.read_every > 1:
            text.append(f"{indent}if iteration % {training.read_every} == 0:")
            indent += "    "
        text.append(indent + said)
    text += ["    scheduler.step()"] if training.period is not None else []
    return [_Line(one, place if one.strip() else None) for one in text]


def _forward_loop(sets: list[tuple[Layer, str]], inputs: list[str]) -> list[str]:
    text = ["for epoch in range(EPOCHS):", "    for first in range(0, OBSERVATIONS - BATCH + 1, BATCH):"]
    text += [f"        {x} = {data}[first : first + BATCH].to(device)" for x, (_, data) in zip(inputs, sets, strict=True)]
    return [*text, "        with torch.no_grad():", f"            y = network({', '.join(inputs)})"]


def _clipped(training: Training) -> list[str]:
    threshold = training.threshold
    if threshold is None:
        return []
    if training.threshold_of == "all":
        return [f"nn.utils.clip_grad_norm_(learned, {threshold!r})"]
    if training.threshold_of == "value":
        return [f"nn.utils.clip_grad_value_(learned, {threshold!r})"]
    return ["for parameter in learned:", f"    nn.utils.clip_grad_norm_([parameter], {threshold!r})"]
