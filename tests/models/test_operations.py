"""A network's operations in the vocabulary of `predict`, and their prices."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

from breakeven import cli
from breakeven.models.check import checked
from breakeven.models.kinds import Convolution, Input, Recurrent
from breakeven.models.network import Layer
from breakeven.models.operations import operations
from breakeven.models.shorthand.read import network


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("linear 784→10, relu", None, [{"op": "linear", "m": 32, "n": 10, "k": 784}, {"op": "relu", "elements": 320}]),
        ("lstm 8→16", 5, [{"op": "lstm", "hidden": 16, "batch": 32, "timesteps": 5, "input": 8, "bidirectional": 0}]),
        (
            "image 28x20x3, conv 8 3x5 s2 p1",
            None,
            [{"op": "conv2d", "n": 32, "c": 3, "h": 28, "w": 20, "k": 8, "r": 3, "s": 5, "pad_h": 1, "pad_w": 1,
               "stride_h": 2, "stride_w": 2}],
        ),
        (
            "conv1d 6→4 k5 same",
            9,
            [{"op": "conv2d", "n": 32, "c": 6, "h": 1, "w": 9, "k": 4, "r": 1, "s": 5, "pad_h": 0, "pad_w": 2,
               "stride_h": 1, "stride_w": 1}],
        ),
    ],
)  # fmt: skip
def test_layers_become_operations(text: str, length: int | None, expected: list[dict[str, object]]) -> None:
    rows = operations(network(text, length), 32)
    assert [{k: v for k, v in row.items() if k not in ("layer", "direction")} for row in rows] == expected
    assert {row["direction"] for row in rows} == {"both"}


@pytest.mark.parametrize(
    "kind",
    [
        Convolution(4, (5,), (1,), (1,), ((0, 0),), "time", causal=True),
        Convolution(4, (5,), (1,), (2,), ((0, 0),), "time", causal=True),
        Convolution(4, (3,), (2,), (3,), ((2, 2),), "time"),
        Convolution(4, (4,), (1,), (1,), "same", "time"),
        Convolution(4, (3, 3), (2, 2), (2, 2), ((1, 1), (1, 1))),
    ],
)
def test_a_convolution_has_as_many_outputs_as_its_layer(kind: Convolution) -> None:
    """Whatever its dilation and padding: the vocabulary of `predict` has neither dilation nor sides."""
    over_time = kind.over == "time"
    net = checked(
        [Layer("x", Input(6, () if over_time else (20, 17), over_time)), Layer("y", kind, ("x",))], 20 if over_time else None
    )
    (row,) = operations(net, 2)
    size = {key: value for key, value in row.items() if isinstance(value, int)}
    outputs = [(size[n] + 2 * size[f"pad_{n}"] - size[k]) // size[f"stride_{n}"] + 1 for n, k in (("h", "r"), ("w", "s"))]
    assert math.prod(outputs) == (net.output.time if over_time else math.prod(net.output.spatial))


def test_a_recurrent_layer_that_no_fused_call_knows_is_not_priced_as_one() -> None:
    for kind in (Recurrent("lstm", 8, state="softsign"), Recurrent("gru", 8, reset_after=False)):
        (row,) = operations(checked([Layer("x", Input(6, sequence=True)), Layer("y", kind, ("x",))], 5), 2)
        assert row["op"] == "recurrent"


def test_attention_is_its_four_projections_and_two_products() -> None:
    rows = operations(network("input 64, attention 8, layernorm", 10), 2)
    assert [row["op"] for row in rows] == ["linear"] * 4 + ["bmm", "softmax", "bmm", "layernorm"]


def test_predict_prices_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ops.csv"
    assert (
        cli.main(["predict", "--net", "rnn 8→256, linear 1", "--batch", "100", "--length", "4", "--gpu", "t4", "-o", str(out)])
        == 0
    )
    table = pl.read_csv(out)
    assert table["op"].to_list() == ["rnn", "linear"]
    assert (table["mid_us"] > 0).all()
    assert "2 rows, 2 priced" in capsys.readouterr().out


def test_predict_takes_batch_and_sizes_of_a_matlab_script(tmp_path: Path) -> None:
    script, out = tmp_path / "train.m", tmp_path / "ops.csv"
    script.write_text(
        'layers = [sequenceInputLayer(6); lstmLayer(16); fullyConnectedLayer(3); regressionLayer];\n'
        'options = trainingOptions("adam", MiniBatchSize=16);\n'
        'net = trainNetwork(X, Y, layers, options);\n'
    )  # fmt: skip
    call = ["predict", "--net", str(script), "--data", "X=6x20xN", "--gpu", "t4", "-o", str(out)]
    for options, batch in (([], 16), (["--batch", "5"], 5)):
        assert cli.main([*call, *options]) == 0
        lstm = pl.read_csv(out).row(0, named=True)
        assert (lstm["op"], lstm["batch"], lstm["timesteps"]) == ("lstm", batch, 20)


def test_the_json_of_predict_goes_where_it_is_asked_to(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    call = ["predict", "--net", "linear 4→2", "--gpu", "t4", "--json"]
    assert cli.main([*call, "-"]) == 0
    assert json.loads(capfd.readouterr().out)["schema"] == "breakeven/predict/1"
    for target in (tmp_path / "nowhere" / "x.json", tmp_path):
        assert cli.main([*call, str(target)]) == 2
        assert len(capfd.readouterr().err.splitlines()) == 1


def test_predict_takes_a_file_or_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["predict"]) == 2
    assert "give a file of operations, or a network with --net" in capsys.readouterr().err
