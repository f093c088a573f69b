"""Which part of a step runs: inside the autograd engine, inside an optimizer's step, `zero_grad` or clipping, else forward.

What an optimizer calls back (`step(closure)`) is not the optimizer's: it is the part that the optimizer was called from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.marks import CUDA, PARAMETER
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
        there, recorder.backward_device = recorder.backward_device, _device_of(recorder, outputs)
        recorder.engine_run += 1
        if torch.is_anomaly_enabled():
            recorder.notes.here(facts.ANOMALY, "autograd's anomaly mode is on: every backward operation is checked for NaN")
        try:
            return real(outputs, *args, **kwargs)
        finally:
            recorder.phase, recorder.backward_device = before, there

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


def _device_of(recorder: Recorder, outputs: Any) -> int:  # Any: tensors or edges of the graph
    first = outputs[0] if isinstance(outputs, (list, tuple)) and outputs else outputs
    return CUDA if isinstance(first, torch.Tensor) and recorder.is_cuda(first) else 0


def _optimizer(patches: Patches, recorder: Recorder) -> None:
    phases: list[int] = []

    def outside(closure: Callable[[], Any]) -> Callable[[], Any]:  # Any: a loss
        @wraps(closure)
        def called() -> Any:  # Any: as above
            inside, recorder.phase = recorder.phase, phases[-1]
            try:
                return closure()
            finally:
                recorder.phase = inside

        return called

    def before(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> Any:  # Any: torch's hook protocol
        phases.append(recorder.phase)
        recorder.phase = OPTIMIZER
        if recorder.rows is not None:
            mark_parameters(recorder, (p for group in optimizer.param_groups for p in group["params"]))
            for state in optimizer.state.values():
                for value in state.values() if isinstance(state, dict) else ():
                    if isinstance(value, torch.Tensor):
                        recorder.marks.add(value, PARAMETER)
        own, *given = args
        closures = {name: outside(value) for name, value in kwargs.items() if name == "closure" and callable(value)}
        return (own, *(outside(one) if callable(one) else one for one in given)), {**kwargs, **closures}

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
