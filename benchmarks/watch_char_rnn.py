"""What `breakeven.watch` costs on examples/char_rnn.py, beside PyTorch's own profiler bare and with shapes and stacks.

    python benchmarks/watch_char_rnn.py [--rounds N] [--steps N]

Four children run the example's loop on the CPU: plain, watched, profiled, profiled with shapes and stacks. All read the clock
at the same place, the optimizer's post-step hook, which is the plain one's only addition. They run in turn, a slice each, while
the others are stopped. Printed are the medians over the rounds of the ratios of the median step, with their 90 % interval
(bootstrap over rounds).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from capture_overhead import in_turn

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "char_rnn.py"
WARM = 20

CHILD = """\
import json, os, sys, time
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
around, steps, out, script = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
times = []
def hook(*_):
    times.append(time.perf_counter_ns())
    if len(times) > steps:
        with open(out, 'w') as handle:
            json.dump(times, handle)
        os._exit(0)
source = open(script).read().replace('"cuda"', '"cpu"')
code = compile(source, script, 'exec')
if around == 'watch':
    import breakeven
    class Screen:
        encoding = 'utf-8'
        def isatty(self): return True
        def write(self, text): sys.stderr.write(text)
        def flush(self): sys.stderr.flush()
    entered = breakeven.watch(stream=Screen())
elif around == 'profiler':
    entered = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
elif around == 'stacks':
    entered = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, with_stack=True)
else:
    import contextlib
    entered = contextlib.nullcontext()
register_optimizer_step_post_hook(hook)
with entered:
    exec(code, {'__name__': '__main__'})
"""
SIDES = {
    "plain": "plain",
    "watch": "breakeven.watch",
    "profiler": "torch.profiler, bare",
    "stacks": "torch.profiler, shapes and stacks",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=250)
    asked = parser.parse_args()
    ratios: dict[str, list[float]] = {side: [] for side in SIDES if side != "plain"}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.rounds):
            found = dict(
                zip(SIDES, in_turn([partial(step_ms, side) for side in SIDES], EXAMPLE, Path(folder), asked.steps), strict=True)
            )
            for side, kept in ratios.items():
                kept.append(found[side] / found["plain"])
            print(f"round {number}: " + ", ".join(f"{SIDES[side]} {ms:.3f} ms" for side, ms in found.items()), flush=True)
    for side, kept in ratios.items():
        draws = sorted(statistics.median(random.Random(n).choices(kept, k=len(kept))) for n in range(2000))
        low, high = draws[100] - 1, draws[1899] - 1
        print(f"{SIDES[side]}: {statistics.median(kept) - 1:+.2%} of a step (90 % interval {low:+.2%} to {high:+.2%})")


def step_ms(side: str, script: Path, folder: Path, steps: int) -> float:
    """Median step of one side, in milliseconds."""
    out = folder / f"{side}.json"
    place = folder / side  # the example writes a checkpoint
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    subprocess.run(
        [sys.executable, "-c", CHILD, side, str(steps), str(out), str(script)],
        cwd=place,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    times = json.loads(out.read_text())
    return statistics.median(b - a for a, b in itertools.pairwise(times[WARM:])) / 1e6


if __name__ == "__main__":
    main()
