"""Prices of a stream's calls, by a pricer that says 10 us for everything."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.costs.calls import CallCosts, price_calls
from breakeven.costs.price import price
from breakeven.machine.gpus import find_gpu
from breakeven.timeline import schema
from breakeven.timeline.opstream import Call, attributes
from tests.costs.builders import GPU, call, stream, ten_us

MM = call("aten::mm", inputs=((2, 3), (3, 4)), outputs=((2, 4),), dtype="float32")
VIEW = call("aten::view", inputs=((2, 3),), outputs=((6,),), dtype="float32")
PAD = call("aten::constant_pad_nd", inputs=((2, 3),), outputs=((4, 3),), dtype="float32")
H2D = call("copy::h2d", kind=schema.Kind.COPY, attributes=attributes(bytes=400, pinned=False))
ITEM = call("sync::item", kind=schema.Kind.SYNC)
PYTHON = call("host::python", kind=schema.Kind.HOST, device="cpu")
SOFTMAX = call("aten::_softmax", inputs=((4, 8),), outputs=((4, 8),), dtype="float32")
LIST = call("aten::_foreach_add_", inputs=((5,),) * 3, outputs=((5,),) * 3, dtype="float32", attributes=attributes(tensors=3))


def costs(*calls: Call) -> CallCosts:
    return price_calls(stream(*((each, {}) for each in calls)).calls, GPU, pricer=ten_us)


def test_a_product_is_a_kernel_on_the_stream_limited_as_priced() -> None:
    found = costs(MM)
    assert found.kernels.tolist() == [1]
    assert found.device_ns.tolist() == [[5_000.0], [10_000.0], [20_000.0]]
    assert (found.limited_by[0], found.engine[0], found.family[0]) == ("compute", "stream", "matmul")


def test_kernels_of_a_call_add_up() -> None:
    found = costs(PAD)
    assert found.kernels.tolist() == [2]
    assert found.device_ns[1].tolist() == [20_000.0]


def test_a_view_a_wait_and_host_work_run_no_kernel() -> None:
    found = costs(VIEW, ITEM, PYTHON)
    assert found.kernels.tolist() == [0, 0, 0]
    assert found.device_ns.tolist() == [[0.0] * 3] * 3
    assert found.limited_by.tolist() == found.engine.tolist() == found.family.tolist() == ["", "", ""]


def test_a_copy_runs_on_its_engine() -> None:
    found = costs(H2D)
    assert (found.kernels[0], found.engine[0], found.family[0]) == (1, "copy_h2d", "copies")


def test_what_runs_on_the_cpu_costs_the_device_nothing() -> None:
    found = costs(call("aten::mm", device="cpu", inputs=((2, 3), (3, 4)), outputs=((2, 4),)))
    assert found.kernels.tolist() == [0]
    assert found.forward_host_ns[0] > 0


def test_what_cannot_be_priced_goes_by_its_bytes_and_is_named() -> None:
    found = costs(SOFTMAX, MM)
    assert found.unknown == ("aten::_softmax",)
    assert found.device_ns[:, 0].tolist() == [1_250.0, 10_000.0, 80_000.0]
    assert np.isfinite(found.device_ns).all()


def test_an_operation_without_an_entry_is_named() -> None:
    assert costs(call("mylib::thing", inputs=((10,),), outputs=((10,),))).unknown == ("mylib::thing",)


def test_launches_cost_the_host_more_than_views() -> None:
    found = costs(VIEW, MM)
    assert found.forward_host_ns[1] > 3 * found.forward_host_ns[0] > 0


def test_a_list_operation_stands_for_one_operation_per_tensor_on_the_cpu() -> None:
    assert costs(LIST, MM, H2D).cpu_operations.tolist() == [3, 1, 0]


def test_recorded_cpu_operations_of_a_fused_call_count() -> None:
    fused = call("cudnn::gru", attributes=attributes(hidden=4, batch=2, timesteps=3, cpu_ops=50))
    assert costs(fused).cpu_operations.tolist() == [50]


def test_no_calls_cost_nothing() -> None:
    found = costs()
    assert found.device_ns.shape == (3, 0)


def test_the_real_pricer_takes_every_kind_of_row() -> None:
    calls = [
        MM, PAD, H2D, SOFTMAX, LIST,
        call("cudnn::rnn", attributes=attributes(hidden=256, input=8, batch=100, timesteps=1), dtype="float32"),
        call("cudnn::lstm_backward", attributes=attributes(hidden=512, input=8, batch=100, timesteps=20, layers=2)),
        call("aten::convolution", inputs=((1, 2, 8, 8), (4, 2, 3, 3)), outputs=((1, 4, 6, 6),), dtype="float16"),
        call("aten::native_layer_norm_backward", inputs=((8, 64), (8, 64), (8, 1), (8, 1), (64,)), outputs=((8, 64),)),
        call("aten::add", inputs=((8,), (8,)), outputs=((8,),), dtype="int64"),
        call("aten::linalg_inv_ex", inputs=((64, 64),), outputs=((64, 64),), dtype="float32"),
    ]  # fmt: skip
    for name in ("t4", "a100 pcie 40gb", "gtx 1080"):
        found = price_calls(stream(*((each, {}) for each in calls)).calls, find_gpu(name), pricer=price)
        assert found.unknown == ()
        assert (found.device_ns[1] > 0).all()
        assert (found.device_ns[0] <= found.device_ns[1]).all()
        assert (found.device_ns[1] <= found.device_ns[2]).all()


@pytest.mark.parametrize("tf32", [None, 60.0])
def test_tf32_is_asked_for_only_where_the_device_has_it(tf32: float | None) -> None:
    from dataclasses import replace

    seen: list[str] = []

    def spy(table: object, gpu: object) -> object:
        seen.extend(table["dtype"].to_list())  # type: ignore[index]  # a frame
        return ten_us(table, gpu)  # type: ignore[arg-type]  # as the pricer's signature

    conv = call("aten::convolution", inputs=((1, 2, 8, 8), (4, 2, 3, 3)), outputs=((1, 4, 6, 6),), dtype="float32")
    price_calls(stream((conv, {})).calls, replace(GPU, tensor_tf32_tflops=tf32), pricer=spy)  # type: ignore[arg-type]  # as above
    assert seen == ["float32" if tf32 is None else "tf32"]
