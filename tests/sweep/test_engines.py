"""Engines run every task once, survive the death of workers, and hand errors on as values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from breakeven.sweep.engines.local import Local
from breakeven.sweep.engines.task import MOST_ATTEMPTS, Done, Task
from tests.sweep import work_items


@pytest.fixture(scope="module")
def engine() -> Iterator[Local]:
    local = Local(2)
    yield local
    local.close()


def ends(engine: Local, tasks: list[Task]) -> dict[str, Done]:
    return {done.key: done for done in engine.run(tasks)}


def test_every_task_is_run_once_and_its_value_comes_back(engine: Local, tmp_path: Path) -> None:
    tasks = [Task(str(n), work_items.note, (str(tmp_path), str(n)), exclusive=n % 2 == 0) for n in range(6)]
    assert {key: done.value for key, done in ends(engine, tasks).items()} == {str(n): str(n) for n in range(6)}
    assert sorted(p.name.partition(".")[0] for p in tmp_path.iterdir()) == [str(n) for n in range(6)]


def test_an_error_of_ours_is_a_value_and_ends_nothing(engine: Local) -> None:
    found = ends(engine, [Task("a", work_items.refuse, ("a",)), Task("b", work_items.double, (4,))])
    assert found["a"].error == "a will not"
    assert found["b"].value == 8


def test_a_worker_that_dies_takes_nothing_finished_along(tmp_path: Path) -> None:
    local = Local(2)
    tasks = [Task(str(n), work_items.double, (n,)) for n in range(4)]
    tasks.insert(1, Task("mortal", work_items.die_once, (str(tmp_path), "mortal")))
    found = ends(local, tasks)
    local.close()
    assert {key: done.value for key, done in found.items()} == {**{str(n): 2 * n for n in range(4)}, "mortal": "mortal"}


def test_a_task_that_always_kills_its_worker_is_given_up(tmp_path: Path) -> None:
    local = Local(1)
    found = ends(local, [Task("deadly", work_items.die, ("deadly",)), Task("after", work_items.double, (1,))])
    local.close()
    assert found["deadly"].value is None
    assert found["deadly"].error is not None
    assert found["deadly"].attempts >= MOST_ATTEMPTS
    assert found["after"].value == 2
