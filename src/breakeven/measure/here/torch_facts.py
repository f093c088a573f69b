"""What PyTorch says of itself and of its devices; run as a script, it prints that as JSON.

It runs in a process of its own, since importing PyTorch is slow, and starting CUDA takes memory and may fail for good.
Needs nothing but PyTorch, which may be absent; the JSON's fields are those of `results.devices.TorchFacts`.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Print the facts; exit 0 whatever they are."""
    sys.path.pop(0)  # this script's own folder
    try:
        import torch
    except ModuleNotFoundError as error:
        facts: dict[str, Any] = {"version": None, "error": f"no module named {error.name}"}
    except (ImportError, OSError) as error:  # a broken installation
        facts = {"version": None, "error": f"PyTorch cannot be imported: {error}"}
    else:
        facts = _facts(torch)
    sys.stdout.write("\n" + json.dumps(facts) + "\n")


def _facts(torch: Any) -> dict[str, Any]:  # a module, and what JSON is made of
    cuda, hip, xpu = (getattr(torch.version, name, None) for name in ("cuda", "hip", "xpu"))
    build = f"rocm {hip}" if hip else f"cuda {cuda}" if cuda else f"xpu {xpu}" if xpu else "cpu"
    facts: dict[str, Any] = {
        "version": str(torch.__version__), "build": build, "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(), "libraries": _libraries(torch),
        "cpu_capability": str(torch.backends.cpu.get_cpu_capability()), "mps_built": bool(torch.backends.mps.is_built()),
        "mps_available": bool(torch.backends.mps.is_available()), "devices": [],
    }  # fmt: skip
    if cuda or hip:
        facts["architectures"] = _architectures(torch)
        try:
            torch.cuda.init()
        except (RuntimeError, AssertionError) as error:
            facts["error"] = _line(error)
        else:
            facts["devices"] = [_device(torch, torch.cuda, f"cuda:{n}") for n in range(torch.cuda.device_count())]
    elif xpu and torch.xpu.is_available():
        facts["devices"] = [_device(torch, torch.xpu, f"xpu:{n}") for n in range(torch.xpu.device_count())]
    if facts["mps_available"]:
        facts["devices"] = [{"device": "mps", "error": _tried(torch, "mps")}]
    return facts


def _device(torch: Any, room: Any, device: str) -> dict[str, Any]:
    known = room.get_device_properties(device)
    capability = getattr(known, "gcnArchName", "") or f"{getattr(known, 'major', '')}.{getattr(known, 'minor', '')}".strip(".")
    found = {"device": device, "name": known.name, "memory_total": known.total_memory, "capability": capability or None}
    found["error"] = _tried(torch, device)
    if found["error"] is None and hasattr(room, "mem_get_info"):
        found["memory_free"] = room.mem_get_info(device)[0]
    return found


def _tried(torch: Any, device: str) -> str | None:
    """The error of a small operation, None where it ran."""
    try:
        return None if float((torch.ones(8, device=device) + 1).sum()) == 16.0 else "the sum of eight twos was not 16"
    except RuntimeError as error:
        return _line(error)


def _architectures(torch: Any) -> list[str]:
    """Asked without a device: `get_arch_list` answers with nothing where CUDA cannot be used."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    said = flags() if flags is not None else None
    return str(said).split() if said else list(torch.cuda.get_arch_list())


def _libraries(torch: Any) -> list[str]:
    rooms = {"mkl": torch.backends.mkl, "mkldnn": torch.backends.mkldnn, "openmp": torch.backends.openmp}
    return [name for name, room in rooms.items() if room.is_available()]


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500]


if __name__ == "__main__":
    main()
