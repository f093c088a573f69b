"""Records of `breakeven devices`; their field names are those of its JSON. Missing is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HostFacts:
    """The machine as this process may use it.

    Attributes:
        system: `Linux`, `Darwin`, `Windows`.
        cpu: the processor's name.
        cores: that this process may run on.
        machine_cores: that the machine has.
        limited_by: what takes cores away: `affinity`, `cgroup`; None: nothing.
        instructions: sets that matter for training, of those that the processor has.
        memory_total_gb: main memory, by its limit for this process where there is one.
        memory_free_gb: that can still be had.
        disk_total_gb: of the working directory's disk.
        disk_free_gb: the same.
        threads: settings that decide how many threads calculate: variables of the environment, and torch's own counts.
        container: `docker`, `podman`, `kubernetes`, `container` …; None: no sign of one.
        notebook: `colab`, `kaggle`; None: none of these.
    """

    system: str
    cpu: str
    cores: int
    machine_cores: int
    limited_by: str | None
    instructions: tuple[str, ...]
    memory_total_gb: float | None
    memory_free_gb: float | None
    disk_total_gb: float | None
    disk_free_gb: float | None
    threads: Mapping[str, str | int]
    container: str | None = None
    notebook: str | None = None


@dataclass(frozen=True)
class User:
    """A process that uses an accelerator."""

    pid: int
    name: str
    memory_gb: float | None


@dataclass(frozen=True)
class Accelerator:
    """One device beside the CPU.

    Attributes:
        name: as the driver, or else the PCI list, calls it.
        kind: `cuda`, `rocm`, `xpu`, `mps`.
        device: PyTorch's name of it; None: PyTorch does not see it.
        memory_total_gb: its memory.
        memory_free_gb: of which is free.
        driver: version.
        compute_capability: `8.6`, or AMD's `gfx90a`.
        users: who else uses it.
        usable: an operation ran on it; None: could not be tried, since there is no PyTorch.
    """

    name: str
    kind: str
    device: str | None = None
    memory_total_gb: float | None = None
    memory_free_gb: float | None = None
    driver: str | None = None
    compute_capability: str | None = None
    users: tuple[User, ...] = ()
    usable: bool | None = None


@dataclass(frozen=True)
class Cause:
    """Why an accelerator cannot be used, and what to do.

    Attributes:
        id: `no_accelerator`, `cpu_only_wheel`, `no_driver`, `driver_too_old`, `hidden_by_environment`, …
        sentence: what is wrong, in a line.
        fix: what to do, in a line.
        evidence: what was seen.
    """

    id: str
    sentence: str
    fix: str
    evidence: str = ""


@dataclass(frozen=True)
class TorchFacts:
    """The PyTorch of this Python, read in a process of its own.

    Attributes:
        version: None: not installed, or it cannot be imported.
        build: `cpu`, `cuda 12.8`, `rocm 6.2`, `xpu`; with `mps` where Metal is built in.
        architectures: that it holds code for (`sm_80`, `compute_90`, `gfx90a`).
        threads: its own threads.
        interop_threads: its threads between operations.
        libraries: which mathematics it has: `mkl`, `mkldnn`, `openmp`.
        cpu_capability: the instructions that its kernels use.
        mps_built: Metal is built in.
        mps_available: and can be used.
        devices: what it sees: name, memory, capability, and the error of a first operation where there was one.
        error: why CUDA could not be started, or why PyTorch could not be imported.
    """

    version: str | None
    build: str | None = None
    architectures: tuple[str, ...] = ()
    threads: int | None = None
    interop_threads: int | None = None
    libraries: tuple[str, ...] = ()
    cpu_capability: str | None = None
    mps_built: bool = False
    mps_available: bool = False
    devices: tuple[Mapping[str, str | int | float | None], ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class DevicesReport:
    """The whole answer of `breakeven devices`; `causes` has the principal one first, and is empty where one is usable."""

    host: HostFacts
    accelerators: tuple[Accelerator, ...]
    usable: bool
    causes: tuple[Cause, ...] = ()
    torch: TorchFacts | None = None
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    schema: str = "breakeven/devices/1"
