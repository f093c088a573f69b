"""A loader whose batches are moved to a device pins them, and the moves no longer wait."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import dataset, is_on_device, loaders, moves
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, with_argument
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.switches import module_name


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`DataLoader(..., pin_memory=torch.cuda.is_available())` and `x.to(device, non_blocking=True)`."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loader whose batches are moved to a device here"
    for loader in loaders(source, sites):
        where = f"(line {source.line(loader)})"
        moved = moves(source, loader)
        if not moved:
            continue
        data = dataset(source, loader)
        if argument(loader, "collate_fn") is not None:
            reason = f"the loader collates in its own way {where}"
            continue
        if data is not None and is_on_device(source, data):
            reason = f"the data may be on the device already {where}"
            continue
        pinned = argument(loader, "pin_memory")
        if pinned is not None and source.code(pinned.value) not in ("True", "False"):
            reason = f"the script itself decides about pinned memory {where}"
        elif pinned is None or source.code(pinned.value) == "False":
            changes[loader] = with_argument("pin_memory", f"{torch}.cuda.is_available()")
        for call in moved:
            if argument(call, "non_blocking") is None and len(call.args) <= 1:
                changes[call] = with_argument("non_blocking", "True")
    return source.changed(changes) if changes else Refused(reason)


EDIT = Edit(
    id="pin_memory",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A loop moves the batches of a loader of this file, whose data are on the host and are collated by PyTorch.",
    unsafe_when="The host has little memory: pinned pages are not swapped out.",
    changes="No number.",
)
