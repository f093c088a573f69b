"""Sizes that only stand as numbers in a model's layers: `nn.LSTM(2, 24)` has a hidden size that no name says.

A layer's size comes again in the layers that take its output, so all numbers of that value among the arguments of layers in the
same class are one size. Where the number also stands for something else there, the script fails with the new value, and the
cell says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from breakeven.sweep.names.found import Found, Kind, Span, called, plain

#: Layers and the names of their leading arguments (PyTorch's signatures).
_LAYERS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("RNN", "LSTM", "GRU"), ("input_size", "hidden_size", "num_layers")),
    **dict.fromkeys(("RNNCell", "LSTMCell", "GRUCell"), ("input_size", "hidden_size")),
    **dict.fromkeys(("Linear", "LazyLinear"), ("in_features", "out_features")),
    "Embedding": ("num_embeddings", "embedding_dim"),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"), ("in_channels", "out_channels", "kernel_size")),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "LayerNorm", "GroupNorm"), ("num_features",)),
    "MultiheadAttention": ("embed_dim", "num_heads"),
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), ("d_model", "nhead", "dim_feedforward")),
}
#: What people call these sizes.
_ALSO: Final[dict[str, tuple[str, ...]]] = {
    "hidden_size": ("hidden", "hiddensize", "hiddendim", "units", "width"),
    "num_layers": ("layers", "numlayers", "depth"),
    "embedding_dim": ("embedding", "embeddingdim", "embeddim"),
    "out_channels": ("channels", "outchannels", "filters"),
    "d_model": ("dmodel", "width", "hidden"),
    "out_features": ("outfeatures",),
    "dim_feedforward": ("dimfeedforward", "feedforward"),
}


def layers(tree: ast.Module, file: str, wanted: str) -> Iterator[Found]:
    """Sizes by this name that are written as numbers; one for each value and class (or function) that it stands in."""
    for scope in _scopes(tree):
        calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and called(n) in _LAYERS]
        values: dict[int, tuple[str, int]] = {}
        for call in calls:
            for name, node in _named(call):
                if wanted in _ALSO.get(name, ()) and isinstance(node, ast.Constant) and type(node.value) is int:
                    values.setdefault(node.value, (name, node.lineno))
        for name, node in _by_attribute(scope, wanted):
            if isinstance(node.value, int):
                values.setdefault(node.value, (name, node.lineno))
        for value, (name, line) in values.items():
            spans = tuple(Span.of(file, n) for call in calls for n in _numbers(call, value))
            yield Found(Kind.LAYER, name, file, line, spans, value, None, getattr(scope, "name", ""))


def _scopes(tree: ast.Module) -> list[ast.AST]:
    """Classes; functions and the module's own body where they build layers outside of any class."""
    classes: list[ast.AST] = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    rest = ast.Module([n for n in tree.body if not isinstance(n, ast.ClassDef)], [])
    return [*classes, rest]


def _by_attribute(scope: ast.AST, wanted: str) -> Iterator[tuple[str, ast.Constant]]:
    """`self.hidden = nn.Linear(terms, 64)`: the name that the layer itself has, and the size of what it gives."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value) in ("Linear", "LazyLinear"):
            target = node.targets[0]
            last = node.value.args[-1] if node.value.args else None
            named = isinstance(target, ast.Attribute) and plain(target.attr) == wanted
            if named and isinstance(last, ast.Constant) and type(last.value) is int:
                yield "out_features", last


def _named(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    yield from zip(_LAYERS[called(call)], call.args, strict=False)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def _numbers(call: ast.Call, value: int) -> Iterator[ast.expr]:
    """Every number of this value among the sizes of a layer, alone or in arithmetic (`2 * 24`)."""
    for name, node in _named(call):
        if name in ("num_layers", "kernel_size", "num_heads", "nhead", "dropout", "padding", "stride") and value != 0:
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and type(part.value) is int and part.value == value:
                yield part
