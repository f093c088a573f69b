"""Which part of a step runs: inside the autograd engine, inside an optimizer's step, `zero_grad` or clipping, else forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.marks import PARAMETER
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder
from breakeven.capture.virtual.rows import BACKWARD, OPTIMIZER


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch the ways into backward and into the optimizer."""
    _backward(patches, recorder)
    _optimizer(patches, recorder)
    for module in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            patches.set(module, name, in_optimizer(recorder, getattr(module, name), marks_gradients=True))


def _backward(patches: Patches, recorder: Recorder) -> None:
    real = torch.autograd.graph._engine_run_backward

    def engine(outputs: Any, *args: Any, **kwargs: Any) -> Any:  # Any: torch's own
        before, recorder.phase = recorder.phase, BACKWARD
        recorder.engine_run += 1
        if torch.is_anomaly_enabled():
            recorder.notes.here(facts.ANOMALY, "autograd's anomaly mode is on: every backward operation is checked for NaN")
        try:
            return real(outputs, *args, **kwargs)
        finally:
            recorder.phase = before

    real_seed = torch.autograd._make_grads

    def seed(*args: Any, **kwargs: Any) -> Any:  # Any: torch's own
        before, recorder.phase = recorder.phase, BACKWARD
        try:
            return real_seed(*args, **kwargs)
        finally:
            recorder.phase = before

    patches.set(torch.autograd, "_make_grads", seed)
    patches.set(torch.autograd.graph, "_engine_run_backward", engine)
    patches.set(torch.autograd, "_engine_run_backward", engine)
    if hasattr(torch.utils.checkpoint, "_engine_run_backward"):
        patches.set(torch.utils.checkpoint, "_engine_run_backward", engine)


def _optimizer(patches: Patches, recorder: Recorder) -> None:
    phases: list[int] = []

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:  # Any: torch's hook protocol
        phases.append(recorder.phase)
        recorder.phase = OPTIMIZER
        if recorder.rows is not None:
            mark_parameters(recorder, (p for group in optimizer.param_groups for p in group["params"]))

    def after(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:  # Any: torch's hook protocol
        if phases:
            recorder.phase = phases.pop()

    pre = register_optimizer_step_pre_hook(before)
    post = register_optimizer_step_post_hook(after)
    patches.on_undo(pre.remove)
    patches.on_undo(post.remove)
    for cls in (torch.optim.Optimizer, torch.nn.Module):
        patches.set(cls, "zero_grad", in_optimizer(recorder, cls.zero_grad))


def mark_parameters(recorder: Recorder, parameters: Iterable[torch.Tensor]) -> None:
    """Mark parameters and their gradients: their shapes do not grow with the batch."""
    add = recorder.marks.add
    for parameter in parameters:
        add(parameter, PARAMETER)
        if parameter.grad is not None:
            add(parameter.grad, PARAMETER)


def in_optimizer(
    recorder: Recorder, real: Callable[..., Any], *, marks_gradients: bool = False
) -> Callable[..., Any]:  # Any: any function
    """A function whose operations belong to the optimizer's phase."""

    @wraps(real)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # Any: as above
        before, recorder.phase = recorder.phase, OPTIMIZER
        if marks_gradients and recorder.rows is not None and args:
            parameters = [args[0]] if isinstance(args[0], torch.Tensor) else list(args[0])
            args = (parameters, *args[1:])
            mark_parameters(recorder, parameters)
        try:
            return real(*args, **kwargs)
        finally:
            recorder.phase = before

    return wrapper
