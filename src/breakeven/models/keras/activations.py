"""Keras's activations as PyTorch's backend of Keras computes them (keras/src/activations, keras/src/backend/torch/nn.py)."""

from __future__ import annotations

from typing import Any, Final

from breakeven.errors import InputError
from breakeven.models.keras.arguments import At
from breakeven.models.translation import number

#: Name → expression of `@`.
FUNCTIONS: Final[dict[str, str]] = {
    "linear": "@",
    "relu": "F.relu(@)",
    "relu6": "F.relu6(@)",
    "elu": "F.elu(@)",
    "selu": "F.selu(@)",
    "celu": "F.celu(@)",
    "gelu": "F.gelu(@)",
    "silu": "F.silu(@)",
    "swish": "F.silu(@)",
    "tanh": "torch.tanh(@)",
    "sigmoid": "torch.sigmoid(@)",
    "hard_sigmoid": "F.hardsigmoid(@)",
    "hard_silu": "F.hardswish(@)",
    "hard_swish": "F.hardswish(@)",
    "hard_tanh": "F.hardtanh(@)",
    "hard_shrink": "F.hardshrink(@)",
    "soft_shrink": "F.softshrink(@)",
    "tanh_shrink": "F.tanhshrink(@)",
    "softplus": "F.softplus(@)",
    "softsign": "F.softsign(@)",
    "exponential": "torch.exp(@)",
    "mish": "F.mish(@)",
    "leaky_relu": "F.leaky_relu(@, 0.2)",
    "log_sigmoid": "F.logsigmoid(@)",
    "softmax": "F.softmax(@, -1)",
    "log_softmax": "F.log_softmax(@, -1)",
}


def named(at: At, key: str = "activation", default: str = "linear") -> str:
    """The name of the activation that an argument says.

    Raises:
        InputError: it is none of Keras's.
    """
    value = _name(at.config.get(key, default))
    if not isinstance(value, str) or value not in FUNCTIONS:
        raise InputError(f"{key}={str(at.config.get(key))[:60]} is no activation that is read ({', '.join(FUNCTIONS)})")
    return value


def _name(value: Any) -> Any:  # Any: JSON
    if value is None:
        return "linear"
    if isinstance(value, dict):
        inner = value.get("config")
        if value.get("class_name") == "function":
            return inner
        if isinstance(inner, dict) and set(inner) <= {"name", "dtype", "trainable"}:
            return _LAYERS.get(str(value.get("class_name")), str(value.get("class_name")).lower())
    return value if isinstance(value, str) else None


_LAYERS = {"ReLU": "relu", "ELU": "elu", "Softmax": "softmax"}


def applied(name: str, text: str) -> str:
    """An activation of an expression.

    >>> applied("relu", "x"), applied("linear", "x")
    ('F.relu(x)', 'x')
    """
    return FUNCTIONS[name].replace("@", text)


def function(name: str) -> str:
    """An activation as a function that can be handed over."""
    plain = FUNCTIONS[name]
    return plain.removesuffix("(@)") if plain.endswith("(@)") else f"lambda a: {plain.replace('@', 'a')}"


def relu_layer(at: At) -> str:
    """The ReLU layer with its slope, ceiling and threshold."""
    slope, threshold = at.real("negative_slope", 0.0), at.real("threshold", 0.0)
    ceiling = None if at.config.get("max_value") is None else at.real("max_value", 6.0)
    if threshold:
        text = f"torch.where($0 > {number(threshold)}, $0, {number(slope)} * ($0 - {number(threshold)}))"
    else:
        text = f"F.leaky_relu($0, {number(slope)})" if slope else "F.relu($0)"
    return text if ceiling is None else f"{text}.clamp(max={number(ceiling)})"
