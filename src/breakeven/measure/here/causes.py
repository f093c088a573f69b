"""Why no accelerator is usable, and what to do: one function for each cause, asked so that the first one is the reason.

What it cannot know: what a hosting service decided, unless it leaves a sign in the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from breakeven.measure.here.nvidia_smi import Nvidia
from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import Cause, HostFacts, TorchFacts

#: Least driver of each major version of CUDA (NVIDIA, CUDA Compatibility, table 1 of "Minor Version Compatibility").
_DRIVERS: Final = {11: 450, 12: 525, 13: 580}
#: Part of a device's memory below which nothing useful fits; CUDA's own context takes some 0.3 to 0.5 GB.
_FULL_GB: Final = 0.6
_VISIBLE: Final = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)
_SELECTOR: Final = "https://pytorch.org/get-started/locally"


@dataclass(frozen=True)
class Scene:
    """All that was seen.

    Attributes:
        around: where.
        host: of the machine.
        nvidia: of NVIDIA's devices.
        amd: AMD boards on the bus.
        intel: Intel's discrete boards on the bus.
        torch: of PyTorch.
    """

    around: Surroundings
    host: HostFacts
    nvidia: Nvidia
    amd: int
    intel: int
    torch: TorchFacts

    @property
    def board(self) -> bool:
        """Whether the machine has one at all."""
        return bool(self.nvidia.boards or self.nvidia.devices or self.amd or self.intel)

    @property
    def errors(self) -> str:
        """What PyTorch said when it was tried."""
        said = [str(device["error"]) for device in self.torch.devices if device.get("error")]
        return " ".join([self.torch.error or "", *said]).strip()


def causes(scene: Scene) -> tuple[Cause, ...]:
    """Why nothing is usable; the first is the reason to remove first."""
    found = [cause for look in _LOOKS if (cause := look(scene)) is not None]
    if found:
        return tuple(found)
    if scene.errors and scene.torch.version is not None:
        return (Cause("unknown", "PyTorch could not use the device", "look the message up as it stands", scene.errors[:300]),)
    if scene.board:
        return (Cause("unknown", "there is a GPU, and nothing here says why PyTorch does not use it", _reinstall(scene)),)
    return (
        Cause("no_accelerator", "this machine has no GPU", "rent one, or stay on the CPU: `breakeven why SCRIPT` says which"),
    )


def _colab_cpu(scene: Scene) -> Cause | None:
    """Colab sets `COLAB_GPU` on all its runtimes: 0 or empty where no GPU was asked for."""
    if scene.host.notebook != "colab" or scene.board or scene.nvidia.nodes or _colab_asked(scene):
        return None
    return Cause(
        "colab_cpu_runtime", "this Colab runtime is set to CPU",
        "Runtime > Change runtime type > T4 GPU, and run the cells again",
        f"COLAB_GPU={scene.around.environment.get('COLAB_GPU', '')!r}, no NVIDIA device",
    )  # fmt: skip


def _colab_limit(scene: Scene) -> Cause | None:
    if scene.host.notebook != "colab" or scene.board or scene.nvidia.nodes or not _colab_asked(scene):
        return None
    return Cause(
        "colab_limit", "Colab was asked for a GPU and gave none: its limit of active sessions, or of use, is reached",
        "Runtime > Manage sessions: end the others, then reconnect; or wait, or take the CPU",
        f"COLAB_GPU={scene.around.environment.get('COLAB_GPU', '')!r}, no NVIDIA device",
    )  # fmt: skip


def _colab_asked(scene: Scene) -> bool:
    return scene.around.environment.get("COLAB_GPU", "") not in ("", "0")


def _mps_not_built(scene: Scene) -> Cause | None:
    if scene.around.system != "Darwin" or scene.torch.version is None or scene.torch.mps_available:
        return None
    if scene.around.architecture != "arm64":
        rosetta = "an Intel build of Python, or an Intel Mac"
        return Cause(
            "mps_not_built", f"PyTorch's MPS needs an arm64 Python; this is {rosetta}", "install an arm64 Python and PyTorch"
        )
    if not scene.torch.mps_built:
        return Cause(
            "mps_not_built",
            "this PyTorch was built without MPS",
            "pip install --force-reinstall torch (macOS arm64 wheels have it)",
        )
    return Cause(
        "mps_not_available",
        "MPS is built in, but macOS does not offer it",
        "update macOS: MPS needs 12.3 or later (PyTorch 2.9: 14)",
    )


def _hidden(scene: Scene) -> Cause | None:
    for name in _VISIBLE:
        value = scene.around.environment.get(name)
        if value is None or not (scene.board or scene.nvidia.nodes or scene.torch.build not in ("cpu", None)):
            continue
        empty = name != "NVIDIA_VISIBLE_DEVICES" and value.strip() in ("", "-1", "NoDevFiles")
        void = name == "NVIDIA_VISIBLE_DEVICES" and value in ("void", "none")
        if empty or void or _names_none(value, len(scene.nvidia.devices), name):
            unseen = "" if scene.board or scene.nvidia.nodes else "; whether there is one, nothing here shows"
            return Cause(
                "hidden_by_environment", f"{name}={value!r} hides every GPU{unseen}",
                f"unset {name} (in Python: before torch is imported), or name one that is there: {name}=0", f"{name}={value!r}",
            )  # fmt: skip
    return None


def _names_none(value: str, devices: int, name: str) -> bool:
    """CUDA stops at the first number that no device has: where that is the first one, none is left."""
    first = value.split(",")[0].strip()
    return (
        name == "CUDA_VISIBLE_DEVICES" and devices > 0 and bool(re.fullmatch(r"-?\d+", first)) and not 0 <= int(first) < devices
    )


def _no_device_in_container(scene: Scene) -> Cause | None:
    inside = scene.host.container
    there = scene.nvidia.boards or scene.nvidia.driver
    if inside is None or scene.nvidia.nodes or not there or scene.nvidia.tool == "ok":
        return None
    how = (
        "ask for nvidia.com/gpu in the pod's resources"
        if inside == "kubernetes"
        else "start it with --gpus all (NVIDIA Container Toolkit)"
    )
    return Cause(
        "container_without_device", f"the machine has an NVIDIA GPU, but this container ({inside}) was started without it", how,
        "no /dev/nvidia0",
    )  # fmt: skip


def _no_driver(scene: Scene) -> Cause | None:
    seen = scene.nvidia
    if seen.tool == "failed" and "version mismatch" in seen.said.lower():
        return Cause(
            "driver_mismatch", "the NVIDIA driver was updated while the old one is loaded", "restart the machine", seen.said
        )
    if seen.boards and seen.driver is None and seen.tool != "ok":
        why = "is not installed" if seen.tool == "missing" else "does not run"
        fix = "install it (Ubuntu: sudo ubuntu-drivers install; others: nvidia.com/drivers), then restart"
        return Cause(
            "no_driver", f"there is an NVIDIA GPU, but its driver {why}", fix, seen.said or "no nvidia-smi, no /sys/module/nvidia"
        )
    if scene.amd and not scene.nvidia.boards and not scene.around.has("dev/kfd"):
        return Cause("no_driver", "there is an AMD GPU, but no ROCm driver", "install amdgpu-dkms and ROCm", "no /dev/kfd")
    return None


def _not_permitted(scene: Scene) -> Cause | None:
    if scene.nvidia.barred:
        return Cause(
            "no_permission",
            "the GPU's device files may not be used by this user",
            "sudo usermod -aG video,render $USER, log in again",
            "/dev/nvidia0",
        )
    if scene.amd and scene.around.has("dev/kfd") and not scene.around.may_use("dev/kfd"):
        return Cause(
            "no_permission",
            "/dev/kfd may not be used by this user",
            "sudo usermod -aG video,render $USER, log in again",
            "/dev/kfd",
        )
    return None


def _cpu_only_wheel(scene: Scene) -> Cause | None:
    if not scene.board or scene.torch.version is None or scene.torch.build != "cpu":
        return None
    return Cause(
        "cpu_only_wheel", f"PyTorch {scene.torch.version} is a CPU-only build, and there is a GPU", _reinstall(scene),
        "torch.version.cuda is None",
    )  # fmt: skip


def _driver_too_old(scene: Scene) -> Cause | None:
    said = scene.errors
    build = re.fullmatch(r"cuda (\d+)\.(\d+)", scene.torch.build or "")
    driver = scene.nvidia.driver
    old = "driver on your system is too old" in said or "driver version is insufficient" in said
    if build is not None and driver is not None and driver.split(".")[0].isdigit():
        old = old or int(driver.split(".")[0]) < _DRIVERS.get(int(build[1]), 0)
    if not old:
        return None
    needs = f"{_DRIVERS[int(build[1])]} or later" if build is not None and int(build[1]) in _DRIVERS else "a newer one"
    return Cause(
        "driver_too_old",
        f"the driver ({driver or 'version unknown'}) is too old for this PyTorch ({scene.torch.build}), which needs {needs}",
        f"update the driver, or install a PyTorch for an older CUDA: {_SELECTOR}", said[:300] or f"driver {driver}",
    )  # fmt: skip


def _architecture(scene: Scene) -> Cause | None:
    lacking = (
        [d for d in _capabilities(scene) if not covers(scene.torch.architectures, d[1])] if scene.torch.architectures else []
    )
    if not lacking and "no kernel image is available" not in scene.errors:
        return None
    name, capability = (lacking or _capabilities(scene) or [("the GPU", "?")])[0]
    held = ", ".join(scene.torch.architectures)
    return Cause(
        "architecture_not_in_wheel",
        f"{name} (compute capability {capability}) is not among what this PyTorch holds code for ({held})",
        f"install a build that has it: newer for a new GPU, older (or from source) for an old one: {_SELECTOR}",
        scene.errors[:300] or f"sm_{capability.replace('.', '')} not in the list",
    )  # fmt: skip


def _capabilities(scene: Scene) -> list[tuple[str, str]]:
    return [(d.name, d.compute_capability) for d in scene.nvidia.devices if d.compute_capability]


def covers(architectures: tuple[str, ...], capability: str) -> bool:
    """Whether code for one of these runs on a device: binary code for its major version and no later minor one, or PTX before it.

    NVIDIA, CUDA C++ Programming Guide, section "Application Compatibility".

    >>> covers(("sm_80", "sm_90"), "8.6"), covers(("sm_80",), "12.0"), covers(("compute_90",), "12.0")
    (True, False, True)
    """
    major, _, minor = capability.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        return True  # not NVIDIA's numbering: nothing can be said
    own = (int(major), int(minor))
    for architecture in architectures:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)([a-z]?)", architecture)
        if found is None:
            continue
        held = (int(found[2]), int(found[3]))
        same_family = found[1] == "compute" or held[0] == own[0]
        if held == own or (not found[4] and held < own and same_family):  # `sm_90a` runs on 9.0 alone
            return True
    return not any(re.match(r"(sm|compute)_", architecture) for architecture in architectures)


def _memory_full(scene: Scene) -> Cause | None:
    device = next((d for d in scene.nvidia.devices if d.memory_free_gb is not None and d.memory_free_gb < _FULL_GB), None)
    said = "out of memory" in scene.errors.lower()
    if device is None and not said:
        return None
    users = [user for d in scene.nvidia.devices for user in d.users]
    who = ", ".join(f"process {u.pid} ({u.name})" for u in users[:3])
    left = f": {device.memory_free_gb:.1f} of {device.memory_total_gb:.1f} GB free" if device and device.memory_total_gb else ""
    fix = (
        f"end {who}"
        if who
        else "end what uses it (other notebooks keep their memory until their kernel is shut down; nvidia-smi lists them)"
    )
    return Cause("memory_full", f"the GPU's memory is full of other work{left}", fix, scene.errors[:300] or who)


def _exclusive(scene: Scene) -> Cause | None:
    if "Prohibited" in scene.nvidia.modes:
        return Cause(
            "compute_prohibited", "the GPU's compute mode is Prohibited", "sudo nvidia-smi -c 0", "nvidia-smi: compute mode"
        )
    if "busy or unavailable" in scene.errors:
        return Cause("device_busy", "another process holds the GPU alone", "end it, or sudo nvidia-smi -c 0", scene.errors[:300])
    return None


def _no_torch(scene: Scene) -> Cause | None:
    if scene.torch.version is not None or not scene.board:
        return None
    return Cause(
        "no_torch",
        "there is a GPU, but this Python has no PyTorch that can be imported",
        f"install one: {_SELECTOR}",
        scene.torch.error or "",
    )


def _reinstall(scene: Scene) -> str:
    if scene.nvidia.boards or scene.nvidia.devices:
        major = (scene.nvidia.driver or "").split(".")[0]
        fitting = [cuda for cuda, least in _DRIVERS.items() if major.isdigit() and int(major) >= least]
        for_cuda = f" for CUDA {max(fitting)} or older" if fitting else " for CUDA"
        return f"pip uninstall torch, then install a build{for_cuda}: {_SELECTOR}"
    return f"pip uninstall torch, then install a build for {'ROCm' if scene.amd else 'XPU'}: {_SELECTOR}"


#: In the order in which they hide each other: not asked for, not passed on, not installed, not fitting.
_LOOKS: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    _colab_cpu, _colab_limit, _mps_not_built, _no_device_in_container, _no_driver, _not_permitted, _hidden, _no_torch,
    _cpu_only_wheel, _driver_too_old, _architecture, _exclusive, _memory_full,
)  # fmt: skip
