"""What a remedy would save of a step on this machine's CPU, before it is tried.

The step is taken apart by its recording, scaled to the step that was measured without it. What a rewrite drops is saved; what it
puts in is timed here by itself (`measure/rehearse.py`). What it does not know: how the parts share caches and threads.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from breakeven.capture.proof.prove import optimizer_share
from breakeven.capture.request import CaptureRequest
from breakeven.measure.rehearse import Part, Rehearsed
from breakeven.remedies import REMEDIES
from breakeven.results import Interval
from breakeven.timeline import OpStream, edit, schema
from breakeven.units import NS_PER_MS

#: Seconds after which a rehearsal is given up.
PATIENCE_S: Final = 120.0
#: Remedies whose rewrite only drops rows, or puts recurrent calls in the place of others: what they leave can be timed.
DROPPING: Final = frozenset({"fuse_rnn", "metrics_on_device", "checkpoint_less", "debug_off", "no_empty_cache"})
#: Remedies after which nothing waits for the next batch; two of them save that once.
FEEDING: Final = frozenset({"loader_workers", "prefetch", "index_batches"})
_OPTIMIZERS: Final = frozenset(
    {"Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD", "Rprop", "Adafactor"}
)


@dataclass(frozen=True)
class CpuStep:
    """The measured step and its recording.

    Attributes:
        step_ms: measured.
        stream: recorded; None: nothing was.
        input_ns: wait for the next batch in a step; None: no loader was seen.
        threads: that PyTorch uses in the script.
        request: how the script is called; None: it is not to be run again.
    """

    step_ms: Interval
    stream: OpStream | None
    input_ns: float | None
    threads: int | None
    request: CaptureRequest | None = None


def cpu_gain(step: CpuStep, name: str, before: str, after: str, kept: Sequence[str]) -> Interval | None:
    """Milliseconds that a remedy saves of a step on the CPU; None: it cannot be said before it is tried.

    Args:
        step: the step as it is.
        name: the remedy.
        before: the script's text without it.
        after: and with it.
        kept: remedies that are already in.
    """
    if name in FEEDING:
        taken = FEEDING & set(kept)
        return None if step.input_ns is None else _around(step, 0.0 if taken else step.input_ns)
    if step.stream is None:
        return None
    if name == "fused_optimizer":
        return _of_optimizer(step, step.stream, before, after)
    return _of_rewrite(step, step.stream, name) if name in DROPPING else None


def _around(step: CpuStep, saved_ns: float) -> Interval:
    """A saving that is a part of the measured step: as uncertain as that."""
    mid = min(saved_ns / NS_PER_MS, step.step_ms.mid)
    return Interval(mid * step.step_ms.low / step.step_ms.mid, mid, mid * step.step_ms.high / step.step_ms.mid)


def _of_rewrite(step: CpuStep, stream: OpStream, name: str) -> Interval | None:
    rewrite = REMEDIES[name].rewrite
    if rewrite is None:
        return None
    rewritten = rewrite(stream)
    parts = _new_layers(rewritten)
    times = rehearsed(parts, step.threads) if parts else []
    if any(one is None for one in times):
        return None
    known = [one for one in times if one is not None]
    dropped = _total_ns(stream) - _total_ns(rewritten)
    scale = min(1.0, step.step_ms.mid * NS_PER_MS / _total_ns(stream)) if _total_ns(stream) > 0 else 0.0
    saved = _around(step, max(0.0, dropped * scale))
    low, mid, high = (sum(getattr(one, end) for one in known) / NS_PER_MS for end in ("low", "mid", "high"))
    return Interval(saved.low - high, saved.mid - mid, saved.high - low)


def _total_ns(stream: OpStream) -> float:
    """Known host and CPU time of a recorded step."""
    whole = np.nan_to_num(edit.host_ns(stream)).sum() + np.nan_to_num(edit.cpu_ns(stream)).sum()
    return float(whole) / max(1, stream.steps)


def _new_layers(stream: OpStream) -> list[Part]:
    """Recurrent calls of one step that were never timed: forward and backward of a layer are one part."""
    calls = edit.calls_of(stream)
    call, untimed = edit.column(stream, schema.ROW_CALL), np.isnan(edit.cpu_ns(stream))
    rows = np.flatnonzero(untimed & (edit.column(stream, schema.ROW_STEP) == 0))
    found = [calls[call[row]] for row in rows]
    forward = [c for c in found if c.op.startswith("cudnn::") and not c.op.endswith("_backward")]
    return [Part(c.op.removeprefix("cudnn::"), options=edit.values_of(c)) for c in forward]


def _of_optimizer(step: CpuStep, stream: OpStream, before: str, after: str) -> Interval | None:
    """The optimizer's measured share of the step, times what its other form saves of it on parameters of the recorded shapes.

    Both factors are ratios of times that were taken side by side, so that a machine whose speed changes does not matter.
    """
    shapes = parameter_shapes(stream)
    forms = _changed_optimizers(before, after)
    if not shapes or len(forms) != 1 or step.request is None:
        return None
    (name, old, new) = forms[0]
    was, becomes = rehearsed([Part("optimizer", name, options, shapes) for options in (old, new)], step.threads)
    share = optimizer_share(step.request)
    if was is None or becomes is None or share is None:
        return None
    saved = [max(-1.0, 1 - new_ns / old_ns) for new_ns, old_ns in _ends(becomes, was)]
    low, mid, high = (step.step_ms.mid * share * part for part in saved)
    return Interval(min(low, mid), mid, max(mid, high))


def _ends(above: Rehearsed, below: Rehearsed) -> tuple[tuple[float, float], ...]:
    return (above.high, below.mid), (above.mid, below.mid), (above.low, below.mid)


def parameter_shapes(stream: OpStream) -> tuple[tuple[int, ...], ...]:
    """Shapes of the parameters that the optimizer steps over, in one recorded step; empty: none was seen."""
    calls = edit.calls_of(stream)
    rows = (edit.phases(stream) == schema.Phase.OPTIMIZER) & (edit.column(stream, schema.ROW_STEP) == 0)
    mine = [calls[at] for at in edit.column(stream, schema.ROW_CALL)[rows]]
    together = [c for c in mine if c.op.startswith("aten::_foreach_") and edit.values_of(c).get("tensors")]
    if together:
        widest = max(together, key=lambda c: int(edit.values_of(c)["tensors"]))
        shapes: tuple[tuple[int, ...], ...] = widest.inputs[: int(edit.values_of(widest)["tensors"])]
        return shapes
    counts = Counter(c.op for c in mine if c.kind == schema.Kind.COMPUTE and c.op.endswith("_") and c.outputs)
    if not counts:
        return ()
    most = counts.most_common(1)[0][0]
    return tuple(c.outputs[0] for c in mine if c.op == most)


def _changed_optimizers(before: str, after: str) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:  # Any: literals
    """Constructors of optimizers whose form differs between two texts: class, options before, options after."""
    old, new = (_optimizers(text) for text in (before, after))
    if len(old) != len(new):
        return []
    return [(a[0], a[1], b[1]) for a, b in zip(old, new, strict=True) if a[0] == b[0] and a[1] != b[1]]


def _optimizers(text: str) -> list[tuple[str, dict[str, Any]]]:  # Any: literals
    """Each constructor of an optimizer with those of its arguments that are literals."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _OPTIMIZERS:
            options = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
            found.append((name, {"lr": 1e-3} | options))
    return found


def rehearsed(parts: Sequence[Part], threads: int | None) -> list[Rehearsed | None]:
    """Times of parts in a child process; None for those that could not be run."""
    limits = {"OMP_NUM_THREADS": str(threads)} if threads else {}
    call = [sys.executable, "-m", "breakeven.measure.rehearse"]
    try:
        done = subprocess.run(
            call,
            input=msgspec.json.encode(list(parts)),
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
            env=os.environ | limits,
        )
        return msgspec.json.decode(done.stdout, type=list[Rehearsed | None])
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return [None] * len(parts)
