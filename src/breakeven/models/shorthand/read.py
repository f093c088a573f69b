"""Reads a network in one line into a description. A size that is missing is asked for; a word that is not known is named."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from breakeven.errors import InputError, MissingExtra
from breakeven.models.check import checked
from breakeven.models.kinds import (
    Activation,
    Attention,
    Convolution,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GlobalPooling,
    Input,
    Kind,
    Normalization,
    Pooling,
    Recurrent,
)  # fmt: skip
from breakeven.models.network import Layer, Network, Shape

#: Most layers, repetitions unrolled; largest number in the text.
_MOST, _LARGEST = 2000, 2**31

EXAMPLE = "embed 1→8, rnn 256, linear 1"


@dataclass
class _Words:
    """One layer's words: the arrow, sizes, settings and further words, each taken once."""

    name: str
    arrow: tuple[int, int] | None = None
    sizes: tuple[int, ...] = ()
    numbers: list[float] = field(default_factory=list)
    settings: dict[str, int] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def wrong(self, what: str) -> InputError:
        return InputError(f"--net: {self.name}: {what}")

    def whole(self, what: str) -> int:
        """The next number, which has to be whole; the right side of an arrow counts."""
        if self.arrow is not None:
            return self.arrow[1]
        if not self.numbers:
            raise self.wrong(f"{what} is missing, as in `{_USES[self.name]}`")
        number = self.numbers.pop(0)
        if number != int(number) or number < 1:
            raise self.wrong(f"{what} has to be a whole number from 1 on, and is {number:g}")
        return int(number)

    def word(self, *words: str) -> bool:
        """Whether one of these words is there."""
        found = [w for w in self.words if w in words]
        self.words = [w for w in self.words if w not in words]
        return bool(found)

    def window(self, dimensions: int) -> tuple[int, ...]:
        """`k5`, or `3x3`."""
        if self.sizes:
            sizes, self.sizes = self.sizes, ()
            if len(sizes) != dimensions:
                raise self.wrong(f"its window has {len(sizes)} numbers, and it slides over {dimensions}")
            return sizes
        if "k" not in self.settings:
            raise self.wrong(f"its window is missing, as in `{_USES[self.name]}`")
        return (self.settings.pop("k"),) * dimensions


@dataclass(frozen=True)
class _Before:
    """The layers that stand before one, and the time steps of the sequences."""

    layers: list[Layer]
    length: int | None

    def dimensions(self) -> int:
        """Of space, where an image goes in."""
        first = self.layers[0].kind
        return len(first.spatial) if isinstance(first, Input) else 0

    def channels(self) -> int:
        """What comes out of the last one."""
        return _checked(self.layers, self.length).output.channels


Builder = Callable[[_Words, _Before], list[Kind]]


def network(text: str, length: int | None = None) -> Network:
    """A network in one line.

    Args:
        text: layers, parted by commas.
        length: time steps of a sequence; None: what goes in is no sequence.

    Raises:
        InputError: the text is wrong; the message says where and what would be right.
        MissingExtra: lark is not installed.

    >>> network("embed 1→8, rnn 256, linear 1", length=1).output
    Shape(channels=1, spatial=(), time=1)
    """
    layers: list[Layer] = []
    arrows: dict[str, _Words] = {}
    for words in _parsed(text):
        first = max(1, len(layers))
        layers = _with(layers, words, length)
        if words.arrow is not None:
            arrows[layers[first].name] = words
    if len(layers) < 2:
        raise InputError(f"--net: there are no layers; give some, as in {EXAMPLE!r}")
    net = _checked(layers, length)
    for layer in net.layers:
        if layer.name in arrows and not isinstance(layer.kind, Embedding):
            _fits(arrows[layer.name], net.fed(layer)[0])
    return net


def _checked(layers: list[Layer], length: int | None) -> Network:
    try:
        return checked(layers, length)
    except InputError as error:
        hint = "; say how many with --length" if length is None and "time steps" in str(error) else ""
        raise InputError(f"--net: {error}{hint}") from None


def _fits(words: _Words, fed: Shape) -> None:
    """The left side of an arrow is what goes in: the channels, or all of space together."""
    left = words.arrow[0] if words.arrow is not None else fed.channels
    if left not in (fed.channels, fed.channels * math.prod(fed.spatial)):
        raise words.wrong(f"takes {left} by its arrow, and {fed} goes in")


def _parsed(text: str) -> list[_Words]:
    try:
        from lark import Lark, Token, Tree, UnexpectedInput
    except ImportError as error:
        raise MissingExtra(f"{error.name} is needed to read --net: pip install 'breakeven[matlab]'") from None
    if len(text) > 20_000:
        raise InputError("--net: the text is longer than any network that someone types")
    try:
        tree = _parser(Lark).parse(text)
    except UnexpectedInput as error:
        column = getattr(error, "column", None)
        where = f" at character {column}" if isinstance(column, int) and column > 0 else ""
        rest = text[(column or 1) - 1 :][:20] if isinstance(column, int) and column > 0 else ""
        raise InputError(f"--net: {rest!r}{where} is not understood; a network looks like {EXAMPLE!r}") from None

    def unrolled(node: Any) -> list[_Words]:  # Any: a node of lark's tree
        if node.data != "group":
            return [_words(node, Token)]
        times, *parts = node.children
        once = [one for part in parts if isinstance(part, Tree) for one in unrolled(part)]
        count = _whole(times)
        if count * len(once) > _MOST:
            raise InputError(f"--net: more than {_MOST} layers")
        return [replace(one, numbers=list(one.numbers), settings=dict(one.settings), words=list(one.words))
                for _ in range(count) for one in once]  # fmt: skip

    return [one for part in tree.children if part is not None for one in unrolled(part)]


@lru_cache(maxsize=1)
def _parser(lark: Any) -> Any:  # Any: lark is imported when it is needed
    grammar = (files("breakeven.models.shorthand") / "data" / "net.lark").read_text(encoding="utf-8")
    return lark(grammar, parser="lalr", maybe_placeholders=False)


def _whole(text: str) -> int:
    number = float(text[:20])
    if number != int(number) or not 1 <= number <= _LARGEST:
        raise InputError(f"--net: {text[:20]} has to be a whole number from 1 on")
    return int(number)


def _words(node: Any, token: Any) -> _Words:  # Any: a node of lark's tree, and lark's class of tokens
    name, *values = node.children
    found = _Words(str(name).lower())
    if found.name not in _LAYERS and found.name not in _INPUTS:
        near = difflib.get_close_matches(found.name, [*_LAYERS, *_INPUTS], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join([*_INPUTS, *_LAYERS])}"
        raise InputError(f"--net: no layer is called {found.name!r}; {hint}")
    for value in values:
        texts = [str(child) for child in value.children]
        if value.data == "arrow" and found.name not in _ARROWED:
            raise found.wrong(f"takes no arrow; it is written `{_USES[found.name]}`")
        if value.data == "arrow":
            found.arrow = (_whole(texts[0]), _whole(texts[1]))
        elif value.data == "size":
            found.sizes = tuple(_whole(text) for text in texts)
        elif value.data == "setting":
            found.settings[texts[0]] = int(float(texts[1])) if texts[0] == "p" and float(texts[1]) == 0 else _whole(texts[1])
        elif value.data == "number":
            found.numbers.append(float(texts[0][:20]))
        else:
            found.words.append(texts[0].lower())
    return found


def _with(layers: list[Layer], words: _Words, length: int | None) -> list[Layer]:
    """The layers and one more."""
    if words.name in _INPUTS:
        if layers:
            raise words.wrong("it has to come first")
        entering = _INPUTS[words.name](words)
        _nothing_left(words)
        return [Layer("input", replace(entering, sequence=length is not None))]
    if not layers:
        layers = [Layer("input", _entering(words, length))]
    last = layers[-1]
    if words.name == "last":
        if not isinstance(last.kind, Recurrent):
            raise words.wrong("it takes the last time step of rnn, lstm or gru, and has to follow one")
        _nothing_left(words)
        return [*layers[:-1], replace(last, kind=replace(last.kind, output="last"))]
    kinds = _LAYERS[words.name](words, _Before(layers, length))
    _nothing_left(words)
    for kind in kinds:
        layers = [*layers, Layer(f"{words.name} {len(layers)}", kind, (layers[-1].name,))]
    return layers


def _entering(words: _Words, length: int | None) -> Input:
    """What goes into a first layer that is no input: the left side of its arrow."""
    if words.arrow is None:
        first = f"{words.name} 20→256" if words.name in _ARROWED else "linear 20→256"
        first = "image 32x32x3, conv 16 3x3" if words.name.startswith("conv") else first
        raise words.wrong(f"nothing says what goes in; begin with `{first}`, `input 20` or `embed 10000→64`")
    table = words.name == "embed" and words.arrow[0] > 1
    return Input(1 if table else words.arrow[0], sequence=length is not None)


def _nothing_left(words: _Words) -> None:
    left = [*(f"{n:g}" for n in words.numbers), *words.words, *(f"{k}{v}" for k, v in words.settings.items()),
            *(["x".join(map(str, words.sizes))] if words.sizes else [])]  # fmt: skip
    if left:
        raise words.wrong(f"{left[0]!r} says nothing to it; it is written `{_USES[words.name]}`")


def _embed(words: _Words, before: _Before) -> list[Kind]:
    """A table of vectors; of 1 number (a table of one row would be none) a linear layer, as people call that too."""
    if words.arrow is None:
        raise words.wrong("it needs both sizes, as in `embed 10000→64`")
    rows, width = words.arrow
    return [Dense(width)] if rows == 1 else [Embedding(rows, width)]


def _recurrent(cell: Any, both: bool = False) -> Builder:  # Any: one of the literal's words
    def build(words: _Words, before: _Before) -> list[Kind]:
        hidden = words.whole("the number of hidden units")
        deep = words.numbers.pop(0) if words.numbers and words.word("layers", "layer", "deep") else 1
        if deep != int(deep) or not 1 <= deep <= 100:
            raise words.wrong(f"{deep:g} layers cannot be")
        both_ways = both or words.word("bidirectional", "both")
        last = words.word("last")
        one = Recurrent(cell, hidden, "sequence", both_ways, biases=2, bias="zeros")
        return [*[one] * (int(deep) - 1), replace(one, output="last" if last else "sequence")]

    return build


def _linear(words: _Words, before: _Before) -> list[Kind]:
    return [Dense(words.whole("the output size"))]


def _convolution(over_time: bool) -> Builder:
    def build(words: _Words, before: _Before) -> list[Kind]:
        dimensions = 1 if over_time else before.dimensions() or 2
        filters = words.whole("the number of filters")
        window = words.window(dimensions)
        stride = (words.settings.pop("s", 1),) * dimensions
        pad = words.settings.pop("p", 0)
        padding: Any = "same" if words.word("same") else ((pad, pad),) * dimensions  # Any: the alias has a text in it
        return [Convolution(filters, window, stride, (1,) * dimensions, padding, "either" if over_time else "space")]

    return build


def _pooling(how: Any) -> Builder:  # Any: one of the literal's words
    def build(words: _Words, before: _Before) -> list[Kind]:
        dimensions = before.dimensions() or 1
        size = words.whole("the window") if not words.sizes and "k" not in words.settings else 0
        window = (size,) * dimensions if size else words.window(dimensions)
        stride = (words.settings.pop("s"),) * dimensions if "s" in words.settings else window
        return [Pooling(how, window, stride, ((0, 0),) * dimensions, "either" if dimensions == 1 else "space")]

    return build


def _attention(words: _Words, before: _Before) -> list[Kind]:
    heads = words.whole("the number of heads")
    return [Attention(heads, before.channels(), causal=words.word("causal"))]


def _dropout(words: _Words, before: _Before) -> list[Kind]:
    probability = words.numbers.pop(0) if words.numbers else 0.5
    if not 0 <= probability < 1:
        raise words.wrong(f"a probability of {probability:g} cannot be")
    return [Dropout(probability)]


def _plain(kind: Kind) -> Builder:
    return lambda words, before: [kind]


def _image(words: _Words) -> Input:
    if len(words.sizes) not in (2, 3, 4):
        raise words.wrong("its size is missing: height, width, channels, as in `image 32x32x3`")
    sizes, words.sizes = words.sizes if len(words.sizes) > 2 else (*words.sizes, 1), ()
    return Input(sizes[-1], sizes[:-1])


#: Layers that may say what goes in and what comes out.
_ARROWED: frozenset[str] = frozenset(["embed", "linear", "rnn", "lstm", "gru", "bilstm", "bigru", "conv", "conv1d"])

_INPUTS: dict[str, Callable[[_Words], Input]] = {
    "image": _image, "input": lambda words: Input(words.whole("the number of features")),
}  # fmt: skip

_LAYERS: dict[str, Builder] = {
    "embed": _embed, "rnn": _recurrent("rnn"), "lstm": _recurrent("lstm"), "gru": _recurrent("gru"),
    "bilstm": _recurrent("lstm", both=True), "bigru": _recurrent("gru", both=True), "last": _plain(Flatten()),
    "linear": _linear, "conv": _convolution(False), "conv1d": _convolution(True), "maxpool": _pooling("max"),
    "avgpool": _pooling("average"), "attention": _attention, "dropout": _dropout, "flatten": _plain(Flatten()),
    "mean": _plain(GlobalPooling("average", "either")), "batchnorm": _plain(Normalization("batch")),
    "layernorm": _plain(Normalization("layer")), "relu": _plain(Activation("relu")), "tanh": _plain(Activation("tanh")),
    "sigmoid": _plain(Activation("sigmoid")), "gelu": _plain(Activation("gelu")), "silu": _plain(Activation("swish")),
    "softmax": _plain(Activation("softmax")),
}  # fmt: skip

#: How each layer is written.
_USES: dict[str, str] = {
    **{name: name for name in _LAYERS},
    "image": "image 32x32x3",
    "input": "input 20",
    "embed": "embed 10000→64",
    "linear": "linear 10",
    "rnn": "rnn 256 [2 layers] [last]",
    "lstm": "lstm 256 [2 layers] [last]",
    "gru": "gru 256 [2 layers] [last]",
    "bilstm": "bilstm 256 [last]",
    "bigru": "bigru 256 [last]",
    "conv": "conv 16 3x3 [s2] [p1 or same]",
    "conv1d": "conv1d 16 k5 [s2] [same]",
    "maxpool": "maxpool 2 [s2]",
    "avgpool": "avgpool 2 [s2]",
    "attention": "attention 8 [causal]",
    "dropout": "dropout 0.5",
}

#: The words of the language.
WORDS: tuple[str, ...] = (*_INPUTS, *_LAYERS)
