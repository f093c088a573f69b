"""The error of tensors that meet on two devices: its line, the names on it, and where each of them was made."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Final

from breakeven.operands import Operand, in_words, operands
from breakeven.results.records import Finding, Site

#: What PyTorch says where tensors of two devices meet: operations of two tensors; products; convolutions; recurrent layers;
#: indices; Apple's devices.
_MEET: Final = re.compile(
    r"to be on the same device|is not on the expected device|Input type \(.*\) and weight type \(.*\) should be the same"
    r"|are not at the same device|either on cpu or on the same device|Placeholder storage has not been allocated on MPS"
)


def meeting(error: BaseException, device: str, is_users: Callable[[str], bool]) -> Finding | None:
    """The finding that an error is; None: it is another error.

    Args:
        error: that left the loop, with its traceback.
        device: that the steps run on.
        is_users: whether a file is the user's own.
    """
    said = str(error).splitlines()[0] if str(error) else ""
    if not _MEET.search(str(error)):
        return None
    steps = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if is_users(frame.f_code.co_filename)]
    if not steps:
        return Finding("device_mismatch", device, "other", None, said, (), ("move_to_device",))
    frame, line = steps[-1]
    found = operands(frame, line, device_of, is_users)
    told = in_words(found)
    sites = (
        _site(frame.f_code.co_filename, line),
        *(_site(one.file, one.line) for one in _strays(found) if one.file and one.line),
    )
    sentence = f"Tensors of two devices meet: {told}. PyTorch says: {said}" if told else said
    return Finding("device_mismatch", device, "other", None, sentence, tuple(dict.fromkeys(sites)), ("move_to_device",))


def device_of(thing: object) -> str | None:
    """Where a tensor lies, or a module by the first of its parameters or buffers."""
    import torch

    if isinstance(thing, torch.Tensor):
        return str(thing.device)
    if isinstance(thing, torch.nn.Module):
        first = next(iter((*thing.parameters(), *thing.buffers())), None)
        return None if first is None else str(first.device)
    return None


def _strays(found: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Those that lie elsewhere than on the accelerator that has most of them; without an accelerator, elsewhere than most."""
    counts = {one.device: sum(other.device == one.device for other in found) for one in found}
    if len(counts) < 2:
        return ()
    most = max(counts, key=lambda device: (device != "cpu", counts[device]))
    return tuple(one for one in found if one.device != most)


def _site(file: str, line: int) -> Site:
    import linecache

    return Site(file, line, linecache.getline(file, line).strip())
