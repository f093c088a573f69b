"""Fits the weights of the prices to published measurements and writes costs/data/*.json.

    python tools/fit_costs.py --data DIR [--only VARIANT] [--report]

DIR holds one Parquet table per family. Weights and tables are fitted on folds 0 to 2, intervals calibrated on fold 3; fold 4 is never
read, except by --report, which prints the error on it and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fitting.fit import Fitted, fit_variant
from fitting.measurements import read


def report(fitted: list[Fitted]) -> None:
    """Median error per device on the folds that were fitted, and on fold 4."""
    for one in fitted:
        for group, model in one.of_groups:
            error = np.abs(np.expm1(np.log(model.predict(group)) - np.log(group.time_us)))
            raw = np.abs(np.expm1(np.log(model.plain(group)) - np.log(group.time_us)))
            seen, new = group.fold < 3, group.fold == 4
            shown = [f"{np.median(e[m]):7.1%}" if m.any() else "      -" for e, m in ((raw, seen), (raw, new), (error, seen), (error, new))]
            print(f"{one.variant:26} {group.gpu[:26]:26} {group.dtype:9} {len(error):5} formula {shown[0]} {shown[1]}  with table {shown[2]} {shown[3]}")


def main() -> None:
    """Fit everything, or what is asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    groups = read(args.data)
    variants = sorted({g.variant for g in groups if args.only in g.variant})
    fitted = [fit_variant(v, [g for g in groups if g.variant == v]) for v in variants]
    report(fitted)


if __name__ == "__main__":
    main()
