"""The host's side of a stream: what the CPU step, the probe and the profile say together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from breakeven.costs.calls import CallCosts, price_calls
from breakeven.costs.cpu import CAUSES, cpu_account
from breakeven.costs.host import HostTimes, cpu_split, host_times
from breakeven.costs.host_model import host_model
from breakeven.machine.hosts import SAME_HOST, this_machine
from breakeven.machine.records import Cpu, Host
from breakeven.results.records import Interval
from breakeven.timeline import OpStream, schema
from breakeven.timeline.opstream import Call, attributes
from tests.costs.builders import GPU, call, stream, ten_us

REFERENCE = host_model().dispatch_us
CPU = Cpu("test", 2, 2, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=REFERENCE)
MUL = call("aten::mul", inputs=((8,), (8,)), outputs=((8,),), dtype="float32")
WIDE = call("aten::mul", inputs=((1_000_000,), (1_000_000,)), outputs=((1_000_000,),), dtype="float32")
VIEW = call("aten::view", inputs=((8,),), outputs=((8,),), dtype="float32")
MM = call("aten::mm", inputs=((512, 512), (512, 512)), outputs=((512, 512),), dtype="float32")
BACKWARD = {"phase": schema.Phase.BACKWARD}


def priced(made: OpStream) -> CallCosts:
    return price_calls(made.calls, GPU, pricer=ten_us)


def as_probed(cpu: Cpu) -> Host:
    """A host that issues to a GPU exactly as the probe of that CPU says."""
    scale = (cpu.dispatch_us or REFERENCE) / REFERENCE
    return Host("as probed", scale / 1.2, scale, scale * 1.2, "test")


def times(made: OpStream, step_us: float | None, cpu: Cpu = CPU, host: Host | None = None) -> HostTimes:
    step = None if step_us is None else Interval(step_us * 1e3, step_us * 1e3, step_us * 1e3)
    return host_times(made, priced(made), cpu_step_ns=step, cpu=cpu, host=host or as_probed(cpu))


def many(count: int, **values: object) -> OpStream:
    return stream(*((MUL, dict(values)) for _ in range(count)))


def test_with_no_cpu_times_the_probe_alone_speaks() -> None:
    slow = Cpu("test", 2, 2, dispatch_us=3 * REFERENCE)
    assert times(many(5), 1e6, slow).rate == pytest.approx(3.0)


@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0])
def test_on_this_machine_issuing_is_dearer_than_the_probe_and_the_users_own_work_is_not(speed: float) -> None:
    cpu = Cpu("test", 2, 2, dispatch_us=speed * REFERENCE)
    made = stream((MUL, {"host_ns": 5_000_000}), (MUL, {}))
    here, probed = times(made, None, cpu, this_machine(cpu, REFERENCE)), times(made, None, cpu)
    assert here.rate == pytest.approx(SAME_HOST * probed.rate)
    assert here.issue_ns == pytest.approx(SAME_HOST * probed.issue_ns)
    assert here.before_ns.tolist() == [5_000_000.0, 0.0]


def test_where_kernels_are_nothing_the_cpu_step_moves_the_rate() -> None:
    made = many(100, cpu_ns=10)
    said = priced(made).cpu_host_ns[0] * 100 / 1e3
    assert times(made, said).rate == pytest.approx(1.0, abs=0.02)
    assert 1.5 < times(made, 2 * said).rate < 2.0


def test_a_step_that_waited_for_its_turn_is_no_slow_framework() -> None:
    made = many(100, cpu_ns=10)
    said = priced(made).cpu_host_ns[0] * 100 / 1e3
    assert times(made, 300 * said).rate < 2.1


def test_python_that_the_recording_saw_between_operations_counts() -> None:
    made = many(100, cpu_ns=10, host_ns=100_000)
    said = priced(made).cpu_host_ns[0] * 100 / 1e3
    assert times(made, 10_000).rate > 2.5 * times(many(100, cpu_ns=10), said).rate


def test_where_kernels_are_nearly_all_the_step_says_nothing_of_the_framework() -> None:
    made = many(100, cpu_ns=1_000_000)
    assert times(made, 102_000).rate == pytest.approx(1.0, abs=0.15)


def test_kernels_longer_than_the_step_leave_the_probe() -> None:
    assert times(many(10, cpu_ns=1_000_000), 100).rate == pytest.approx(1.0)


def test_a_slower_host_issues_more_slowly_and_is_less_certain() -> None:
    made = many(100, cpu_ns=10)
    here, there = times(made, None), times(made, None, host=Host("there", 1.4, 2.0, 2.9, "test"))
    assert there.issue_ns.sum() == pytest.approx(2 * here.issue_ns.sum())
    assert there.log_sigma > here.log_sigma > 0


def test_a_long_pause_is_the_users_and_a_short_one_the_frameworks() -> None:
    made = stream((MUL, {"host_ns": 5_000_000}), (VIEW, {"host_ns": 20_000}))
    assert times(made, None).before_ns.tolist() == [5_000_000.0, 0.0]


def test_between_the_engines_nodes_no_line_of_the_users_runs() -> None:
    pause = {"host_ns": 5_000_000, **BACKWARD}
    assert times(stream((MUL, {}), (MUL, pause), (MUL, pause)), None).before_ns.tolist() == [0.0, 5_000_000.0, 0.0]


def test_host_work_is_as_long_as_it_was() -> None:
    python = call("host::python", kind=schema.Kind.HOST, device="cpu")
    found = times(stream((python, {"host_ns": 30_000})), None)
    assert (found.before_ns.tolist(), found.issue_ns.tolist()) == ([30_000.0], [0.0])


def test_each_backward_pass_starts_the_engine_once() -> None:
    made = stream((MUL, {}), (MUL, BACKWARD), (MUL, BACKWARD), (MUL, {}), (MUL, BACKWARD))
    issue = times(made, None).issue_ns
    start = host_model().backward_call_us * 1e3
    assert issue[1] - issue[2] == pytest.approx(start)
    assert issue[4] == pytest.approx(issue[1])
    assert issue[0] == pytest.approx(issue[3])


def test_each_optimizer_step_has_its_own_python_once() -> None:
    step = {"phase": schema.Phase.OPTIMIZER}
    issue = times(stream((MUL, {}), (MUL, step), (MUL, step)), None).issue_ns
    assert (issue[1] - issue[2], issue[0]) == (pytest.approx(host_model().optimizer_call_us * 1e3), pytest.approx(issue[2]))


@pytest.mark.parametrize(
    ("made", "recorded_us", "kernel_us"),
    [
        # Below what a dispatch can take, ten times the probed rates' time (96 bytes at 10 GB/s, 8 flops at 50 Gflop/s) is all …
        (MUL, 90, 0.0976),
        # … and what no dispatch takes (100 us) is one, whatever the rates say.
        (MUL, 1_000, 900),
        # A kernel within ten times its traffic's time is as recorded.
        (WIDE, 1_000, 1_000),
        (WIDE, 90, 90),
    ],
    ids=["small", "slow", "wide", "wide-and-fast"],
)
def test_a_small_kernel_takes_no_longer_than_a_tenth_of_the_probed_rates_allows(
    made: Call, recorded_us: float, kernel_us: float
) -> None:
    once = stream((made, {"cpu_ns": int(recorded_us * 1e3)}))
    assert cpu_split(once, priced(once), here=CPU).kernel_ns.tolist() == pytest.approx([kernel_us * 1e3])
    assert cpu_split(once, priced(once)).kernel_ns.tolist() == pytest.approx([recorded_us * 1e3]), "no rates, no bound"


def test_an_interruption_of_one_repeat_is_cut() -> None:
    made = stream(*((MUL, {"cpu_ns": 2_000 if i else 50_000_000}) for i in range(10)))
    assert cpu_split(made, priced(made)).kernel_ns.sum() == pytest.approx(20_000)


def test_dispatch_below_autograd_is_no_kernel() -> None:
    made = stream(*((VIEW, {"cpu_ns": 1_000}) for _ in range(6)), (MUL, {"cpu_ns": 5_000}))
    split = cpu_split(made, priced(made))
    assert split.kernel_ns.tolist() == [0.0] * 6 + [4_000.0]


def test_an_empty_stream_has_no_times() -> None:
    found = times(stream(), 10)
    assert found.issue_ns.shape == found.before_ns.shape == (0,)
    assert math.isfinite(found.log_sigma)


def test_a_fused_call_counts_all_its_cpu_operations() -> None:
    fused = call("cudnn::gru", attributes=attributes(hidden=4, batch=2, timesteps=3, cpu_ops=50))
    made = stream((fused, {"cpu_ns": 100_000}))
    assert cpu_split(made, priced(made)).framework_ns.sum() == pytest.approx(50 * priced(made).cpu_host_ns[0])


def account(made: OpStream, step_us: float, input_ns: float | None = None) -> dict[str, float]:
    step = Interval(step_us * 900, step_us * 1e3, step_us * 1100)
    parts = cpu_account(made, priced(made), cpu_step_ns=step, cpu=CPU, input_ns=input_ns)
    assert [part.cause for part in parts] == list(CAUSES)
    assert sum(part.ms for part in parts) == pytest.approx(step_us / 1e3)
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    return {part.cause: round(part.ms, 6) for part in parts}


def test_a_large_product_is_compute_and_an_addition_bandwidth() -> None:
    made = stream((MM, {"cpu_ns": 3_000_000}), (WIDE, {"cpu_ns": 1_000_000}))
    assert account(made, 5_000) == {"compute": 3.0, "bandwidth": 1.0, "overhead": 1.0, "input": 0.0, "other": 0.0}


def test_waiting_for_input_is_its_own_cause() -> None:
    load = call("host::input", kind=schema.Kind.HOST, device="cpu")
    made = stream((load, {"host_ns": 2_000_000, "phase": schema.Phase.INPUT}), (MM, {"cpu_ns": 1_000_000}))
    assert account(made, 5_000)["input"] == 2.0
    assert account(made, 5_000, input_ns=500_000)["input"] == 0.5


def test_what_was_not_timed_is_said_and_not_guessed() -> None:
    assert account(stream((MM, {})), 5_000) == {"compute": 0.0, "bandwidth": 0.0, "overhead": 0.0, "input": 0.0, "other": 5.0}


def test_kernels_never_exceed_the_step() -> None:
    assert account(stream((MM, {"cpu_ns": 9_000_000})), 5_000)["compute"] == 5.0


def test_a_host_is_never_faster_for_more_kernels() -> None:
    """Every kernel costs its launch."""
    lists = [call("aten::cat", inputs=((4,),) * n, outputs=((4 * n,),), dtype="float32") for n in (2, 200, 400)]
    found = price_calls(stream(*((each, {}) for each in lists)).calls, GPU, pricer=ten_us).forward_host_ns
    assert (np.diff(found) > 0).all()
