"""SIGKILL at any moment loses no finished part and leaves no half file."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from breakeven import store

WRITER = """
import sys
import polars as pl
from breakeven import store
frame = pl.DataFrame({"x": list(range(2000))})
with store.create(sys.argv[1], "sweep", resume=True) as run:
    print("ready", flush=True)
    done = len(run.keys())
    for i in range(done, done + 100_000):
        run.put(f"cell {i}", {"n": i, "text": "y" * 5000}, {"t": frame} if i % 3 == 0 else None)
        print(i, flush=True)
"""


def killed_writer(path: Path, after: int, rest_s: float) -> list[int]:
    """The parts that a writer said were finished before it was killed, some moments after so many of them."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    said = [int(child.stdout.readline()) for _ in range(after)]
    try:
        child.wait(rest_s)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    said += [int(line) for line in child.stdout.read().split()]
    child.stdout.close()
    child.wait()
    return said


def check(path: Path, finished: set[int]) -> None:
    """Everything that was finished is there and whole, and every file of the run is."""
    run = store.open(str(path))
    assert {f"cell {i}" for i in finished} <= set(run.keys())
    assert run.warnings == []
    for key in run.keys():  # noqa: SIM118  # a run is no mapping
        number = int(key.split()[1])
        assert run.get(key) == {"n": number, "text": "y" * 5000}
        assert [t.height for t in run.tables(key).values()] == ([2000] if number % 3 == 0 else [])
    for file in (path / "parts").glob("*.parquet"):
        assert pl.read_parquet(file).height == 2000


def kill_often(path: Path, times: int, seed: int) -> None:
    """Kills writers of one run again and again; each goes on where the one before was killed."""
    chance = random.Random(seed)
    finished: set[int] = set()
    for _ in range(times):
        finished |= set(killed_writer(path, chance.randrange(0, 4), chance.random() * 0.05))
        check(path, finished)
    left = [f.name for f in path.rglob(".*") if f.name != ".writer"]
    with store.create(str(path), "sweep", resume=True):
        swept = [f.name for f in path.rglob(".*") if f.name != ".writer"]
    assert swept == []
    assert len(left) <= times


def test_writers_killed_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "run", 4, seed=os.getpid())


@pytest.mark.nightly
def test_fifty_writers_killed_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path / "run", 50, seed=os.getpid())


def test_a_run_that_is_written_at_once_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    script = """
import sys
import polars as pl
from breakeven import store
frame = pl.DataFrame({"x": list(range(200_000))})
print("ready", flush=True)
for i in range(1000):
    store.write_run(f"{sys.argv[1]}/run{i}", "why", store.Whole({"answer": i}, {f"t{k}": frame for k in range(5)}))
"""
    child = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(random.random() * 0.3)
    child.kill()
    child.wait()
    child.stdout.close()
    for folder in (p for p in tmp_path.iterdir() if not p.name.startswith(".")):
        run = store.open(str(folder))
        assert run.get("answer") == int(folder.name.removeprefix("run"))
        assert [len(t) for name in run.table_names() if (t := run.table(name)) is not None] == [200_000] * 5
