"""Scripts that use Keras run as they are; which path a recurrent layer takes is said, and what another backend leaves unknown."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from breakeven import cli
from breakeven.capture.request import KerasScript, ScriptEnd, TimedPass
from breakeven.capture.result import CaptureResult
from breakeven.models.keras.recurrence import path_in_a_script

SCRIPT = """\
import numpy as np
import keras
from keras import layers

stack = [layers.LSTM(6, return_sequences=True), layers.GRU(5, use_bias=False), layers.Dense(2)]
model = keras.Sequential([keras.Input((9, 4)), *stack])
model.compile(optimizer="adam", loss="mse")
x, y = np.ones((320, 9, 4), "float32"), np.ones((320, 2), "float32")
model.fit(x, y, batch_size=16, epochs=20, verbose=0)
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("keras") is None, reason="Keras is not here; importing it would choose a backend for all tests")
def test_a_keras_script_is_answered_and_the_path_of_each_recurrent_layer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "train.py").write_text(SCRIPT)
    out = tmp_path / "why.json"
    assert cli.main(["why", str(tmp_path / "train.py"), "--gpu", "t4", "--steps", "8", "-q", "--json", str(out)]) == 0
    answer = json.loads(out.read_text())
    assert answer["verdict"]["sentence"]
    assert any(w.startswith("LSTM 'lstm' runs as one fused call (cuDNN) on a GPU") for w in answer["warnings"])
    assert (
        "GRU 'gru' does not run as one fused call but as a loop over its time steps: use_bias=False loses it."
        in answer["warnings"]
    )


@pytest.mark.parametrize(
    ("kind", "arguments", "lost"),
    [
        ("LSTM", {"activation": "tanh", "recurrent_activation": "sigmoid", "unroll": False, "recurrent_dropout": 0.0}, None),
        ("LSTM", {"recurrent_dropout": 0.2}, "recurrent_dropout=0.2"),
        ("GRU", {"reset_after": False}, "reset_after=False"),
        ("GRU", {"recurrent_activation": "hard_sigmoid"}, 'recurrent_activation="hard_sigmoid"'),
        ("LSTM", {"activation": "mine>swoosh"}, "activation=mine>swoosh"),
        ("LSTM", {"use_bias": False}, "use_bias=False"),
        ("SimpleRNN", {}, "SimpleRNN itself"),
    ],
)
def test_the_argument_that_loses_the_fused_call_is_named(
    kind: str, arguments: dict[str, Any], lost: str | None
) -> None:  # Any: JSON
    said = path_in_a_script(kind, "r", arguments)
    assert ("runs as one fused call" in said) == (lost is None)
    assert lost is None or f": {lost}" in said


def test_with_another_backend_it_is_said_what_is_measured() -> None:
    timed = TimedPass("run", None, (), ScriptEnd("ok"), keras=KerasScript("jax"))
    assert "Keras runs on jax here, and only PyTorch's steps are seen" in str(CaptureResult(cpu=timed).error())
