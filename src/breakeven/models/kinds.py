"""The kinds of layers that a network description is made of: plain frozen records, no behaviour. Sizes are whole numbers.

A kind says what a layer computes, not how a framework calls it. Readers translate into these; `shapes.py` says what comes out of
each, `learnables.py` what each learns, `torch_layers.py` how PyTorch writes it. To add one: a record here, in `Kind`, and its
entry in those three tables (a test holds them complete).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Elements added (before, after) along each dimension; `same`: as many as give `ceil(size / stride)` outputs, the odd one after.
Padding = tuple[tuple[int, int], ...] | Literal["same"]
#: Along which dimensions a window slides; `either`: over space where there is some, else over time.
Over = Literal["space", "time", "either"]


@dataclass(frozen=True)
class Input:
    """Data enters. A vector has channels alone; an image also `spatial`; a sequence of either is marked.

    Attributes:
        channels: features of a vector, channels of an image; of words: 1.
        spatial: height, width, depth of an image.
        sequence: whether it comes as time steps.
        words: how many different whole numbers the data holds; None: it is of real numbers.
        centred: whether a stored mean is taken off first.
        scaled: whether it is then divided by a stored deviation or brought into a range.
        last: whether an image comes with its channels last.
    """

    channels: int
    spatial: tuple[int, ...] = ()
    sequence: bool = False
    words: int | None = None
    centred: bool = False
    scaled: bool = False
    last: bool = False


@dataclass(frozen=True)
class Convolution:
    """A sum over a sliding window; `transposed`: its adjoint, which enlarges (`padding` is then what is cropped).

    Attributes:
        filters: channels that come out, of all groups together.
        window: its size along each dimension.
        groups: blocks of channels that do not mix; None: one for each input channel (`filters` is then for each of them).
        weights: initial values: glorot, he, narrow-normal, zeros, ones.
    """

    filters: int
    window: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: Padding
    over: Over = "space"
    groups: int | None = 1
    bias: bool = True
    transposed: bool = False
    causal: bool = False
    weights: str = "glorot"


@dataclass(frozen=True)
class Pooling:
    """Maximum or mean over a sliding window."""

    how: Literal["max", "average"]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Padding
    over: Over = "space"


@dataclass(frozen=True)
class GlobalPooling:
    """Maximum or mean over all of space, or over all time steps."""

    how: Literal["max", "average"]
    over: Over = "space"


@dataclass(frozen=True)
class Dense:
    """A matrix product with all channels (and, without time, all of space) of each sample."""

    units: int
    bias: bool = True
    weights: str = "glorot"


@dataclass(frozen=True)
class Embedding:
    """A table of vectors, indexed by whole numbers; `spare`: a further row for what is in no table."""

    rows: int
    width: int
    spare: bool = False


@dataclass(frozen=True)
class Recurrent:
    """A recurrent layer.

    Attributes:
        output: every time step, or the last.
        biases: vectors of bias for each gate: PyTorch adds two, MATLAB has one.
        state, gates: activations. Only tanh and sigmoid run as one fused call.
        reset_after: where a GRU applies its reset gate: after the product with the state, or before it.
        weights, recurrent_weights, bias: initial values.
    """

    cell: Literal["rnn", "lstm", "gru"]
    hidden: int
    output: Literal["sequence", "last"] = "sequence"
    bidirectional: bool = False
    biases: int = 1
    state: Literal["tanh", "softsign", "relu"] = "tanh"
    gates: Literal["sigmoid", "hard-sigmoid"] = "sigmoid"
    reset_after: bool = True
    weights: str = "glorot"
    recurrent_weights: str = "orthogonal"
    bias: str = "unit-forget-gate"


@dataclass(frozen=True)
class Attention:
    """Scaled dot-product attention of several heads with projections of queries, keys, values and output.

    Attributes:
        heads: how many.
        keys: channels of queries and keys, of all heads together.
        values: channels of the values; None: as `keys`.
        output: channels that come out; None: as those that go in.
        causal: whether a time step sees only those before it.
        projected: whether there are projections at all; without them queries, keys and values are three inputs.
        dropout: of the attention's scores.
    """

    heads: int
    keys: int
    values: int | None = None
    output: int | None = None
    causal: bool = False
    projected: bool = True
    bias: bool = True
    dropout: float = 0.0


@dataclass(frozen=True)
class Normalization:
    """Brings to mean 0 and deviation 1, over: the batch; a sample's channels; a channel of a sample; groups of channels.

    Attributes:
        groups: of `group`; None: one for each channel.
        affine: whether a learned scale and offset follow.
    """

    over: Literal["batch", "layer", "instance", "group"]
    epsilon: float = 1e-5
    groups: int | None = 1
    affine: bool = True


@dataclass(frozen=True)
class LocalNormalization:
    """Divides by the neighbouring channels' squares (AlexNet's)."""

    window: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 2.0


@dataclass(frozen=True)
class Activation:
    """A function of each element, or softmax over the channels; `parameter` is its slope, ceiling or scale where it has one."""

    function: Literal[
        "relu",
        "leaky_relu",
        "clipped_relu",
        "elu",
        "gelu",
        "tanh",
        "sigmoid",
        "swish",
        "softplus",
        "softsign",
        "softmax",
        "prelu",
    ]
    parameter: float | None = None


@dataclass(frozen=True)
class Dropout:
    """Sets elements to zero with a probability; `channels`: whole channels at once."""

    probability: float = 0.5
    channels: bool = False


@dataclass(frozen=True)
class Flatten:
    """Space and channels become channels; time stays."""


@dataclass(frozen=True)
class Identity:
    """Hands its input on (also what only changed the format of data elsewhere)."""


@dataclass(frozen=True)
class Merge:
    """Joins its inputs: element by element, or one after the other along channels (`axis` None) or a dimension of space."""

    how: Literal["add", "multiply", "concatenate"]
    axis: int | None = None


@dataclass(frozen=True)
class Positions:
    """Adds nothing: gives a vector for each time step, learned (`length` rows) or of sines and cosines."""

    width: int
    length: int | None = None


@dataclass(frozen=True)
class Product:
    """A product of matrices in what a layer does, in the vocabulary of `breakeven predict`, for one sample.

    Attributes:
        op: `linear`, `conv2d`, `lstm`, …
        sizes: its columns.
        batch: the column that the samples of a step multiply.
    """

    op: str
    sizes: tuple[tuple[str, int], ...]
    batch: str


@dataclass(frozen=True)
class Computed:
    """Arrays in, one array out, in the words of PyTorch: what a reader translated whole, axes in the file's order.

    For formats that are programs on arrays themselves. In its lines `$me` is the layer's attribute, `$0`, `$1`, … its inputs;
    readers put nothing but numbers and words of their own into them.

    Attributes:
        calls: the expression that gives its value.
        shape: of one sample; `last`: its channels are the last axis, else the first (of two axes always the last).
        makes: lines of `__init__`.
        arrays: what it learns.
        needs: names of the definitions that the lines use.
        flops: floating-point operations of one sample, forward.
        products: the operations that `predict` can price.
        shares: the layer whose arrays it uses; None: its own.
    """

    calls: str
    shape: tuple[int, ...]
    makes: tuple[str, ...] = ()
    arrays: tuple[tuple[str, tuple[int, ...]], ...] = ()
    needs: tuple[str, ...] = ()
    flops: float = 0.0
    products: tuple[Product, ...] = ()
    last: bool = False
    shares: str | None = None


Kind = (
    Input | Convolution | Pooling | GlobalPooling | Dense | Embedding | Recurrent | Attention | Normalization | LocalNormalization
    | Activation | Dropout | Flatten | Identity | Merge | Positions | Computed
)  # fmt: skip
