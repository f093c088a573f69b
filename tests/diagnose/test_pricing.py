"""Streams are priced in the same worlds, so that a rewrite that changes nothing saves nothing."""

from __future__ import annotations

import pytest
from literal_streams import PRICING, Script

from breakeven.diagnose import pricing
from breakeven.diagnose.pricing import pricing_for
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Cpu, Host
from breakeven.results.records import Interval
from breakeven.timeline import OpStream, edit
from breakeven.whatif.cuda_graph import cuda_graph
from breakeven.whatif.fused_pointwise import fused_pointwise

HOST = Host("test", 0.9, 1.0, 1.1, "the reference")


def elementwise() -> OpStream:
    script = Script(batch=32)
    for step in range(3):
        if step:
            script.next_step()
        for _ in range(30):
            script.op("aten::mul", (32, 64), cpu_us=4)
    return script.stream()


def test_the_same_stream_saves_exactly_nothing() -> None:
    stream = elementwise()
    assert PRICING.price(PRICING.step(stream))(stream) == Interval(0.0, 0.0, 0.0)


def test_a_rewritten_stream_is_issued_at_the_rate_found_from_the_recorded_one() -> None:
    """A host found slow by the measured step stays slow when a rewrite takes rows away.

    Of the step, 0.12 ms are kernels; the probe says 0.1 ms of framework, and at most twice that is believed.
    """
    stream, gpu = elementwise(), find_gpu("T4")
    cpu = Cpu("test", 2, 1, dispatch_us=5)
    fast, slow = (
        pricing_for(stream, gpu, cpu_step_ms=Interval(ms, ms, ms), cpu=cpu, host=HOST) for ms in (0.2, 3.0)
    )  # fmt: skip
    half = fused_pointwise(stream)
    assert len(half) < len(stream)
    assert slow.host(half, slow.costs(half)).rate == slow.host(stream, slow.costs(stream)).rate
    assert slow.price(slow.step(stream))(half).mid > 1.2 * fast.price(fast.step(stream))(half).mid


def test_a_graph_takes_the_issuing_off_the_host() -> None:
    stream, gpu = elementwise(), find_gpu("T4")
    priced = pricing_for(stream, gpu, cpu_step_ms=None, cpu=Cpu("test", 2, 1, dispatch_us=5), host=HOST)
    step = priced.step(stream)
    assert priced.price(step)(cuda_graph(stream)).mid > 0.5 * step.mid


def test_a_very_long_stream_is_priced_at_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = elementwise()
    step = PRICING.step(stream)
    drawn = PRICING.price(step)(cuda_graph(stream))
    monkeypatch.setattr(pricing, "MANY_ROWS", 10)
    middle = PRICING.price(step)(cuda_graph(stream))
    assert middle.mid == pytest.approx(drawn.mid)
    assert middle.low / middle.mid == pytest.approx(step.low / step.mid)


def test_a_row_costs_what_its_call_costs() -> None:
    stream = elementwise()
    rows = PRICING.rows(stream)
    assert len(rows.host_ns) == len(stream) == len(edit.phases(stream))
    assert rows.kernels.tolist() == [1] * len(stream)
    assert rows.host_ns.tolist() == [10_000.0] * len(stream)
