"""A CPU tensor meets a cuda one: CUDA's own error, or (repair) noted with its line and gone on as if it had been moved."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.calls import DEVICE, tensors
from breakeven.capture.virtual.marks import CUDA
from breakeven.capture.virtual.plans import Plan
from breakeven.operands import Operand, in_words, operands

if TYPE_CHECKING:
    from breakeven.capture.virtual.recorder import Recorder


def meet(recorder: Recorder, plan: Plan, args: Any, kwargs: Any) -> None:  # Any: any operation
    """Handle an operation that mixes devices where CUDA does not allow it.

    Raises:
        RuntimeError: CUDA's error, unless the session repairs or lifts.
    """
    kwargs = kwargs or {}
    strays = [t for t in tensors(args) + tensors(kwargs.values()) if not recorder.is_cuda(t) and (t.dim() or plan.strict)]
    if recorder.move is not None:
        for stray in strays:
            recorder.move(stray)
        return
    note(recorder, plan.name, strays, message(recorder, plan, args, kwargs))
    for stray in strays:
        began = recorder.last
        recorder.copied("h2d", stray, pinned=False, non_blocking=False, began=began)
    if plan.in_place and strays and strays[0] is args[0]:
        recorder.marks.add(args[0], CUDA)


def note(recorder: Recorder, name: str, strays: list[torch.Tensor], text: str) -> None:
    """Note a mismatch, or raise it.

    Raises:
        RuntimeError: with `text`, unless the session repairs.
    """
    shapes = [list(s.shape) for s in strays]
    found = _operands(recorder)
    recorder.notes.here(
        facts.DEVICE_MISMATCH, f"{name} was given a tensor on the CPU and one on {DEVICE}: {text.splitlines()[0]}",
        op=name, shapes=shapes, error=text, operands=in_words(found),
        made=[[one.file, one.line, one.text] for one in found if one.device == "cpu" and one.line is not None],
    )  # fmt: skip
    if not recorder.repair:
        raise RuntimeError(text)


def _operands(recorder: Recorder) -> tuple[Operand, ...]:
    """The names on the user's line that is running, and where each got its tensor."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not recorder.sites.is_users(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return ()

    def placed(thing: object) -> str | None:
        if isinstance(thing, torch.nn.Module):
            thing = next(iter((*thing.parameters(), *thing.buffers())), None)
        if not isinstance(thing, torch.Tensor):
            return None
        return DEVICE if recorder.is_cuda(thing) else "cpu"

    return operands(frame, frame.f_lineno, placed, recorder.sites.is_users_file)


def message(recorder: Recorder, plan: Plan, args: Any, kwargs: dict[str, Any]) -> str:  # Any: any operation
    """The words of CUDA's error (as torch 2.13 has them) for this operation."""
    name = plan.name.removeprefix("aten::")
    if name == "convolution":
        kinds = ["cuda." if recorder.is_cuda(t) else "" for t in args[:2]]
        return f"Input type (torch.{kinds[0]}FloatTensor) and weight type (torch.{kinds[1]}FloatTensor) should be the same" + (
            " or input should be a MKLDNN tensor and weight is a dense tensor" if not kinds[0] else ""
        )
    named = list(zip((a.name for a in plan.func._schema.arguments), args, strict=False)) + list(kwargs.items())
    placed = [
        (argument, DEVICE if recorder.is_cuda(t) else "cpu") for argument, value in named for t in tensors((value,)) if t.dim()
    ]
    first = placed[0][1] if placed else DEVICE
    other = next((argument for argument, device in placed if device != first), "other")
    if torch.Tag.pointwise in plan.func.tags:
        return "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    where = DEVICE if first == "cpu" else "cpu"
    return (
        f"Expected all tensors to be on the same device, but got {other} is on {where}, different from other tensors on {first} "
        f"(when checking argument in method wrapper_CUDA_{name})"
    )
