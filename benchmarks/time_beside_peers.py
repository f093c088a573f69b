"""`breakeven time` beside torch.utils.benchmark and pyperf: the same statement, the same time spent, in turns.

    python benchmarks/time_beside_peers.py [--rounds N] [--seconds S] [--size N] [--pairs N]

In each round each of the three measures once, in a changing order, each in a process of its own. Printed are each tool's median
against breakeven's (the median over rounds), and its interval: as it gives it (breakeven: the 95 % interval of the median;
torch.utils.benchmark: the interquartile range; pyperf: two standard deviations), and, of the same kind for all, the bootstrap
interval of the median of its samples. Then neighbouring runs of breakeven are compared (`--pairs`): do their intervals meet?
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from breakeven.stats import bootstrap_median

SETUP = "import torch; torch.set_num_threads(1); x = torch.ones({n}, {n}); y = torch.ones({n}, {n})"
STATEMENT = "x @ y"
TORCH = """
import json, sys
from torch.utils.benchmark import Timer
m = Timer({stmt!r}, setup={setup!r}, num_threads=1).blocked_autorange(min_run_time={seconds})
print(json.dumps([t * 1e3 for t in m.times]))
"""
#: Each tool: median in ms, its own interval's width, samples in ms (or None where it keeps them to itself).
Measured = tuple[float, float, list[float] | None]


def ours(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, width of the 95 % interval."""
    call = ["-m", "breakeven", "time", "-c", STATEMENT, "--setup", setup, "--seconds", str(seconds), "--precision", "0.01"]
    done = python([*call, "--json", "-"])
    timing = json.loads(done)["timings"][0]
    time = timing["call_ms"]
    folder.joinpath("last.json").write_text(json.dumps(timing))
    return time["mid"], time["high"] - time["low"], None


def torchs(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, interquartile range."""
    times = json.loads(python(["-c", TORCH.format(stmt=STATEMENT, setup=setup, seconds=seconds)]))
    low, _, high = statistics.quantiles(times, n=4)
    return statistics.median(times), high - low, times


def pyperfs(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, twice the standard deviation. One worker, as many values as the time allows."""
    out = folder / "pyperf.json"
    out.unlink(missing_ok=True)
    values = max(round(seconds / 0.1) - 1, 3)
    call = ["-m", "pyperf", "timeit", "-q", "-p", "1", "-w", "1", "-n", str(values), "--min-time", "0.1"]
    python([*call, "-o", str(out), "-s", setup, STATEMENT])
    import pyperf

    times = [value * 1e3 for value in pyperf.Benchmark.load(str(out)).get_values()]
    return statistics.median(times), 2 * statistics.stdev(times), times


TOOLS: dict[str, Callable[[str, float, Path], Measured]] = {
    "breakeven": ours,
    "torch.utils.benchmark": torchs,
    "pyperf": pyperfs,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=0)
    asked = parser.parse_args()
    setup = SETUP.format(n=asked.size)
    with tempfile.TemporaryDirectory() as name:
        beside(setup, asked.seconds, asked.rounds, Path(name))
        if asked.pairs:
            agreement(setup, asked.seconds, asked.pairs, Path(name))


def beside(setup: str, seconds: float, rounds: int, folder: Path) -> None:
    """The three tools, in turns."""
    found: dict[str, list[Measured]] = {tool: [] for tool in TOOLS}
    for _ in range(rounds):
        order = list(TOOLS)
        random.shuffle(order)
        for tool in order:
            found[tool].append(TOOLS[tool](setup, seconds, folder))
        print("  ".join(f"{tool} {found[tool][-1][0]:.4f} ms" for tool in TOOLS), flush=True)
    base = [one[0] for one in found["breakeven"]]
    for tool, runs in found.items():
        ratios = [mid / first for (mid, _, _), first in zip(runs, base, strict=True)]
        width = statistics.median(width / mid for mid, width, _ in runs)
        alike = [bootstrap_median(samples) for _, _, samples in runs if samples]
        same = f", interval of its median {statistics.median((b.high - b.low) / b.mid for b in alike):.2%}" if alike else ""
        print(f"{tool}: median {statistics.median(ratios):.4f} of breakeven's; its own interval {width:.2%} wide{same}")


def agreement(setup: str, seconds: float, pairs: int, folder: Path) -> None:
    """Neighbouring runs of breakeven: do their intervals meet?"""
    runs = [ours(setup, seconds, folder) and json.loads((folder / "last.json").read_text()) for _ in range(pairs + 1)]
    times = [run["call_ms"] for run in runs]
    met = sum(a["low"] <= b["high"] and b["low"] <= a["high"] for a, b in pairwise(times))
    held = sum(a["low"] <= b["mid"] <= a["high"] or b["low"] <= a["mid"] <= b["high"] for a, b in pairwise(times))
    print(f"{met} of {pairs} neighbouring pairs of runs have intervals that meet; in {held} one holds the other's median")


def python(arguments: list[str]) -> str:
    """What a Python of its own says."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{arguments[:4]} failed: {done.stderr[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
