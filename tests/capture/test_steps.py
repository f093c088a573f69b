"""Where steps end, found while a script runs: with a clock of our own and stand-ins for PyTorch's hooks."""

from __future__ import annotations

import builtins
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from breakeven.capture import marks
from breakeven.capture.series import Series
from breakeven.capture.steps import Listener, Steps


class Optimizer:
    """Whatever steps; `device` is where its parameters are."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device


@dataclass
class World:
    """A clock that only work moves, tensor operations that only `work` makes, and the edges that were told."""

    now: int = 1_000_000
    operations: int = 0
    edges: list[tuple[str, int]] = field(default_factory=list)

    def run(self, source: str) -> Steps:
        book = marks.Book()
        steps = Steps(book, Listener(self.clock, lambda file: file == "user.py", self.device_of, self.on_edge, self.count))
        names = {"work": self.work, "wait": self.wait, "stepped": steps.on_optimizer, "Optimizer": Optimizer}
        names["backward"] = lambda: steps.on_backward(depth=2)
        names["said"] = steps.on_mark
        exec(marks.compile_marked(textwrap.dedent(source).encode(), "user.py", book), names)
        return steps

    def clock(self) -> int:
        return self.now

    def work(self, length: int = 1000) -> None:
        self.now += length * 1000
        self.operations += 1

    def wait(self, length: int = 1000) -> None:
        self.now += length * 1000

    def device_of(self, optimizer: Optimizer | None) -> str:
        return optimizer.device if optimizer is not None else "cuda"

    def on_edge(self, series: Series, now: int) -> None:
        self.edges.append((series.place.kind, series.place.line))

    def count(self) -> Callable[[], int]:
        before = self.operations
        return lambda: self.operations - before


@pytest.fixture
def world() -> Iterator[World]:
    before = set(vars(builtins))
    yield World()
    for name in set(vars(builtins)) - before:
        delattr(builtins, name)


def found(steps: Steps) -> list[tuple[str, int, str, list[int]]]:
    """Kind, line, device and lengths (µs) of every series, most time first."""
    return [(s.place.kind, s.place.line, s.device, [n // 1000 for n in s.samples]) for s in steps.best()]


def test_an_optimizer_step_ends_a_step_and_the_first_begins_at_the_loops_head(world: World) -> None:
    steps = world.run("""\
        adam = Optimizer()
        for i in range(4):
            work(1000 + i)
            stepped(adam)
        """)
    assert found(steps) == [("optimizer", 4, "cuda", [1000, 1001, 1002, 1003])]
    assert steps.loop_line(steps.best()[0]) == 2


def test_one_step_in_a_whole_script_is_measured(world: World) -> None:
    assert found(world.run("for epoch in range(1):\n    work(50_000)\n    stepped(Optimizer())\n"))[0][3] == [50_000]


def test_several_optimizers_in_one_round_are_one_step(world: World) -> None:
    steps = world.run("""\
        d, g = Optimizer(), Optimizer()
        def train_d():
            work(100); stepped(d)
        for i in range(5):
            train_d()
            work(300)
            stepped(g)
        """)
    assert found(steps) == [("optimizer", 3, "cuda", [100, 400, 400, 400, 400])]


def test_an_inner_loop_of_steps_is_part_of_the_outer_round_that_also_steps(world: World) -> None:
    steps = world.run("""\
        d, g = Optimizer(), Optimizer()
        for i in range(6):
            for k in range(5):
                work(100)
                stepped(d)
            work(300)
            stepped(g)
        """)
    kind, line, _device, lengths = found(steps)[0]
    assert (kind, line) == ("optimizer", 5)
    assert lengths[1:] == [800] * (len(lengths) - 1)
    assert len(lengths) >= 4


def test_optimizers_in_a_list_are_one_step_a_round(world: World) -> None:
    steps = world.run("""\
        both = [Optimizer(), Optimizer()]
        for i in range(4):
            for one in both:
                work(100)
                stepped(one)
        """)
    assert [n for n in found(steps)[0][3] if n != 200] in ([], [100])


def test_gradients_that_accumulate_make_one_step_of_several_rounds(world: World) -> None:
    steps = world.run("""\
        adam = Optimizer()
        for i in range(12):
            work(100)
            backward()
            if i % 4 == 3:
                stepped(adam)
        """)
    assert found(steps)[0][3][1:] == [400, 400]


def test_twins_on_both_devices_are_two_groups(world: World) -> None:
    steps = world.run("""\
        def train(device, length):
            adam = Optimizer(device)
            for i in range(4):
                work(length)
                stepped(adam)
        train("cpu", 300)
        train("cuda", 100)
        """)
    assert [s.group(None).samples_ns for s in steps.best()] == [(300_000,) * 4, (100_000,) * 4]
    assert [(g[2], g[3][1:]) for g in found(steps)] == [("cpu", [300] * 3), ("cuda", [100] * 3)]


def test_what_happens_between_two_epochs_is_in_no_step(world: World) -> None:
    steps = world.run("""\
        adam = Optimizer()
        for epoch in range(3):
            for i in range(5):
                work(100)
                stepped(adam)
            wait(5000)
        """)
    assert set(steps.best()[0].group(None).samples_ns) == {100_000}


def test_without_an_optimizer_a_backward_pass_ends_a_step(world: World) -> None:
    steps = world.run("for i in range(4):\n    work(100)\n    backward()\n    work(50)\n")
    assert found(steps) == [("backward", 3, "cuda", [100, 150, 150, 150])]


def test_a_later_optimizer_takes_over_from_backward_passes(world: World) -> None:
    steps = world.run("""\
        backward()
        backward()
        for i in range(3):
            work(100)
            backward()
            stepped(Optimizer())
        """)
    assert {g[0] for g in found(steps)} == {"optimizer"}


def test_without_either_the_innermost_loop_with_device_work_is_the_unit(world: World) -> None:
    steps = world.run("""\
        for n in (3, 10, 40):
            for i in range(n):
                work(100)
        """)
    kind, line, _device, lengths = found(steps)[0]
    assert (kind, line, lengths) == ("loop", 2, [100] * 53)


def test_a_loop_that_only_prepares_data_is_no_unit(world: World) -> None:
    steps = world.run("""\
        for i in range(30):
            wait(10_000)
        for i in range(30):
            work(100)
        """)
    assert [g[:2] for g in found(steps)] == [("loop", 3)]


def test_a_short_loop_over_layers_is_a_part_of_the_round_around_it(world: World) -> None:
    steps = world.run("""\
        for i in range(10):
            for layer in range(6):
                work(100)
            work(50)
        """)
    kind, line, _device, lengths = found(steps)[0]
    assert (kind, line) == ("loop", 1)
    assert set(lengths) == {650}


def test_a_step_marked_by_hand_goes_before_everything(world: World) -> None:
    steps = world.run("""\
        adam = Optimizer()
        for i in range(4):
            said()
            for k in range(3):
                work(100)
                stepped(adam)
        """)
    assert found(steps) == [("marked", 3, "cuda", [300] * 3)]


def test_where_nothing_repeats_statements_are_logged_with_their_time(world: World) -> None:
    steps = world.run("""\
        a = 1
        work(700)
        def f():
            work(50)
            wait(10)
        f()
        """)
    assert steps.best() == []
    assert [line for line, _at in steps.log] == [1, 2, 6, 4, 5]


def test_hot_loops_without_device_work_lose_their_marks(world: World) -> None:
    steps = world.run("for i in range(10_000):\n    pass\n")
    assert steps.watches[0].hits == 64
    assert getattr(builtins, marks.head_name(0)) is None


def test_a_fork_records_nothing(world: World) -> None:
    steps = world.run("for i in range(4):\n    work(100)\n    stepped(Optimizer())\n")
    edges = len(world.edges)
    steps.forget()
    steps.on_optimizer(Optimizer())
    steps.on_backward(depth=1)
    assert len(world.edges) == edges
    assert getattr(builtins, marks.head_name(0)) is None
