"""What the written scripts compute is what MATLAB's documentation defines, checked on cases small enough for a hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from breakeven.models.torch_script import write
from tests.models.scripts import OPTIONS, module, network

SERIES = "sequenceInputLayer(1)"
DATA = ("XTrain=1x3xN",)
X = [0.5, -1.0, 2.0]
W, R, B = [0.1, -0.2, 0.3, 0.4], [0.5, 0.6, -0.7, 0.8], [0.01, 0.02, 0.03, 0.04]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def hard_sigmoid(x: float) -> float:
    return 0.0 if x < -2.5 else 1.0 if x > 2.5 else 0.2 * x + 0.5


def softsign(x: float) -> float:
    return x / (1 + abs(x))


def filled(made: Any, rows: int) -> Any:
    """The recurrent layer with the weights above, in MATLAB's order of gates."""
    layer = next(m for m in made.modules() if hasattr(m, "weight_ih_l0"))
    with torch.no_grad():
        layer.weight_ih_l0[:] = torch.tensor(W[:rows])[:, None]
        layer.weight_hh_l0[:] = torch.tensor(R[:rows])[:, None]
        layer.bias_ih_l0[:] = torch.tensor(B[:rows])
    return made


def sequence(made: Any) -> list[float]:
    given: list[float] = made(torch.tensor(X)[None, :, None]).flatten().tolist()
    return given


@pytest.mark.parametrize(
    ("options", "state", "gate"),
    [
        ("", math.tanh, sigmoid),
        (", StateActivationFunction='softsign'", softsign, sigmoid),
        (", 'GateActivationFunction', 'hard-sigmoid'", math.tanh, hard_sigmoid),
    ],
)
def test_an_lstm_has_gates_in_the_order_input_forget_candidate_output(
    options: str, state: Callable[[float], float], gate: Callable[[float], float]
) -> None:
    made = filled(module(network(SERIES, f"lstmLayer(1{options})", data=DATA)), 4)
    h = c = 0.0
    expected = []
    for x in X:
        i, f, o = (gate(W[k] * x + R[k] * h + B[k]) for k in (0, 1, 3))
        g = state(W[2] * x + R[2] * h + B[2])
        c = f * c + i * g
        h = o * state(c)
        expected.append(h)
    assert sequence(made) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("mode", ["after-multiplication", "before-multiplication"])
def test_a_gru_applies_its_reset_gate_where_it_says(mode: str) -> None:
    made = filled(module(network(SERIES, f"gruLayer(1, ResetGateMode='{mode}')", data=DATA)), 3)
    h = 0.0
    expected = []
    for x in X:
        r, z = (sigmoid(W[k] * x + R[k] * h + B[k]) for k in (0, 1))
        product = r * (R[2] * h) if mode.startswith("after") else R[2] * (r * h)
        candidate = math.tanh(W[2] * x + product + B[2])
        h = (1 - z) * candidate + z * h
        expected.append(h)
    assert sequence(made) == pytest.approx(expected, abs=1e-6)


def test_the_forget_gate_starts_with_a_bias_of_one_and_the_others_with_zero() -> None:
    made = module(network(SERIES, "lstmLayer(2)", data=DATA))
    bias = next(p for name, p in made.named_parameters() if name.endswith("bias_ih_l0"))
    assert bias.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


def test_the_last_of_a_bilstm_is_where_each_direction_ends() -> None:
    both = module(network(SERIES, "bilstmLayer(2, OutputMode='last')", data=DATA))
    x = torch.tensor(X)[None, :, None]
    layer = next(m for m in both.modules() if isinstance(m, torch.nn.LSTM))
    every = layer(x)[0]
    assert torch.equal(both(x)[0], torch.cat([every[0, -1, :2], every[0, 0, 2:]]))


def test_same_padding_of_an_even_filter_has_its_odd_element_at_the_end() -> None:
    """A filter of 4 over 5 values: 1 before, 2 after."""
    made = module(network("sequenceInputLayer(1)", "convolution1dLayer(4, 1, Padding='same')", data=("XTrain=1x5xN",)))
    layer = next(m for m in made.modules() if isinstance(m, torch.nn.Conv1d))
    with torch.no_grad():
        layer.weight[:] = torch.tensor([1.0, 10.0, 100.0, 1000.0])
        layer.bias.zero_()
    x = torch.tensor([1.0, 2, 3, 4, 5])[None, :, None]
    padded = np.array([0, 1, 2, 3, 4, 5, 0, 0.0])
    expected = [float(padded[k : k + 4] @ [1, 10, 100, 1000]) for k in range(5)]
    assert made(x).flatten().tolist() == expected


def test_same_padding_with_a_stride_is_split_evenly() -> None:
    """A pool of 3 with stride 2 over 6 values needs one element, which comes at the end; zeros count in a mean."""
    made = module(network("sequenceInputLayer(1)", "averagePooling1dLayer(3, Stride=2, Padding='same')", data=("XTrain=1x6xN",)))
    assert made(torch.tensor([3.0, 6, 9, 12, 15, 18])[None, :, None]).flatten().tolist() == [6, 12, 11]


def test_a_maximum_is_not_of_the_padding() -> None:
    made = module(network("sequenceInputLayer(1)", "maxPooling1dLayer(3, Stride=2, Padding='same')", data=("XTrain=1x6xN",)))
    assert made(-torch.tensor([3.0, 6, 9, 12, 15, 18])[None, :, None]).flatten().tolist() == [-3, -9, -15]


def options(*further: str) -> str:
    return OPTIONS.replace(");", f", {', '.join(further)});")


def clipped(gradients: list[list[float]], *said: str) -> list[list[float]]:
    """What becomes of gradients between backward and the optimizer."""
    text = write(network("featureInputLayer(2)", "fullyConnectedLayer(1)", options=options(*said))).text
    lines = text[text.index("loss.backward()\n") + 16 : text.index("        optimizer.step()")]
    learned = []
    for gradient in gradients:
        parameter = torch.nn.Parameter(torch.zeros(len(gradient)))
        parameter.grad = torch.tensor(gradient)
        learned.append(parameter)
    exec("if True:\n" + lines, {"nn": torch.nn, "learned": learned})
    return [p.grad.tolist() for p in learned if p.grad is not None]


GRADIENTS = [[3.0, 0.0], [0.0, 4.0], [0.1, 0.0]]


def test_the_threshold_of_the_global_norm_scales_all_gradients_alike() -> None:
    norm = math.sqrt(9 + 16 + 0.01)
    expected = [v / norm for g in GRADIENTS for v in g]
    out = clipped(GRADIENTS, "GradientThreshold=1", "GradientThresholdMethod='global-l2norm'")
    assert [v for g in out for v in g] == pytest.approx(expected, abs=1e-5)


def test_the_threshold_is_of_each_parameters_norm_unless_said_otherwise() -> None:
    assert [v for g in clipped(GRADIENTS, "GradientThreshold=1") for v in g] == pytest.approx([1, 0, 0, 1, 0.1, 0], abs=1e-5)


def test_the_threshold_of_the_absolute_value_cuts_each_element() -> None:
    out = clipped([[3.0, -5.0]], "GradientThreshold=2", "GradientThresholdMethod='absolute-value'")
    assert out == [[2.0, -2.0]]


def test_a_piecewise_schedule_multiplies_the_rate_after_each_period() -> None:
    said = ("LearnRateSchedule='piecewise'", "LearnRateDropPeriod=2", "LearnRateDropFactor=0.5", "InitialLearnRate=0.8")
    epochs = options(*said).replace("'MaxEpochs', 1", "'MaxEpochs', 5")
    model = network("featureInputLayer(2)", "fullyConnectedLayer(1)", options=epochs, data=("XTrain=2x4",))
    text = write(model).text.replace(
        "    scheduler.step()", '    rates.append(optimizer.param_groups[0]["lr"])\n    scheduler.step()'
    )
    rates: list[float] = []
    exec(compile(text, "written.py", "exec"), {"__name__": "written", "rates": rates})
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.2])


def test_regression_is_half_the_squares_of_an_observation() -> None:
    """`regressionLayer`: half the sum of squares over responses, mean over observations."""
    text = write(network("featureInputLayer(2)", "fullyConnectedLayer(2)")).text
    line = next(part for part in text.splitlines() if "loss = " in part).strip().removeprefix("loss = ")
    y, t = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, 2)
    assert float(eval(line, {"F": torch.nn.functional, "y": y, "t": t})) == 0.5 * (1 + 4 + 9 + 16) / 2


def test_weights_decay_and_biases_do_not() -> None:
    text = write(network("featureInputLayer(2)", "fullyConnectedLayer(1)")).text
    assert '{"params": weights, "weight_decay": 0.0001}, {"params": biases}' in text
    assert (
        "weight_decay"
        not in write(
            network("featureInputLayer(2)", "reluLayer", "fullyConnectedLayer(1)", options=options("L2Regularization=0"))
        ).text
    )
