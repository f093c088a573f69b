"""Columns of texts that are given as numbers make the same timeline as the texts themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from breakeven.timeline import Lane, Origin, Timeline, repaired, schema
from breakeven.timeline.coded import Coded, coded, texts_of

NAMES, KINDS = ("never", "wait", "launch", "kernel"), ("sync", "launch", "compute")
LANES = (Lane("host", "cpu", "main"), Lane("stream", "cuda:0", "stream 7"))


def columns(given: str) -> dict[str, object]:
    """A launch, its kernel that seems to start before it, a wait and an event without an end; out of order."""
    name, kind = np.array([3, 1, 2, 2], dtype=np.int32), np.array([2, 0, 1, 1], dtype=np.int32)
    cause = Coded(np.array([-1, -1, 0, -1], dtype=np.int32), ("input",))
    told = {
        schema.EVENT_NAME.name: Coded(name, NAMES), schema.EVENT_KIND.name: Coded(kind, KINDS), schema.EVENT_CAUSE.name: cause,
    }  # fmt: skip
    return {
        **{key: value if given == "numbers" else texts_of(value) for key, value in told.items()},
        schema.EVENT_LANE.name: np.array([1, 0, 0, 0]),
        schema.EVENT_START.name: np.array([90.0, 200.0, 100.0, 300.0]),
        schema.EVENT_DURATION.name: np.array([50.0, 10.0, 5.0, np.nan]),
        schema.EVENT_LINK.name: np.array([2, 0, -1, -1]),
    }


def test_numbers_make_the_timeline_that_texts_make() -> None:
    """Dropped events, moved clocks, cut links and the order are the same, and so is what was mended."""
    (one, said), (other, also) = (
        repaired(columns(given), lanes=LANES, origin=Origin("imported")) for given in ("numbers", "texts")
    )
    assert one.events.equals(other.events)
    assert said == also
    assert {repair.name for repair in said} == {"whole_times", "align_clocks"}


def test_what_was_given_as_numbers_is_known_as_numbers() -> None:
    """Names, kinds and causes are those that a look at the texts would find, without the ones that no event has."""
    made, _ = repaired(columns("numbers"), lanes=LANES, origin=Origin("imported"))
    for known, column in (
        (made.names, schema.EVENT_NAME), (made.kinds, schema.EVENT_KIND), (made.causes, schema.EVENT_CAUSE),
    ):  # fmt: skip
        found = coded(made.events[column.name])
        assert known.values == found.values
        assert known.codes.tolist() == found.codes.tolist()
    assert "never" not in made.names.values


def test_a_broken_invariant_names_the_event_by_its_text() -> None:
    """The message holds the name, not its number."""
    broken = columns("numbers") | {schema.EVENT_START.name: np.array([90, 200, -100, 300])}
    broken[schema.EVENT_DURATION.name] = np.ones(4, dtype=np.int64)
    with pytest.raises(ValueError, match="'launch'"):
        Timeline.from_columns(broken, lanes=LANES, origin=Origin("imported"))


def test_parts_are_found_in_either_case() -> None:
    """Kernels' names are searched for parts; rows without a text hold none."""
    names = coded(pl.Series(["ampere_SGEMM_128", None, "sgemm", "gemv"]))
    assert names.containing("sgemm", "nowhere").tolist() == [True, False, True, False]
