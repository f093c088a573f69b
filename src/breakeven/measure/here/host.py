"""The host: processor, cores that this process may use, memory, disk, thread settings, container. Read, never measured."""

from __future__ import annotations

import os
import platform
import shutil
from math import ceil
from typing import Final

from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import HostFacts, TorchFacts

#: Instruction sets that PyTorch's kernels, MKL or oneDNN choose by, by the kernel's names of them.
_INSTRUCTIONS: Final = (
    "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_vnni", "avx512_fp16", "amx_bf16", "amx_int8", "amx_tile",
    "avx_vnni", "asimd", "sve", "sve2", "bf16", "i8mm",
)  # fmt: skip
#: Variables that decide how many threads calculate.
THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "KMP_AFFINITY", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY",
    "TORCH_NUM_THREADS",
)  # fmt: skip
_GB: Final = 1e9


def host_facts(around: Surroundings, torch: TorchFacts | None) -> HostFacts:
    """All that there is to know on the host."""
    cpu, flags, present = _cpuinfo(around)
    cores, limited_by = usable_cores(around, present)
    total, free = _memory(around)
    disk = shutil.disk_usage(around.folder) if around.folder.exists() else None
    return HostFacts(
        system=around.system, cpu=cpu, cores=cores, machine_cores=present, limited_by=limited_by,
        instructions=tuple(name for name in _INSTRUCTIONS if name in flags), memory_total_gb=total, memory_free_gb=free,
        disk_total_gb=disk.total / _GB if disk else None, disk_free_gb=disk.free / _GB if disk else None,
        threads=_threads(around, torch), container=container(around), notebook=notebook(around),
    )  # fmt: skip


def usable_cores(around: Surroundings, present: int) -> tuple[int, str | None]:
    """Cores that this process may use, and what limits them: its affinity, or the quota of its cgroup."""
    cores, limited_by = present, None
    allowed = _field(around.read("proc/self/status"), "Cpus_allowed_list")
    if allowed is not None and 0 < (count := _count(allowed)) < cores:
        cores, limited_by = count, "affinity"
    quota = _quota(around)
    if quota is not None and (whole := max(1, ceil(quota))) < cores:
        cores, limited_by = whole, "cgroup"
    return cores, limited_by


def container(around: Surroundings) -> str | None:
    """Which kind of container this is, by what it leaves lying about."""
    if "KUBERNETES_SERVICE_HOST" in around.environment:
        return "kubernetes"
    if around.has(".dockerenv"):
        return "docker"
    if around.has("run/.containerenv"):
        return "podman"
    text = (around.read("proc/1/cgroup") or "") + (around.read("proc/self/cgroup") or "")
    for sign in ("docker", "kubepods", "containerd", "lxc"):
        if sign in text:
            return {"kubepods": "kubernetes", "containerd": "container"}.get(sign, sign)
    return around.environment.get("container") or None


def notebook(around: Surroundings) -> str | None:
    """Which hosted notebook this is (googlecolab/colabtools: `COLAB_RELEASE_TAG`, and `COLAB_GPU` on all its runtimes)."""
    if any(name in around.environment for name in ("COLAB_RELEASE_TAG", "COLAB_GPU")):
        return "colab"
    return "kaggle" if "KAGGLE_KERNEL_RUN_TYPE" in around.environment else None


def _cpuinfo(around: Surroundings) -> tuple[str, frozenset[str], int]:
    """Name, flags, and how many processors there are."""
    text = around.read("proc/cpuinfo")
    if text is None:
        if around.system == "Darwin":
            return _mac(around)
        return platform.processor() or around.architecture, frozenset(), os.cpu_count() or 1
    name = next(
        (v for v in (_field(text, k) for k in ("model name", "Hardware", "cpu model", "Model")) if v), around.architecture
    )
    flags = _field(text, "flags") or _field(text, "Features") or ""
    return name, frozenset(flags.split()), max(sum(line.startswith("processor") for line in text.splitlines()), 1)


def _mac(around: Surroundings) -> tuple[str, frozenset[str], int]:
    name = around.ask("sysctl", "-n", "machdep.cpu.brand_string").text.strip()
    count = around.ask("sysctl", "-n", "hw.logicalcpu").text.strip()
    return name or around.architecture, frozenset(), int(count) if count.isdigit() else os.cpu_count() or 1


def _quota(around: Surroundings) -> float | None:
    """Processors' worth of time that the cgroup allows, the least on the way up; version 2, then version 1."""
    found = []
    for line in (around.read("proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            found += [_of_v2(around.read(f"{place}/cpu.max")) for place in _upwards("sys/fs/cgroup", path)]
        elif "cpu" in controllers.split(","):
            for folder in ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"):
                for place in _upwards(folder, path):
                    found.append(_of_v1(around.read(f"{place}/cpu.cfs_quota_us"), around.read(f"{place}/cpu.cfs_period_us")))
    known = [one for one in found if one is not None]
    return min(known) if known else None


def _upwards(folder: str, path: str) -> list[str]:
    """A cgroup's folder and those above it; inside a container the mount itself is the group."""
    parts = [part for part in path.strip("/").split("/") if part]
    return ["/".join([folder, *parts[:n]]) for n in range(len(parts), -1, -1)]


def _of_v2(text: str | None) -> float | None:
    parts = (text or "").split()
    if len(parts) < 2 or not parts[0].isdigit() or not parts[1].isdigit() or parts[1] == "0":
        return None
    return int(parts[0]) / int(parts[1])


def _of_v1(quota: str | None, period: str | None) -> float | None:
    used, whole = (quota or "").strip(), (period or "").strip()
    return int(used) / int(whole) if used.isdigit() and whole.isdigit() and int(whole) else None


def _memory(around: Surroundings) -> tuple[float | None, float | None]:
    """Total and free, by the cgroup's limit where that is less."""
    table = around.read("proc/meminfo")
    if table is None:
        if around.system == "Darwin":
            size = around.ask("sysctl", "-n", "hw.memsize").text.strip()
            return (int(size) / _GB if size.isdigit() else None), None
        return None, None
    total, free = _kib(table, "MemTotal"), _kib(table, "MemAvailable")
    for line in (around.read("proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        for place in _upwards("sys/fs/cgroup", path) if not controllers else _upwards("sys/fs/cgroup/memory", path):
            limit = _number(around.read(f"{place}/memory.max") or around.read(f"{place}/memory.limit_in_bytes"))
            used = _number(around.read(f"{place}/memory.current") or around.read(f"{place}/memory.usage_in_bytes"))
            if limit is not None and total is not None and limit < total:
                total = limit
                free = min(free, limit - used) if free is not None and used is not None else free
    return (total / _GB if total is not None else None), (free / _GB if free is not None else None)


def _threads(around: Surroundings, torch: TorchFacts | None) -> dict[str, str | int]:
    found: dict[str, str | int] = {name: around.environment[name] for name in THREAD_VARIABLES if name in around.environment}
    if torch is not None and torch.threads is not None:
        found["torch"] = torch.threads
    if torch is not None and torch.interop_threads is not None:
        found["torch between operations"] = torch.interop_threads
    return found


def _field(text: str | None, name: str) -> str | None:
    for line in (text or "").splitlines():
        key, separator, value = line.partition(":")
        if separator and key.strip().lower() == name.lower():
            return value.strip()
    return None


def _count(ranges: str) -> int:
    """How many numbers `0-3,8` names."""
    total = 0
    for part in ranges.split(","):
        low, _, high = part.strip().partition("-")
        if low.isdigit():
            total += (int(high) if high.isdigit() else int(low)) - int(low) + 1
    return total


def _kib(table: str, name: str) -> float | None:
    words = (_field(table, name) or "").split()
    return 1024.0 * int(words[0]) if words and words[0].isdigit() else None


def _number(text: str | None) -> float | None:
    return float(text.strip()) if text is not None and text.strip().isdigit() else None
