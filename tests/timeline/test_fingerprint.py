"""A job's fingerprint follows its operations and shapes, and nothing that differs from machine to machine."""

from __future__ import annotations

from breakeven.timeline import OpStream, OpStreamBuilder, Site, schema
from breakeven.timeline.fingerprint import fingerprint
from breakeven.timeline.opstream import Call


def job(
    *,
    batch: int = 32,
    steps: int = 3,
    per_step: int = 5,
    dtype: str = "float32",
    cpu_ns: int = 4000,
    line: int = 7,
    reads: int = 0,
) -> OpStream:
    builder = OpStreamBuilder()
    mul = Call("aten::mul", schema.Kind.COMPUTE, "cuda:0", ((batch, 64),) * 2, (dtype,) * 2, (False,) * 2, ((batch, 64),), dtype)
    python = Call("host::python", schema.Kind.HOST, "cpu")
    for step in range(steps):
        for _ in range(reads):
            builder.add(python, step=step, host_ns=cpu_ns)
        for _ in range(per_step):
            builder.add(mul, step=step, site=Site("a.py", line), cpu_ns=cpu_ns)
    return builder.build(steps=steps, batch=batch)


def test_it_is_the_same_on_another_machine_and_with_more_steps_recorded() -> None:
    usual = fingerprint(job())
    assert [fingerprint(job(**other)) for other in ({"cpu_ns": 90_000}, {"line": 8}, {"steps": 5}, {"reads": 2})] == [usual] * 4


def test_it_is_another_for_other_shapes_types_or_operations() -> None:
    jobs = [job(), job(batch=64), job(dtype="float16"), job(per_step=6)]
    assert len({fingerprint(one) for one in jobs}) == len(jobs)
