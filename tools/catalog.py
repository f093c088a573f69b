"""Writes machine/data/gpus.csv and prices.csv out of tables of data-sheet facts, adding double-precision rates and aliases.

    python tools/catalog.py DIR        DIR holds gpus.csv and prices.csv (their README names the sources)

What it adds, and from where:
- `fp64_tflops`: fp32_tflops × the ratio of double- to single-precision results per clock and multiprocessor in the CUDA C++
  Programming Guide, table "Throughput of Native Arithmetic Instructions", by compute capability; for AMD and Intel the ratio of
  the vendor's data sheet of that device. Empty where the device has none (Apple) or nobody could be cited.
- `aliases`: what people and drivers call the device, where the name alone does not say it.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src" / "breakeven" / "machine" / "data"

#: Double- over single-precision results per clock and SM, by compute capability.
GUIDE = "CUDA C++ Programming Guide, arithmetic throughput of compute capability"
FP64_RATIO = {
    "3.0": 1 / 24,
    "3.5": 1 / 3,
    "3.7": 1 / 3,
    "5.0": 1 / 32,
    "5.2": 1 / 32,
    "5.3": 1 / 32,
    "6.0": 1 / 2,
    "6.1": 1 / 32,
    "6.2": 1 / 32,
    "7.0": 1 / 2,
    "7.2": 1 / 2,
    "7.5": 1 / 32,
    "8.0": 1 / 2,
    "8.6": 1 / 64,
    "8.7": 1 / 64,
    "8.9": 1 / 64,
    "9.0": 1 / 2,
    "10.0": 1 / 2,
    "12.0": 1 / 64,
}
#: Devices whose ratio is not that of their compute capability, and those without one, with the data sheet that says so.
FP64_BY_NAME = {
    "GTX 780 Ti": (1 / 24, f"{GUIDE} 3.5, GeForce"),
    "Instinct MI25": (1 / 16, "AMD Radeon Instinct MI25 data sheet (0.768 TFLOPS)"),
    "Radeon Vega Frontier Edition": (1 / 16, "AMD Vega 10 (as MI25 data sheet)"),
    "Instinct MI50": (1 / 2, "AMD Radeon Instinct MI50 data sheet (6.6 TFLOPS)"),
    "Instinct MI100": (1 / 2, "AMD Instinct MI100 data sheet (11.5 TFLOPS)"),
    "Instinct MI210": (1.0, "AMD Instinct MI210 data sheet (22.6 TFLOPS)"),
    "Instinct MI250X (both GCDs)": (1.0, "AMD Instinct MI250X data sheet (47.9 TFLOPS)"),
    "Instinct MI300X": (1 / 2, "AMD Instinct MI300X data sheet (81.7 TFLOPS)"),
    "Radeon RX 6900 XT": (1 / 16, "AMD RDNA 2 (TechPowerUp: 1.44 TFLOPS)"),
    "Radeon RX 7900 XTX": (1 / 64, "AMD RDNA 3: 1/32 of the single-issue rate, which is half of the listed dual-issue one"),
    "Intel Data Center GPU Max 1100": (1.0, "Intel Data Center GPU Max 1100 specification (22.2 TFLOPS)"),
    "Intel Data Center GPU Max 1550": (1.0, "Intel Data Center GPU Max 1550 specification (52.4 TFLOPS)"),
}

#: Further names; the first device of the file that a loose name fits is the one that people mean.
ALIASES = {
    "Tesla K20c": "k20|tesla k20|k20m|k20x",
    "Tesla K40c": "k40|tesla k40|k40m",
    "Tesla K80 (one of two GPUs)": "k80|tesla k80",
    "Tesla M60 (one of two GPUs)": "m60|tesla m60",
    "GTX 1060 6GB": "gtx 1060|1060",
    "GTX TITAN X (Maxwell)": "gtx titan x|titan x maxwell",
    "TITAN X (Pascal)": "titan x|nvidia titan x|titan x pascal",
    "Tesla P100-PCIE-16GB": "p100|tesla p100|p100 pcie",
    "Tesla P100-SXM2-16GB": "p100 sxm|p100 sxm2",
    "Tesla V100-SXM2-16GB": "v100|tesla v100|v100 sxm|v100 sxm2",
    "Tesla V100-PCIE-16GB": "v100 pcie|v100 pcie 16gb|v100 pcie 32gb|tesla v100 pcie 32gb",
    "Tesla V100-SXM2-32GB": "v100 32gb|v100 sxm2 32gb|v100 sxm3 32gb|tesla v100 sxm3 32gb",
    "Tesla V100-DGXS-32GB": "v100 dgxs",
    "A16 (one of four GPUs)": "a16",
    "A100-PCIE-40GB": "a100 pcie|a100 40gb pcie|a100 pcie 40gb",
    "A100-SXM4-40GB": "a100|a100 40gb|a100 sxm|a100 sxm4",
    "A100 80GB PCIe": "a100 pcie 80gb",
    "A100-SXM4-80GB": "a100 80gb|a100 sxm 80gb",
    "RTX 6000 Ada": "rtx 6000 ada generation|6000 ada",
    "H100 SXM (H100 80GB HBM3)": "h100|h100 sxm|h100 sxm5|h100 80gb|h100 80gb hbm3",
    "H100 PCIe": "h100 pcie 80gb|h100 80gb pcie",
    "H200 SXM": "h200|h200 sxm|h200 141gb",
    "GH200 480GB": "gh200|gh200 96gb",
    "Jetson Xavier NX": "xavier nx",
    "Jetson AGX Orin 64GB": "agx orin|jetson agx orin|orin",
    "Jetson Orin Nano 8GB": "orin nano|jetson orin nano",
    "Instinct MI250X (both GCDs)": "mi250x",
    "Radeon Vega Frontier Edition": "vega frontier|vega fe|vega frontier edition",
    "Intel Arc A770": "arc a770|a770",
    "Intel Arc B580": "arc b580|b580",
    "Intel Data Center GPU Max 1100": "max 1100|gpu max 1100|ponte vecchio 1100",
    "Intel Data Center GPU Max 1550": "max 1550|gpu max 1550",
    "Apple M1 (8-core GPU)": "m1|apple m1",
    "Apple M1 Pro (16-core)": "m1 pro|apple m1 pro",
    "Apple M1 Max (32-core)": "m1 max|apple m1 max",
    "Apple M1 Ultra (64-core)": "m1 ultra|apple m1 ultra",
    "Apple M2 (10-core GPU)": "m2|apple m2",
    "Apple M2 Max (38-core)": "m2 max|apple m2 max",
    "Apple M3 (10-core GPU)": "m3|apple m3",
    "Quadro RTX 6000": "rtx 6000",
    "Quadro RTX 8000": "rtx 8000",
    "Quadro RTX 4000": "rtx 4000",
    "Quadro RTX 5000": "rtx 5000",
}

COLUMNS = (
    "name",
    "aliases",
    "vendor",
    "architecture",
    "released",
    "compute_capability",
    "sm_count",
    "boost_clock_mhz",
    "fp32_tflops",
    "fp64_tflops",
    "tensor_fp16_tflops",
    "tensor_tf32_tflops",
    "tensor_bf16_tflops",
    "memory_gb",
    "memory_bandwidth_gb_s",
    "l2_mb",
    "pcie_gen",
    "pcie_lanes",
    "tdp_w",
    "source",
)


def fp64(row: dict[str, str]) -> tuple[str, str]:
    """Double-precision TFLOP/s of a device as text, and where the ratio is from; empty where it has none or none is cited."""
    name, capability = row["gpu"], row["compute_capability"]
    ratio, source = FP64_BY_NAME.get(name, (FP64_RATIO.get(capability), f"{GUIDE} {capability}"))
    if ratio is None or not row["fp32_tflops"]:
        return "", ""
    return f"{float(row['fp32_tflops']) * ratio:.4g}", source


def device(row: dict[str, str]) -> dict[str, str]:
    """One device of the catalog from one row of facts."""
    rate, ratio_source = fp64(row)
    said = [
        row["source"],
        f"tensor: {row['tensor_source']}" if row["tensor_fp16_tflops_dense_fp32acc"] else "",
        f"fp64: {ratio_source}" if rate else "",
        f"note: {row['conflicts']}" if row["conflicts"] else "",
    ]
    return {
        "name": row["gpu"],
        "aliases": ALIASES.get(row["gpu"], ""),
        "fp64_tflops": rate,
        "source": "; ".join(s for s in said if s),
        "tensor_fp16_tflops": row["tensor_fp16_tflops_dense_fp32acc"],
        "tensor_tf32_tflops": row["tensor_tf32_tflops_dense"],
        "tensor_bf16_tflops": row["tensor_bf16_tflops_dense"],
        **{c: row[c] for c in COLUMNS if c in row and c != "source"},
    }


def main(facts: Path) -> None:
    """Write both files."""
    with (facts / "gpus.csv").open(newline="") as file:
        rows = [device(r) for r in csv.DictReader(file)]
    unknown = (set(ALIASES) | set(FP64_BY_NAME)) - {r["name"] for r in rows}
    if unknown:
        raise SystemExit(f"not in the facts: {', '.join(sorted(unknown))}")
    with (OUT / "gpus.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (OUT / "prices.csv").write_text((facts / "prices.csv").read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
