"""`torch.compile` and `torch.jit`: run and recorded as eager code, and said so."""

from __future__ import annotations

from typing import Any

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch the ways into a compiler."""
    notes = recorder.notes

    def say(name: str) -> None:
        notes.here(facts.COMPILE, f"{name} is recorded as eager code: a compiled step launches fewer kernels", op=name)
        notes.warn(f"{name} is recorded as eager code: a compiled step launches fewer kernels.")

    def compile_(model: Any = None, **options: Any) -> Any:  # Any: module or function; torch's options
        say("torch.compile")
        return (lambda found: found) if model is None else model

    def script(obj: Any = None, *_: Any, **__: Any) -> Any:  # Any: module, class or function
        say("torch.jit.script")
        return (lambda found: found) if obj is None else obj

    def trace(func: Any = None, *_: Any, **__: Any) -> Any:  # Any: module or function
        say("torch.jit.trace")
        return (lambda found: found) if func is None else func

    patches.set(torch, "compile", compile_)
    patches.set(torch.nn.Module, "compile", lambda self, *_, **__: say("Module.compile"))
    patches.set(torch.jit, "script", script)
    patches.set(torch.jit, "trace", trace)
    patches.set(torch.jit, "freeze", lambda module, *_, **__: module)
    patches.set(torch.jit, "optimize_for_inference", lambda module, *_, **__: module)
