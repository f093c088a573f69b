"""Which kernels an ATen operation runs: literal rows of the vocabulary of `predict`."""

from __future__ import annotations

import pytest

from breakeven.costs.works import TABLES, Operation, is_free, works
from breakeven.costs.works.free import FREE
from breakeven.costs.works.multi_tensor import launches

S = tuple[tuple[int, ...], ...]


def check(
    name: str, inputs: S, outputs: S, expected: list[tuple[str, dict[str, int]]], *, dtype: str = "float32", **attributes: object
) -> None:
    found, known = works(Operation(name, inputs, (), outputs, dtype, attributes))
    assert known
    assert [(work.op, {k: work.size(k) for k in sizes}) for work, (_, sizes) in zip(found, expected, strict=True)] == expected


def test_a_product_is_one_gemm() -> None:
    check("aten::mm", ((2, 3), (3, 4)), ((2, 4),), [("gemm", {"m": 2, "n": 4, "k": 3})])


def test_a_linear_layer_with_a_bias_is_one_kernel() -> None:
    check("aten::addmm", ((4,), (2, 3), (3, 4)), ((2, 4),), [("linear", {"m": 2, "n": 4, "k": 3})])


def test_a_matrix_added_to_a_product_is_copied_first() -> None:
    check("aten::addmm", ((2, 4), (2, 3), (3, 4)), ((2, 4),), [("stream", {"bytes": 64}), ("gemm", {"k": 3})])


def test_batched_products_keep_their_batch() -> None:
    check("aten::bmm", ((5, 2, 3), (5, 3, 4)), ((5, 2, 4),), [("bmm", {"b": 5, "m": 2, "n": 4, "k": 3})])


def test_a_linear_on_more_than_two_dimensions_flattens_rows() -> None:
    check("aten::linear", ((6, 2, 3), (4, 3)), ((6, 2, 4),), [("linear", {"m": 12, "n": 4, "k": 3, "trans_b": 1})])


CONV = {"n": 16, "c": 3, "h": 224, "w": 224, "k": 64, "r": 7, "s": 7, "pad_h": 3, "pad_w": 3, "stride_h": 2, "stride_w": 2}


def test_a_convolution_gives_its_geometry() -> None:
    check(
        "aten::convolution", ((16, 3, 224, 224), (64, 3, 7, 7)), ((16, 64, 112, 112),), [("conv2d", CONV)],
        stride=[2, 2], padding=[3, 3], dilation=[1, 1], transposed=False, groups=1,
    )  # fmt: skip


def test_a_convolutions_geometry_follows_from_shapes_where_attributes_are_missing() -> None:
    check("aten::convolution", ((16, 3, 224, 224), (64, 3, 7, 7)), ((16, 64, 112, 112),), [("conv2d", CONV)])


def test_a_bias_behind_a_convolution_is_a_kernel_of_its_own() -> None:
    found, _ = works(Operation("aten::convolution", ((1, 2, 8, 8), (4, 2, 3, 3), (4,)), (), ((1, 4, 6, 6),)))
    assert [work.op for work in found] == ["conv2d", "stream"]


def test_one_dimension_is_a_height_of_one() -> None:
    sizes = {"n": 8, "c": 16, "h": 1, "w": 100, "k": 32, "r": 1, "s": 5, "pad_h": 0, "pad_w": 2, "stride_h": 1}
    check("aten::convolution", ((8, 16, 100), (32, 16, 5)), ((8, 32, 100),), [("conv2d", sizes)], stride=[1], padding=[2])


def test_three_dimensions_fold_depth_into_images_and_channels() -> None:
    sizes = {"n": 2 * 8, "c": 3 * 3, "h": 10, "w": 12, "k": 4, "r": 3, "s": 3}
    check(
        "aten::convolution",
        ((2, 3, 8, 10, 12), (4, 3, 3, 3, 3)),
        ((2, 4, 8, 10, 12),),
        [("conv2d", sizes)],
        stride=[1] * 3,
        padding=[1] * 3,
    )


def test_groups_fold_into_images() -> None:
    sizes = {"n": 2 * 4, "c": 2, "k": 3}
    check("aten::convolution", ((2, 8, 5, 5), (12, 2, 3, 3)), ((2, 12, 3, 3),), [("conv2d", sizes)], groups=4)


def test_a_depthwise_convolution_is_memory_traffic() -> None:
    check(
        "aten::convolution",
        ((2, 8, 5, 5), (8, 1, 3, 3)),
        ((2, 8, 3, 3),),
        [("stream", {"bytes": (400 + 72 + 144) * 4})],
        groups=8,
    )


def test_a_transposed_convolution_is_the_gradient_of_the_one_it_transposes() -> None:
    found, _ = works(
        Operation(
            "aten::convolution", ((1, 8, 4, 4), (8, 2, 3, 3)), (), ((1, 2, 9, 9),), "float32",
            {"transposed": True, "stride": [2, 2], "padding": [0, 0], "groups": 1},
        )
    )  # fmt: skip
    work = found[0]
    assert (work.direction, work.size("c"), work.size("k"), work.size("h"), work.size("w")) == ("backward_inputs", 2, 8, 9, 9)


def test_a_convolutions_backward_asks_its_mask() -> None:
    op = Operation(
        "aten::convolution_backward", ((1, 4, 6, 6), (1, 2, 8, 8), (4, 2, 3, 3)), (), ((4, 2, 3, 3), (4,)), "float32",
        {"output_mask": [False, True, True]},
    )  # fmt: skip
    assert [(work.op, work.direction) for work in works(op)[0]] == [("conv2d", "backward_params"), ("stream", "forward")]


def test_convolutions_in_float32_may_use_tf32_unless_forbidden() -> None:
    shapes = ((1, 2, 8, 8), (4, 2, 3, 3))
    assert works(Operation("aten::convolution", shapes, (), ((1, 4, 6, 6),)))[0][0].dtype == "tf32"
    forbidden = Operation("aten::convolution", shapes, (), ((1, 4, 6, 6),), "float32", {"allow_tf32": False})
    assert works(forbidden)[0][0].dtype == "float32"


def test_a_recurrent_layer_is_one_row() -> None:
    said = {"hidden": 256, "input": 8, "layers": 1, "bidirectional": False, "batch": 100, "timesteps": 50}
    check("cudnn::rnn", (), (), [("rnn", {"hidden": 256, "input": 8, "batch": 100, "timesteps": 50, "bidirectional": 0})], **said)
    assert works(Operation("cudnn::rnn_backward", attributes=said))[0][0].direction == "backward"


def test_a_recurrent_layer_of_many_kernels_says_so() -> None:
    said = {"hidden": 512, "input": 8, "layers": 2, "batch": 4, "timesteps": 50}
    assert works(Operation("cudnn::lstm", attributes=said))[0][0].kernels == 2 * (1 + 2 * 50)
    small = works(Operation("cudnn::lstm", attributes=said | {"hidden": 128}))[0][0]
    assert small.kernels == 2 * 2


def test_a_packed_layer_counts_its_tokens() -> None:
    said = {"hidden": 8, "input": 8, "batch": 32, "timesteps": 100, "packed": True, "tokens": 1600}
    assert works(Operation("cudnn::gru", attributes=said))[0][0].size("batch") == 16


def test_adding_two_tensors_and_a_scalar_differ() -> None:
    check("aten::add", ((10, 10), (10, 10)), ((10, 10),), [("add", {"elements": 100, "inputs": 2})])
    check("aten::add", ((10, 10),), ((10, 10),), [("add", {"elements": 100, "inputs": 1})])
    check("aten::add_", ((10, 10), ()), ((10, 10),), [("add", {"elements": 100, "inputs": 1})])


def test_a_broadcast_operand_is_read_once() -> None:
    check("aten::mul", ((10, 10), (10,)), ((10, 10),), [("stream", {"bytes": (100 + 10 + 100) * 4})])


def test_integers_go_by_their_bytes() -> None:
    check("aten::add", ((100,), (100,)), ((100,),), [("stream", {"bytes": 2400})], dtype="int64")


def test_a_comparison_writes_one_byte_an_element() -> None:
    check("aten::eq", ((100,), (100,)), ((100,),), [("stream", {"bytes": 900})])


def test_softmax_takes_its_rows_along_its_dimension() -> None:
    check("aten::_log_softmax", ((32, 10, 50),), ((32, 10, 50),), [("softmax", {"rows": 1600, "cols": 10})], dim=1)
    check("aten::_softmax", ((32, 10),), ((32, 10),), [("softmax", {"rows": 32, "cols": 10})])


def test_layer_norm_takes_the_dimensions_that_its_weight_has() -> None:
    shapes = ((8, 16, 64), (64,), (64,))
    check("aten::native_layer_norm", shapes, ((8, 16, 64),), [("layernorm", {"rows": 128, "cols": 64})])
    back = Operation("aten::native_layer_norm_backward", ((8, 16, 64), (8, 16, 64), (8, 16, 1), (8, 16, 1), (64,), (64,)))
    assert [(w.op, w.direction, w.size("cols"), w.kernels) for w in works(back)[0]] == [("layernorm", "backward", 64, 2)]


def test_batch_norm_reads_twice_in_training_and_once_otherwise() -> None:
    check("aten::native_batch_norm", ((2, 3, 4, 4), (3,)), ((2, 3, 4, 4),), [("stream", {"bytes": 96 * 4 * 3})], training=True)
    check("aten::native_batch_norm", ((2, 3, 4, 4), (3,)), ((2, 3, 4, 4),), [("stream", {"bytes": 96 * 4 * 2})], training=False)


def test_an_embedding_reads_what_it_writes_and_no_more_of_its_table() -> None:
    check("aten::embedding", ((50_000, 16), (32,)), ((32, 16),), [("stream", {"bytes": 2 * 32 * 16 * 4 + 32 * 8})])


def test_an_embeddings_backward_sorts_only_many_indices() -> None:
    few, _ = works(Operation("aten::embedding_dense_backward", ((3000, 16), (3000,)), (), ((1000, 16),)))
    many, _ = works(Operation("aten::embedding_dense_backward", ((4000, 16), (4000,)), (), ((1000, 16),)))
    assert sum(w.count for w in few) == 2
    assert sum(w.count for w in many) > 10


def test_nothing_runs_for_views_allocations_and_questions() -> None:
    for name in (
        "aten::view",
        "aten::t",
        "aten::detach",
        "aten::empty",
        "aten::empty_like",
        "aten::is_same_size",
        "sync::item",
        "host::python",
    ):
        assert works(Operation(name, ((3, 4),), (), ((3, 4),))) == ((), True)


def test_fills_run_one_kernel() -> None:
    for name in ("aten::zeros", "aten::fill_", "aten::ones_like", "aten::normal_"):
        found, known = works(Operation(name, ((3, 4),), (), ((3, 4),)))
        assert known
        assert [(w.op, w.size("bytes")) for w in found] == [("stream", 48)]


def test_empty_tensors_run_nothing() -> None:
    for name in ("aten::add", "aten::relu", "aten::sum", "aten::_softmax", "aten::cat", "aten::clone"):
        assert works(Operation(name, ((0, 4),), (), ((0, 4),)))[0] == ()


def test_joining_takes_a_launch_per_128_tensors() -> None:
    found, _ = works(Operation("aten::cat", ((4,),) * 129, (), ((516,),)))
    assert sum(w.count for w in found) == 2


def test_copies_between_devices_come_from_their_attributes() -> None:
    check("copy::h2d", (), (), [("copy_h2d", {"bytes": 400, "pinned": 1})], bytes=400, pinned=True)
    check("copy::d2d", (), (), [("copy_d2d", {"bytes": 400})], bytes=400)


def test_unknown_operations_go_by_their_bytes_and_are_named() -> None:
    found, known = works(Operation("mylib::thing", ((10,),), (), ((20,),)))
    assert not known
    assert [(w.op, w.size("bytes")) for w in found] == [("stream", 120)]


def test_an_overload_that_an_entry_does_not_know_goes_by_its_bytes() -> None:
    found, known = works(Operation("aten::bmm", ((10,),), (), ((20,),)))
    assert not known
    assert found[0].op == "stream"


@pytest.mark.parametrize(
    ("sizes", "depth", "expected"),
    [
        ([100] * 62, 2, 1),  # ResNet-18's parameters in place: one launch in the trace rtx2080ti_resnet_30iter
        ([100] * 62, 3, 2),  # the same out of place: two in that trace
        ([100] * 161, 2, 3),  # ResNet-50's in place: three in the trace a100_ddp_3steps
        ([65_536 * 320], 1, 1),
        ([65_536 * 320 + 1], 1, 2),
        ([0, 0], 1, 0),
        ([], 1, 0),
    ],
)
def test_lists_take_as_many_launches_as_their_limits_say(sizes: list[int], depth: int, expected: int) -> None:
    assert launches(sizes, depth) == expected


def test_a_foreach_in_place_reads_all_lists_and_writes_one() -> None:
    op = Operation("aten::_foreach_addcmul_", ((10,),) * 6, (), ((10,),) * 2, "float32", {"tensors": 2})
    assert [(w.size("bytes"), w.count) for w in works(op)[0]] == [(4 * 20 * 4, 1)]


def test_a_fused_optimizer_reads_four_lists_and_writes_three() -> None:
    op = Operation("aten::_fused_adam_", ((10,),) * 8 + ((),) * 2, (), (), "float32", {"tensors": 2})
    assert [(w.size("bytes"), w.count) for w in works(op)[0]] == [(7 * 20 * 4, 1)]


def test_attention_is_one_kernel_and_costs_more_backward() -> None:
    qkv = ((2, 8, 128, 64),) * 3
    forward, _ = works(Operation("aten::_scaled_dot_product_efficient_attention", qkv, (), (qkv[0],)))
    backward, _ = works(Operation("aten::_scaled_dot_product_efficient_attention_backward", (qkv[0], *qkv), (), qkv))
    assert len(forward) == 1
    assert backward[-1].size("m") > forward[0].size("m")


def test_no_operation_has_two_entries() -> None:
    names = [name for table in TABLES for name in table]
    assert len(names) == len(set(names))
    assert not set(names) & FREE


def test_every_entry_is_an_operation_of_torch() -> None:
    """Nearly every: entries for older releases, and names that a dispatch mode meets only under inference, may be gone."""
    torch = pytest.importorskip("torch")
    known = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()}
    names = {name for table in TABLES for name in table} | FREE
    missing = {name for name in names if not {name, f"{name}_"} & known}
    assert len(missing) < 0.06 * len(names), sorted(missing)


def test_a_view_is_free_and_a_fill_is_not() -> None:
    assert is_free("aten::unsqueeze")
    assert not is_free("aten::zeros")
