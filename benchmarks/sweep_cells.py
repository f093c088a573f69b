"""How long a simulated sweep takes: some cells of a step of some operations on GPUs, what is recorded being made up.

    python benchmarks/sweep_cells.py [--cells N] [--operations N] [--gpu NAME]... [--repeat N]

The step is made of products of matrices and pointwise operations, recorded at five cells; the others are priced by their law.
Both are timed: finding the law (once for a sweep), and the steps of all cells with their 90 % intervals.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the step that is made up is the tests' own

from tests.sweep.made import machine, stream  # noqa: E402

from breakeven.sweep.block import blocks, compute  # noqa: E402
from breakeven.sweep.design import places  # noqa: E402
from breakeven.sweep.grid import grid  # noqa: E402
from breakeven.sweep.model import model, numbers  # noqa: E402
from breakeven.sweep.ran import Ran  # noqa: E402


def main() -> None:
    """Time and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--operations", type=int, default=150)
    parser.add_argument("--gpu", action="append", help="of the catalog; repeat it")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    gpus, side = asked.gpu or ["t4"], round((asked.cells / 40) ** 0.5)
    of = grid([f"batch={_values(8, 8192, asked.cells // side)}", f"width={_values(16, 2048, side)}"])
    first, last = of.axes[0].values, of.axes[1].values
    corners = [(a, b) for a in (first[0], first[-1]) for b in (last[0], last[-1])] + [(first[len(first) // 2], last[side // 2])]
    rans = [Ran(of.cells.index((a, b)), (a, b), (a, b), None, None, stream(int(a), int(b), asked.operations)) for a, b in corners]
    here, parameters, at = machine(*gpus), numbers(of, of.cells), places(of, of.cells)
    laws, cells = [], []
    for _ in range(asked.repeat):
        began = time.perf_counter()
        found = model(of, rans, here)
        laws.append(time.perf_counter() - began)
        began = time.perf_counter()
        for block in blocks(found.devices, parameters, at):
            compute(block)
        cells.append(time.perf_counter() - began)
    print(
        f"{len(of.cells)} cells of {asked.operations} operations on {', '.join(gpus)}: the law {statistics.median(laws):.2f} s, "
        f"the cells {statistics.median(cells):.2f} s ({min(cells):.2f} to {max(cells):.2f}, {asked.repeat} times)"
    )


def _values(low: float, high: float, count: int) -> str:
    """So many different whole numbers in geometric steps, as `--vary` takes them."""
    found = sorted({round(low * (high / low) ** (at / (count - 1))) for at in range(count)})
    return ",".join(map(str, found))


if __name__ == "__main__":
    main()
