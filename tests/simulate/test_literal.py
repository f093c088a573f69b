"""Small schedules with what must happen written out."""

from __future__ import annotations

import polars as pl
import pytest
from builders import hosts, prices, training

from breakeven.simulate import Engine, Loader, ends, plain, run, schedule, step_ns
from breakeven.timeline import Timeline


def log(timeline: Timeline) -> list[str]:
    """One line per event: lane, name, start-end."""
    return [
        f"{timeline.lanes[row['lane']].name or timeline.lanes[row['lane']].kind}: {row['name']} "
        f"{row['start_ns']}-{row['start_ns'] + row['duration_ns']}"
        for row in timeline.events.iter_rows(named=True)
    ]


def test_two_recorded_steps_as_events() -> None:
    stream = training(steps=1)
    plan = schedule(
        stream, prices(stream, {"copy::h2d": 20, "aten::mm": 30, "aten::add": 3, "copy::d2h": 2}), hosts(stream, 4, 6)
    )
    assert (plan.steps, plan.skip) == (3, 1), "one recorded step is played three times, the first does not count"
    made = run(plan)
    first = made.events.filter((pl.col("step") == 0) & (pl.col("kind") != "step"))
    assert log(Timeline(first, made.lanes, made.origin)) == [
        "main: copy::h2d 0-10",
        "main: copy::h2d 10-30",  # pageable: the host waits
        "h2d: copy::h2d 10-30",
        "main: aten::mm 30-40",
        "main: aten::add 40-50",
        "stream 0: aten::mm 40-70",
        "main: aten::mm 50-60",
        "main: copy::d2h 60-70",
        "main: sync::item 70-80",
        "stream 0: aten::add 70-73",
        "stream 0: aten::mm 73-103",
        "main: sync::item 80-105",
        "d2h: copy::d2h 103-105",
    ]
    assert [line for line in log(made) if line.startswith("steps")] == ["steps: step 1 105-210", "steps: step 2 210-315"]


def test_links_kinds_causes_sites_limits_and_bytes_are_on_the_events() -> None:
    stream = training(steps=1)
    made = run(schedule(stream, prices(stream, {"copy::h2d": 20, "aten::mm": 30, "copy::d2h": 2}), hosts(stream, 4, 6)))
    rows = made.events.filter(pl.col("step") == 0).to_dicts()
    by = {(made.lanes[row["lane"]].name, row["name"], row["kind"]): row for row in rows}
    all_rows = made.events.to_dicts()
    kernel = by["stream 0", "aten::mm", "compute"]
    assert all_rows[kernel["link"]]["name"] == "aten::mm"
    assert all_rows[kernel["link"]]["kind"] == "launch"
    assert kernel["limited_by"] == "small_kernel"
    assert by["h2d", "copy::h2d", "copy"]["bytes"] == 4096
    assert by["main", "copy::h2d", "launch"]["cause"] == "input"
    assert by["main", "aten::add", "host"]["cause"] == "launch", "it runs nothing on the device"
    wait = by["main", "sync::item", "sync"]
    assert all_rows[wait["link"]]["name"] == "copy::d2h"
    assert made.sites[wait["site"]].line == 20


@pytest.mark.parametrize(
    ("claim", "schedule", "issued", "ended", "free"),
    [
        ("work is issued ahead of the device", plain([5, 5, 5], [20, 20, 20]), [5, 10, 15], [25, 45, 65], [5, 10, 15]),
        ("the device waits for the host", plain([30, 30], [10, 10]), [30, 60], [40, 70], [30, 60]),
        ("the host waits where it must", plain([5, 5], [20, 20], waits=[0, -1]), [5, 30], [25, 50], [25, 30]),
        ("a wait for what is done takes no time", plain([5, 50], [20, 0], waits=[-1, 0]), [5, 55], [25, 55], [5, 55]),
        ("a full queue holds the host back", plain([1, 1, 1], [10] * 3, queue_limit=2), [1, 2, 11], [11, 21, 31], [1, 2, 11]),
        (
            "a row of more launches than the queue holds waits until it is empty",
            plain([1, 1], [10, 10], kernels=[2, 5], queue_limit=3), [1, 11], [11, 21], [1, 11],
        ),
        (
            "a side stream's copy overlaps with kernels",
            plain([1, 1], [50, 30], engine=[Engine.STREAM, Engine.H2D], stream=[0, 1]), [1, 2], [51, 32], [1, 2],
        ),
        (
            "a stream waits for an event of another",
            plain([1, 1], [50, 30], engine=[Engine.H2D, Engine.STREAM], stream=[1, 0], after=[-1, 0]), [1, 2], [51, 81], [1, 2],
        ),
        (
            "copies of one engine come one after another",
            plain([1, 1], [50, 30], engine=[Engine.H2D, Engine.H2D], stream=[0, 1]), [1, 2], [51, 81], [1, 2],
        ),
    ],
)  # fmt: skip
def test_what_happens_when(claim, schedule, issued, ended, free) -> None:  # type: ignore[no-untyped-def]  # see the table
    found = ends(schedule)
    assert (found.issued[:, 0].tolist(), found.ended[:, 0].tolist(), found.free[:, 0].tolist()) == (issued, ended, free), claim
    made = run(schedule)
    on_device = [made.lanes[lane].kind != "host" for lane in made.events["lane"]]
    device = made.events.filter(pl.Series(on_device))
    assert sorted((device["start_ns"] + device["duration_ns"]).to_list()) == sorted(
        end for end, length in zip(ended, schedule.device_ns, strict=True) if length
    )


def test_workers_make_batches_in_the_background_and_the_host_waits_when_they_are_slow() -> None:
    take = [True, False] * 4
    slow = plain([0, 10] * 4, [0] * 8, takes=take, loader=Loader(workers=1, prefetch=1, batch_ns=100))
    assert ends(slow).issued[::2, 0].tolist() == [100, 200, 300, 400]
    two = plain([0, 10] * 4, [0] * 8, takes=take, loader=Loader(workers=2, prefetch=1, batch_ns=100))
    assert ends(two).issued[::2, 0].tolist() == [100, 110, 200, 210]
    fast = plain([0, 200] * 4, [0] * 8, takes=take, loader=Loader(workers=1, prefetch=2, batch_ns=100))
    assert ends(fast).issued[::2, 0].tolist() == [100, 300, 500, 700]


def test_a_row_of_many_kernels_runs_while_it_is_being_launched() -> None:
    stream = training(steps=1, read_loss=False)
    costs = prices(stream, {"aten::mm": 40}, kernels={"aten::mm": 4})
    plan = schedule(stream, costs, hosts(stream, 0, 40))
    found = ends(plan)
    first = (plan.row == 1) & (plan.step == 0)
    assert found.issued[first, 0].tolist() == [50, 60, 70, 80]
    assert found.ended[first, 0].tolist() == [60, 70, 80, 90]
    assert plan.kernels[first].tolist() == [1, 1, 1, 1]


def test_a_step_on_a_busy_device_takes_the_devices_time_though_the_host_runs_ahead() -> None:
    stream = training(steps=3, read_loss=False)
    plan = schedule(stream, prices(stream, {"aten::mm": 5000, "aten::add": 1000}), hosts(stream, 0, 10))
    assert step_ns(plan).tolist() == [11_000.0]


def test_a_step_on_a_waiting_device_takes_the_hosts_time() -> None:
    stream = training(steps=3)
    plan = schedule(stream, prices(stream, {"aten::mm": 5}), hosts(stream, 100, 400))
    assert step_ns(plan).tolist() == [6 * 500.0]


def test_a_long_schedule_is_written_down_by_arrays_as_the_heap_would(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = training(steps=4)
    plan = schedule(stream, prices(stream, {"copy::h2d": 20, "aten::mm": 30, "copy::d2h": 2}), hosts(stream, 4, 6))
    by_heap = run(plan)
    monkeypatch.setattr("breakeven.simulate.record.MOST_EVENTS", 0)
    assert run(plan).events.equals(by_heap.events)
