"""`torch.backends.cudnn.benchmark = True` where images are convolved in one shape."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import expression
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.switches import switched_on

_CONVOLUTIONS = tuple(f"torch.nn.{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3))
_RANDOM_SIZES = ("random.randint", "random.choice", "random.randrange", "numpy.random.randint", "numpy.random.choice")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Set the switch, or turn a written False to True. It holds for the whole script."""
    if not source.calls(*_CONVOLUTIONS):
        return Refused("no convolution of torch.nn is made here")
    if source.calls("torch.use_deterministic_algorithms") or source.calls("torch.backends.cudnn.flags"):
        return Refused("the script asks for deterministic algorithms")
    if source.calls(*_RANDOM_SIZES):
        return Refused("sizes may be drawn at random, and each new shape would be tried anew")
    changes: dict[cst.CSTNode, Change] = {}
    for target in source.find(cst.AssignTarget):
        name, assign = source.meaning(target.target), source.parents[target]
        if name == "torch.backends.cudnn.deterministic":
            return Refused("the script asks for deterministic algorithms")
        if name == "torch.backends.cudnn.benchmark" and isinstance(assign, cst.Assign):
            if source.code(assign.value) != "False":
                return Refused("the script sets the switch itself")
            changes[assign.value] = expression("True")
    if changes:
        return source.changed(changes)
    return switched_on(source, "{torch}.backends.cudnn.benchmark = True")


EDIT = Edit(
    id="benchmark_on",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="Convolutions of torch.nn, no request for deterministic algorithms, no sizes drawn at random.",
    unsafe_when="Shapes change from step to step in a way that the source does not show.",
    changes="Another algorithm of cuDNN may round otherwise, and differ from run to run; nothing on the CPU.",
)
