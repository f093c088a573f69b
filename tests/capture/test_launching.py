"""Launchers are followed to the script that they start: as it is, alone, and with the environment that they make for it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from breakeven.capture.launching import PythonCall, StartedPython, console_script, following, python_call
from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from breakeven.capture.target import resolve, resolve_own
from breakeven.errors import InputError

CALLS = {
    "python train.py --lr 1": PythonCall("train.py", False, ("--lr", "1")),
    "python3.11 -u -W ignore train.py": PythonCall("train.py", False, ()),
    "/opt/bin/python -m lab.train x": PythonCall("lab.train", True, ("x",)),
    "python -mlab": PythonCall("lab", True, ()),
    "python -X dev -Bu a/b.py -m": PythonCall("a/b.py", False, ("-m",)),
    "python -c pass": None,
    "python -": None,
    "python": None,
    "python -m": None,
    "pythonic train.py": None,
    "torchrun train.py": None,
}


@pytest.mark.parametrize("line", CALLS)
def test_what_python_is_told_to_run_is_read_off_its_command_line(line: str) -> None:
    assert python_call(line.split()) == CALLS[line]


def test_only_python_on_a_file_of_the_users_is_followed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print('it ran')")
    with following():
        assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\n"
        with pytest.raises(StartedPython) as found:
            subprocess.run([sys.executable, "-u", str(script), "--lr", "1"], env={"A": "b"}, cwd=tmp_path, check=True)
    assert found.value.call == PythonCall(str(script), False, ("--lr", "1"))
    assert found.value.env == {"A": "b"}
    assert subprocess.run([sys.executable, str(script)], capture_output=True, check=True).stdout == b"it ran\n"


def test_a_console_script_is_found_and_is_nothing_to_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "launchit").write_text(f"#!{sys.executable}\nprint()\n")
    (tmp_path / "shellit").write_text("#!/bin/sh\n")
    for name in ("launchit", "shellit"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert console_script("launchit") == tmp_path / "launchit"
    assert console_script("shellit") is None
    assert resolve(CaptureRequest("launchit")).installed
    with pytest.raises(InputError, match="name the script that it starts"):
        resolve_own(CaptureRequest("launchit"))


TRAINING = """\
import os, sys
import torch
{more}
net = torch.nn.Linear(4, 4).to("cuda")
sgd = torch.optim.SGD(net.parameters(), lr=float(sys.argv[1]))
for step in range(40):
    loss = net(torch.ones(8, 4, device="cuda")).square().mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
"""
ACCELERATED = """\
import argparse
import torch
from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
asked = parser.parse_args()
accelerator = Accelerator()
assert accelerator.num_processes == 1 and accelerator.mixed_precision == "no"
net = torch.nn.Linear(4, 4)
sgd = torch.optim.SGD(net.parameters(), lr=asked.lr)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(320, 4)), batch_size=8)
net, sgd, loader = accelerator.prepare(net, sgd, loader)
for (x,) in loader:
    loss = net(x).square().mean()
    sgd.zero_grad()
    accelerator.backward(loss)
    sgd.step()
"""


def launched(tmp_path: Path, source: str, target: str, *args: str) -> CaptureResult:
    """What is learned where a launcher is told to start `train.py`."""
    (tmp_path / "train.py").write_text(source)
    return capture(CaptureRequest(target, args, cwd=str(tmp_path), steps=5, show_output=False))


def check(result: CaptureResult, at: str, processes: int = 1) -> None:
    """The training's own steps were timed and recorded, and it is said how the script was run."""
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert result.virtual is not None
    assert result.virtual.stream is not None
    assert result.cpu.unit == "step"
    assert result.cpu.principal.place.file.endswith("train.py")
    assert Path(result.cpu.principal.place.file).read_text().splitlines()[result.cpu.principal.place.line - 1].strip() == at
    told = "train.py was run in the launcher's place" + (
        f", and alone: the launcher asks for {processes} processes" if processes > 1 else ""
    )
    assert any(said.endswith(told + ".") for said in result.cpu.warnings), result.cpu.warnings


@pytest.mark.slow
@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_torchrun_is_followed_to_its_script(tmp_path: Path, processes: int) -> None:
    alone = "assert os.environ['RANK'] == os.environ['LOCAL_RANK'] == '0' and os.environ['WORLD_SIZE'] == '1'"
    joined = "torch.distributed.init_process_group('gloo')\nassert torch.distributed.get_world_size() == 1"
    source = TRAINING.format(more=f"{alone}\n{joined}")
    check(launched(tmp_path, source, "torchrun", f"--nproc_per_node={processes}", "train.py", "0.1"), "sgd.step()", processes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "args"),
    [
        ("accelerate", ("launch", "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--num_processes=1")),
        pytest.param(
            "accelerate.commands.launch",
            ("--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--num_processes=1"),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_accelerate_is_followed_to_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, args: tuple[str, ...]
) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    check(launched(tmp_path, ACCELERATED, target, *args, "train.py", "--lr", "0.1"), "sgd.step()")


@pytest.mark.nightly
def test_fabric_is_followed_to_its_script(tmp_path: Path) -> None:
    if importlib.util.find_spec("lightning") is None:
        pytest.skip("lightning is not installed")
    check(launched(tmp_path, TRAINING.format(more=""), "fabric", "run", "train.py", "0.1"), "sgd.step()")


@pytest.mark.slow
def test_a_module_that_a_launcher_starts_is_followed(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "train.py").write_text(TRAINING.format(more="assert __package__ == 'lab'"))
    result = capture(
        CaptureRequest("torchrun", ("-m", "lab.train", "0.1"), cwd=str(tmp_path), passes=("cpu",), steps=5, show_output=False)
    )
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert result.cpu.principal.place.file.endswith("lab/train.py")
