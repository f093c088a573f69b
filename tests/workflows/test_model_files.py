"""`why` of a MATLAB script: the network becomes a script, the answer speaks of the lines of the file that it came from."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from breakeven import cli
from breakeven.models.asked import Asked
from breakeven.models.learnables import count
from breakeven.results import DeviceResult, Finding, Interval, Site, WhyReport
from breakeven.workflows.model_files import prepared, read_model, usage
from tests.models.scripts import module

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRAIN = """\
layers = [
    sequenceInputLayer(6)
    lstmLayer(16, OutputMode="last")
    fullyConnectedLayer(3)
    softmaxLayer
    classificationLayer];
options = trainingOptions("adam", MaxEpochs=500, MiniBatchSize=16, Plots="training-progress");
net = trainNetwork(XTrain, YTrain, layers, options);
"""


@pytest.fixture
def matlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.m").write_text(TRAIN)
    return tmp_path


def test_arithmetic_at_the_peak_is_said_of_gpus_of_the_catalog_and_of_no_other(matlab: Path) -> None:
    model = read_model("train.m", Asked(("XTrain=6x20xN",)))
    step = Interval(1.0, 1.0, 1.0)
    devices = (DeviceResult("Imaginary 9000", "gpu", "measured", step), DeviceResult("Tesla T4", "gpu", "predicted", step))
    report = WhyReport("train.py", None, {}, devices, None, (), (), ())
    (said,) = usage(report, model)
    assert "at the Tesla T4's peak" in said


@pytest.mark.slow
def test_why_of_a_matlab_script_answers_in_its_lines(matlab: Path, capfd: pytest.CaptureFixture[str]) -> None:
    call = ["why", "train.m", "--data", "XTrain=6x20xN", "--gpu", "t4", "--steps", "20", "-q", "--json", "why.json"]
    assert cli.main([*call, "--export", "train.py"]) == 0
    answer = json.loads((matlab / "why.json").read_text())
    assert answer["script"] == "train.m"
    assert answer["verdict"]["sentence"]
    sites = [site for finding in answer["findings"] for site in finding["sites"]]
    assert sites
    assert {site["file"] for site in sites} == {"train.m"}
    for site in sites:
        assert TRAIN.splitlines()[site["line"] - 1].strip() == site["text"]
    assert any("GPU usage of 80-100 %" in warning and "arithmetic of a step" in warning for warning in answer["warnings"])
    assert "breakeven-model" not in json.dumps(answer)
    exported = (matlab / "train.py").read_text().replace('"cuda"', '"cpu"').replace("EPOCHS = 500", "EPOCHS = 1")
    (matlab / "train.py").write_text(exported)
    done = subprocess.run(
        [sys.executable, "train.py"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert "epoch 1, iteration 4: loss" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train.m"], "the length of the sequences is not known"),
        (["train.m", "--data", "XTrain=5x20xN"], "does not fit the layer"),
        (["train.m", "--data", "X"], "--data X: give NAME=SIZExSIZE"),
        (["nothing.m"], "nothing.m: no such file"),
        (["train.m", "--data", "XTrain=6x20xN", "--export", "nowhere/x.py"], "--export: cannot write"),
        (["train.m", "--data", "XTrain=6x20xN", "--export", "train.m"], "that is the file to be read"),
        (["plain.py", "--data", "X=3x4"], "is run as it is"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    matlab: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (matlab / "plain.py").write_text("print(1)\n")
    assert cli.main(["why", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_lines_that_stand_for_one_line_are_given_once_and_the_dearest_is_kept(matlab: Path) -> None:
    with prepared("train.m", Asked(("XTrain=6x20xN",))) as ready:
        lines = Path(ready.target).read_text().splitlines()
        wanted = [at for at, line in enumerate(lines, 1) if "optimizer" in line and "import" not in line]
        prices = [Interval(n, n, n) for n in range(len(wanted))]
        sites = tuple(Site(ready.target, at, "x", price) for at, price in zip(wanted, prices, strict=True))
        finding = Finding("launch_bound", "Tesla T4", "launch", None, "…", sites)
        device = DeviceResult("Tesla T4", "gpu", "predicted", Interval(1, 2, 3))
        report = WhyReport(ready.target, "step", {}, (device,), None, (), (), (finding,), warnings=(f"in {ready.target}",))
        told = ready.finish(report)
    assert [(s.file, s.line, s.price_ms) for s in told.findings[0].sites] == [("train.m", 8, prices[-1])]
    assert told.warnings[-1] == "in train.m"


def python_twin() -> Any:  # Any: a torch module, made by text
    """The network of `examples/cnn_lstm.py`, without its training."""
    source = ast.parse((EXAMPLES / "cnn_lstm.py").read_text(encoding="utf-8"))
    kept = [
        node
        for node in source.body
        if isinstance(node, ast.Import | ast.ClassDef | ast.Assign) and "device" not in ast.unparse(node)
    ]
    kept = [node for node in kept if not (isinstance(node, ast.Assign) and "(" in ast.unparse(node))]
    twin = ModuleType("twin")
    exec(compile(ast.Module(kept, []), "cnn_lstm.py", "exec"), twin.__dict__)
    return twin.CnnLstm()


def test_the_two_examples_are_one_network() -> None:
    """The same layers in the same order, the same number of learned values in each, the same output."""
    model = read_model(str(EXAMPLES / "cnn_lstm.m"))
    made, twin = module(model), python_twin()
    assert [repr(layer) for layer in made.children()] == [repr(layer) for layer in twin.children()]
    learned = [[p.numel() for p in net.parameters() if p.requires_grad] for net in (made, twin)]
    assert learned[0] == learned[1]
    assert sum(learned[0]) == count(model.network) == 17023
    made.load_state_dict(dict(zip(made.state_dict(), twin.state_dict().values(), strict=True)))
    x = torch.randn(4, 28, 1440)
    assert torch.allclose(made.eval()(x), twin.eval()(x), atol=1e-5)
    training = model.training
    assert (training.epochs, training.batch, training.period, training.factor, training.threshold) == (200, 64, 96, 0.25, 1.0)


@pytest.mark.nightly
def test_the_two_examples_get_the_same_answer(tmp_path: Path) -> None:
    """The predicted steps' ranges overlap, and the verdict is one."""
    answers = []
    for name in ("cnn_lstm.m", "cnn_lstm.py"):
        out = tmp_path / f"{name}.json"
        assert cli.main(["why", str(EXAMPLES / name), "--gpu", "rtx a4500", "-q", "--json", str(out)]) == 0
        answers.append(json.loads(out.read_text()))
    gpus = [next(d for d in a["devices"] if d["kind"] == "gpu")["step_ms"] for a in answers]
    assert gpus[0]["low"] <= gpus[1]["high"]
    assert gpus[1]["low"] <= gpus[0]["high"]
    assert answers[0]["verdict"]["device"] == answers[1]["verdict"]["device"]
