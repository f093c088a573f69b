"""The catalogue holds every remedy that others rely on, each with words for a reader."""

from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.remedies import REMEDIES, Remedy, remedy

#: The ids that scripts and scoring hold on to.
RELIED_ON = (
    "larger_batch", "window_loop", "fuse_rnn", "hoist_projection", "fuse_bidirectional", "bucket_lengths",
    "metrics_on_device", "detach_metrics", "create_on_device", "move_to_device", "merge_copies", "pin_memory",
    "loader_workers", "persistent_workers", "prefetch", "data_on_device", "index_batches", "set_to_none", "fused_optimizer",
    "cuda_graph", "compile", "autocast", "tf32", "float32", "channels_last", "benchmark_on", "benchmark_off",
    "inference_mode", "checkpoint_less", "debug_off", "no_empty_cache", "threads", "flush_denormals", "synchronise",
    "warm_up", "use_cpu", "parallel_architecture",
)  # fmt: skip


@pytest.mark.parametrize("name", RELIED_ON)
def test_a_remedy_that_others_rely_on_is_there(name: str) -> None:
    assert remedy(name).id == name


@pytest.mark.parametrize("one", REMEDIES.values(), ids=lambda r: r.id)
def test_a_remedy_has_a_title_a_text_and_says_when_it_is_safe(one: Remedy) -> None:
    assert 0 < len(one.title) < 70
    assert one.text.endswith(".")
    assert one.safe.endswith(".")


def test_an_unknown_remedy_names_the_known() -> None:
    with pytest.raises(InputError, match="larger_batch"):
        remedy("more_luck")
