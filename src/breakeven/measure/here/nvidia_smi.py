"""NVIDIA's devices as its driver's tool and the kernel see them; no CUDA is started."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import Accelerator, User

_QUERY = "index,uuid,name,driver_version,memory.total,memory.free,compute_cap,compute_mode,mig.mode.current"
_SHORT = "index,uuid,name,driver_version,memory.total,memory.free"
_NVIDIA = "0x10de"
_MIB = 1 << 20


@dataclass(frozen=True)
class Nvidia:
    """What there is of NVIDIA.

    Attributes:
        boards: devices on the PCI bus, known to the kernel whether or not a driver is loaded.
        driver: version of the loaded driver; None: none is loaded, or it cannot be told.
        tool: `ok`, `missing`, `failed`.
        said: the tool's own words where it failed.
        devices: that the tool lists.
        modes: compute mode of each.
        nodes: `/dev/nvidia0` and so on are there.
        barred: they are, and may not be used.
    """

    boards: int
    driver: str | None
    tool: str
    said: str
    devices: tuple[Accelerator, ...]
    modes: tuple[str, ...]
    nodes: bool
    barred: bool


def nvidia(around: Surroundings) -> Nvidia:
    """Look at the PCI bus, the driver, its device files and its tool."""
    tool, said, rows = _ask(around)
    users = _users(around) if rows else {}
    devices = tuple(_device(row, users) for row in rows)
    driver = next((d.driver for d in devices if d.driver), None) or _loaded(around)
    nodes = around.find("dev/nvidia[0-9]*")
    return Nvidia(
        boards=boards(around, _NVIDIA), driver=driver, tool=tool, said=said, devices=devices,
        modes=tuple(row[7] if len(row) > 7 else "" for row in rows), nodes=bool(nodes) or around.has("dev/dxg"),
        barred=bool(nodes) and not any(around.may_use(f"dev/{node.name}") for node in nodes),
    )  # fmt: skip


def boards(around: Surroundings, vendor: str) -> int:
    """Graphics and compute boards of a vendor on the PCI bus (class 03: display; 1200: processing accelerator)."""
    count = 0
    for board in around.find("sys/bus/pci/devices/*"):
        place = f"sys/bus/pci/devices/{board.name}"
        kind = (around.read(f"{place}/class") or "").strip()
        count += (around.read(f"{place}/vendor") or "").strip() == vendor and kind.startswith(("0x03", "0x1200"))
    return count


def _ask(around: Surroundings) -> tuple[str, str, list[list[str]]]:
    """How the tool fares, what it says where it fails, and its rows."""
    for query in (_QUERY, _SHORT):  # older drivers know fewer columns
        said = around.ask("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits")
        if said.code is None:
            return "missing", said.text, []
        if said.code == 0:
            rows = [[cell.strip() for cell in row] for row in csv.reader(said.text.splitlines()) if row]
            rows = [row for row in rows if len(row) >= 6 and row[0].isdigit()]
            return ("ok", "", rows) if rows else ("failed", said.text.strip(), [])
        if "not a valid field" not in said.text:
            break
    return "failed", " ".join(said.text.split())[:300], []


def _users(around: Surroundings) -> dict[str, list[User]]:
    """Processes by the device that they calculate on."""
    said = around.ask("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv,noheader,nounits")
    found: dict[str, list[User]] = {}
    for row in csv.reader(said.text.splitlines() if said.code == 0 else []):
        cells = [cell.strip() for cell in row]
        if len(cells) == 4 and cells[1].isdigit():
            found.setdefault(cells[0], []).append(User(int(cells[1]), cells[2], _gb(cells[3])))
    return found


def _device(row: list[str], users: dict[str, list[User]]) -> Accelerator:
    capability = row[6] if len(row) > 6 and re.fullmatch(r"\d+\.\d+", row[6]) else None
    return Accelerator(
        name=row[2], kind="cuda", memory_total_gb=_gb(row[4]), memory_free_gb=_gb(row[5]), driver=row[3] or None,
        compute_capability=capability, users=tuple(users.get(row[1], ())),
    )  # fmt: skip


def _loaded(around: Surroundings) -> str | None:
    """The version of the driver that the kernel has loaded."""
    version = (around.read("sys/module/nvidia/version") or "").strip()
    if version:
        return version
    found = re.search(
        r"(?:Kernel Module.*?|x86_64|aarch64)\s+(\d+\.\d+(?:\.\d+)?)\s", around.read("proc/driver/nvidia/version") or ""
    )
    return found[1] if found else None


def _gb(text: str) -> float | None:
    """MiB as the tool writes it, in GB; None for `[N/A]`."""
    return float(text) * _MIB / 1e9 if re.fullmatch(r"\d+(\.\d+)?", text) else None
