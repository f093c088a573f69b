"""Each what-if changes what it says and nothing else; twice changes nothing more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnose"))
from literal_streams import BACKWARD, INPUT, OPTIMIZER, Script

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.time_loops import time_loops
from breakeven.whatif.create_on_device import create_on_device
from breakeven.whatif.cuda_graph import cuda_graph
from breakeven.whatif.float32 import float32
from breakeven.whatif.foreach_optimizer import foreach_optimizer
from breakeven.whatif.fuse_rnn import fuse_rnn
from breakeven.whatif.fused_pointwise import fused_pointwise
from breakeven.whatif.half_precision import half_precision
from breakeven.whatif.hoist_projection import hoist_projection
from breakeven.whatif.larger_window import larger_window
from breakeven.whatif.merge_copies import merge_copies
from breakeven.whatif.pinned_copies import pinned_copies
from breakeven.whatif.scale_batch import scale_batch
from breakeven.whatif.without_copies import without_copies
from breakeven.whatif.without_host_work import without_host_work
from breakeven.whatif.without_input import without_input
from breakeven.whatif.without_padding import without_padding
from breakeven.whatif.without_syncs import without_syncs

Rewrite = Callable[[OpStream], OpStream]

REWRITES: tuple[Rewrite, ...] = (
    create_on_device, cuda_graph, float32, foreach_optimizer, fuse_rnn, fused_pointwise, half_precision, hoist_projection,
    merge_copies, pinned_copies, without_copies, without_host_work, without_input, without_syncs,
)  # fmt: skip


def everything() -> OpStream:
    """Two steps with something for every rewrite."""
    script = Script(batch=32)
    for step in range(2):
        if step:
            script.next_step()
        script.host("host::input", 1.0, phase=INPUT)
        script.op("aten::randn", out=(32, 8), line=16, device="cpu")
        script.copy_in(1024, line=16, shape=(32, 8))
        for _ in range(6):
            script.copy_in(400, line=6)
        for _ in range(10):
            script.op("aten::select", (32, 10, 24), out=(32, 24), line=18)
            script.linear(32, 24, 64, line=19)
            script.linear(32, 64, 64, line=19)
            script.op("aten::tanh", (32, 64), line=19)
        script.op("aten::add", (32, 64), line=20, dtype="float64")
        script.op("aten::mul", (32, 64), line=20)
        script.op("aten::add", (32, 64), line=20)
        script.item(line=22)
        for _ in range(10):
            script.op("aten::tanh_backward", (32, 64), line=30, phase=BACKWARD)
            script.op("aten::mm", (32, 64), (64, 64), out=(32, 64), line=30, phase=BACKWARD, fixed=(False, True))
        for _ in range(5):
            script.op("aten::add_", (64, 64), line=31, phase=OPTIMIZER, fixed=(True,))
        script.host("host::save", 2.0, line=33)
    return script.stream()


def ops(stream: OpStream) -> list[str]:
    return stream.table()[schema.CALL_OP.name].to_list()


def check(stream: OpStream) -> None:
    """The invariants of a stream hold: positions exist, waits look back, steps do not fall."""
    waits = edit.column(stream, schema.ROW_WAITS)
    assert (waits <= np.arange(len(stream))).all()
    call = edit.column(stream, schema.ROW_CALL)
    assert ((call >= 0) & (call < stream.calls.height)).all()
    assert (np.diff(edit.column(stream, schema.ROW_STEP)) >= 0).all()
    assert [c.dtype for c in schema.ROWS] == [stream.rows.schema[c.name] for c in schema.ROWS]
    assert [c.dtype for c in schema.CALLS] == [stream.calls.schema[c.name] for c in schema.CALLS]


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: r.__name__)
def test_a_rewrite_leaves_a_stream_and_changes_it(rewrite: Rewrite) -> None:
    before = everything()
    after = rewrite(before)
    check(after)
    assert not after.table().equals(before.table())
    assert set(edit.column(after, schema.ROW_STEP)) == {0, 1}


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: r.__name__)
def test_a_rewrite_done_twice_changes_nothing_more(rewrite: Rewrite) -> None:
    once = rewrite(everything())
    assert rewrite(once).table().equals(once.table())


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: r.__name__)
def test_a_rewrite_without_anything_to_do_gives_the_stream_back(rewrite: Rewrite) -> None:
    script = Script()
    script.op("aten::embedding", (8, 8))
    stream = script.stream()
    assert rewrite(stream).table().equals(stream.table())


def test_without_syncs_drops_the_wait_and_its_copy_and_keeps_the_rest() -> None:
    before, after = ops(everything()), ops(without_syncs(everything()))
    assert "sync::item" not in after
    assert "copy::d2h" not in after
    assert len(before) - len(after) == 4


def test_without_syncs_at_a_line_keeps_those_of_other_lines() -> None:
    script = Script()
    script.linear(8, 8, 8)
    script.item(line=20)
    script.item(line=21)
    stream = script.stream()
    left = without_syncs(stream, [stream.sites.index(next(s for s in stream.sites if s.line == 20))])
    assert ops(left).count("sync::item") == 1
    assert ops(left).count("copy::d2h") == 1
    assert edit.column(left, schema.ROW_WAITS).tolist() == [-1, -1, 1]


def test_the_python_before_a_dropped_row_stays() -> None:
    script = Script()
    script.op("aten::mul", (4,), host_us=1)
    script.op("aten::mul", (4,), host_us=2)
    script.op("aten::mul", (4,), host_us=3)
    kept = edit.keep(script.stream(), np.array([True, False, True]))
    assert edit.host_ns(kept).tolist() == [1000, 5000]


def test_a_row_that_waited_for_a_dropped_one_waits_for_the_nearest_before_it() -> None:
    script = Script()
    script.linear(8, 8, 8)
    script.linear(8, 8, 8)
    script.item()
    kept = edit.keep(script.stream(), np.array([True, True, False, True]))
    assert edit.column(kept, schema.ROW_WAITS).tolist() == [-1, -1, 1]


def test_a_graph_is_launched_once_for_each_step() -> None:
    after = cuda_graph(everything())
    marked = after.table().filter(after.table()[schema.CALL_ATTRIBUTES.name].str.contains('"graph":1'))
    captured = sum(1 for phase in edit.phases(after) if phase in ("forward", "backward", "optimizer"))
    waiting = sum(op in ("aten::randn",) for op in ops(after))
    assert marked.height == captured - 2 - waiting


def test_a_fused_loop_is_one_call_each_way() -> None:
    after = fuse_rnn(everything())
    fused = [c for c in edit.calls_of(after) if c.op.startswith("cudnn::")]
    assert [c.op for c in fused] == ["cudnn::rnn", "cudnn::rnn_backward"]
    assert edit.values_of(fused[0]) == {
        "hidden": 64, "input": 24, "layers": 1, "bidirectional": False, "batch": 32, "timesteps": 10, "train": True,
    }  # fmt: skip
    assert ops(after).count("cudnn::rnn") == 2
    assert "aten::tanh" not in ops(after)


def test_a_loop_over_time_is_read_with_its_sizes() -> None:
    loops = time_loops(everything())
    assert [(x.cell, x.passes, x.hidden, x.width, x.batch, x.projected_inside) for x in loops] == [
        ("rnn", 10, 64, 24, 32, True)
    ] * 2


def test_merged_copies_carry_the_same_bytes() -> None:
    after = merge_copies(everything())
    sizes = [edit.values_of(c)["bytes"] for c in edit.calls_of(after) if c.op == "copy::h2d"]
    assert 6 * 400 in sizes
    assert ops(after).count("copy::h2d") == 4


def test_the_batch_scales_activations_and_leaves_parameters() -> None:
    script = Script(batch=32)
    script.linear(32, 24, 64)
    script.copy_in(32 * 24 * 4, shape=(32, 24))
    script.op("aten::_foreach_add_", (64, 24), phase=OPTIMIZER, fixed=(True,))
    script.op("aten::mm", (64, 32), (32, 24), out=(64, 24), phase=BACKWARD)
    script.op("cudnn::lstm", (100, 32, 24), out=(100, 32, 64), values={"batch": 32, "hidden": 64, "timesteps": 100})
    product, copy, optimizer, gradient, lstm = edit.calls_of(scale_batch(script.stream(), 320))
    assert (product.inputs, product.outputs) == (((64,), (320, 24), (24, 64)), ((320, 64),))
    assert (copy.inputs, edit.values_of(copy)["bytes"]) == (((320, 24),), 320 * 24 * 4)
    assert optimizer.inputs == ((64, 24),)
    assert (gradient.inputs, gradient.outputs) == (((64, 320), (320, 24)), ((64, 24),))
    assert (lstm.inputs, edit.values_of(lstm)["batch"]) == (((100, 320, 24),), 320)


def test_a_hidden_size_equal_to_the_batch_is_not_scaled() -> None:
    script = Script(batch=64)
    script.op("aten::tanh", (64, 64))
    script.linear(64, 64, 64)
    tanh, product = edit.calls_of(scale_batch(script.stream(), 128))
    assert tanh.inputs == ((128, 64),)
    assert product.outputs == ((128, 64),)


def test_a_batch_that_is_not_known_cannot_be_scaled() -> None:
    script = Script()
    script.linear(8, 8, 8)
    with pytest.raises(ValueError, match="batch"):
        scale_batch(script.stream(), 16)


def test_scaling_to_todays_batch_gives_the_stream_back() -> None:
    stream = everything()
    assert scale_batch(stream, 32) is stream


def test_a_window_takes_more_time_steps_through_one_call() -> None:
    script = Script()
    script.op("cudnn::rnn", (1, 16, 8), out=(1, 16, 32), values={"timesteps": 1, "hidden": 32, "batch": 16})
    script.linear(16, 32, 8)
    rnn, product = edit.calls_of(larger_window(script.stream(), 24))
    assert edit.values_of(rnn)["timesteps"] == 24
    assert rnn.inputs == ((24, 16, 8),)
    assert product.outputs == ((384, 8),)


def test_padding_is_cut_out_of_the_time_dimension_only() -> None:
    script = Script(batch=32)
    script.op("cudnn::gru", (32, 200, 48), out=(32, 200, 64), values={"timesteps": 200, "hidden": 64, "batch": 32})
    script.linear(6400, 64, 5)
    script.op("aten::mul", (32, 64))
    gru, product, other = edit.calls_of(without_padding(script.stream(), 200, 0.25))
    assert (gru.inputs, edit.values_of(gru)["timesteps"]) == (((32, 50, 48),), 50)
    assert product.inputs[1] == (1600, 64)
    assert other.inputs == ((32, 64),)


def test_a_chain_of_elementwise_operations_becomes_its_last() -> None:
    after = fused_pointwise(everything())
    assert ops(after).count("aten::add") == 2
    assert "aten::mul" not in ops(after)
