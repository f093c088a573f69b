"""The description of a network and of its training: layers, how they are connected, sizes, options. Frozen; knows no framework.

Readers (`matlab/`, `shorthand/`, …) make one; `checked` puts its layers in order and works out every shape, or says which line
is wrong; `torch_script.write` makes a plain training script from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from breakeven.models.kinds import Input, Kind


@dataclass(frozen=True)
class Shape:
    """One sample's size between two layers, the batch left out.

    Attributes:
        channels: features or channels.
        spatial: sizes of space, in the order of the input layer.
        time: time steps; None: it is no sequence.
    """

    channels: int
    spatial: tuple[int, ...] = ()
    time: int | None = None

    def __str__(self) -> str:
        sizes = "×".join(str(size) for size in (*self.spatial, self.channels))
        return sizes if self.time is None else f"{sizes} at {self.time} time steps"


@dataclass(frozen=True)
class Place:
    """A line of the user's file."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Layer:
    """One layer.

    Attributes:
        name: unique in its network.
        kind: what it computes.
        inputs: names of the layers that it reads, in order.
        place: where it is said; None: in no file.
    """

    name: str
    kind: Kind
    inputs: tuple[str, ...] = ()
    place: Place | None = None


@dataclass(frozen=True)
class Network:
    """Layers in an order in which each comes after those that it reads; the last is the output.

    Attributes:
        layers: as above.
        shapes: what comes out of each layer, by its name.
    """

    layers: tuple[Layer, ...]
    shapes: dict[str, Shape] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Layer, ...]:
        """The layers through which data enters."""
        return tuple(layer for layer in self.layers if isinstance(layer.kind, Input))

    @property
    def output(self) -> Shape:
        """What comes out of the network."""
        return self.shapes[self.layers[-1].name]

    def fed(self, layer: Layer) -> tuple[Shape, ...]:
        """What goes into a layer."""
        return tuple(self.shapes[name] for name in layer.inputs)


@dataclass(frozen=True)
class Training:
    """How it is trained. The defaults are those of PyTorch's Adam and of no further option.

    Attributes:
        loss: cross entropy of classes; of 0/1 for each output; squares (`half_squares`: half the sum of squares of a sample, as
            MATLAB's regression); absolute differences; Huber's.
        solver: the optimizer.
        rate, momentum, beta1, beta2, epsilon: its constants (`beta2` also of RMSProp's squares).
        decay: L2 regularisation of weights (not of biases).
        schedule: after every `period` epochs the rate is multiplied by `factor`; None: it stays.
        threshold: of gradients, None: none; `threshold_of`: each parameter's norm, all parameters' norm, each value.
        read_every: the loss is read (which waits for the GPU) at every so many iterations; None: never.
        environment: device that the script names.
        learns: whether it is trained at all; else a step is the forward pass, without gradients.
        nesterov: whether SGD's momentum looks ahead.
    """

    loss: Literal["cross_entropy", "binary_cross_entropy", "half_squares", "squares", "absolute", "huber"] = "squares"
    solver: Literal["sgd", "adam", "rmsprop", "adamw", "adagrad", "adadelta", "adamax", "nadam"] = "adam"
    rate: float = 1e-3
    momentum: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    decay: float = 0.0
    epochs: int = 30
    batch: int = 128
    period: int | None = None
    factor: float = 0.1
    threshold: float | None = None
    threshold_of: Literal["parameter", "all", "value"] = "all"
    shuffle: Literal["once", "every-epoch", "never"] = "every-epoch"
    read_every: int | None = 1
    environment: Literal["cuda", "cpu"] = "cuda"
    place: Place | None = None
    learns: bool = True
    nesterov: bool = False


@dataclass(frozen=True)
class Model:
    """A network, its training, and the data that it is fed with.

    Attributes:
        observations: samples of the data set; None: not said.
        notes: what was read and has no effect on a step, or what else the user should know; one sentence each.
    """

    network: Network
    training: Training
    observations: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def batch(self) -> int:
        """Samples of a step: no more than there are."""
        return min(self.training.batch, self.observations or self.training.batch)
