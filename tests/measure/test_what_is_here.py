"""`devices` names each cause from the machine's own artefacts: a root with /proc, /sys and /dev, tools on a path, a PyTorch."""

from __future__ import annotations

import os
import stat
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from breakeven.measure.here.causes import covers
from breakeven.measure.here.look import look
from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import DevicesReport

CPUINFO = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx avx2 avx512f amx_bf16\n\n" + "processor\t: 1\n" * 7
MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\n"
T4 = "0, GPU-1, Tesla T4, 550.54.15, 15360, 15000, 7.5, Default, [N/A]"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver"

#: A PyTorch as its facts are read: versions, architectures, devices, and what happens when one is used.
TORCH = """
from types import SimpleNamespace as N
__version__ = "2.9.0"
version = N(cuda={cuda!r}, hip={hip!r}, xpu=None)
get_num_threads = lambda: 4
get_num_interop_threads = lambda: 4
yes, no = (lambda: True), (lambda: False)
backends = N(
    cpu=N(get_cpu_capability=lambda: "AVX2"), mkl=N(is_available=yes), mkldnn=N(is_available=yes), openmp=N(is_available=yes),
    mps=N(is_built=lambda: {mps_built!r}, is_available=lambda: {mps!r}),
)
_C = N(_cuda_getArchFlags=lambda: {archs!r})
def _init():
    if {init_error!r}:
        raise RuntimeError({init_error!r})
_gpu = N(name="Tesla T4", total_memory=16 << 30, major=7, minor=5)
cuda = N(
    init=_init, device_count=lambda: {count}, get_device_properties=lambda device: _gpu,
    mem_get_info=lambda device: (15 << 30, 16 << 30),
)
class _Ones:
    def __add__(self, other):
        return self
    def sum(self):
        return 16.0
def ones(n, device):
    if {run_error!r}:
        raise RuntimeError({run_error!r})
    return _Ones()
"""


@dataclass
class Machine:
    """A machine made of files."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    system: str = "Linux"
    architecture: str = "x86_64"

    def file(self, path: str, text: str = "") -> Machine:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return self

    def tool(self, name: str, script: str) -> Machine:
        self.file(f"bin/{name}", "#!/bin/sh\n" + script)
        tool = self.root / "bin" / name
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        return self

    def nvidia_smi(self, *rows: str, apps: str = "", code: int = 0) -> Machine:
        lines = "\n".join(rows)
        return self.tool(
            "nvidia-smi",
            f"case \"$1\" in --query-compute-apps*) cat <<'END'\n{apps}\nEND\n"
            f";; *) cat <<'END'\n{lines}\nEND\n;; esac\nexit {code}\n",
        )

    def board(self, vendor: str = "0x10de") -> Machine:
        self.file("sys/bus/pci/devices/0000:01:00.0/vendor", vendor + "\n")
        return self.file("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n")

    def driver(self, version: str = "550.54.15") -> Machine:
        return self.file("sys/module/nvidia/version", version + "\n")

    def nodes(self) -> Machine:
        return self.file("dev/nvidia0").file("dev/nvidiactl")

    def torch(self, cuda: str | None = "12.6", archs: str = "sm_75 sm_80 sm_90", **more: object) -> Machine:
        facts = {"hip": None, "mps_built": False, "mps": False, "init_error": "", "run_error": "", "count": 1, **more}
        return self.file("site/torch/__init__.py", TORCH.format(cuda=cuda, archs=archs, **facts))

    def no_torch(self) -> Machine:
        return self.file("site/torch/__init__.py", "raise ModuleNotFoundError('no torch', name='torch')")

    def look(self) -> DevicesReport:
        environment = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(self.root / "site"), **self.environment}
        return look(Surroundings(self.root, environment, sys.executable, self.system, self.architecture, self.root))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.file("proc/cpuinfo", CPUINFO).file("proc/meminfo", MEMINFO).file("proc/self/status", "Cpus_allowed_list:\t0-7\n")
    return made


def healthy(machine: Machine) -> Machine:
    return machine.board().driver().nodes().nvidia_smi(T4).torch()


def cause(report: DevicesReport) -> str:
    """The principal cause; it says what is wrong and what to do, in a line each."""
    assert not report.usable
    first = report.causes[0]
    assert first.sentence
    assert first.fix
    assert "\n" not in first.sentence + first.fix
    return first.id


def test_a_healthy_machine_is_usable(machine: Machine) -> None:
    report = healthy(machine).look()
    assert report.usable
    assert report.causes == ()
    (gpu,) = report.accelerators
    assert (gpu.name, gpu.device, gpu.driver, gpu.compute_capability, gpu.usable) == (
        "Tesla T4",
        "cuda:0",
        "550.54.15",
        "7.5",
        True,
    )
    assert gpu.memory_total_gb == pytest.approx(15360 * 1.048576e-3)


def test_who_else_uses_it_is_named(machine: Machine) -> None:
    report = healthy(machine).nvidia_smi(T4, apps="GPU-1, 4242, python, 3000\nGPU-1, 77, [Not Found], [N/A]").look()
    assert [(u.pid, u.name) for u in report.accelerators[0].users] == [(4242, "python"), (77, "[Not Found]")]
    assert report.accelerators[0].users[1].memory_gb is None
    assert any("4242" in warning for warning in report.warnings)


def test_no_gpu_at_all(machine: Machine) -> None:
    assert cause(machine.torch(cuda=None).look()) == "no_accelerator"


def test_cpu_only_wheel(machine: Machine) -> None:
    report = healthy(machine).torch(cuda=None).look()
    assert cause(report) == "cpu_only_wheel"
    assert "CUDA 12" in report.causes[0].fix  # what the driver 550 can run


def test_no_driver(machine: Machine) -> None:
    assert cause(machine.board().torch(init_error="Found no NVIDIA driver on your system.", count=0).look()) == "no_driver"


def test_a_driver_whose_tool_fails(machine: Machine) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    assert cause(machine.board().nvidia_smi(said, code=9).torch(init_error="no driver", count=0).look()) == "no_driver"


def test_a_driver_that_was_updated_while_loaded(machine: Machine) -> None:
    said = "Failed to initialize NVML: Driver/library version mismatch"
    assert cause(machine.board().nodes().nvidia_smi(said, code=18).torch(init_error="x", count=0).look()) == "driver_mismatch"


@pytest.mark.parametrize(
    ("driver", "cuda", "error"), [("470.82.01", "12.6", TOO_OLD), ("550.54.15", "13.0", ""), ("390.1", "11.8", "")]
)
def test_driver_too_old(machine: Machine, driver: str, cuda: str, error: str) -> None:
    machine.board().driver(driver).nodes().nvidia_smi(T4.replace("550.54.15", driver))
    report = machine.torch(cuda=cuda, init_error=error or "CUDA driver version is insufficient", count=0).look()
    assert cause(report) == "driver_too_old"
    assert driver in report.causes[0].sentence


@pytest.mark.parametrize("value", ["", "-1", "7"])
def test_hidden_by_the_environment(machine: Machine, value: str) -> None:
    healthy(machine).torch(init_error="No CUDA GPUs are available", count=0)
    machine.environment["CUDA_VISIBLE_DEVICES"] = value
    report = machine.look()
    assert cause(report) == "hidden_by_environment"
    assert "CUDA_VISIBLE_DEVICES" in report.causes[0].fix


@pytest.mark.parametrize(("sign", "how"), [(".dockerenv", "--gpus all"), ("run/.containerenv", "--gpus all")])
def test_a_container_without_the_device(machine: Machine, sign: str, how: str) -> None:
    report = machine.board().driver().file(sign).torch(init_error="Found no NVIDIA driver", count=0).look()
    assert cause(report) == "container_without_device"
    assert how in report.causes[0].fix


@pytest.mark.parametrize(("capability", "archs"), [("12.0", "sm_75 sm_80 sm_90"), ("5.2", "sm_75 sm_80 compute_80")])
def test_architecture_not_in_the_wheel(machine: Machine, capability: str, archs: str) -> None:
    healthy(machine).nvidia_smi(T4.replace("7.5", capability))
    error = "CUDA error: no kernel image is available for execution on the device"
    report = machine.torch(archs=archs, run_error=error).look()
    assert cause(report) == "architecture_not_in_wheel"
    assert capability in report.causes[0].sentence


def test_memory_full_of_another_session(machine: Machine) -> None:
    row = T4.replace("15000", "100")
    healthy(machine).nvidia_smi(row, apps="GPU-1, 4242, python, 15200")
    report = machine.torch(run_error="CUDA out of memory. Tried to allocate 2.00 MiB").look()
    assert cause(report) == "memory_full"
    assert "4242" in report.causes[0].fix


@pytest.mark.parametrize(("value", "expected"), [("", "colab_cpu_runtime"), ("0", "colab_cpu_runtime"), ("1", "colab_limit")])
def test_colab_without_a_gpu(machine: Machine, value: str, expected: str) -> None:
    machine.environment |= {"COLAB_RELEASE_TAG": "release-colab", "COLAB_GPU": value}
    assert cause(machine.torch(init_error="Found no NVIDIA driver", count=0).look()) == expected


def test_colab_with_a_gpu_is_usable(machine: Machine) -> None:
    machine.environment |= {"COLAB_RELEASE_TAG": "release-colab", "COLAB_GPU": "1"}
    assert healthy(machine).look().usable


def test_mps_not_built(machine: Machine) -> None:
    machine.system, machine.architecture = "Darwin", "arm64"
    assert cause(machine.torch(cuda=None, mps_built=False).look()) == "mps_not_built"
    assert cause(machine.torch(cuda=None, mps_built=True).look()) == "mps_not_available"


def test_mps_is_usable(machine: Machine) -> None:
    machine.system, machine.architecture = "Darwin", "arm64"
    report = machine.torch(cuda=None, mps_built=True, mps=True).look()
    assert report.usable
    assert [a.kind for a in report.accelerators] == ["mps"]


def test_a_variable_hides_nothing_for_certain_where_no_gpu_is_seen(machine: Machine) -> None:
    machine.environment["CUDA_VISIBLE_DEVICES"] = ""
    report = machine.torch(init_error="Found no NVIDIA driver", count=0).look()
    assert cause(report) == "hidden_by_environment"
    assert "nothing here shows" in report.causes[0].sentence


def test_a_container_that_was_given_no_device_by_its_variable(machine: Machine) -> None:
    healthy(machine).torch(init_error="No CUDA GPUs are available", count=0)
    machine.environment["NVIDIA_VISIBLE_DEVICES"] = "void"
    report = machine.look()
    assert cause(report) == "hidden_by_environment"
    assert "nothing here shows" not in report.causes[0].sentence


def test_a_pod_without_the_device_is_told_what_to_ask_for(machine: Machine) -> None:
    machine.environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    report = machine.board().driver().torch(init_error="Found no NVIDIA driver", count=0).look()
    assert cause(report) == "container_without_device"
    assert "nvidia.com/gpu" in report.causes[0].fix


def test_a_gpu_that_lets_nobody_calculate(machine: Machine) -> None:
    healthy(machine).nvidia_smi(T4.replace("Default", "Prohibited"))
    assert cause(machine.torch(run_error="CUDA-capable device(s) is/are busy or unavailable").look()) == "compute_prohibited"


def test_a_gpu_that_another_process_holds_alone(machine: Machine) -> None:
    healthy(machine).nvidia_smi(T4.replace("Default", "Exclusive_Process"))
    assert cause(machine.torch(run_error="CUDA-capable device(s) is/are busy or unavailable").look()) == "device_busy"


def test_an_amd_gpu_needs_its_driver(machine: Machine) -> None:
    machine.board("0x1002").torch(cuda=None, hip="6.4", init_error="No HIP GPUs are available", count=0)
    report = machine.look()
    assert cause(report) == "no_driver"
    assert "ROCm" in report.causes[0].fix


def test_an_amd_gpu_with_a_cpu_only_wheel(machine: Machine) -> None:
    report = machine.board("0x1002").file("dev/kfd").torch(cuda=None).look()
    assert cause(report) == "cpu_only_wheel"
    assert "ROCm" in report.causes[0].fix


def test_an_intel_build_of_python_on_a_mac(machine: Machine) -> None:
    machine.system, machine.architecture = "Darwin", "x86_64"
    report = machine.torch(cuda=None).look()
    assert cause(report) == "mps_not_built"
    assert "arm64" in report.causes[0].fix


def test_an_error_that_nobody_knows_is_given_in_its_own_words(machine: Machine) -> None:
    report = healthy(machine).torch(run_error="CUDA error: an illegal instruction was encountered").look()
    assert cause(report) == "unknown"
    assert "illegal instruction" in report.causes[0].evidence


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every file")
def test_device_files_that_may_not_be_used(machine: Machine) -> None:
    machine.board().driver().nodes().nvidia_smi(T4).torch(init_error="no permission", count=0)
    (machine.root / "dev/nvidia0").chmod(0)
    assert cause(machine.look()) == "no_permission"


def test_a_gpu_without_torch_is_usable_as_far_as_the_driver_knows(machine: Machine) -> None:
    report = machine.board().driver().nodes().nvidia_smi(T4).no_torch().look()
    assert report.usable
    assert report.accelerators[0].usable is None
    assert "PyTorch is not installed" in report.warnings[0]


def test_a_torch_that_dies_is_said(machine: Machine) -> None:
    report = machine.board().file("site/torch/__init__.py", "import os; os._exit(3)").look()
    assert report.torch is not None
    assert "exit code 3" in (report.torch.error or "")
    assert not report.usable


@pytest.mark.parametrize(
    ("files", "cores", "limit"),
    [
        ({}, 8, None),
        ({"proc/self/status": "Cpus_allowed_list:\t0-1,6\n"}, 3, "affinity"),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 3, "cgroup"),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 8, None),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/1\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            2, "cgroup",
        ),
    ],
)  # fmt: skip
def test_cores_are_those_that_this_process_may_use(
    machine: Machine, files: dict[str, str], cores: int, limit: str | None
) -> None:
    for path, text in files.items():
        machine.file(path, text)
    host = machine.torch(cuda=None).look().host
    assert (host.cores, host.limited_by, host.machine_cores) == (cores, limit, 8)


def test_the_host_is_described(machine: Machine) -> None:
    machine.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/memory.max", "4000000000\n")
    machine.file("sys/fs/cgroup/memory.current", "1000000000\n")
    machine.environment["OMP_NUM_THREADS"] = "3"
    host = machine.torch(cuda=None).look().host
    assert host.cpu == "Some CPU"
    assert host.instructions == ("avx", "avx2", "avx512f", "amx_bf16")
    assert (host.memory_total_gb, host.memory_free_gb) == (4.0, 3.0)
    assert host.threads == {"OMP_NUM_THREADS": "3", "torch": 4, "torch between operations": 4}
    assert host.disk_total_gb is not None


@pytest.mark.parametrize(
    ("held", "capability", "fits"),
    [
        ("sm_80", "8.6", True), ("sm_86", "8.0", False), ("sm_90a", "9.0", True), ("sm_90a", "10.0", False),
        ("compute_70", "12.0", True), ("sm_120", "12.0", True), ("gfx90a", "9.0", True),
    ],
)  # fmt: skip
def test_code_for_one_architecture_runs_on_another(held: str, capability: str, fits: bool) -> None:
    assert covers((held,), capability) == fits


def test_the_made_up_torch_has_what_the_real_one_has() -> None:
    """Names that the stand-in offers are names of the real PyTorch, so that the tests above ask what would be asked."""
    torch = pytest.importorskip("torch")
    for path in (
        "version.cuda",
        "backends.mps.is_built",
        "_C._cuda_getArchFlags",
        "cuda.get_device_properties",
        "cuda.mem_get_info",
    ):
        found = torch
        for part in path.split("."):
            if part == "_cuda_getArchFlags" and torch.version.cuda is None:
                break  # builds without CUDA lack it
            found = getattr(found, part)
    assert textwrap.dedent(TORCH)
