"""What the timing pass costs: a script under capture, against the same script with `cuda` replaced by `cpu`, in pairs.

    python benchmarks/capture_overhead.py [SCRIPT] [--pairs N] [--steps N]

Both sides run the script in a child each, one after another, in turn, and read the clock at the same place: the optimizer's
post-step hook. The reference has that hook and nothing else. Printed are the median of the pairs' ratios of the median step and
its 90 % interval (bootstrap over pairs).
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
from pathlib import Path

from breakeven.capture.request import CaptureRequest
from breakeven.capture.run import capture

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
    parser.add_argument("--steps", type=int, default=300)
    asked = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        script = asked.script or Path(folder) / "small.py"
        if asked.script is None:
            script.write_text(SMALL)
        for pair in range(asked.pairs):
            sides = [("capture", captured), ("reference", plain)]
            found = {}
            for name, side in sides if pair % 2 else sides[::-1]:
                found[name] = side(script.resolve(), Path(folder), asked.steps)
            ratios.append(found["capture"] / found["reference"])
            print(
                f"pair {pair}: capture {found['capture']:.4f} ms, reference {found['reference']:.4f} ms, ratio {ratios[-1]:.4f}",
                flush=True,
            )
    draws = sorted(statistics.median(random.Random(n).choices(ratios, k=len(ratios))) for n in range(2000))
    low, high = draws[100], draws[1899]
    interval = f"90 % interval {low - 1:+.2%} to {high - 1:+.2%}, {len(ratios)} pairs"
    print(f"overhead: {statistics.median(ratios) - 1:+.2%} of a step ({interval})")


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
