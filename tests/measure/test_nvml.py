"""Energy and throttling through NVML, with NVIDIA's binding made up at its boundary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from breakeven.measure.backends.cuda import Cuda

Board = Callable[..., Cuda]

BINDING = """
class NVMLError(Exception):
    pass

def nvmlInit():
    if not {driver}:
        raise NVMLError("Driver Not Loaded")

def nvmlDeviceGetHandleByUUID(identity):
    if identity != b"GPU-1234-abcd":
        raise NVMLError("Not Found")
    return "the board"

def nvmlDeviceGetTotalEnergyConsumption(handle):
    assert handle == "the board"
    energy = {energy}
    if energy is None:
        raise NVMLError("Not Supported")
    return energy

def nvmlDeviceGetCurrentClocksThrottleReasons(handle):
    assert handle == "the board"
    return {reasons}
"""


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Board]:
    """Puts a binding in place that says so; `uuid` is what PyTorch calls the device."""

    def make(*, driver: bool = True, energy: int | None = 5_000, reasons: int = 0, uuid: str = "1234-abcd") -> Cuda:
        (tmp_path / "pynvml.py").write_text(BINDING.format(driver=driver, energy=energy, reasons=reasons))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: SimpleNamespace(uuid=uuid))
        return Cuda()

    yield make
    sys.modules.pop("pynvml", None)


def test_energy_is_the_boards_counter_in_joules(board: Board) -> None:
    assert board(energy=5_250).energy_j() == 5.25


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (0x0, None), (0x1, None), (0x2, None), (0x4, "power"), (0x20, "thermal"), (0x40, "thermal"), (0x8, "thermal"),
        (0x80, "power"), (0x21, "thermal"),
    ],
)  # fmt: skip
def test_only_heat_and_power_slow_a_board_down(board: Board, reasons: int, said: str | None) -> None:
    assert board(reasons=reasons).slowed() == said


@pytest.mark.parametrize(
    "wrong", [{"driver": False}, {"energy": None}, {"uuid": "another"}], ids=["no driver", "an old board", "AMD"]
)
def test_what_cannot_be_read_is_missing_and_not_zero(board: Board, wrong: dict[str, object]) -> None:
    assert board(**wrong).energy_j() is None


@pytest.mark.parametrize("wrong", [{"driver": False}, {"uuid": "another"}], ids=["no driver", "AMD"])
def test_without_nvml_a_board_is_not_said_to_be_slowed(board: Board, wrong: dict[str, object]) -> None:
    assert board(reasons=0x4, **wrong).slowed() is None
