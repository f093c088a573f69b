"""`watch` says what a step takes and where it goes, finds what is wrong with clocks, and leaves no trace."""

from __future__ import annotations

import io
import time
import timeit
from collections.abc import Iterator
from time import perf_counter

import pytest
import torch
from torch.optim import optimizer as torch_optimizer

import breakeven
from breakeven.measure.backends.fake import Fake, Settings
from breakeven.measure.watching.checks import denormals, threads, weak_double
from breakeven.results.records import Finding
from breakeven.workflows.watch import Watch

MS = 1_000_000


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake(Settings(launch_ns=10_000)) as device:
        yield device


class Job:
    """A training loop whose time passes on a fake's simulated clock: each part costs what it is told."""

    def __init__(self, fake: Fake, input_ms: float = 0.0, forward_ms: float = 2.0, backward_ms: float = 4.0) -> None:
        self.fake, self.input_ms, self.forward_ms, self.backward_ms = fake, input_ms, forward_ms, backward_ms
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.optimizer = torch.optim.SGD([self.weight], lr=0.01)
        outer = self

        class Work(torch.autograd.Function):
            @staticmethod
            def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
                fake.launch(round(outer.forward_ms * MS))
                return x.sum()

            @staticmethod
            def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]  # one gradient
                fake.launch(round(outer.backward_ms * MS))
                return grad.expand(3)

        self.work = Work.apply

    def batches(self, count: int) -> Iterator[int]:
        for at in range(count):
            self.fake.host(round(self.input_ms * MS))
            yield at

    def step(self) -> None:
        loss = self.work(self.weight)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        self.optimizer.step()


def watched(fake: Fake, values: object = None) -> Watch[int]:
    return breakeven.watch(values, stream=None, device=fake)  # type: ignore[no-any-return]  # handed on lazily


def found(seen: Watch[int], which: str) -> list[Finding]:
    return [finding for finding in seen.report.findings if finding.id == which]


def test_a_step_takes_what_the_device_takes_and_parts_are_where_it_is_spent(fake: Fake) -> None:
    """Only the sampled steps wait for the device, and what they say of the parts is the truth of it."""
    job = Job(fake)
    seen = watched(fake)
    with seen:
        for _ in range(1000):
            job.step()
    report = seen.report
    assert report.steps == 1000
    assert report.step_ms is not None
    assert report.step_ms.mid == pytest.approx(6, rel=0.02)
    assert 0 < report.sampled <= 10  # seldom
    shares = {part.cause: part.share for part in report.parts}
    assert shares["forward"] == pytest.approx(1 / 3, rel=0.1)
    assert shares["backward"] == pytest.approx(2 / 3, rel=0.1)


def test_the_wait_for_a_batch_is_told_from_the_rest(fake: Fake) -> None:
    job = Job(fake, input_ms=9.0, forward_ms=1.0, backward_ms=1.0)
    seen = watched(fake, job.batches(200))
    for _ in seen:
        job.step()
    report = seen.report
    assert report.steps == 200
    assert report.step_ms is not None
    assert report.step_ms.mid == pytest.approx(9, rel=0.1)
    assert {part.cause: part.share for part in report.parts}["input"] > 0.75


def test_a_clock_without_a_wait_is_found_with_its_lines_and_the_true_time(fake: Fake) -> None:
    job = Job(fake)
    seen = watched(fake)
    with seen:
        for _ in range(6):
            began = time.perf_counter()  # opened
            job.step()
            time.perf_counter()  # closed
            assert began > 0
    (bug,) = found(seen, "timing_bug")
    assert [site.text.split("# ")[1] for site in bug.sites] == ["closed", "opened"]
    assert "the work takes 6.0" in bug.sentence


def test_a_name_imported_from_time_is_heard_too(fake: Fake) -> None:
    job = Job(fake)
    seen = breakeven.watch(stream=None, device=fake)
    with seen:
        perf_counter()
        job.step()
        perf_counter()
    assert found(seen, "timing_bug")


@pytest.mark.parametrize("clock", ["time", "monotonic", "perf_counter_ns", "time_ns", "monotonic_ns"])
def test_a_clock_that_waits_is_left_in_peace(fake: Fake, clock: str) -> None:
    job = Job(fake)
    seen = watched(fake)
    with seen:
        for _ in range(6):
            fake.synchronise()
            getattr(time, clock)()
            job.step()
            fake.synchronise()
            getattr(time, clock)()
    assert not found(seen, "timing_bug")


def test_set_up_inside_of_a_timed_region_is_found() -> None:
    """The first pass through two lines holds what only the first call costs."""
    with Fake(Settings(set_up_ns=(700 * MS,))) as fake:
        job = Job(fake)
        seen = watched(fake)
        with seen:
            for _ in range(8):
                time.perf_counter()
                job.step()
                fake.synchronise()
                time.perf_counter()
    (trap,) = found(seen, "warmup")
    assert trap.price_ms is not None
    assert trap.price_ms.mid == pytest.approx(700, rel=0.05)


def test_set_up_inside_of_one_region_of_many_steps_is_found_and_a_warm_one_is_not() -> None:
    with Fake(Settings(set_up_ns=(700 * MS,))) as fake:
        job = Job(fake)
        seen = watched(fake)
        with seen:
            time.perf_counter()
            for _ in range(50):
                job.step()
            fake.synchronise()
            time.perf_counter()
        (trap,) = found(seen, "warmup")
        assert "700 ms are set-up" in trap.sentence or "69" in trap.sentence
        again = watched(fake)
        with again:
            for _ in range(5):
                job.step()
            time.perf_counter()
            for _ in range(50):
                job.step()
            fake.synchronise()
            time.perf_counter()
    assert not found(again, "warmup")


def test_afterwards_nothing_of_it_is_left(fake: Fake) -> None:
    from torch.utils.data import dataloader

    def state() -> tuple[object, ...]:
        hooks = torch_optimizer._global_optimizer_pre_hooks, torch_optimizer._global_optimizer_post_hooks
        clocks = [getattr(time, name) for name in ("time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns")]
        return (
            torch.autograd.backward, dataloader._BaseDataLoaderIter.__next__, *map(len, hooks), *clocks, perf_counter,
            timeit.default_timer,
        )  # fmt: skip

    before = state()
    seen = watched(fake)
    with seen:
        assert state() != before
    with pytest.raises(ValueError, match="of the loop"), seen:
        raise ValueError("of the loop")
    assert state() == before


def test_tensors_of_two_devices_that_meet_are_named_with_their_line(fake: Fake) -> None:
    seen = watched(fake)
    said = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    with pytest.raises(RuntimeError), seen:
        raise RuntimeError(said)  # here
    (mismatch,) = found(seen, "device_mismatch")
    assert mismatch.sentence == said
    assert mismatch.sites[0].text.endswith("# here")


def test_two_optimizers_of_one_round_make_one_step(fake: Fake) -> None:
    one, two = Job(fake), Job(fake)
    seen = watched(fake)
    with seen:
        for _ in range(30):
            one.step()
            two.step()
    assert seen.report.steps == pytest.approx(30, abs=2)


def test_a_mark_of_the_users_decides(fake: Fake) -> None:
    job = Job(fake)
    seen = watched(fake)
    with seen:
        for _ in range(21):
            breakeven.step()
            job.step()
            job.step()
    assert seen.report.steps == 20


def test_a_loop_without_training_has_rounds(fake: Fake) -> None:
    seen = watched(fake, range(11))
    for _ in seen:
        fake.launch(MS)
    assert seen.report.steps == 11


def test_the_live_line_shows_step_parts_and_device_and_the_page_follows() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with Fake() as fake:
        job, out = Job(fake), Terminal()
        with breakeven.watch(stream=out, device=fake, every=0.1):
            for _ in range(700):
                job.step()
    lines = out.getvalue().split("\r")
    live = [line.rstrip() for line in lines[:-1] if "on fake:0" in line and "backward" in line]
    assert live
    assert max(map(len, live)) <= 110
    assert "700 steps on fake:0" in lines[-1]


def test_a_file_gets_the_page_and_no_live_lines(fake: Fake) -> None:
    job, out = Job(fake), io.StringIO()
    with breakeven.watch(stream=out, device=fake, every=0.001):
        for _ in range(50):
            job.step()
    assert "\r" not in out.getvalue()
    assert "50 steps" in out.getvalue()


def test_a_loader_is_watched_with_its_length_over_epochs() -> None:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(40, 4)), batch_size=4)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters())
    seen = breakeven.watch(loader, stream=None)
    assert len(seen) == 10
    for _ in range(3):
        for (x,) in seen:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    report = seen.report
    assert (report.device, report.steps) == ("cpu", 30)
    assert sum(part.share for part in report.parts) == pytest.approx(1)
    assert report.loss is not None
    assert "<table>" in seen._repr_html_()


@pytest.mark.parametrize("through_the_watch", [True, False])
def test_in_a_block_the_loader_or_the_watch_may_be_looped_over(through_the_watch: bool) -> None:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(40, 3)), batch_size=2)
    weight = torch.nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([weight], lr=0.01)
    with breakeven.watch(loader, stream=None) as batches:
        for (x,) in batches if through_the_watch else loader:
            (x @ weight).sum().backward()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
            sgd.step()
    assert batches.report.steps == 20
    assert {part.cause for part in batches.report.parts} >= {"input", "forward", "backward"}


def test_more_threads_than_processors_are_told() -> None:
    own = torch.get_num_threads()
    assert threads("cpu", 0, cores=own) is None
    assert threads("cpu", 1, cores=own) is None
    assert threads("cuda:0", 4, cores=own) is None
    for tight in (threads("cpu", 4, cores=own), threads("cpu", 0, cores=own - 1)):
        assert tight is not None
        assert tight.id == "cpu_oversubscription"


def test_denormal_numbers_are_counted_and_timed() -> None:
    """Whether they cost anything here is the processor's business; healthy numbers are never called denormal."""
    weight = torch.nn.Parameter(torch.full((300_000,), 1e-41))
    told = denormals([torch.optim.SGD([weight], lr=0.1)])
    assert told is None or "300000 of 300000" in told.sentence
    assert denormals([torch.optim.SGD([torch.nn.Parameter(torch.ones(300_000))], lr=0.1)]) is None
    assert torch.tensor([1e-310], dtype=torch.float64).mul(1.0).item() > 0  # the setting is as it was


@pytest.mark.parametrize(
    ("device", "name", "dtype", "told"),
    [
        ("cuda:0", "NVIDIA GeForce RTX 3090", torch.float64, True),
        ("cuda:0", "Tesla T4", torch.float64, True),
        ("cuda:0", "NVIDIA A100-SXM4-80GB", torch.float64, False),
        ("cuda:0", "NVIDIA GeForce RTX 3090", torch.float32, False),
        ("cuda:0", "a board that nobody knows", torch.float64, False),
        ("cpu", "", torch.float64, False),
    ],
)
def test_double_precision_is_told_where_the_device_is_weak_at_it(device: str, name: str, dtype: torch.dtype, told: bool) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2, dtype=dtype))], lr=0.1)
    assert (weak_double(device, name, [optimizer]) is not None) == told
