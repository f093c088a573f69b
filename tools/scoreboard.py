"""Writes docs/accuracy.md: how far the prices are from public measurements, on shapes and on devices that no fit has seen.

    python tools/scoreboard.py --data DIR --traces DIR --steps DIR [--out docs/accuracy.md]

--data holds the measured tables (one Parquet per family), --traces profilers' files with a truth.json that says which are
training steps, --steps scripts with a steps.json of times that somebody reported. A price is compared as
max(floor_us, lead_us + price) with what the timer said.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fitting.measurements import read
from fitting.store import left_out
from scoreboard_page import page
from scoreboard_whole import replays, reported

from breakeven.costs.price import price

OUT = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
FAMILIES = ("matmul", "conv2d", "recurrent", "elementwise", "rows", "small_kernels", "copies")
#: Which family's page a variant's devices are shown on.
STARTS = {
    "gemm": "matmul",
    "linear": "matmul",
    "bmm": "matmul",
    "conv2d": "conv2d",
    "recurrent": "recurrent",
    "softmax": "rows",
    "layernorm": "rows",
    "copy": "copies",
}


def compared(folder: Path) -> pl.DataFrame:
    """Every measured row with its price: relative error, whether it lies inside the interval, and the interval's width."""
    found = []
    for family in FAMILIES:
        table = pl.read_parquet(folder / f"{family}.parquet").filter(pl.col("irregular") == 0)
        shape = [
            c
            for c in table.columns
            if c
            not in (
                "measured_us",
                "floor_us",
                "lead_us",
                "timer",
                "runs",
                "spread",
                "irregular",
                "source",
                "stack",
                "fold",
                "host",
            )
        ]
        priced = price(table)
        shown = {c: pl.max_horizontal("floor_us", pl.col("lead_us") + pl.col(f"{c}_us")) for c in ("low", "mid", "high")}
        found.append(
            priced.select(
                pl.lit(family).alias("family"),
                "source",
                "gpu",
                pl.col("dtype").fill_null(""),
                "op",
                "direction",
                "fold",
                "measured_us",
                "mid_us",
                "limited_by",
                pl.col("spread").cast(pl.Float64),
                "stack",
                (shown["mid"] / pl.col("measured_us") - 1).alias("bias"),
                (shown["mid"] / pl.col("measured_us") - 1).abs().alias("error"),
                ((shown["low"] <= pl.col("measured_us") * 1.0001) & (pl.col("measured_us") <= shown["high"] * 1.0001)).alias(
                    "inside"
                ),
                (pl.col("high_us") / pl.col("low_us")).alias("width"),
                pl.concat_str(
                    [
                        pl.format("{}={}", pl.lit(c), pl.col(c))
                        for c in shape
                        if c not in ("op", "gpu", "dtype", "direction", "graph")
                    ],
                    separator=" ",
                    ignore_nulls=True,
                ).alias("shape")
                if any(c not in ("op", "gpu", "dtype", "direction", "graph") for c in shape)
                else pl.lit("").alias("shape"),
            )
        )
    return pl.concat(found).with_columns(pl.col("source").str.split("-models").list.first())


def unseen_devices(folder: Path) -> pl.DataFrame:
    """Each device's rows by a fit that has not seen the device: family, device, dtype, error."""
    groups = read(folder)
    found = []
    for variant in sorted({g.variant for g in groups}):
        of_variant = [g for g in groups if g.variant == variant]
        if len({g.gpu for g in of_variant}) < 3 or variant.startswith("launch"):
            continue
        family = next((f for start, f in STARTS.items() if variant.startswith(start)), "elementwise")
        for group, error, _ in left_out(variant, of_variant):
            relative = np.abs(np.expm1(-error))
            own = np.where((group.source == "gpu-benches") & (family == "elementwise"), "small_kernels", family)
            found.append(
                pl.DataFrame({"family": own, "gpu": group.gpu, "dtype": group.dtype, "source": group.source, "error": relative})
            )
    return pl.concat(found)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--steps", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    args.out.parent.mkdir(exist_ok=True)
    whole = replays(args.traces) + reported(args.steps)
    args.out.write_text(page(compared(args.data), unseen_devices(args.data), whole), encoding="utf-8")


if __name__ == "__main__":
    main()
