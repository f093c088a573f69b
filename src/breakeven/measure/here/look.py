"""Looks at this machine as a whole: host, accelerators, PyTorch, and whether they fit together."""

from __future__ import annotations

from dataclasses import replace

from breakeven import __version__
from breakeven.measure.here.causes import Scene, causes
from breakeven.measure.here.host import host_facts
from breakeven.measure.here.nvidia_smi import Nvidia, boards, nvidia
from breakeven.measure.here.surroundings import Surroundings
from breakeven.measure.here.torch_child import torch_facts
from breakeven.results.devices import Accelerator, Cause, DevicesReport, HostFacts, TorchFacts

_AMD, _INTEL = "0x1002", "0x8086"


def look(around: Surroundings) -> DevicesReport:
    """What is here, whether it can be used, and if not why."""
    torch = torch_facts(around)
    host = host_facts(around, torch)
    seen = nvidia(around)
    amd = boards(around, _AMD) if around.has("dev/kfd") or around.has("sys/class/kfd") or torch.build != "cpu" else 0
    scene = Scene(around, host, seen, amd, boards(around, _INTEL) if (torch.build or "").startswith("xpu") else 0, torch)
    found = _accelerators(seen, torch)
    reasons = causes(scene) if not any(a.usable for a in found) else ()
    if _usable_without_torch(scene, reasons):
        reasons = ()
    usable = not reasons
    return DevicesReport(
        host=host, accelerators=found, usable=usable, causes=reasons, torch=torch, warnings=_warnings(host, torch, found, usable),
        versions={"breakeven": __version__, **({"torch": torch.version} if torch.version else {})},
    )  # fmt: skip


def _usable_without_torch(scene: Scene, reasons: tuple[Cause, ...]) -> bool:
    """Without PyTorch the driver's word counts: it lists a device, and nothing but PyTorch is missing."""
    return scene.torch.version is None and scene.nvidia.tool == "ok" and all(cause.id == "no_torch" for cause in reasons)


def _accelerators(seen: Nvidia, torch: TorchFacts) -> tuple[Accelerator, ...]:
    """The driver's list, joined with what PyTorch says of the same devices; PyTorch's alone where there is no such list."""
    left = list(torch.devices)
    found = []
    for device in seen.devices:
        match = next((d for d in left if d.get("name") == device.name), None)
        if match is not None:
            left.remove(match)
            device = replace(device, device=str(match["device"]), usable=not match.get("error"))
        elif torch.version is not None:
            device = replace(device, usable=False)
        found.append(device)
    kind = "rocm" if (torch.build or "").startswith("rocm") else (torch.build or "").split(" ")[0]
    for known in left:
        device_name = str(known["device"])
        found.append(
            Accelerator(
                name=str(known.get("name") or "Apple GPU"), kind="mps" if device_name == "mps" else kind, device=device_name,
                memory_total_gb=_gb(known.get("memory_total")), memory_free_gb=_gb(known.get("memory_free")),
                compute_capability=str(known["capability"]) if known.get("capability") else None, usable=not known.get("error"),
            )
        )  # fmt: skip
    return tuple(found)


def _warnings(host: HostFacts, torch: TorchFacts, found: tuple[Accelerator, ...], usable: bool) -> tuple[str, ...]:
    said = []
    if torch.version is None and usable:
        said.append("PyTorch is not installed in this Python, so whether a build of it fits this GPU was not tried")
    threads = torch.threads
    if threads is not None and threads > host.cores:
        said.append(f"torch uses {threads} threads on {host.cores} cores: set OMP_NUM_THREADS={host.cores}")
    said += [f"{a.name}: {', '.join(f'{u.name} ({u.pid})' for u in a.users)} also uses it" for a in found if a.users]
    return tuple(said)


def _gb(size: str | int | float | None) -> float | None:
    return float(size) / 1e9 if size is not None else None
