"""Kills cost no finished cell: SIGKILL of the sweep, a worker, a node of Ray, at moments that nobody chose."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from breakeven import store

CELLS = 40
of_ray = pytest.mark.filterwarnings(  # Ray leaves its processes' pipes to the collector, and announces its own changes
    "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)  # fmt: skip


#: What can be killed.
SWEEP, WORKER, NODE = "sweep", "worker", "node"


class Cluster:
    """Two nodes of Ray beside its head; one that is killed is replaced."""

    def __init__(self, made: Any) -> None:
        self.made, self.address = made, str(made.address)
        self.nodes = [made.add_node(num_cpus=1) for _ in range(2)]
        made.wait_for_nodes()

    def kill_node(self, random_: random.Random) -> None:
        """Ends a node with all that runs on it, at once."""
        at = random_.randrange(len(self.nodes))
        self.made.remove_node(self.nodes[at], allow_graceful=False)
        self.nodes[at] = self.made.add_node(num_cpus=1)

    def workers(self) -> list[int]:
        """Processes that run cells, or have run some."""
        raylets = [p.process.pid for node in self.nodes for p in node.all_processes["raylet"]]
        return [w.pid for raylet in raylets for w in psutil.Process(raylet).children() if "ray::" in " ".join(w.cmdline())]


def start(folder: Path, notes: Path, cluster: Cluster | None = None) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    call = [sys.executable, "-m", "tests.sweep.killed", str(folder), str(notes), str(CELLS)]
    call += [] if cluster is None else [cluster.address]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    return subprocess.Popen(call, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def kill(folder: Path, notes: Path, random_: random.Random, what: str, cluster: Cluster | None) -> set[str]:
    """Kills a sweep, one of its workers or a node under it, after some cells; which cells it had said are kept."""
    running = start(folder, notes, cluster)
    assert running.stdout is not None
    wait = random_.randrange(0, 12)
    said: set[str] = set()
    for count, line in enumerate(line for line in running.stdout if line.startswith("cell ")):
        said.add(line.strip())
        if count < wait:
            continue
        if what == NODE and cluster is not None:
            cluster.kill_node(random_)
        else:
            victims = _workers(running.pid, cluster) if what == WORKER else []
            with suppress(ProcessLookupError):  # a worker that had just ended
                os.kill(random_.choice(victims) if victims else running.pid, signal.SIGKILL)
        break
    said |= {line.strip() for line in running.stdout}
    running.wait(300)
    running.stdout.close()
    return {line for line in said if line.startswith("cell ")}  # Ray tells of its lost nodes there too


def _workers(sweep: int, cluster: Cluster | None) -> list[int]:
    if cluster is not None:
        return cluster.workers()
    children = psutil.Process(sweep).children(recursive=True)
    return [c.pid for c in children if "spawn_main" in " ".join(c.cmdline())]


def check_kills(tmp_path: Path, kills: Sequence[str], seed: int, cluster: Cluster | None = None) -> None:
    """Runs sweeps and kills each of these once; a sweep that got to its end is followed by a new one."""
    random_ = random.Random(seed)
    done = 0
    for run, what in enumerate(kills):
        folder, notes = tmp_path / f"run{done}", tmp_path / f"notes{done}"
        notes.mkdir(parents=True, exist_ok=True)
        before = set(store.open(str(folder)).keys()) if folder.is_dir() else set()
        said = kill(folder, notes, random_, what, cluster)
        kept = store.open(str(folder))
        there = kept.keys()
        assert before | said <= set(there), f"kill {run}, of a {what}: a finished cell is gone"
        assert all(kept.get(key) == {"value": key.replace(" ", "-")} for key in there)
        assert not kept.warnings
        done += kept.head.finished
    folder, notes = tmp_path / f"run{done}", tmp_path / f"notes{done}"
    notes.mkdir(exist_ok=True)
    before = set(store.open(str(folder)).keys()) if folder.is_dir() else set()
    ran = {key: count(notes, key) for key in before}
    last = start(folder, notes, cluster)
    last.communicate(timeout=300)
    assert last.returncode == 0
    assert len(store.open(str(folder)).keys()) == CELLS
    assert {key: count(notes, key) for key in before} == ran  # what was finished did not run again
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]


def count(notes: Path, key: str) -> int:
    return len(list(notes.glob(f"{key.replace(' ', '-')}.*")))


@pytest.mark.slow
def test_three_kills_lose_no_finished_cell(tmp_path: Path) -> None:
    check_kills(tmp_path, [SWEEP, WORKER, SWEEP], seed=1)


@of_ray
@pytest.mark.slow
def test_a_kill_of_a_node_of_ray_loses_no_finished_cell(tmp_path: Path, cluster: Any) -> None:
    check_kills(tmp_path, [NODE], 3, Cluster(cluster))


@of_ray
@pytest.mark.nightly
def test_fifty_kills_lose_no_finished_cell(tmp_path: Path, cluster: Any) -> None:
    here, there = tmp_path / "local", tmp_path / "ray"
    check_kills(here, random.Random(2).choices([SWEEP, WORKER], k=25), seed=2)
    check_kills(there, random.Random(3).choices([SWEEP, WORKER, NODE], k=25), 3, Cluster(cluster))
