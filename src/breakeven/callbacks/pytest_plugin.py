"""A fixture for those who guard their step time: `pytest_plugins = ["breakeven.callbacks.pytest_plugin"]` in a conftest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from breakeven.workflows.watch import Watch, watch


@pytest.fixture
def watched_loop() -> Iterator[Watch[Any]]:  # whatever is looped over
    """A watch that has begun: train, then hold `watched_loop.report.step_ms` against what a step may take."""
    watching: Watch[Any] = watch(stream=None)  # as above
    with watching:
        yield watching
