"""The fake accelerator does what a real one does: it works on its own, its queue fills, a forgotten wait reads near zero."""

from __future__ import annotations

import threading
import time

import pytest

from breakeven.measure.backends.fake import Fake, Noise, Settings

PLAIN = Settings(launch_ns=5, latency_ns=10, wait_ns=3, queue=4, copy_gb_s=1.0)


def test_a_forgotten_wait_reads_the_launch_alone() -> None:
    with Fake(PLAIN) as device:
        device.launch(1_000_000)
        assert device.clock_ns() == 5
        device.synchronise()
        assert device.clock_ns() == 5 + 10 + 1_000_000 + 3


def test_kernels_run_one_after_another_and_hide_the_launches_behind_them() -> None:
    with Fake(PLAIN) as device:
        for _ in range(3):
            device.launch(100)
        device.synchronise()
        assert device.clock_ns() == 5 + 10 + 300 + 3


def test_a_slow_host_leaves_the_device_idle() -> None:
    with Fake(PLAIN) as device:
        for _ in range(3):
            device.host(1000)
            device.launch(100)
        device.synchronise()
        assert device.clock_ns() == 3 * 1005 + 10 + 100 + 3


def test_a_full_queue_makes_the_launch_wait() -> None:
    with Fake(PLAIN) as device:
        for _ in range(4):
            device.launch(1000)
        assert device.clock_ns() == 20
        device.launch(1000)
        assert device.clock_ns() == 5 + 10 + 1000


def test_copies_run_beside_kernels_and_pageable_ones_wait() -> None:
    with Fake(PLAIN) as device:
        device.launch(1000)
        device.copy(1000)
        device.synchronise()
        assert device.clock_ns() == 5 + 5 + 10 + 1000 + 3
        before = device.clock_ns()
        device.copy(500, pinned=False)
        assert device.clock_ns() == before + 5 + 10 + 500


def test_first_calls_pay_their_set_up_once() -> None:
    with Fake(Settings(launch_ns=5, set_up_ns=(1000, 200))) as device:
        seen = []
        for _ in range(3):
            before = device.clock_ns()
            device.launch(1)
            seen.append(device.clock_ns() - before)
    assert seen == [1005, 205, 5]


def test_the_clock_is_as_coarse_as_it_is_told_to_be() -> None:
    with Fake(Settings(clock_step_ns=1000)) as device:
        device.host(1999)
        assert device.clock_ns() == 1000


def test_energy_follows_from_busy_and_idle_time() -> None:
    with Fake(Settings(launch_ns=0, latency_ns=0, wait_ns=0, idle_w=10, busy_w=110)) as device:
        device.launch(500_000_000)
        device.synchronise()
        device.host(500_000_000)
        assert device.energy_j() == pytest.approx(10 * 1.0 + 100 * 0.5)


def test_the_same_seed_gives_the_same_times() -> None:
    def ends(seed: int) -> int:
        with Fake(Settings(noise=Noise(jitter=0.1, drift=0.1, pause_every_ns=100_000, seed=seed))) as device:
            for _ in range(500):
                device.host(1000)
                device.launch(2000)
            device.synchronise()
            return device.clock_ns()

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)


def test_on_the_real_clock_the_work_happens_in_another_thread() -> None:
    with Fake(PLAIN, real=True) as device:
        began = time.perf_counter_ns()
        device.launch(30_000_000)
        issued = time.perf_counter_ns() - began
        device.synchronise()
        assert time.perf_counter_ns() - began >= 30_000_000
        assert issued < time.perf_counter_ns() - began
        assert threading.active_count() > 1
