"""Backends, device names, jobs and functions: what is handed to the stopwatch."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import breakeven
from breakeven.errors import InputError, NoAnswer
from breakeven.measure.backends.cpu import Cpu
from breakeven.measure.backends.cuda import Cuda
from breakeven.measure.backends.fake import Fake
from breakeven.measure.backends.mps import Mps
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.backends.xpu import Xpu
from breakeven.measure.disturbance import Moment, busy_machine, now
from breakeven.measure.known import find_backend, present_backends, split_name
from breakeven.measure.request import JOB, JOB_NAMES, TimeRequest
from breakeven.measure.targets import make_target, of_function
from breakeven.report.screen import as_text
from breakeven.report.time import render_time

MEMBERS = [name for name in vars(Backend) if not name.startswith("_")]


@pytest.mark.parametrize("kind", [Cpu, Cuda, Mps, Xpu, Fake])
def test_each_backend_offers_the_protocol(kind: type) -> None:
    backend = kind()
    assert [name for name in MEMBERS if not hasattr(backend, name)] == []
    for name in MEMBERS:
        wanted = inspect.getattr_static(Backend, name)
        if inspect.isfunction(wanted):
            assert inspect.signature(getattr(kind, name)) == inspect.signature(wanted), name


@pytest.mark.parametrize(
    ("text", "found"), [("cpu", ("cpu", 0)), ("CUDA:2", ("cuda", 2)), ("rocm", ("cuda", 0)), ("gpu", ("gpu", 0))]
)
def test_devices_are_named_loosely(text: str, found: tuple[str, int]) -> None:
    assert split_name(text) == found


@pytest.mark.parametrize("text", ["tpu", "cuda:x", "", "cuda:-1"])
def test_a_wrong_name_lists_the_right_ones(text: str) -> None:
    with pytest.raises(InputError, match="there are cpu, cuda, mps, xpu"):
        split_name(text)


def test_the_cpu_is_always_present_and_first() -> None:
    assert present_backends()[0].device == "cpu"
    assert find_backend("cpu").is_present()


def test_a_device_that_is_not_here_points_to_devices() -> None:
    with pytest.raises(NoAnswer, match="breakeven devices"):
        find_backend("cuda:63")


def test_energy_is_the_sum_of_the_packages(tmp_path: Path) -> None:
    for zone, value in (("intel-rapl:0", "1500000"), ("intel-rapl:1", "500000"), ("intel-rapl:0:0", "9000000")):
        place = tmp_path / "sys/class/powercap" / zone
        place.mkdir(parents=True)
        (place / "energy_uj").write_text(value)
    assert Cpu(root=tmp_path).energy_j() == 2.0


def test_energy_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    assert Cpu(root=tmp_path).energy_j() is None


def test_throttled_cores_are_counted(tmp_path: Path) -> None:
    place = tmp_path / "sys/devices/system/cpu/cpu0/thermal_throttle"
    place.mkdir(parents=True)
    (place / "core_throttle_count").write_text("7\n")
    assert Cpu(root=tmp_path).slowed() == "thermal 7"


def test_other_work_is_said_where_there_was_no_room_for_it() -> None:
    before = Moment(at=0.0, busy=0.0, stolen=0.0, own=0.0, cores=2)
    assert busy_machine(before, Moment(1.0, busy=2.0, stolen=0.0, own=1.0, cores=2)) is not None
    assert busy_machine(before, Moment(1.0, busy=2.0, stolen=0.0, own=1.0, cores=8)) is None
    assert busy_machine(before, Moment(1.0, busy=1.05, stolen=0.0, own=1.0, cores=1)) is None
    assert busy_machine(before, Moment(1.0, busy=1.0, stolen=0.5, own=0.5, cores=1)) is not None


def test_the_kernels_counters_are_read(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  100 0 100 1000 0 0 0 50 0 0\ncpu0 1\ncpu1 1\nintr 1\n")
    moment = now(tmp_path)
    assert moment is not None
    assert moment.cores == 2
    assert moment.busy / moment.stolen == pytest.approx(4.0)
    assert now(tmp_path / "nowhere") is None


def test_the_names_of_the_jobs_are_those_of_the_table() -> None:
    pytest.importorskip("torch")
    from breakeven.measure.jobs import JOBS

    assert tuple(JOBS) == JOB_NAMES


SMALL = {"copy_h2d": 1, "copy_d2h": 1, "elementwise": 100, "matmul": 16, "lstm": 8, "attention": 8, "cnn": 1, "reviews": 8}


@pytest.mark.parametrize("job", [name for name in JOB_NAMES if not name.endswith("_pinned")])
def test_each_job_runs(job: str) -> None:
    pytest.importorskip("torch")
    target = make_target(TimeRequest(job, JOB, size=SMALL.get(job)), "cpu")
    target.run(2)
    assert target.call is not None


def test_a_pinned_copy_needs_an_accelerator() -> None:
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="needs an accelerator"):
        make_target(TimeRequest("copy_h2d_pinned", JOB), "cpu")


@pytest.mark.parametrize("job", ["char_rnn", "tagger_bilstm", "tiny_transformer", "cnn_lstm"])
def test_a_step_has_the_networks_of_its_example(job: str, root: Path) -> None:
    """The example's classes, from its own source, have as many parameters as the job's model."""
    torch = pytest.importorskip("torch")
    made: list[int] = []
    original = torch.optim.Optimizer.__init__

    def counted(self, params, defaults):  # type: ignore[no-untyped-def]  # torch's own
        original(self, params, defaults)
        made.append(sum(p.numel() for group in self.param_groups for p in group["params"]))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch.optim.Optimizer, "__init__", counted)
        make_target(TimeRequest(job, JOB, size=8), "cpu")
    assert made == [parameters_of(root / "examples" / f"{job}.py")]


def parameters_of(example: Path) -> int:
    """Of the network that a script defines: its constants, functions without calls, and classes, executed."""
    import ast

    tree = ast.parse(example.read_text(encoding="utf-8"))
    kept = [
        node for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef)
        or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").isupper())
    ]  # fmt: skip
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(ast.Module(kept, []), str(example), "exec"), names)
    import torch

    (network,) = [
        v for v in names.values() if isinstance(v, type) and issubclass(v, torch.nn.Module) and v.__module__ == "example"
    ]
    return sum(p.numel() for p in network().parameters())


def test_a_function_without_a_device_cannot_be_timed_on_several() -> None:
    with pytest.raises(InputError, match="parameter `device`"):
        of_function(lambda: 1, "cpu", several=True)


def test_a_function_that_hands_back_a_function_was_the_set_up() -> None:
    made: list[object] = []

    def step(device: object) -> object:
        made.append(device)
        return lambda: made.append("call")

    of_function(step, "cpu").run(3)
    assert [str(one) for one in made] == ["cpu", "call", "call", "call"]


def test_the_function_of_the_package_prints_itself_and_shows_as_a_table() -> None:
    timed = breakeven.time(lambda: sum(range(200)), seconds=0.3)
    assert "a call, measured ±" in str(timed)
    assert repr(timed) == str(timed)
    table = timed._repr_html_()
    assert table.startswith("<table>")
    assert "&lt;lambda&gt;" not in table  # the device's row is named by the device
    assert as_text(lambda width, ascii_only: render_time(timed.report, width, True), ascii_only=True).isascii()


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tiem'"):
        _ = breakeven.tiem
