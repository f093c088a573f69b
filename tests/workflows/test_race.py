"""`race` gives each device the same training time, and says what the iterations bought."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from breakeven.capture.proof.field import Course
from breakeven.capture.request import CaptureRequest
from breakeven.errors import BreakevenError, InputError, NoAnswer
from breakeven.report.race import render_race
from breakeven.report.screen import as_text
from breakeven.workflows.race import RaceRequest, judged, race
from breakeven.workflows.racers import Entry, entries

MS = 1_000_000
BOTH = RaceRequest("train.py", 1.0, ("cpu", "cuda"))

TRAIN = """\
import torch
torch.manual_seed(0)
net = torch.nn.Linear(8, 1).to("cuda")
sgd = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(64, 8, device="cuda")
y = x.sum(1, keepdim=True)
for i in range(100_000):
    sgd.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    sgd.step()
"""


def falling(steps: int, step_ms: float, per_step: float, floor: float = 0.0) -> Course:
    """A course whose loss falls by a part in each step, down to a floor."""
    losses = [max(floor, (1 - per_step) ** at) + 1e-3 * (at % 3 - 1) for at in range(steps)]
    return Course([round(step_ms * MS)] * steps, losses)


def test_the_device_that_falls_faster_reaches_the_loss_first() -> None:
    report = judged(BOTH, (falling(100, 10, 0.05), falling(400, 2.5, 0.05)))
    cpu, cuda = report.racers
    assert report.target == pytest.approx(cpu.end_loss.mid if cpu.end_loss else None)
    assert cuda.reached_s is not None
    assert cpu.reached_s is not None
    assert cuda.reached_s < cpu.reached_s
    assert report.sentence.startswith("cuda reached a loss of")


def test_iterations_that_buy_no_loss_are_called_so() -> None:
    report = judged(BOTH, (falling(100, 10, 0.05), falling(1000, 1, 0.05, floor=0.5)))
    assert "cuda made more iterations, and they bought no loss: cpu ended lower" in report.sentence
    alike = judged(BOTH, (falling(100, 10, 0.05), falling(1000, 1, 0.05)))
    assert "bought no loss" not in alike.sentence


def test_a_loss_that_nobody_reaches_is_said_to_be_so() -> None:
    report = judged(RaceRequest("t.py", 1.0, ("cpu",), loss=-1.0), (falling(50, 20, 0.01),))
    assert report.sentence.startswith("None reached a loss of -1")
    assert report.racers[0].reached_s is None


def test_a_device_on_which_the_script_fails_has_its_error_and_no_loss() -> None:
    report = judged(BOTH, (falling(50, 20, 0.01), Course(error="RuntimeError: no")))
    assert (report.racers[1].iterations, report.racers[1].end_loss, report.racers[1].error) == (0, None, "RuntimeError: no")


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_page_draws_each_curve(ascii_only: bool) -> None:
    report = judged(BOTH, (falling(100, 10, 0.05), falling(400, 2.5, 0.05)))
    page = as_text(lambda width, _: render_race(report, width, ascii_only), width=90)
    assert all(word in page for word in ("iterations", "cpu", "cuda", "s of training"))
    assert not ascii_only or page.isascii()


@pytest.mark.slow
def test_a_script_races_for_its_time(tmp_path: Path) -> None:
    """From the command line to the JSON: real steps, real losses, the time that was asked for."""
    (tmp_path / "train.py").write_text(TRAIN)
    options = ["--device", "cpu", "--seconds", "0.5", "--json", "race.json", "-q"]
    call = [sys.executable, "-m", "breakeven", "race", "train.py", *options]
    done = subprocess.run(call, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "race.json").read_text())
    (racer,) = report["racers"]
    assert report["schema"] == "breakeven/race/1"
    assert racer["seconds"] >= 0.5
    assert racer["iterations"] > 10
    assert racer["loss"][-1] < racer["loss"][0]
    assert racer["at_s"] == sorted(racer["at_s"])
    assert "s of training" in done.stdout


VARIED = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
BATCH = 16
torch.manual_seed(0)
x = torch.randn(512, 8)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=BATCH)
net = torch.nn.Linear(8, 1)
sgd = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(100_000):
    for given, wanted in loader:
        sgd.zero_grad(set_to_none=False)
        loss = ((net(given) - wanted) ** 2).mean()
        loss.backward()
        sgd.step()
"""


def racing(tmp_path: Path, vary: str | None = None, *remedies: str, devices: tuple[str, ...] = ("cpu",)) -> tuple[Entry, ...]:
    script = tmp_path / "train.py"
    script.write_text(VARIED)
    return entries(CaptureRequest(str(script)), False, script, devices, vary, remedies)


def test_each_value_of_a_parameter_races_on_each_device(tmp_path: Path) -> None:
    found = racing(tmp_path, "batch=16,64", devices=("cpu", "cuda"))
    assert [(one.device, one.variant) for one in found] == [
        ("cpu", "batch=16"), ("cpu", "batch=64"), ("cuda", "batch=16"), ("cuda", "batch=64"),
    ]  # fmt: skip
    assert [one.version.request.substitutions[0].value for one in found] == [16, 64, 16, 64]
    assert [one.version.on_cpu for one in found] == [True, True, False, False]


def test_a_script_races_itself_with_remedies(tmp_path: Path) -> None:
    before, after = racing(tmp_path, None, "set_to_none")
    assert (before.variant, after.variant) == ("as it is", "with set_to_none")
    assert before.version.text is None
    assert after.version.text is not None
    assert "set_to_none=False" not in after.version.text


@pytest.mark.parametrize(
    ("vary", "remedies", "error", "said"),
    [
        ("depth=1,2", (), InputError, "no parameter of that name"),
        ("batch", (), InputError, "give NAME="),
        (None, ("fuse_rnn",), NoAnswer, "changes nothing"),
        (None, ("no_such",), BreakevenError, "no_such"),
        ("batch=1,2", ("set_to_none",), InputError, "at once"),
    ],
)
def test_what_cannot_race_is_said(
    tmp_path: Path, vary: str | None, remedies: tuple[str, ...], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        racing(tmp_path, vary, *remedies)


@pytest.mark.slow
def test_batch_sizes_race_and_their_samples_are_counted(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(VARIED)
    seen: list[int] = []
    report = race(RaceRequest(str(script), 0.4, vary="batch=16,64"), on_report=lambda so_far: seen.append(len(so_far.racers)))
    small, large = report.racers
    assert (small.name, large.name) == ("cpu, batch=16", "cpu, batch=64")
    assert small.samples == 16 * small.iterations > 0
    assert large.samples == 64 * large.iterations > 0
    assert set(seen) == {2}  # the chart that is drawn while they race has both
    assert small.name in report.sentence or large.name in report.sentence
