"""Fits the weights of the prices to published measurements and writes costs/data/*.json.

    python tools/fit_costs.py --data DIR [--only VARIANT] [--out DIR]

DIR holds one Parquet table per family. Weights and tables are fitted on folds 0 to 2; intervals are calibrated on fold 3, where
a device has few rows there also on folds 0 to 2 by fits to the others, and for devices that nobody measured on devices left out;
fold 4 counts nowhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fitting.fit import fit_variant
from fitting.measurements import Group, read
from fitting.store import stored

from breakeven.costs.operations import AXES

OUT = Path(__file__).resolve().parent.parent / "src" / "breakeven" / "costs" / "data"
#: Which file holds a variant: the longest beginning that fits.
FILES = {
    "gemm": "matmul",
    "linear": "matmul",
    "bmm": "matmul",
    "conv2d": "conv2d",
    "recurrent": "recurrent",
    "softmax": "rows",
    "layernorm": "rows",
    "copy": "copies",
}
#: log2 of the bytes that the shortest kernels move (A = 0.25 B on 64 kB arrays).
SMALL = 17.0
COMMAND = "python tools/fit_costs.py --data DIR"
SOURCES = {
    "matmul": "DeepBench da81ba78, NeuSight 6945927d, ml-engineering 744d01e1",
    "conv2d": "DeepBench da81ba78, NeuSight 6945927d",
    "recurrent": "DeepBench da81ba78",
    "rows": "NeuSight 6945927d",
    "elementwise": "NeuSight 6945927d, gpu-benches 1038c5d0",
    "copies": "cse554 4eb37c55, gpu-benches 1038c5d0, copies out of public traces",
}


def family(variant: str) -> str:
    """The data file of a variant."""
    return next((file for start, file in FILES.items() if variant.startswith(start)), "elementwise")


def fit(groups: list[Group], only: str = "") -> dict[str, dict[str, object]]:
    """What each data file holds."""
    files: dict[str, dict[str, object]] = {}
    for variant in sorted({g.variant for g in groups if only in g.variant}):
        of_variant = [g for g in groups if g.variant == variant]
        if not any((g.fold < 3).any() for g in of_variant):
            continue  # `launch` is served by the smallest kernels that were measured
        found = stored(fit_variant(variant, of_variant), of_variant)
        axes = [[a.start, a.step, a.count] for a in AXES.get(variant.removesuffix(".graph"), ())]
        files.setdefault(family(variant), {})[variant] = {"axes": axes, "models": found}
        print(f"{variant}: {len(found)} models of {sum(len(g.time_us) for g in of_variant)} rows", file=sys.stderr)
    if "mul1" in files.get("elementwise", {}):
        files["elementwise"].update(launches(groups))
    return files


def launches(groups: list[Group]) -> dict[str, object]:
    """The launch itself: the shortest kernels repeated back to back (up to 64 kB, folds 0 to 2), by device and over all."""
    found: dict[str, object] = {}
    for variant in ("mul1", "mul1.graph"):
        small = {}
        for group in groups:
            if group.variant == variant and group.source[0] == "gpu-benches":
                rows = (group.fold < 3) & (group.places[:, 0] <= SMALL)
                small[f"{group.gpu}|float32"] = np.quantile(group.time_us[rows], (0.05, 0.5, 0.95))
        everything = np.array(list(small.values()))
        small["*|any"] = np.array([everything[:, 0].min(), np.median(everything[:, 1]), everything[:, 2].max()])
        found[variant.replace("mul1", "launch")] = {
            "axes": [],
            "models": {
                key: {
                    "compute": {},
                    "traffic": {},
                    "fixed": {"kernel": round(float(mid), 4)},
                    "low": [round(float(low / mid), 4)] * 10,
                    "high": [round(float(high / mid), 4)] * 10,
                }
                for key, (low, mid, high) in sorted(small.items())
            },
        }
    return found


def main() -> None:
    """Fit everything, or what is asked, and write one file per family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, variants in fit(read(args.data), args.only).items():
        path = args.out / f"{name}.json"
        kept = json.loads(path.read_text())["variants"] if args.only and path.exists() else {}
        whole = {"command": COMMAND, "sources": SOURCES[name], "variants": dict(sorted({**kept, **variants}.items()))}
        path.write_text(
            json.dumps(whole, separators=(",", ":")).replace('"models":', '\n"models":').replace('}},"', '}},\n"') + "\n"
        )


if __name__ == "__main__":
    main()
