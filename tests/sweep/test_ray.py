"""Ray gives what the local engine gives, byte for byte, on a real cluster of several nodes, also where one is killed half way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from breakeven.store.run import table_bytes
from breakeven.sweep.block import blocks, compute
from breakeven.sweep.engines.local import Local
from breakeven.sweep.engines.ray import Ray
from breakeven.sweep.engines.task import Task
from tests.sweep import work_items
from tests.sweep.made import made_model

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its processes' pipes to the collector
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # Ray announces its own changes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_ray_and_local_give_the_same_table_byte_for_byte(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    model, parameters, at = made_model(cells=600)
    tasks = [Task(str(b.first), compute, (b,)) for b in blocks(model.devices, parameters, at)]
    assert len(tasks) > 2
    local, ray = Local(1), Ray.at(cluster.address)
    try:
        one = {d.key: d.value for d in local.run(tasks)}
        two = {d.key: d.value for d in ray.run(tasks)}
    finally:
        local.close()
        ray.close()
    for key, table in one.items():
        table.write_parquet(tmp_path / "one.parquet")
        two[key].write_parquet(tmp_path / "two.parquet")
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_a_node_that_is_killed_half_way_costs_no_finished_task(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray = Ray.at(cluster.address)
    tasks = [Task(str(n), work_items.slow_note, (str(tmp_path), str(n))) for n in range(24)]
    found: dict[str, str] = {}
    again: list[str] = []
    for count, done in enumerate(ray.run(tasks)):
        assert done.key not in found
        found[done.key] = done.value
        again += [done.key] if done.attempts > 1 else []
        if count == 5:
            cluster.remove_node(node, allow_graceful=False)
    ray.close()
    assert found == {str(n): str(n) for n in range(24)}
    runs = [p.name.partition(".")[0] for p in tmp_path.iterdir()]
    assert {name for name in runs if runs.count(name) > 1} <= set(again)  # what was finished was not run again


def test_ten_thousand_cells_are_the_same_bytes_though_a_node_is_killed_half_way(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    model, parameters, at = made_model(cells=12_000)
    assert len(parameters) >= 10_000
    tasks = [Task(str(b.first), compute, (b,)) for b in blocks(model.devices, parameters, at)]
    ray, found = Ray.at(cluster.address), dict[str, bytes]()
    for done in ray.run(tasks):
        assert done.key not in found
        found[done.key] = table_bytes(done.value)
        if len(found) == len(tasks) // 2:
            cluster.remove_node(node, allow_graceful=False)
    ray.close()
    local = Local(1)
    try:
        own = {done.key: table_bytes(done.value) for done in local.run(tasks)}
    finally:
        local.close()
    assert found == own
