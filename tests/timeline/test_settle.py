"""A recording's host times are put right where the recording disturbed them, and nowhere else."""

from __future__ import annotations

from breakeven.timeline import OpStream, OpStreamBuilder, edit, schema
from breakeven.timeline.opstream import Call
from breakeven.timeline.settle import settled

ADD = Call("aten::add", schema.Kind.COMPUTE, "cuda:0", ((4,),), ("float32",), (False,), ((4,),), "float32")
INPUT = Call("host::input", schema.Kind.HOST, "cpu")


def recorded(*steps: list[tuple[Call, int, int | None]]) -> OpStream:
    builder = OpStreamBuilder()
    for number, rows in enumerate(steps):
        for call, host_ns, cpu_ns in rows:
            builder.add(call, step=number, phase=schema.Phase.FORWARD, host_ns=host_ns, cpu_ns=cpu_ns)
    return builder.build(steps=len(steps))


def test_a_pause_that_not_every_step_needs_is_another_process() -> None:
    stream = recorded([(ADD, 10, 1), (ADD, 20, 1)], [(ADD, 10, 1), (ADD, 8_000_000, 1)], [(ADD, 12, 1), (ADD, 22, 1)])
    assert edit.host_ns(settled(stream)).tolist() == [10, 20, 10, 20, 10, 20]


def test_steps_that_issue_other_calls_are_left_as_they_are() -> None:
    stream = recorded([(ADD, 10, 1)], [(ADD, 500, 1), (ADD, 30, 1)])
    assert edit.host_ns(settled(stream)).tolist() == [10, 500, 30]


def test_a_pause_shorter_than_the_operation_beside_it_is_memory_given_back() -> None:
    stream = recorded([(ADD, 90_000_000, 60_000_000), (ADD, 9_000_000, 2_000), (ADD, 9_000_000, 2_000)])
    assert edit.host_ns(settled(stream)).tolist() == [90_000_000, 0, 9_000_000]


def test_waits_for_a_batch_take_as_long_as_without_the_recorder() -> None:
    stream = recorded([(INPUT, 9_000, None), (ADD, 10, 1)], [(INPUT, 11_000, None), (ADD, 10, 1)])
    assert edit.host_ns(settled(stream, input_ns=2_000)).tolist() == [2_000, 10, 2_000, 10]
    assert edit.host_ns(settled(stream)).tolist() == [10_000, 10, 10_000, 10]


def test_what_was_not_measured_stays_so() -> None:
    builder = OpStreamBuilder()
    builder.add(ADD)
    assert settled(builder.build()).rows[schema.ROW_HOST.name].to_list() == [None]
