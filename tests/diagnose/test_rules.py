"""Each rule fires on what it is for, says where and how much, and stays silent on the healthy twin."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from literal_streams import BACKWARD, INPUT, OPTIMIZER, Script, evidence

from breakeven.diagnose.evidence import CpuSide, Evidence
from breakeven.diagnose.findings import findings, of_device
from breakeven.diagnose.rules import RULES
from breakeven.machine.records import Cpu
from breakeven.remedies import REMEDIES
from breakeven.results.facts import Asked, ClockSpan, Debugging, Denormals, Facts, Loader, Mismatch, Padding, Threads
from breakeven.results.records import Finding, Interval, Verdict
from breakeven.timeline import Site

LINE = Site("train.py", 7, "seven")


def check(
    given: Evidence, expected: str | None, *, line: int | None = None, remedy: str | None = None, first: bool = False
) -> Finding | None:
    """The finding of this id is there (or not: `expected` starts with "-"), at this line, with this remedy."""
    found = of_device(given)
    ids = [f.id for f in found]
    if expected is None:
        assert ids == []
        return None
    if expected.startswith("-"):
        assert expected[1:] not in ids, ids
        return None
    assert expected in ids, ids
    finding = found[ids.index(expected)]
    if first:
        assert ids[0] == expected, ids
    if line is not None:
        assert line in [s.line for s in finding.sites]
    if remedy is not None:
        assert remedy in finding.remedies
    return finding


def tiny_step(script: Script, *, rows: int = 32, item: bool = False, dtype: str = "float32") -> None:
    """Forty small operations, one line each for forward, backward, optimizer."""
    for _ in range(10):
        script.linear(rows, 16, 16, line=11, dtype=dtype)
    for _ in range(20):
        script.op("aten::mul", (rows, 16), line=12, phase=BACKWARD, dtype=dtype)
    for _ in range(10):
        script.op("aten::_foreach_add_", (16, 16), line=13, phase=OPTIMIZER, fixed=(True,), dtype=dtype)
    if item:
        script.item(line=20)


def busy_step(script: Script, *, item: bool = False) -> None:
    """Forty large operations: 2 ms each on the device, 10 µs on the host."""
    for _ in range(40):
        script.linear(20_000, 1000, 1, line=11)
    if item:
        script.item(line=20)


def written(write: Callable[..., None], *, batch: int | None = None, **options: object) -> Script:
    script = Script(batch)
    for step in range(3):
        if step:
            script.next_step()
        write(script, **options)
    return script


def test_a_step_of_small_operations_is_launch_bound() -> None:
    found = check(evidence(written(tiny_step).stream()), "launch_bound", line=11, remedy="cuda_graph", first=True)
    assert found is not None
    assert found.cause == "launch"
    assert found.price_ms is not None
    # 40 operations of 10 µs each way; with one launch the device's 40 kernels of 2 µs and a little are left
    assert found.price_ms.low < found.price_ms.mid == pytest.approx(0.31, abs=0.02)
    assert "40 operations" in found.sentence
    assert "10 µs" in found.sentence


def test_the_lines_of_a_launch_bound_step_are_dearest_first() -> None:
    found = check(evidence(written(tiny_step).stream()), "launch_bound")
    assert found is not None
    prices = [s.price_ms.mid for s in found.sites if s.price_ms]
    assert next(s.line for s in found.sites) == 12
    assert prices == sorted(prices, reverse=True)


def test_a_busy_step_has_no_finding_but_advice() -> None:
    given = evidence(written(busy_step, batch=20_000).stream())
    assert [f.id for f in of_device(given)] == ["compute_bound"]


def test_a_busy_step_that_reads_its_loss_has_no_finding_about_it() -> None:
    check(evidence(written(busy_step, item=True).stream()), "-sync_bound")
    check(evidence(written(busy_step, item=True).stream()), "-launch_bound")


def test_reading_the_loss_in_every_step_is_found_at_its_line() -> None:
    given = evidence(written(tiny_step, item=True).stream())
    found = check(given, "sync_bound", line=20, remedy="metrics_on_device")
    assert found is not None
    assert ".item()" in found.sentence
    assert 20 in [s.line for s in of_device(given)[0].sites]


def test_keeping_the_loss_on_the_device_is_silent() -> None:
    check(evidence(written(tiny_step).stream()), "-sync_bound")


def test_launches_come_before_a_wait_that_costs_less() -> None:
    check(evidence(written(tiny_step, item=True).stream()), "launch_bound", first=True)


def copying_step(script: Script, *, copies: int = 1, nbytes: int = 4_000_000, pinned: bool = False) -> None:
    for _ in range(copies):
        script.copy_in(nbytes // copies, line=5, pinned=pinned)
    tiny_step(script)


def test_a_step_that_sends_its_batch_is_transfer_bound() -> None:
    check(evidence(written(copying_step).stream()), "transfer_bound", line=5, remedy="pin_memory", first=True)


def test_many_small_copies_are_to_be_merged() -> None:
    check(evidence(written(copying_step, copies=32, nbytes=3200).stream()), "transfer_bound", line=5, remedy="merge_copies")


def test_one_small_copy_is_not_to_be_merged() -> None:
    found = [f for f in of_device(evidence(written(copying_step, nbytes=100_000).stream())) if f.id == "transfer_bound"]
    assert all("merge_copies" not in f.remedies for f in found)


def test_data_on_the_device_are_silent() -> None:
    check(evidence(written(tiny_step).stream()), "-transfer_bound")


def noise_step(script: Script, *, device: str) -> None:
    script.op("aten::randn", out=(100, 1000), line=16, device=device, host_us=0)
    if device == "cpu":
        script.copy_in(400_000, line=16, shape=(100, 1000))
    tiny_step(script)


def test_noise_drawn_on_the_host_is_to_be_made_on_the_device() -> None:
    check(evidence(written(noise_step, device="cpu").stream()), "transfer_bound", line=16, remedy="create_on_device")
    check(evidence(written(noise_step, device="cuda:0").stream()), "-transfer_bound")


def loading_step(script: Script, *, ms: float) -> None:
    script.host("host::input", ms, line=3, phase=INPUT)
    tiny_step(script)


@pytest.mark.parametrize(
    ("loader", "remedy"),
    [
        (Loader(LINE, 0, in_memory=True, by_row=True, batch=64), "index_batches"),
        (Loader(LINE, 0, in_memory=False, by_row=True), "loader_workers"),
        (Loader(LINE, 2, in_memory=False), "prefetch"),
        (Loader(LINE, 2, in_memory=True, by_row=True), "index_batches"),
    ],
)
def test_a_step_that_waits_for_its_batch_is_input_bound(loader: Loader, remedy: str) -> None:
    given = evidence(written(loading_step, ms=2.0).stream(), facts=Facts(loaders=(loader,)))
    found = check(given, "input_bound", line=3, remedy=remedy, first=True)
    assert found is not None
    assert found.price_ms is not None
    assert found.price_ms.mid == pytest.approx(2.0, abs=0.1)


def test_workers_that_keep_up_are_silent() -> None:
    check(evidence(written(loading_step, ms=0.001).stream()), "-input_bound")


def cell_step(script: Script, *, passes: int, cell: str | None = None, layers: bool = False, norm: bool = False) -> None:
    """A loop over time by hand; `layers`: a loop over equal layers, which takes no slice of anything."""
    for t in range(passes):
        if not layers:
            script.op("aten::select", (32, passes, 24), out=(32, 24), line=18, values={"dim": 1})
            script.linear(32, 24, 64 * (4 if cell else 1), line=19)
        script.linear(32, 64, 64 * (4 if cell else 1), line=19)
        if cell:
            script.op(f"aten::{cell}", (32, 256), (32, 256), (32, 64), out=(32, 64), line=19)
        else:
            script.op("aten::tanh", (32, 64), line=19)
        if norm:
            script.op("aten::native_layer_norm", (32, 64), line=19)
        del t
    for _ in range(passes):
        script.op("aten::tanh_backward", (32, 64), line=30, phase=BACKWARD)
        script.op("aten::mm", (32, 64), (64, 64), out=(32, 64), line=30, phase=BACKWARD, fixed=(False, True))
        script.op("aten::mm", (64, 32), (32, 64), out=(64, 64), line=30, phase=BACKWARD)


def test_a_cell_called_for_each_time_step_is_an_unfused_layer() -> None:
    given = evidence(written(cell_step, passes=40, cell="_thnn_fused_lstm_cell").stream())
    found = check(given, "unfused_rnn", line=19, remedy="fuse_rnn", first=True)
    assert found is not None
    assert "40 time steps" in found.sentence
    assert "nn.LSTM" in found.sentence


def closure_step(script: Script, *, rounds: int) -> None:
    """An optimizer that calls for the loss and its gradients several times a step, as LBFGS does."""
    for _ in range(rounds):
        cell_step(script, passes=40, cell="_thnn_fused_lstm_cell")
        script.op("aten::mul", (4096,), line=40, phase=OPTIMIZER)


def test_a_loop_over_time_is_found_in_each_round_of_a_step() -> None:
    once = check(evidence(written(closure_step, rounds=1).stream()), "unfused_rnn", line=19, remedy="fuse_rnn", first=True)
    often = check(evidence(written(closure_step, rounds=5).stream()), "unfused_rnn", line=19, remedy="fuse_rnn", first=True)
    assert once is not None
    assert often is not None
    assert "40 time steps" in often.sentence
    assert once.price_ms is not None
    assert often.price_ms is not None
    assert often.price_ms.mid == pytest.approx(5 * once.price_ms.mid, rel=0.1)


def test_an_elman_cell_by_hand_is_an_unfused_layer() -> None:
    check(evidence(written(cell_step, passes=20).stream()), "unfused_rnn", line=19, remedy="fuse_rnn", first=True)


def test_a_cell_that_cudnn_does_not_have_gets_its_projection_hoisted() -> None:
    given = evidence(written(cell_step, passes=20, norm=True).stream())
    found = check(given, "unfused_rnn", line=19, remedy="hoist_projection")
    assert found is not None
    assert "fuse_rnn" not in found.remedies


def test_a_loop_over_equal_layers_is_no_recurrent_layer() -> None:
    check(evidence(written(cell_step, passes=20, layers=True).stream()), "-unfused_rnn")


def fused_step(script: Script) -> None:
    values = {"hidden": 64, "input": 24, "layers": 1, "batch": 32, "timesteps": 40}
    script.op("cudnn::lstm", (40, 32, 24), out=(40, 32, 64), values=values)
    script.op("cudnn::lstm_backward", (40, 32, 64), out=(40, 32, 24), values=values, phase=BACKWARD)
    tiny_step(script)


def test_a_fused_layer_is_silent() -> None:
    check(evidence(written(fused_step).stream()), "-unfused_rnn")


def test_a_small_batch_stands_behind_the_launches_that_explain_it() -> None:
    found = [f.id for f in of_device(evidence(written(tiny_step, batch=32).stream()))]
    assert found[:2] == ["launch_bound", "small_batch"]


def test_a_large_batch_is_silent() -> None:
    check(evidence(written(busy_step, batch=20_000).stream()), "-small_batch")


def test_double_precision_is_found_where_it_costs_the_device() -> None:
    found = check(evidence(written(busy_step_in_double).stream()), "fp64", line=11, remedy="float32", first=True)
    assert found is not None
    assert found.device == "Literal GPU"


def busy_step_in_double(script: Script) -> None:
    for _ in range(10):
        script.linear(2000, 100, 10, line=11, dtype="float64")


def slow_double_step(script: Script) -> None:
    for _ in range(10):
        script.op("aten::mul", (32, 16), line=11, dtype="float64", cpu_us=400)


def test_double_precision_that_the_device_does_not_feel_is_the_cpus() -> None:
    found = check(evidence(written(slow_double_step).stream()), "fp64", line=11, remedy="float32")
    assert found is not None
    assert found.device == "cpu"
    assert found.price_ms is not None
    assert found.price_ms.mid == pytest.approx(2.0)  # half of ten operations of 0.4 ms


def test_single_precision_is_silent() -> None:
    check(evidence(written(busy_step).stream()), "-fp64")


def test_a_mismatch_of_devices_leads() -> None:
    facts = Facts(mismatches=(Mismatch(LINE, "aten::addmm", "Expected all tensors to be on the same device"),))
    check(evidence(written(tiny_step).stream(), facts=facts), "device_mismatch", line=7, remedy="move_to_device", first=True)


def verdict(device: str, *, tie: bool = False) -> Verdict:
    over = "cpu" if device != "cpu" else "Literal GPU"
    return Verdict(device, over, Interval(0.9 if tie else 1.5, 2.0, 3.0), 0.9, tie, "")


@pytest.mark.parametrize(
    ("said", "leads"), [(verdict("Literal GPU"), True), (verdict("Literal GPU", tie=True), False), (verdict("cpu"), False)]
)
def test_a_gpu_that_is_not_there_leads_only_where_it_would_win(said: Verdict, leads: bool) -> None:
    given = evidence(written(tiny_step).stream(), facts=Facts(asked=(Asked(LINE, False),)), verdict=said)
    found = [f.id for f in of_device(given)]
    assert (found[0] == "no_gpu_visible") is leads
    assert "no_gpu_visible" in found


def test_a_gpu_that_is_there_is_silent() -> None:
    given = evidence(written(tiny_step).stream(), facts=Facts(asked=(Asked(LINE, True),)), verdict=verdict("Literal GPU"))
    check(given, "-no_gpu_visible")


def test_more_threads_than_cores_lead() -> None:
    given = evidence(written(tiny_step).stream(), facts=Facts(threads=Threads(64, 2, LINE)))
    found = check(given, "cpu_oversubscription", line=7, remedy="threads", first=True)
    assert found is not None
    assert found.device == "cpu"
    check(evidence(written(tiny_step).stream(), facts=Facts(threads=Threads(2, 2))), "-cpu_oversubscription")


def test_the_threads_price_is_what_was_measured_without_them() -> None:
    side = CpuSide(Interval(9, 10, 11), cpu=Cpu("x", cores=2, threads=8), matched_ms=Interval(0.9, 1, 1.1))
    found = check(evidence(written(tiny_step).stream(), cpu=side), "cpu_oversubscription", first=True)
    assert found is not None
    assert found.price_ms == Interval(pytest.approx(7.9), 9.0, pytest.approx(10.1))


def test_threads_that_cost_nothing_are_silent() -> None:
    side = CpuSide(Interval(9, 10, 11), cpu=Cpu("x", cores=2, threads=3), matched_ms=Interval(9, 9.9, 10.8))
    check(evidence(written(tiny_step).stream(), cpu=side), "-cpu_oversubscription")


def test_denormal_numbers_lead() -> None:
    given = evidence(written(tiny_step).stream(), facts=Facts(denormals=(Denormals(LINE, "conv.weight", 0.9),)))
    check(given, "denormals", line=7, remedy="flush_denormals", first=True)
    few = evidence(written(tiny_step).stream(), facts=Facts(denormals=(Denormals(LINE, "conv.weight", 0.0001),)))
    check(few, "-denormals")


def padded_step(script: Script, *, timesteps: int = 200) -> None:
    values = {"hidden": 64, "input": 48, "layers": 1, "batch": 32, "timesteps": timesteps}
    script.op("aten::embedding", (5000, 48), (32, timesteps), out=(32, timesteps, 48), line=17, fixed=(True, False))
    script.op("cudnn::gru", (32, timesteps, 48), out=(32, timesteps, 64), values=values, line=17)


def test_work_on_padding_is_found_and_priced_by_the_real_part() -> None:
    facts = Facts(padding=(Padding(LINE, total=6400, real=1408, timesteps=200, longest=198.0),))
    found = check(evidence(written(padded_step).stream(), facts=facts), "padding", line=7, remedy="bucket_lengths")
    assert found is not None
    assert "78 %" in found.sentence


@pytest.mark.parametrize(
    "facts",
    [Facts(), Facts(padding=(Padding(LINE, 6400, 6000, 200),)), Facts(padding=(Padding(LINE, 6400, 1408, 200, packed=True),))],
)
def test_batches_that_are_well_filled_or_packed_are_silent(facts: Facts) -> None:
    check(evidence(written(padded_step).stream(), facts=facts), "-padding")


def clocked_step(script: Script, *, work: Callable[..., None], waits: bool, one_line: bool = False) -> None:
    script.host("host::clock", 0.0001, line=42 if one_line else 40)
    work(script)
    if waits:
        script.item(line=41, how="sync::synchronize")
    script.host("host::clock", 0.0001, line=42)


def test_a_clock_read_over_queued_work_leads() -> None:
    given = evidence(written(clocked_step, work=busy_step, waits=False).stream())
    found = check(given, "timing_bug", line=42, remedy="synchronise", first=True)
    assert found is not None
    assert found.price_ms is None


def test_a_clock_that_is_opened_and_closed_on_one_line_leads_too() -> None:
    script = written(clocked_step, work=busy_step, waits=False, one_line=True)
    script.host("host::clock", 0.0001, line=42)  # the next round opens at once: nothing lies between
    check(evidence(script.stream()), "timing_bug", line=42)


def test_a_clock_read_after_waiting_is_silent() -> None:
    check(evidence(written(clocked_step, work=busy_step, waits=True).stream()), "-timing_bug")


def test_a_clock_read_where_the_queue_is_empty_anyway_is_silent() -> None:
    check(evidence(written(clocked_step, work=tiny_step, waits=False).stream()), "-timing_bug")


def test_a_clock_around_the_whole_loop_is_judged_by_what_the_queue_has_grown_to() -> None:
    span = ClockSpan(LINE, LINE, operations=400, after_wait=400, steps=10)
    check(evidence(written(busy_step).stream(), facts=Facts(clocks=(span,))), "timing_bug", line=7)
    check(evidence(written(tiny_step).stream(), facts=Facts(clocks=(span,))), "-timing_bug")
    waited = ClockSpan(LINE, LINE, operations=400, after_wait=0, steps=10)
    check(evidence(written(busy_step).stream(), facts=Facts(clocks=(waited,))), "-timing_bug")


@pytest.mark.parametrize(("steps", "fires"), [(3, True), (10_000, False)])
def test_a_short_measurement_that_holds_the_first_call_is_one_of_the_set_up(steps: int, fires: bool) -> None:
    span = ClockSpan(LINE, LINE, operations=40 * steps, after_wait=0, steps=steps, first_work=True)
    given = evidence(written(tiny_step).stream(), facts=Facts(clocks=(span,)))
    check(given, "warmup" if fires else "-warmup")


def test_a_measurement_that_is_repeated_without_the_first_call_is_silent() -> None:
    first = ClockSpan(LINE, LINE, operations=40, after_wait=0, steps=1, first_work=True)
    again = ClockSpan(LINE, LINE, operations=40, after_wait=0, steps=1)
    check(evidence(written(tiny_step).stream(), facts=Facts(clocks=(first, again))), "-warmup")


def side_step(script: Script, *, what: str) -> None:
    tiny_step(script)
    script.host(what, 2.0, line=33)


@pytest.mark.parametrize(
    ("what", "finding", "remedy"),
    [
        ("host::empty_cache", "memory", "no_empty_cache"),
        ("host::save", "host_work", "checkpoint_less"),
        ("host::debug", "host_work", "debug_off"),
    ],
)
def test_side_work_in_the_step_is_found_at_its_line(what: str, finding: str, remedy: str) -> None:
    facts = Facts(debugging=(Debugging(LINE, "anomaly"),))
    check(evidence(written(side_step, what=what).stream(), facts=facts), finding, line=33, remedy=remedy, first=True)
    check(evidence(written(tiny_step).stream()), f"-{finding}")


def test_anomaly_detection_that_was_left_on_is_named_without_a_price() -> None:
    found = check(
        evidence(written(tiny_step).stream(), facts=Facts(debugging=(Debugging(LINE, "anomaly"),))), "host_work", line=7
    )
    assert found is not None
    assert found.price_ms is None


def test_a_finding_about_the_cpu_is_given_once_for_several_gpus() -> None:
    given = evidence(written(tiny_step).stream(), facts=Facts(threads=Threads(8, 2)))
    found = findings([given, given])
    assert [f.id for f in found].count("cpu_oversubscription") == 1
    assert [f.id for f in found].count("launch_bound") == 2


def test_every_remedy_that_a_rule_names_is_in_the_catalogue() -> None:
    """Read off the rules' source, so that no case is needed for each remedy."""
    import inspect
    import re

    from breakeven.diagnose import rules

    named = set()
    for rule in RULES:
        source = inspect.getsource(getattr(rules, rule.id))
        for group in re.findall(r"remedies=\(([^)]*)\)|return \(([^)]*)\)", source):
            named |= set(re.findall(r'"([a-z0-9_]+)"', "".join(group)))
    assert named
    assert named <= set(REMEDIES) | {"fuse_rnn"}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_every_rule_has_its_page(rule: object) -> None:
    page = rule.check.__doc__ or ""  # type: ignore[attr-defined]  # parametrize hands objects over
    for part in ("What it sees:", "Why it costs:", "Evidence:", "Example:", "Remedy:", "When it is wrong:"):
        assert part in page
