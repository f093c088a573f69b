"""`breakeven time` beside torch.utils.benchmark and pyperf: the same statement, the same time spent, in turns.

    python benchmarks/time_beside_peers.py [--rounds N] [--seconds S] [--size N] [--pairs N] [--results F]

In each round each of the three measures once, in a changing order, each in a process of its own. Printed are each tool's median
against breakeven's (the median over rounds), and its interval: as it gives it (breakeven: the 95 % interval of the median, with
what it remembers of the spread of runs; torch.utils.benchmark: the interquartile range; pyperf: two standard deviations), and, of
the same kind for all, the bootstrap interval of the median of one run's samples, at the level at which breakeven computes it.
Then pairs of runs of `breakeven time matmul` are compared (`--pairs`): do their intervals meet? All runs remember each other in a
folder of their own, and nothing from before. With `--results` each round and run is kept in a file, and all that lie there are
counted: several short runs add up.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

from breakeven.measure.contestant import Patience
from breakeven.stats import bootstrap_median

SETUP = "import torch; torch.set_num_threads(1); x = torch.ones({n}, {n}); y = torch.ones({n}, {n})"
STATEMENT = "x @ y"
TORCH = """
import json, sys
from torch.utils.benchmark import Timer
m = Timer({stmt!r}, setup={setup!r}, num_threads=1).blocked_autorange(min_run_time={seconds})
print(json.dumps([t * 1e3 for t in m.times]))
"""
#: Each tool: median in ms, its own interval's width, width of the bootstrap interval of the median of its samples.
Measured = tuple[float, float, float]


def ours(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, width of the 95 % interval. It never stops before the time is up."""
    call = ["-m", "breakeven", "time", "-c", STATEMENT, "--setup", setup, "--seconds", str(seconds), "--precision", "0.0001"]
    timing = json.loads(python([*call, "--json", "-"]))["timings"][0]
    time, alone = timing["call_ms"], timing["this_run_ms"] or timing["call_ms"]
    return time["mid"], time["high"] - time["low"], alone["high"] - alone["low"]


def own_width(samples: list[float]) -> float:
    """Width of the interval that breakeven would give for another tool's samples."""
    found = bootstrap_median(samples, Patience().looked_level)
    return found.high - found.low


def torchs(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, interquartile range."""
    times = json.loads(python(["-c", TORCH.format(stmt=STATEMENT, setup=setup, seconds=seconds)]))
    low, _, high = statistics.quantiles(times, n=4)
    return statistics.median(times), high - low, own_width(times)


def pyperfs(setup: str, seconds: float, folder: Path) -> Measured:
    """Median, twice the standard deviation. One worker, as many values as the time allows."""
    out = folder / "pyperf.json"
    out.unlink(missing_ok=True)
    values = max(round(seconds / 0.1) - 1, 3)
    call = ["-m", "pyperf", "timeit", "-q", "-p", "1", "-w", "1", "-n", str(values), "--min-time", "0.1"]
    call += ["--inherit-environ", ",".join(os.environ)]  # threads and paths as for the others
    python([*call, "-o", str(out), "-s", setup, STATEMENT])
    import pyperf

    times = [value * 1e3 for value in pyperf.Benchmark.load(str(out)).get_values()]
    return statistics.median(times), 2 * statistics.stdev(times), own_width(times)


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
    parser.add_argument("--pairs", type=int, default=0, help="runs, less one")
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        os.environ["BREAKEVEN_HOME"] = str(asked.results.with_suffix(".home") if asked.results else Path(name) / "home")
        for _ in range(asked.rounds):
            keep(rows, one_round(SETUP.format(n=asked.size), asked.seconds, Path(name)), asked.results)
        for _ in range(asked.pairs + bool(asked.pairs)):
            keep(rows, {"run": matmul(asked.seconds)}, asked.results)
    if asked.results:
        rows = [json.loads(line) for line in asked.results.read_text().splitlines()]
    beside([row for row in rows if "run" not in row])
    agreement([row["run"] for row in rows if "run" in row])


def keep(rows: list[dict[str, Any]], row: dict[str, Any], file: Path | None) -> None:
    """Into the list, and the file."""
    rows.append(row)
    print(json.dumps(row), flush=True)
    if file is not None:
        with file.open("a") as kept:
            kept.write(json.dumps(row) + "\n")


def one_round(setup: str, seconds: float, folder: Path) -> dict[str, Any]:
    """The three tools once each: median, own width, width of the bootstrap interval of the median, ms."""
    order = list(TOOLS)
    random.shuffle(order)
    found = {}
    for tool in order:
        found[tool] = list(TOOLS[tool](setup, seconds, folder))
    return found


def matmul(seconds: float) -> dict[str, Any]:
    """One run of the built-in job: its interval, that of this run alone, and whether other processes were at work."""
    timing = json.loads(python(["-m", "breakeven", "time", "matmul", "--seconds", str(seconds), "--json", "-"]))["timings"][0]
    busy = any(doubt["id"] == "busy_machine" for doubt in timing["doubts"])
    return {**timing["call_ms"], "alone": timing["this_run_ms"] or timing["call_ms"], "busy": busy, "runs": timing["runs"]}


def beside(rounds: list[dict[str, Any]]) -> None:
    """The three tools against breakeven, the median over rounds with its 90 % interval (bootstrap)."""
    if not rounds:
        return
    for tool in TOOLS:
        ratios = [row[tool][0] / row["breakeven"][0] for row in rounds]
        draws = sorted(statistics.median(random.Random(n).choices(ratios, k=len(ratios))) for n in range(2000))
        own, alike = (statistics.median(row[tool][at] / row[tool][0] for row in rounds) for at in (1, 2))
        print(
            f"{tool}: median {statistics.median(ratios):.4f} of breakeven's ({draws[100]:.4f} to {draws[1899]:.4f}, "
            f"{len(rounds)} rounds); "
            f"its own interval {own:.2%} wide, interval of its median {alike:.2%}"
        )


def agreement(runs: list[dict[str, Any]]) -> None:
    """Pairs of runs of breakeven, each two among those with as busy a machine: do their intervals meet?"""
    pairs = [(a, b) for a, b in combinations(runs, 2) if a["busy"] == b["busy"]]
    if not pairs:
        return
    met = sum(meet(a, b) for a, b in pairs)
    alone = sum(meet(a["alone"], b["alone"]) for a, b in pairs)
    held = sum(a["low"] <= b["mid"] <= a["high"] or b["low"] <= a["mid"] <= b["high"] for a, b in pairs)
    print(
        f"{len(runs)} runs: {met} of {len(pairs)} pairs have intervals that meet ({met / len(pairs):.1%}), "
        f"{alone} ({alone / len(pairs):.1%}) by what each run alone would have said; in {held} one holds the other's median"
    )


def meet(a: dict[str, float], b: dict[str, float]) -> bool:
    """Whether two intervals have a value in common."""
    return a["low"] <= b["high"] and b["low"] <= a["high"]


def python(arguments: list[str]) -> str:
    """What a Python of its own says."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{arguments[:4]} failed: {done.stderr[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
