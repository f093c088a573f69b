"""Kills cost no finished cell: SIGKILL of the sweep or of a worker, at moments that nobody chose; then it is resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from breakeven import store

CELLS = 40


def start(folder: Path, notes: Path) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    call = [sys.executable, "-m", "tests.sweep.killed", str(folder), str(notes), str(CELLS)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    return subprocess.Popen(call, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def kill(folder: Path, notes: Path, random_: random.Random) -> set[str]:
    """Kills a sweep, or one of its workers, after some cells; which cells it had said are kept."""
    running = start(folder, notes)
    assert running.stdout is not None
    wait = random_.randrange(0, 12)
    said: set[str] = set()
    worker = random_.random() < 0.4
    for count, line in enumerate(running.stdout):
        said.add(line.strip())
        if count >= wait:
            children = psutil.Process(running.pid).children(recursive=True) if worker else []
            victims = [c.pid for c in children if "spawn_main" in " ".join(c.cmdline())]
            os.kill(random_.choice(victims) if victims else running.pid, signal.SIGKILL)
            break
    said |= {line.strip() for line in running.stdout}
    running.wait(120)
    running.stdout.close()
    return said


def check_kills(tmp_path: Path, kills: int, seed: int) -> None:
    random_ = random.Random(seed)
    done = 0
    for run in range(kills):
        folder, notes = tmp_path / f"run{done}", tmp_path / f"notes{done}"
        notes.mkdir(exist_ok=True)
        before = set(store.open(str(folder)).keys()) if folder.is_dir() else set()
        said = kill(folder, notes, random_)
        kept = store.open(str(folder))
        there = kept.keys()
        assert before | said <= set(there), f"kill {run}: a finished cell is gone"
        assert all(kept.get(key) == {"value": key.replace(" ", "-")} for key in there)
        assert not kept.warnings
        done += kept.head.finished
    folder, notes = tmp_path / f"run{done}", tmp_path / f"notes{done}"
    notes.mkdir(exist_ok=True)
    before = set(store.open(str(folder)).keys()) if folder.is_dir() else set()
    ran = {key: count(notes, key) for key in before}
    last = start(folder, notes)
    last.communicate(timeout=120)
    assert last.returncode == 0
    assert len(store.open(str(folder)).keys()) == CELLS
    assert {key: count(notes, key) for key in before} == ran  # what was finished did not run again
    assert not [p for p in folder.rglob("*") if p.name.endswith(".part")]


def count(notes: Path, key: str) -> int:
    return len(list(notes.glob(f"{key.replace(' ', '-')}.*")))


@pytest.mark.slow
def test_three_kills_lose_no_finished_cell(tmp_path: Path) -> None:
    check_kills(tmp_path, 3, seed=1)


@pytest.mark.nightly
def test_fifty_kills_lose_no_finished_cell(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, seed=2)
