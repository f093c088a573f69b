"""Small MATLAB scripts around the lines that a test is about, and what they become."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from breakeven.models.matlab.data import given
from breakeven.models.matlab.read import read_text
from breakeven.models.network import Model
from breakeven.models.torch_script import write

OPTIONS = "options = trainingOptions('adam', 'MaxEpochs', 1, 'MiniBatchSize', 2, Verbose=false, ExecutionEnvironment='cpu');\n"


def network(*layers: str, data: tuple[str, ...] = (), output: str = "regressionLayer", options: str = OPTIONS) -> Model:
    """A network of these lines, an output layer, and a training of it."""
    lines = "\n    ".join((*layers, output))
    return script(f"layers = [\n    {lines}];\n{options}net = trainNetwork(XTrain, YTrain, layers, options);\n", *data)


def script(text: str, *data: str) -> Model:
    """What a script says, with sizes as `--data` takes them."""
    return read_text(text, "train.m", given(data))


def module(model: Model) -> Any:  # Any: a torch module, made by text
    """The network as a module of PyTorch, without its training."""
    made = ModuleType("written")
    text = write(model).text
    exec(compile(text[: text.index("torch.manual_seed")], "written.py", "exec"), made.__dict__)
    return made.Network()
