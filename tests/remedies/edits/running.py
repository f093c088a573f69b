"""Runs many scripts in one child process, so that torch is imported once; each leaves its numbers in RESULT."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What the child runs: JSON in, a list of {"text", "eager"}; JSON out, a list of {"numbers", "error"}.
CHILD = """
import contextlib, io, json, os, random, sys, tempfile, traceback, warnings
import numpy as np
import torch
import torch.utils.data

warnings.simplefilter("ignore")
def flat(x):
    if isinstance(x, torch.Tensor):
        return flat(x.detach().double().tolist())
    if isinstance(x, dict):
        return flat(list(x.values()))
    if isinstance(x, (list, tuple)):
        return [n for part in x for n in flat(part)]
    return [float(x)]

compiled, whole = torch.nn.Module.compile, torch.compile
out = []
for job in json.load(sys.stdin):
    torch.set_num_threads(1); torch.set_flush_denormal(False); torch.set_default_dtype(torch.float32)
    torch.autograd.set_detect_anomaly(False); torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.benchmark = False
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    if job["eager"]:
        torch.nn.Module.compile = lambda self, **said: compiled(self, backend="eager")
        torch.compile = lambda function, **said: whole(function, backend="eager")
    else:
        torch.nn.Module.compile, torch.compile = compiled, whole
    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = torch._dynamo.config.trace_autograd_ops = False
    space = {"__name__": "__main__"}
    shown = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(shown):
        os.chdir(folder)
        try:
            exec(compile(job["text"], "script.py", "exec"), space)
            out.append({"numbers": [n.hex() for n in flat(space["RESULT"])], "error": None})
        except BaseException:
            out.append({"numbers": [], "error": traceback.format_exc(limit=-3)})
        os.chdir("/")
print("\\n" + json.dumps(out), file=sys.__stdout__)
"""


@dataclass(frozen=True)
class Ran:
    """What a script left: its numbers, or how it failed."""

    numbers: tuple[float, ...]
    error: str | None


def run(texts: Sequence[str], eager: bool = True) -> list[Ran]:
    """Run scripts one after the other in one process."""
    jobs = json.dumps([{"text": text, "eager": eager} for text in texts])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", CHILD], input=jobs, capture_output=True, text=True, cwd=Path.cwd(),
                          env=environment, timeout=3600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout.rsplit("\n", 2)[-2])
    return [Ran(tuple(float.fromhex(n) for n in one["numbers"]), one["error"]) for one in answers]
