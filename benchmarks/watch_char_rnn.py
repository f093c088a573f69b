"""What `breakeven.watch` costs on examples/char_rnn.py, beside PyTorch's own profiler bare and with shapes and stacks.

    python benchmarks/watch_char_rnn.py [--seconds S] [--results F]

The example runs in this process, as it is, on the CPU. At the beginning of a round of its loop the side changes: plain,
watched, profiled, profiled with shapes and stacks, in turns of some tens of steps and in an order that changes, so that the
machine's drift hits all alike. Clocks are read at the beginning of the rounds, for every side alike; the first steps after a
change are left out, and so is what entering and leaving a side takes (a profiler's leaving takes long).

Printed are, over blocks of some turns of each, the median of the ratios of the mean step to the plain one, with its 90 %
interval (bootstrap over blocks). The watch's live line is drawn once a second, which a median over turns would count in full or
not at all: none is drawn within the turns, its time is measured by itself and added. With `--results` turns are kept in a file,
and all that lie there are counted: several short runs add up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import torch
import tqdm

import breakeven

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "char_rnn.py"
#: Steps of a turn that are left out, and those that count: together some 60 ms, as the turns of capture_overhead.py.
SKIPPED, COUNTED = 5, 20
#: Turns of the plain loop and of the watched one in a block: their difference is small, and is what is asked.
PAIRS = 5
SIDES = {
    "plain": "plain",
    "watch": "breakeven.watch",
    "profiler": "torch.profiler, bare",
    "stacks": "torch.profiler, shapes and stacks",
}


class Screen:
    """A terminal that keeps nothing, and counts its lines."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.lines = 0

    def isatty(self) -> bool:
        """So that the live line is drawn."""
        return True

    def write(self, text: str) -> int:
        """One line."""
        self.lines += text.startswith("\r")
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


class Enough(Exception):
    """The time is up."""


class Turns:
    """Changes sides at the beginning of rounds; keeps blocks of the mean step of each side, in ms."""

    def __init__(self, seconds: float) -> None:
        self.until = time.perf_counter() + seconds
        self.blocks: list[dict[str, float]] = []
        self.screen = Screen()
        self.live = breakeven.watch(stream=self.screen, every=1e9)  # type: ignore[arg-type]  # what it needs of a stream
        self.looks: list[float] = []

    def rounds(self, values: Iterable[int], *_args: object, **_kwargs: object) -> Iterator[int]:
        """In place of tqdm's bar, with the real one inside."""
        following = iter(REAL_TQDM(values, file=open(os.devnull, "w")))  # noqa: SIM115  # as long as the process
        while True:
            order = [*PAIRS * ["plain", "watch"], "profiler", "stacks"]
            random.shuffle(order)
            block: dict[str, list[float]] = {side: [] for side in SIDES}
            for side in order:
                with self.entered(side):
                    began = 0
                    for step in range(SKIPPED + COUNTED):
                        if step == SKIPPED:
                            began = CLOCK()
                        value = next(following, None)
                        if value is None:
                            return
                        yield value
                    block[side].append((CLOCK() - began) / COUNTED / 1e6)
            self.blocks.append({side: statistics.median(found) for side, found in block.items()})
            if time.perf_counter() > self.until:
                raise Enough

    def entered(self, side: str) -> AbstractContextManager[object]:
        """What surrounds a turn."""
        cpu = [torch.profiler.ProfilerActivity.CPU]
        if side == "watch":
            return self.live
        if side == "profiler":
            return torch.profiler.profile(activities=cpu)
        if side == "stacks":
            return torch.profiler.profile(activities=cpu, record_shapes=True, with_stack=True)
        return contextlib.nullcontext()


CLOCK: Callable[[], int] = time.perf_counter_ns  # before a watch puts its own there
REAL_TQDM = tqdm.tqdm


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    turns = Turns(asked.seconds)
    run(turns)
    blocks, look = turns.blocks, look_ms(turns)
    if asked.results:
        with asked.results.open("a") as kept:
            kept.writelines(json.dumps(block) + "\n" for block in blocks)
        blocks = [json.loads(line) for line in asked.results.read_text().splitlines()]
    plain = statistics.median(block["plain"] for block in blocks)
    print(f"plain: {plain:.3f} ms a step ({len(blocks)} blocks of turns)")
    for side in list(SIDES)[1:]:
        ratios = [block[side] / block["plain"] for block in blocks]
        draws = sorted(statistics.median(random.Random(n).choices(ratios, k=len(ratios))) for n in range(2000))
        line = look / 1000 if side == "watch" else 0.0
        low, mid, high = (ratio - 1 + line for ratio in (draws[100], statistics.median(ratios), draws[1899]))
        more = f", of which {line:.2%} for the live line ({look:.2f} ms each)" if line else ""
        print(f"{SIDES[side]}: {mid:+.2%} of a step (90 % interval {low:+.2%} to {high:+.2%}){more}")


def run(turns: Turns) -> None:
    """The example's loop, with its bar replaced; ends when the time is up."""
    source = EXAMPLE.read_text(encoding="utf-8").replace('"cuda"', '"cpu"')
    module = types.ModuleType("__main__")
    module.__file__ = str(EXAMPLE)
    tqdm.tqdm = turns.rounds  # type: ignore[misc,assignment]  # the example imports it by this name
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Enough), contextlib.redirect_stdout(sys.stderr):
        os.chdir(folder)  # it writes a checkpoint
        try:
            exec(compile(source, str(EXAMPLE), "exec"), vars(module))
        finally:
            os.chdir(here)
            tqdm.tqdm = REAL_TQDM  # type: ignore[misc]  # as it was


def look_ms(turns: Turns) -> float:
    """What drawing the live line takes, from a full watch."""
    times = []
    for _ in range(50):
        began = CLOCK()
        turns.live.look()
        times.append(CLOCK() - began)
    return statistics.median(times) / 1e6


if __name__ == "__main__":
    main()
