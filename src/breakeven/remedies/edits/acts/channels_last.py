"""The model keeps its images channels-last."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.models import models
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import after
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.switches import module_name

_CONVOLUTIONS = ("torch.nn.Conv2d", "torch.nn.ConvTranspose2d")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`model.to(memory_format=torch.channels_last)` after the model is made: convolutions hand the layout on."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    if any(node.attr.value == "channels_last" for node in source.find(cst.Attribute)):
        return Refused("the script uses channels_last already")
    if not source.calls(*_CONVOLUTIONS):
        return Refused("no two-dimensional convolution of torch.nn is made here")
    for call in (*source.methods("view", "stride", "as_strided", "view_as"), *source.calls("torch.as_strided")):
        return Refused(
            f"{source.code(call.func)} at line {source.line(call)} needs the layout as it is; reshape or flatten would not"
        )
    changes: dict[cst.CSTNode, Change] = {
        model.ready: after(source, f"{model.name}.to(memory_format={torch}.channels_last)\n") for model in models(source)
    }
    return source.changed(changes) if changes else Refused("no model is made and trained in one function here")


EDIT = Edit(
    id="channels_last",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="The model convolves images, and nothing in the file depends on the layout in memory.",
    unsafe_when="Modules from other files call `view` on images.",
    changes="Other kernels convolve: results differ by rounding.",
)
