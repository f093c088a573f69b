"""The device is the CPU, wherever the script says CUDA."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, expression, gone, without_argument
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.values import is_device

_ONLY_CUDA = (
    "torch.cuda.amp.", "torch.amp.", "torch.cuda.Event", "torch.cuda.Stream", "torch.cuda.CUDAGraph", "torch.cuda.graph",
              "torch.autocast", "torch.distributed.", "torch.nn.parallel.", "torch.nn.DataParallel")  # fmt: skip
_QUERIES = ("torch.cuda.synchronize", "torch.cuda.empty_cache", "torch.cuda.reset_peak_memory_stats")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Change every place that names a CUDA device: half a change would leave tensors on two devices."""
    for call in source.find(cst.Call):
        name = source.meaning(call.func) or ""
        if name.startswith(_ONLY_CUDA):
            return Refused(f"the script uses {source.code(call.func)} (line {source.line(call)}), which is for GPUs")
    changes: dict[cst.CSTNode, Change] = {}
    for choice in source.find(cst.IfExp):
        if is_device(source, choice) and "cuda" in source.code(choice):
            changes[choice] = expression(_quoted(source, choice))
    for text in source.find(cst.SimpleString):
        if str(text.evaluated_value).split(":")[0] != "cuda" or any(source.holds(one, text) for one in changes):
            continue
        if not _is_used_as_device(source, text):
            return Refused(f"it is not clear what the text {text.value} is for (line {source.line(text)})")
        changes[text] = expression(text.quote + "cpu" + text.quote)
    for call in source.methods("cuda"):
        changes[call] = _to_cpu
    if not changes:
        return Refused("no CUDA device is named here")
    for call in source.calls(*_QUERIES):
        line = source.statement(call)
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and isinstance(line.body[0], cst.Expr):
            changes |= gone(source, line)
    for call in source.calls("torch.utils.data.DataLoader"):
        pinned = argument(call, "pin_memory")
        if pinned is not None and source.code(pinned.value) == "True":
            changes[call] = without_argument("pin_memory")
    return source.changed(changes)


def _quoted(source: Source, choice: cst.CSTNode) -> str:
    """The text 'cpu' in the quotes that the expression uses, or as a device where its branches are devices."""
    quote = '"' if '"' in source.code(choice) else "'"
    text = f"{quote}cpu{quote}"
    first = next(source.find(cst.Call, choice.body), None) if isinstance(choice, cst.IfExp) else None
    return f"{source.code(first.func)}({text})" if first is not None and source.meaning(first.func) == "torch.device" else text


def _is_used_as_device(source: Source, text: cst.SimpleString) -> bool:
    """Whether a text is a device: given to torch.device, `.to`, `device=`, `default=`, or bound to a name that is."""
    above = source.parents[text]
    if isinstance(above, cst.Arg):
        call = source.parents[above]
        if not isinstance(call, cst.Call):
            return False
        keyword = above.keyword.value if above.keyword is not None else ""
        if keyword in ("device", "map_location", "default"):
            return True
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        return source.meaning(call.func) == "torch.device" or method in ("to", "set_default_device", "to_empty")
    if isinstance(above, cst.AssignTarget | cst.Assign):
        return True
    if isinstance(above, cst.Param):
        return above.name.value in ("device", "dev")
    if isinstance(above, cst.Element):
        row = source.parents[above]
        return isinstance(row, cst.Tuple | cst.List) and isinstance(source.parents[row], cst.Assign)
    return isinstance(above, cst.Comparison)


def _to_cpu(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.with_changes(func=node.func.with_changes(attr=cst.Name("cpu")), args=[])


EDIT = Edit(
    id="use_cpu",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="Every place that names CUDA is a device, and the script uses no mixed precision, streams, events or distribution.",
    unsafe_when="The device comes from the command line or from another file: it stays as it is there.",
    changes="The CPU rounds otherwise than a GPU, and draws other random numbers from the same seed.",
)
