"""The script finds what it would find under `python SCRIPT`: arguments, `__main__`, workers, its own files."""

from __future__ import annotations

import hashlib
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from tests.capture.sources import training

Run = Callable[..., CaptureResult]

WORKERS = """\
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, i):
        return torch.full((4,), float(i)), i % 2

def main():
    net = torch.nn.Linear(4, 2).to("cuda")
    sgd = torch.optim.SGD(net.parameters(), lr=1e-6)
    loader = DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=True, multiprocessing_context=sys.argv[1])
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x.to("cuda", non_blocking=True)), y.cuda())
        sgd.zero_grad()
        loss.backward()
        sgd.step()

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_loader_workers_find_the_classes_of_the_script(run_script: Run, how: str) -> None:
    result = run_script(WORKERS, how, steps=8)
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert result.cpu.batch == 16
    assert sum(result.cpu.principal.input_wait_ns) > 0
    assert result.cpu.unit == "step"


@pytest.mark.slow
def test_a_module_is_run_as_python_m_runs_it(tmp_path: Path) -> None:
    package = tmp_path / "lab"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("def epoch(step):\n    for i in range(30):\n        step(i)\n")
    (package / "train.py").write_text(
        "import sys\nfrom .parts import epoch\n"
        "assert __name__ == '__main__' and __package__ == 'lab' and __spec__.name == 'lab.train'\n"
        "assert sys.argv == [__file__, 'x'], sys.argv\n"
        "import torch\nnet = torch.nn.Linear(2, 2).cuda()\nsgd = torch.optim.SGD(net.parameters(), 0.1)\n"
        "def step(i):\n    net(torch.ones(3, 2).cuda()).sum().backward()\n    sgd.step()\nepoch(step)\n"
    )
    result = capture(CaptureRequest("lab.train", ("x",), cwd=str(tmp_path), passes=("cpu",)))
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert len(result.cpu.principal.samples_ns) == 30
    assert result.cpu.principal.loop_line == 2
    assert not list(tmp_path.rglob("__pycache__"))


FILES = textwrap.dedent("""\
    import glob, os, pathlib, shutil, sqlite3, subprocess
    import numpy as np
    import torch
    net = torch.nn.Linear(4, 4).to("cuda")
    net.load_state_dict(torch.load("model.pt", map_location="cuda"))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for i in range(4):
            net(torch.ones(2, 4, device="cuda")).sum().backward()
            sgd.step()
        torch.save(net.state_dict(), "model.pt.new")
        os.replace("model.pt.new", "model.pt")
        torch.save(net.state_dict(), pathlib.Path("out") / f"{epoch}.pt")
        with open("log.txt", "a") as log:
            print(epoch, file=log)
            assert log.name == "log.txt"
    assert torch.equal(torch.load("model.pt")["weight"], net.weight.cpu())
    assert sorted(p.name for p in pathlib.Path("out").iterdir()) == ["0.pt", "1.pt", "2.pt", "old.pt"]
    assert glob.glob("out/*2*") == ["out/2.pt"]
    assert open("log.txt").read() == "before\\n0\\n1\\n2\\n"
    assert os.path.getsize("log.txt") == pathlib.Path("log.txt").stat().st_size == 13
    os.remove("log.txt")
    assert not os.path.exists("log.txt") and "log.txt" not in os.listdir()
    shutil.rmtree("out")
    assert not os.path.isdir("out")
    os.makedirs("out/deep")
    assert [e.name for e in os.scandir("out")] == ["deep"]
    np.save("a.npy", np.ones(3)); np.ones(4).tofile("b.bin")
    assert np.load("a.npy").sum() == 3 and np.fromfile("b.bin").size == 4
    np.memmap("c.bin", dtype="f4", mode="w+", shape=(3,)).flush()
    base = sqlite3.connect("runs.db"); base.execute("insert into t values (2)"); base.commit()
    assert base.execute("select count(*) from t").fetchone() == (2,)
    os.chdir("out")
    assert os.path.basename(os.getcwd()) == "out" and os.path.exists("../a.npy")
    open("here.txt", "x").close()
    assert os.listdir(".") in (["deep", "here.txt"], ["here.txt", "deep"])
    os.truncate("../model.pt", 0)
    os.utime("../model.pt")
    os.chmod("../model.pt", 0o600)
    shutil.move("../model.pt", "moved.pt")
    try:
        open("../missing/x", "w")
    except FileNotFoundError as error:
        assert error.filename == "../missing/x"
    print("ALL AS IT SHOULD BE", flush=True)
    """)


def state_of(folder: Path) -> dict[str, tuple[int, str]]:
    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    return {str(p.relative_to(folder)): (p.stat().st_mtime_ns, hashlib.sha256(p.read_bytes()).hexdigest()) for p in files}


@pytest.mark.slow
def test_a_script_sees_what_it_writes_and_the_users_files_stay_as_they_were(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import sqlite3

    import torch

    torch.save(torch.nn.Linear(4, 4).state_dict(), tmp_path / "model.pt")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.pt").write_bytes(b"old")
    (tmp_path / "log.txt").write_text("before\n")
    with sqlite3.connect(tmp_path / "runs.db") as base:
        base.execute("create table t(x)")
        base.execute("insert into t values (1)")
    (tmp_path / "train.py").write_text(FILES)
    before = state_of(tmp_path)
    result = capture(CaptureRequest("train.py", cwd=str(tmp_path), steps=1000, passes=("cpu", "virtual")))
    assert result.error() is None, result
    assert "ALL AS IT SHOULD BE" in capfd.readouterr().err
    assert state_of(tmp_path) == before
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.slow
def test_what_is_started_by_the_script_cannot_write_over_the_users_files_either(run_script: Run, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    result = run_script(
        "import os, subprocess\nsubprocess.run(['rm', '-f', 'kept'])\nsubprocess.run('echo x > kept', shell=True)\n"
    )
    assert result.error() is None
    if (tmp_path / "kept").exists() and (tmp_path / "kept").read_text() == "kept":
        return
    kernel = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=True).stdout
    pytest.skip(f"this kernel ({kernel.strip()}) has no Landlock: only Python's own writes are kept off")


@pytest.mark.slow
def test_a_mark_by_file_and_line_decides_what_a_step_is(run_script: Run) -> None:
    source = training("for part in range(3):\n    net(torch.ones(2, 4))", steps=300)
    result = run_script(source, mark="train.py:9", steps=12)
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert (result.cpu.principal.place.kind, result.cpu.unit) == ("marked", "step")


@pytest.mark.slow
def test_both_passes_find_the_same_steps(run_script: Run) -> None:
    result = run_script(training(), steps=10, passes=("cpu", "virtual"))
    assert result.error() is None
    assert result.warnings == ()
    assert result.virtual is not None
    assert result.virtual.stream is not None
    assert (result.virtual.stream.steps, result.virtual.stream.unit, result.virtual.stream.batch) == (3, "step", 8)


@pytest.mark.slow
def test_where_nothing_repeats_only_the_statements_that_use_the_device_are_timed(run_script: Run) -> None:
    source = """\
import time
import torch
a = torch.ones(300, 300)
time.sleep(0.2)
c = a @ a
b = a.to("cuda")
d = b @ b
torch.cuda.synchronize()
time.sleep(0.2)
"""
    result = run_script(source, passes=("cpu", "virtual"))
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert result.virtual is not None
    assert result.virtual.stream is not None
    assert (result.cpu.unit, result.virtual.stream.unit, result.virtual.stream.steps) == ("run", "run", 1)
    lines = [result.cpu.segments[at][0] for at in result.virtual.segments]
    assert lines == [6, 7, 8]
    whole = sum(ns for _, ns in result.cpu.segments)
    assert sum(result.cpu.principal.samples_ns) <= whole - 2 * 200_000_000, "neither of the two sleeps is in it"


def test_the_batch_is_that_of_the_call_that_learns_not_of_the_agent_that_acts(run_script: Run) -> None:
    acting = training().replace("    loss =", "    with torch.no_grad(): net(torch.ones(1, 4, device='cuda'))\n    loss =")
    result = run_script(acting)
    assert result.cpu is not None
    assert result.cpu.batch == 8


@pytest.mark.parametrize(
    "made",
    ["torch.set_default_device('cuda')\nnet = torch.nn.Linear(4, 4)", "with torch.device('cuda'): net = torch.nn.Linear(4, 4)"],
    ids=["default device", "device as a context"],
)
def test_parameters_that_are_made_on_the_device_are_recorded_as_they_were_timed(run_script: Run, made: str) -> None:
    source = (
        training()
        .replace('net = torch.nn.Linear(4, 4).to("cuda")', made)
        .replace("SGD(net.parameters(), lr=0.1)", "Adam(net.parameters())")
    )
    assert made in source
    result = run_script(source, passes=("cpu", "virtual"))
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert result.cpu.principal.device == "cuda"


def test_a_users_file_that_is_opened_to_be_emptied_is_emptied_in_the_copy_alone(run_script: Run, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("theirs")
    source = (
        "import os\nhandle = os.open('log.txt', os.O_WRONLY | os.O_TRUNC)\nos.write(handle, b'new')\nos.close(handle)\n"
        "assert open('log.txt').read() == 'new'\n"
        "try:\n    os.open('none.txt', os.O_WRONLY | os.O_TRUNC)\n"
        "except FileNotFoundError:\n    pass\nelse:\n    raise AssertionError\n"
    )
    assert run_script(source + training()).error() is None
    assert (tmp_path / "log.txt").read_text() == "theirs"


def test_a_script_that_makes_sure_of_its_moves_goes_through(run_script: Run) -> None:
    asserts = "assert net.weight.is_cuda and loss.is_cuda"
    result = run_script(training(asserts))
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.unit == "step"
