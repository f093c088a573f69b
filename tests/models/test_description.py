"""A description: its tables know every kind, its order is found, and what is wrong is named; every kind is written as PyTorch."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest
import torch

from breakeven.errors import InputError
from breakeven.models import shapes, torch_layers
from breakeven.models.arithmetic import step_flops
from breakeven.models.check import checked, identifier
from breakeven.models.kinds import (
    Activation,
    Attention,
    Computed,
    Convolution,
    Dense,
    Input,
    Kind,
    Merge,
    Normalization,
    Recurrent,
)
from breakeven.models.matlab.layer_calls import LAYERS
from breakeven.models.network import Layer, Model, Network, Training
from breakeven.models.shorthand.read import WORDS
from breakeven.models.torch_script import write
from tests.models.scripts import module

IMAGE = Layer("in", Input(3, (16, 16)))


def test_every_kind_has_a_shape_and_is_written() -> None:
    kinds = set(get_args(Kind))
    assert kinds - {Input} == set(shapes._OF_ONE) | set(shapes._OF_MANY)
    assert kinds - {Attention, Merge, Computed} == set(torch_layers._OF_ONE)


def test_layers_are_put_in_order() -> None:
    net = checked([Layer("b", Activation("relu"), ("a",)), Layer("a", Dense(4), ("in",)), Layer("in", Input(3))])
    assert [layer.name for layer in net.layers] == ["in", "a", "b"]


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([], "no layers"),
        ([Layer("a", Dense(3), ("b",)), Layer("b", Dense(3), ("a",))], "reads, by way of others"),
        ([Layer("a", Dense(3), ("nothing",))], "no layer is called so"),
        ([IMAGE, Layer("a", Dense(3), ("in",)), Layer("b", Dense(3), ("in",))], "one output is understood"),
        ([IMAGE, Layer("in", Dense(3), ("in",))], "a second layer is called 'in'"),
        ([IMAGE, Layer("r", Recurrent("lstm", 3), ("in",))], "there are none in 16×16×3"),
        ([Layer("in", Input(3, sequence=True)), Layer("a", Dense(3), ("in",))], "the length of the sequences"),
        ([IMAGE, Layer("a", Convolution(4, (3, 3), (1, 1), (1, 1), "same", groups=2), ("in",))], "do not divide"),
    ],
)
def test_what_does_not_fit_is_named(layers: list[Layer], said: str) -> None:
    with pytest.raises(InputError, match=said):
        checked(layers)


def residual() -> Network:
    """Two branches that meet again, twice."""
    conv = Convolution(3, (3, 3), (1, 1), (1, 1), "same")
    return checked(
        [
            IMAGE,
            Layer("conv", conv, ("in",)),
            Layer("norm", Normalization("batch"), ("conv",)),
            Layer("sum", Merge("add"), ("norm", "in")),
            Layer("both", Merge("concatenate"), ("sum", "conv")),
            Layer("out", Dense(5), ("both",)),
        ]
    )


def test_branches_are_kept_apart_in_the_written_module() -> None:
    model = Model(residual(), Training(loss="cross_entropy", batch=2))
    made = module(model).eval()
    x = torch.randn(2, 3, 16, 16)
    conv = made.conv(x)
    expected = made.out(torch.cat([made.norm(conv) + x, conv], 1).flatten(1))
    assert torch.allclose(made(x), expected, atol=1e-5)


@pytest.mark.parametrize("solver", ["adam", "sgd", "rmsprop"])
@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy", "half_squares", "squares", "absolute", "huber"])
def test_the_written_script_trains(solver: str, loss: str, capsys: pytest.CaptureFixture[str]) -> None:
    net = checked(
        [Layer("in", Input(3, sequence=True)), Layer("rnn", Recurrent("rnn", 4), ("in",)), Layer("out", Dense(2), ("rnn",))], 5
    )
    training = Training(loss=loss, solver=solver, batch=4, epochs=2, environment="cpu", threshold=1.0, period=1)  # type: ignore[arg-type]  # words of the literals
    text = write(Model(net, training, 8)).text
    exec(compile(text, "written.py", "exec"), {"__name__": "written"})
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_name_never_hides_one_of_the_scripts_own() -> None:
    layers = [
        Layer("training", Input(3)),
        Layer("class", Dense(2), ("training",)),
        Layer("x", Dense(2), ("class",)),
        Layer("9 é", Dense(1), ("x",)),
    ]
    text = write(Model(checked(layers), Training(batch=2))).text
    ast.parse(text)
    assert identifier("class", {"class"}) == "class_2"


def test_the_arithmetic_of_a_step_is_counted_from_its_products() -> None:
    """3 passes where it is trained, 2 operations for each weight, 10 samples."""
    net = checked([Layer("in", Input(7)), Layer("a", Dense(5, bias=False), ("in",))])
    assert step_flops(Model(net, Training(batch=10))) == 3 * 2 * 7 * 5 * 10
    assert step_flops(Model(net, Training(batch=10, learns=False))) == 2 * 7 * 5 * 10


def test_the_page_names_every_layer_and_word() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    assert [name for name in LAYERS if f"`{name}`" not in page] == []
    assert [word for word in WORDS if f"`{word}" not in page] == []
