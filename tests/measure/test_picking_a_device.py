"""`pick` chooses the device that is faster in truth, never one that fails, within its time, and remembers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import breakeven
from breakeven.errors import InputError, NoAnswer
from breakeven.measure.backends.cpu import Cpu
from breakeven.measure.backends.fake import Fake, Settings
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.likeness import likeness
from breakeven.measure.picking import try_devices
from breakeven.measure.placing import random_kept, step_maker
from breakeven.workflows.pick import pick_among


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def fakes() -> Iterator[Callable[..., Fake]]:
    with ExitStack() as stack:
        yield lambda name, **settings: stack.enter_context(Fake(Settings(**settings), device=name))


def kernels(lengths: dict[str, int]) -> Callable[[Backend], Callable[[], object]]:
    """A step that is one kernel, of a length for each device; a device without one fails."""

    def make(backend: Backend) -> Callable[[], object]:
        length = lengths[backend.device]
        return lambda: backend.launch(length)  # type: ignore[attr-defined]  # a fake

    return make


def test_the_faster_device_is_picked_whatever_the_set_up_costs(fakes: Callable[..., Fake]) -> None:
    draw = random.Random(1)
    for _ in range(40):
        lengths = {"fake:0": draw.randrange(50_000, 5_000_000), "fake:1": draw.randrange(50_000, 5_000_000)}
        devices = [fakes(name, set_up_ns=(draw.randrange(10**9),)) for name in lengths]
        found = try_devices(devices, kernels(lengths))
        wanted = min(lengths, key=lambda name: lengths[name])
        assert found.decided
        assert found.device == wanted or max(lengths.values()) < 1.15 * min(lengths.values()), (lengths, found)


def test_a_queue_that_takes_launches_gladly_does_not_deceive(fakes: Callable[..., Fake]) -> None:
    devices = [fakes("fake:0", launch_ns=1_000), fakes("fake:1", launch_ns=50_000)]
    assert try_devices(devices, kernels({"fake:0": 2_000_000, "fake:1": 100_000})).device == "fake:1"


def test_two_devices_that_are_alike_give_the_first(fakes: Callable[..., Fake]) -> None:
    devices = [fakes("fake:0"), fakes("fake:1")]
    assert try_devices(devices, kernels({"fake:0": 1_000_000, "fake:1": 1_000_000})).device == "fake:0"


def test_a_device_on_which_the_step_fails_is_never_picked(fakes: Callable[..., Fake]) -> None:
    found = try_devices([fakes("fake:0"), fakes("fake:1")], kernels({"fake:1": 9_000_000}))
    assert (found.device, found.decided, found.trials[0].step_ms) == ("fake:1", True, None)
    assert "KeyError" in (found.trials[0].error or "")


def test_a_device_that_fails_only_later_is_not_picked(fakes: Callable[..., Fake]) -> None:
    def make(backend: Backend) -> Callable[[], object]:
        left = iter(range(3 if backend.device == "fake:0" else 10**9))

        def step() -> None:
            if next(left, None) is None:
                raise RuntimeError("out of memory")
            backend.launch(1_000 if backend.device == "fake:0" else 2_000_000)  # type: ignore[attr-defined]  # a fake

        return step

    assert try_devices([fakes("fake:0"), fakes("fake:1")], make).device == "fake:1"


def test_where_all_fail_the_errors_are_told(fakes: Callable[..., Fake]) -> None:
    with pytest.raises(NoAnswer, match=r"fake:0: KeyError.*fake:1: KeyError"):
        try_devices([fakes("fake:0"), fakes("fake:1")], kernels({}))


def test_an_answer_is_there_in_time_though_a_step_never_ends(fakes: Callable[..., Fake]) -> None:
    """The step that hangs is left behind, and the choice is not called decided."""
    ends: list[bool] = []

    def make(backend: Backend) -> Callable[[], object]:
        def hang() -> None:
            while not ends:
                time.sleep(0)

        return hang if backend.device == "fake:0" else lambda: backend.launch(1_000_000)  # type: ignore[attr-defined]  # a fake

    began = time.monotonic()
    found = try_devices([fakes("fake:0"), fakes("fake:1")], make, seconds=0.6)
    took = time.monotonic() - began
    ends.append(True)
    assert (found.device, found.decided) == ("fake:1", False)
    assert took < 20  # a busy machine may pause this process; without the limit it never comes here
    assert "had not ended" in found.sentence


def small() -> tuple[torch.nn.Module, torch.Tensor]:
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 2)
    ), torch.ones(16, 4)


def test_what_is_handed_over_is_left_as_it_was() -> None:
    """Parameters, running statistics, gradients and random generators."""
    model, batch = small()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state, other = torch.random.get_rng_state(), random.getstate()
    assert breakeven.pick(model, batch) in {torch.device("cpu"), *(torch.device(b) for b in ("cuda:0", "mps", "xpu:0"))}
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(state, torch.random.get_rng_state())
    assert other == random.getstate()


def test_an_optimizer_among_the_example_trains_the_copy_of_its_module() -> None:
    model, batch = small()
    adam = torch.optim.Adam(model.parameters(), lr=0.1)
    seen: list[bool] = []

    def step(net: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
        first = next(net.parameters())
        seen.append(first is optimizer.param_groups[0]["params"][0] and first is not next(model.parameters()))
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()

    before = next(model.parameters()).clone()
    assert pick_among(step, (model, adam, batch), (Cpu(),)).device == "cpu"
    assert seen
    assert all(seen)
    assert torch.equal(before, next(model.parameters()))


def test_memory_decides_the_second_time_and_measures_nothing(fakes: Callable[..., Fake]) -> None:
    # PyTorch has no device called fake; privateuseone is its name for one that is registered later.
    truth = SimpleNamespace(lengths={"privateuseone:0": 1_000_000, "privateuseone:1": 200_000})
    devices = tuple(fakes(name) for name in truth.lengths)
    by_name = {fake.device: fake for fake in devices}

    def step(device: torch.device) -> Callable[[], None]:
        return lambda: by_name[str(device)].launch(truth.lengths[str(device)])

    first = pick_among(step, (), devices)
    truth.lengths["privateuseone:1"] = 50_000_000  # the truth changes, the memory does not
    assert first.device == "privateuseone:1"
    assert [pick_among(step, (), devices) for _ in range(3)] == [first] * 3


def test_a_remembered_device_that_fails_now_is_measured_again(fakes: Callable[..., Fake]) -> None:
    broken: list[str] = []
    devices = (fakes("privateuseone:0"), fakes("privateuseone:1"))
    by_name = {fake.device: fake for fake in devices}

    def step(device: torch.device) -> Callable[[], None]:
        name = str(device)
        if name in broken:
            raise RuntimeError("gone")
        return lambda: by_name[name].launch(1_000_000 if name.endswith("0") else 10_000)

    assert pick_among(step, (), devices).device == "privateuseone:1"
    broken.append("privateuseone:1")
    assert pick_among(step, (), devices).device == "privateuseone:0"


def test_the_fingerprint_follows_code_shapes_and_devices(fakes: Callable[..., Fake]) -> None:
    model, batch = small()
    here = (Cpu(),)
    same = likeness(model, (batch,), here)
    assert likeness(small()[0], (torch.zeros(16, 4),), here) == same  # values do not count
    others = [
        likeness(model, (torch.ones(17, 4),), here),
        likeness(model, (batch.double(),), here),
        likeness(model.eval(), (batch,), here),
        likeness(torch.nn.Linear(4, 2), (batch,), here),
        likeness(model.train(), (batch,), (Cpu(), fakes("fake:0"))),
        likeness(lambda x: x + 1, (batch,), here),
        likeness(lambda x: x + 2, (batch,), here),
    ]
    assert len({same, *others}) == 1 + len(others)


def test_it_explains_itself(home: Path) -> None:
    model, batch = small()
    with pytest.raises(InputError, match="nothing is remembered"):
        breakeven.pick.explain()
    picked = breakeven.pick(model, batch)
    for said in (breakeven.pick.explain(), breakeven.pick.explain(model, batch)):
        assert said.pick.device == str(picked)
        assert "a step takes" in str(said)
        assert "<table>" in said._repr_html_()
    assert breakeven.pick.forget() == 1


def test_a_damaged_memory_is_measured_anew_and_a_read_only_one_does_no_harm(home: Path) -> None:
    model, batch = small()
    breakeven.pick(model, batch)
    for file in (home / "picks").iterdir():
        file.write_bytes(b"{")
    assert breakeven.pick(model, batch).type == breakeven.pick(model, batch).type
    breakeven.pick.forget()
    (home / "picks").rmdir()
    (home / "picks").write_text("a file where the folder should be")
    assert breakeven.pick(model, batch) is not None


def test_a_function_without_a_device_or_an_example_is_a_wrong_call() -> None:
    with pytest.raises(InputError, match="parameter `device`"):
        breakeven.pick(lambda: None)


def test_the_random_generators_go_on_where_they_were() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(1)
    torch.manual_seed(3)
    with random_kept():
        step_maker(torch.nn.Dropout(), (torch.ones(100),))(Cpu())()
    assert torch.equal(torch.rand(1), wanted)
