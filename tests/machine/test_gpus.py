"""The catalog is complete, sourced, and found by the names that people use."""

from __future__ import annotations

import pytest

from breakeven.errors import UnknownDevice
from breakeven.machine.gpus import find_gpu, gpus, matching_gpus

NAMES = {
    "t4": "Tesla T4",
    "Tesla T4": "Tesla T4",
    "rtx a4500": "RTX A4500",
    "NVIDIA RTX A4500": "RTX A4500",
    "A100": "A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB",
    "a100 80gb": "A100-SXM4-80GB",
    "A100-PCIE-40GB": "A100-PCIE-40GB",
    "gtx 1080": "GTX 1080",
    "1080ti": "GTX 1080 Ti",
    "GTX 1080 Ti": "GTX 1080 Ti",
    "RTX 2080": "RTX 2080",
    "rtx2080ti": "RTX 2080 Ti",
    "V100": "Tesla V100-SXM2-16GB",
    "GTX TITAN X (Maxwell)": "GTX TITAN X (Maxwell)",
    "TITAN X (Pascal)": "TITAN X (Pascal)",
    "H100 80GB HBM3": "H100 SXM (H100 80GB HBM3)",
    "NVIDIA H100 80GB HBM3": "H100 SXM (H100 80GB HBM3)",
    "NVIDIA GeForce RTX 3060": "RTX 3060",
    "GeForce RTX 3080 10GB": "RTX 3080",
    "NVIDIA H200": "H200 SXM",
    "k80": "Tesla K80 (one of two GPUs)",
    "A10": "A10",
    "A10G": "A10G",
    "a40": "A40",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
    "Quadro RTX 6000": "Quadro RTX 6000",
    "mi250x": "Instinct MI250X (both GCDs)",
    "AMD Instinct MI300X": "Instinct MI300X",
    "Apple M1 Max": "Apple M1 Max (32-core)",
    "m1": "Apple M1 (8-core GPU)",
    "gtx 1060": "GTX 1060 6GB",
    "p100": "Tesla P100-PCIE-16GB",
    "Tesla M40": "Tesla M40",
    "titan rtx": "TITAN RTX",
    "NVIDIA L4": "L4",
    "l40s": "L40S",
    "mx150": "MX150",
    "NVIDIA GeForce 940MX": "940MX",
    "titan v": "TITAN V",
    "jetson nano": "Jetson Nano",
}


@pytest.mark.parametrize(("asked", "name"), NAMES.items())
def test_a_loose_name_means_one_device(asked: str, name: str) -> None:
    assert find_gpu(asked).name == name


@pytest.mark.parametrize(
    "asked", ["rtx 4070 ti super", "RTX 3060 Laptop GPU", "voodoo 2", "", "nvidia", "rtx", "tpu v4", "rtx 9999"]
)
def test_a_name_that_no_device_has_is_refused_with_the_nearest(asked: str) -> None:
    with pytest.raises(UnknownDevice, match=r"the nearest are: .+, .+"):
        find_gpu(asked)


def test_every_device_is_found_by_its_own_name() -> None:
    assert [find_gpu(g.name).name for g in gpus()] == [g.name for g in gpus()]


def test_every_device_says_its_source_and_what_a_price_needs() -> None:
    assert len(gpus()) >= 40
    for gpu in gpus():
        assert gpu.source
        assert None not in (gpu.fp32_tflops, gpu.memory_bandwidth_gb_s, gpu.sm_count), gpu.name


def test_double_precision_follows_the_data_sheet() -> None:
    rates = {"Tesla P100-PCIE-16GB": 4.76, "Tesla T4": 0.254, "A100-SXM4-40GB": 9.75, "Tesla K40c": 1.68, "RTX 3090": 0.556}
    for name, rate in rates.items():
        assert find_gpu(name).fp64_tflops == pytest.approx(rate, rel=0.02)
    assert find_gpu("m1").fp64_tflops is None


def test_a_text_filters_the_catalog() -> None:
    assert {g.vendor for g in matching_gpus("amd")} == {"AMD"}
    assert len(matching_gpus("")) == len(gpus())
