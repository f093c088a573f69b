"""Settled forecasts move a device's prices towards the truth, blame the host for the host's part, and know how sure they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from breakeven.diagnose.correction import SHARED, corrected, learned, parts
from breakeven.diagnose.pricing import pricing_for
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Cpu, Host
from breakeven.results.settled import Lesson
from breakeven.timeline import OpStream, OpStreamBuilder, schema
from breakeven.timeline.opstream import Call

HOST = Host("test", 0.9, 1.0, 1.1, "the reference")
SIGMA = 0.3


def lesson(at: int, log_ratio: float, device: float = 1.0, host: float = 0.0, where: str = "here") -> Lesson:
    return Lesson(f"seal {at}", f"job {at}", where, log_ratio, SIGMA, 0.01, device, host, f"2026-01-{at + 1:02}")


def elementwise(elements: int, count: int = 20) -> OpStream:
    call = Call(
        "aten::mul", schema.Kind.COMPUTE, "cuda:0", ((elements,),) * 2, ("float32",) * 2, (False,) * 2, ((elements,),), "float32"
    )
    builder = OpStreamBuilder()
    for _ in range(count):
        builder.add(call, cpu_ns=4000)
    return builder.build(steps=1)


def pricing_of(stream: OpStream):  # type: ignore[no-untyped-def]  # of one test's own
    return pricing_for(stream, find_gpu("T4"), cpu_step_ms=None, cpu=Cpu("test", 2, 1, dispatch_us=5), host=HOST)


def test_without_lessons_there_is_no_correction() -> None:
    assert learned([], "here") is None


def test_many_jobs_that_run_longer_than_predicted_make_the_device_slower() -> None:
    found = learned([lesson(i, math.log(1.3)) for i in range(12)], "here")
    assert found is not None
    factor = found.factor(0)
    assert factor.low < 1.3 < factor.high
    assert factor.mid == pytest.approx(1.3, rel=0.05)
    assert found.factor(1).mid == 1.0, "these steps do not depend on the host"


def test_one_lesson_moves_it_only_part_of_the_way_and_more_of_them_further() -> None:
    moved = [learned([lesson(i, 0.4) for i in range(count)], "here") for count in (1, 3, 9)]
    factors = [one.factor(0) for one in moved if one is not None]
    assert 1 < factors[0].mid < factors[1].mid < factors[2].mid < math.exp(0.4)
    widths = [f.high / f.low for f in factors]
    assert widths == sorted(widths, reverse=True)


def test_the_same_job_measured_again_counts_once() -> None:
    once, again = lesson(0, 0.4), Lesson("other", "job 0", "here", 0.4, SIGMA, 0.01, 1.0, 0.0, "2026-02-01")
    one, two = learned([once], "here"), learned([once, again], "here")
    assert one is not None
    assert two is not None
    assert (two.device, two.lessons) == (pytest.approx(one.device), 1)


def test_a_step_that_waits_for_its_host_teaches_nothing_about_the_device() -> None:
    found = learned([lesson(i, 0.5, device=0.0, host=1.0) for i in range(9)], "here")
    assert found is not None
    assert (found.device, found.covariance[0, 0]) == (0.0, pytest.approx(1.0))
    assert found.factor(1).mid > 1.4


def test_what_one_host_taught_is_not_held_against_another() -> None:
    found = learned([lesson(i, 0.5, device=0.0, host=1.0, where="there") for i in range(9)], "here")
    assert found is not None
    assert found.factor(1).mid == 1.0


def test_the_factor_lies_in_its_interval_nine_times_in_ten() -> None:
    """Devices with a known truth, jobs with errors of their own: 400 worlds of 4 settled jobs."""
    chance, inside, errors, without = np.random.default_rng(5), 0, 0.0, 0.0
    worlds = 400
    for _ in range(worlds):
        truth = chance.normal(0, SIGMA * math.sqrt(SHARED), 2)
        rows = []
        for i in range(4):
            share = chance.random()
            own = chance.normal(0, SIGMA * math.sqrt(1 - SHARED))
            rows.append(lesson(i, float(share * truth[0] + (1 - share) * truth[1] + own), share, 1 - share))
        found = learned(rows, "here")
        assert found is not None
        factor = found.factor(0)
        inside += factor.low <= math.exp(truth[0]) <= factor.high
        errors += (found.device - truth[0]) ** 2
        without += truth[0] ** 2
    assert 0.85 * worlds <= inside <= 0.95 * worlds
    assert errors < 0.85 * without, "it is nearer to the truth than 1 is"


def test_large_kernels_depend_on_the_device_and_small_ones_on_the_host() -> None:
    large, small = elementwise(50_000_000), elementwise(100)
    device, host = parts(pricing_of(large), large)
    assert device > 0.8
    assert device + host == pytest.approx(1.0, abs=0.1)
    device, host = parts(pricing_of(small), small)
    assert host > 0.8


def test_a_corrected_pricing_is_slower_by_the_factor_and_surer() -> None:
    stream = elementwise(50_000_000)
    plain = pricing_of(stream)
    correction = learned([lesson(i, math.log(1.5)) for i in range(20)], "here")
    assert correction is not None
    before, after = plain.step(stream), corrected(plain, correction, stream).step(stream)
    assert after.mid / before.mid == pytest.approx(1.5, rel=0.1)
    assert math.log(after.high / after.low) < 0.9 * math.log(before.high / before.low)
    assert after.low < after.mid < after.high
