"""How long a price takes: single calls from Python by family, and tables: `python benchmarks/price_speed.py [--million]`.

Single calls all differ, so nothing is answered from a memory of prices; shown is the best of several rounds, after those in
which a kind of call is traced. Tables are priced by one thread. Times are of this run and this machine.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before polars is imported: one core

import polars as pl

from breakeven.cli import main as breakeven
from breakeven.costs.operations import OPERATIONS
from breakeven.costs.price import price, price_one
from breakeven.machine.gpus import find_gpu

GPUS = ("Tesla T4", "A100-PCIE-40GB", "H100 PCIe", "Instinct MI210")
#: Calls that are timed: their name, operation, direction, and what is fixed of their sizes.
CALLS: tuple[tuple[str, str, str, dict[str, int]], ...] = (
    ("gemm", "gemm", "forward", {}),
    ("gemm, a vector", "gemm", "forward", {"n": 1}),
    ("linear, all passes", "linear", "both", {}),
    ("bmm", "bmm", "forward", {}),
    ("conv2d", "conv2d", "forward", {"r": 3, "s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1}),
    ("conv2d, all passes", "conv2d", "both", {"r": 3, "s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1}),
    ("lstm", "lstm", "forward", {"layers": 1, "bidirectional": 0}),
    ("add", "add", "forward", {}),
    ("gelu", "gelu", "forward", {}),
    ("softmax", "softmax", "forward", {}),
    ("layernorm", "layernorm", "forward", {}),
    ("copy_h2d", "copy_h2d", "forward", {"pinned": 1}),
    ("copy_d2d", "copy_d2d", "forward", {}),
    ("launch", "launch", "forward", {}),
)
ROUNDS, EACH = 7, 300


def one_call(op: str, direction: str, fixed: dict[str, int], gpu: str) -> float:
    """µs of one call, all sizes differing."""
    draw, device = random.Random(op), find_gpu(gpu)
    free = [c for c, default in OPERATIONS[op].columns.items() if default is None and c not in fixed]
    calls = [{**{c: draw.randint(1, 4096) for c in free}, **fixed} for _ in range(EACH)]
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for sizes in calls:
            price_one(op, device, direction=direction, **sizes)
        best = min(best, (time.perf_counter_ns() - began) / EACH / 1e3)
    return best


def table(rows: int) -> pl.DataFrame:
    """A table of every operation on several devices, sizes drawn evenly by their logarithm."""
    draw = random.Random(rows)
    kinds = [(op, d) for op in OPERATIONS for d in OPERATIONS[op].directions]
    made = []
    for i in range(2000):
        op, direction = kinds[i % len(kinds)]
        sizes = {c: draw.randint(1, 2 ** draw.randint(1, 12)) for c, default in OPERATIONS[op].columns.items() if default is None}
        made.append({"op": op, "gpu": GPUS[i % len(GPUS)], "dtype": "float32", "direction": direction, **sizes})
    few = pl.DataFrame(made, infer_schema_length=None)
    return pl.concat([few] * (rows // few.height))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="a million rows through `breakeven predict` as well")
    args = parser.parse_args()
    print(f"{'one call, µs':24}" + "".join(f"{gpu:>18}" for gpu in GPUS))
    for name, op, direction, fixed in CALLS:
        print(f"{name:24}" + "".join(f"{one_call(op, direction, fixed, gpu):18.1f}" for gpu in GPUS), flush=True)
    rows = table(100_000)
    began = time.perf_counter()
    price(rows)
    print(f"a table of {rows.height} rows: {time.perf_counter() - began:.2f} s")
    if args.million:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ops.csv"
            table(1_000_000).write_csv(file)
            began = time.perf_counter()
            status = breakeven(["predict", str(file), "-o", str(Path(folder) / "priced.csv")])
            print(f"`breakeven predict` of a file of 1000000 rows: {time.perf_counter() - began:.2f} s (status {status})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
