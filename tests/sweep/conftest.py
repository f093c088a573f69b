"""A real cluster of Ray on this machine: several nodes, each with processes of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import os

    from ray.cluster_utils import Cluster

    root = str(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([f"{root}/src", root]))
    try:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    except (OSError, RuntimeError) as error:  # its own time-outs are short
        pytest.skip(f"Ray did not start on this machine: {error}")
    yield made
    import ray

    ray.shutdown()
    made.shutdown()
