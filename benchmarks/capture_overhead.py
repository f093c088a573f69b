"""What the timing pass costs: a script under capture, against the same script with `cuda` replaced by `cpu`, in pairs.

    python benchmarks/capture_overhead.py [SCRIPT] [--pairs N] [--steps N]

Both sides run the script in a child each and read the clock at the same place: the optimizer's post-step hook. The reference has
that hook and nothing else. The two children of a pair run in turn, a slice each, while the other is stopped: a shared machine's
speed changes within seconds. Printed are the median of the pairs' ratios of the median step and its 90 % interval (bootstrap
over pairs).
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

import psutil

from breakeven.capture.request import CaptureRequest
from breakeven.capture.run import capture

Side = Callable[[Path, Path, int], float]
#: Length of a turn: some thirty steps, so that the step which a stop falls into does not move a median.
SLICE_S = 0.06

SMALL = """\
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift, self.rnn, self.head = nn.Linear(1, 8), nn.RNN(8, 256), nn.Linear(256, 1)

    def forward(self, x, h):
        y, h = self.rnn(self.lift(x), h)
        return self.head(y), h

device = torch.device('cuda')
torch.manual_seed(0)
series = torch.sin(torch.linspace(0, 60, 1700)).view(1, -1, 1).to(device)
net = Net().to(device)
adam = torch.optim.Adam(net.parameters(), lr=0.1, weight_decay=1e-5)
h = torch.zeros(1, 100, 256, device=device)
for i in range(1500):
    x, y = series[:, i:i + 100].to('cuda'), series[:, i + 1:i + 101]
    adam.zero_grad()
    out, h = net(x, h)
    h = h.detach()
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 10)
    adam.step()
    loss.item()
"""

REFERENCE = """\
import json, os, sys, time
from torch.optim.optimizer import register_optimizer_step_post_hook
times = []
def hook(*_):
    times.append(time.perf_counter_ns())
    if len(times) > {steps}:
        with open({out!r}, 'w') as handle:
            json.dump(times, handle)
        os._exit(0)
register_optimizer_step_post_hook(hook)
sys.argv = sys.argv[1:]
source = open(sys.argv[0]).read()
for a, b in (("'cuda'", "'cpu'"), ('"cuda"', '"cpu"'), ('.cuda()', '.cpu()')):
    source = source.replace(a, b)
exec(compile(source, sys.argv[0], 'exec'))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--steps", type=int, default=1000)
    asked = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        script = asked.script or Path(folder) / "small.py"
        if asked.script is None:
            script.write_text(SMALL)
        for pair in range(asked.pairs):
            found = in_turn([captured, plain], script.resolve(), Path(folder), asked.steps)
            ratios.append(found[0] / found[1])
            print(f"pair {pair}: capture {found[0]:.4f} ms, reference {found[1]:.4f} ms, ratio {ratios[-1]:.4f}", flush=True)
    draws = sorted(statistics.median(random.Random(n).choices(ratios, k=len(ratios))) for n in range(2000))
    low, high = draws[100], draws[1899]
    interval = f"90 % interval {low - 1:+.2%} to {high - 1:+.2%}, {len(ratios)} pairs"
    print(f"overhead: {statistics.median(ratios) - 1:+.2%} of a step ({interval})")


def in_turn(sides: list[Side], script: Path, folder: Path, steps: int) -> list[float]:
    """Run the sides at the same time, each only in every other slice, so that the machine's drift hits both alike."""
    with ThreadPoolExecutor(len(sides)) as pool:
        runs = [pool.submit(side, script, folder, steps) for side in sides]
        for turn in itertools.count():
            children = sorted(psutil.Process().children(), key=lambda child: child.pid)
            running = [child for child in children if len(children) < len(sides) or child is children[turn % len(children)]]
            for child in sorted(children, key=lambda child: child in running):  # stopped first, then the other goes on
                with suppress(psutil.NoSuchProcess):
                    child.resume() if child in running else child.suspend()
            if not wait(runs, timeout=SLICE_S).not_done:
                return [run.result() for run in runs]
    raise AssertionError("the turns never end")


def captured(script: Path, folder: Path, steps: int) -> float:
    """Median step under capture, in milliseconds."""
    result = capture(CaptureRequest(str(script), cwd=str(folder), steps=steps, passes=("cpu",), show_output=False))
    if result.cpu is None or result.cpu.principal is None:
        raise SystemExit(f"nothing was measured: {result.error()}")
    return statistics.median(result.cpu.principal.samples_ns[20:steps]) / 1e6


def plain(script: Path, folder: Path, steps: int) -> float:
    """Median step of the script with `cuda` replaced by `cpu`, in milliseconds."""
    out = folder / "times.json"
    code = REFERENCE.format(steps=steps, out=str(out))
    subprocess.run(
        [sys.executable, "-c", code, str(script)],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    times = json.loads(out.read_text())
    return statistics.median(b - a for a, b in itertools.pairwise(times[20:])) / 1e6


if __name__ == "__main__":
    main()
