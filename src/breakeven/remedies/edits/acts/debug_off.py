"""Anomaly detection and synchronous debugging that were left on go."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import gone
from breakeven.remedies.edits.source import Change, New, Source

_SWITCHES = (
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.anomaly_mode.set_detect_anomaly",
    "torch.cuda.set_sync_debug_mode",
)
_CONTEXTS = (
    *_SWITCHES[:2], "torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly",
    "torch.autograd.profiler.emit_nvtx", "torch.autograd.profiler.profile", "torch.autograd.profiler.record_function",
)  # fmt: skip


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Take out switches that are written as on, unwrap `with` blocks, and drop CUDA_LAUNCH_BLOCKING."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no debugging is left on here"
    everywhere = Sites(None) if _is_switch_far_away(source, sites) else sites
    for call in source.calls(*_SWITCHES):
        line = source.statement(call)
        if not isinstance(line, cst.SimpleStatementLine) or not everywhere.touch(source.span(line)):
            continue
        if not call.args or source.code(call.args[0].value) not in ("True", "1", "2", "'warn'", '"warn"', "'error'", '"error"'):
            reason = f"the script itself decides about debugging (line {source.line(call)})" if call.args else reason
            continue
        if len(line.body) == 1 and isinstance(line.body[0], cst.Expr):
            changes |= gone(source, line)
    for block in source.find(cst.With):
        calls = [
            item.item for item in block.items if isinstance(item.item, cst.Call) and source.meaning(item.item.func) in _CONTEXTS
        ]
        calls = [call for call in calls if not call.args or source.code(call.args[0].value) not in ("False", "0")]
        if not calls or not everywhere.touch((source.line(block), source.line(block))):
            continue
        if any(item.item in calls and item.asname is not None for item in block.items):
            reason = f"the profile is used later (line {source.line(block)})"
        elif len(calls) < len(block.items):
            changes[block] = _without_items(calls)
        elif source.block(block) is not None and isinstance(block.body, cst.IndentedBlock):
            changes[block] = _unwrapped
    for target in source.find(cst.AssignTarget):
        if "CUDA_LAUNCH_BLOCKING" in source.code(target.target) and everywhere.touch(source.span(target)):
            assign = source.parents[target]
            line = source.statement(target)
            on = isinstance(assign, cst.Assign) and source.code(assign.value) in ("'1'", '"1"')
            if on and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
                changes |= gone(source, line)
    return source.changed(changes) if changes else Refused(reason)


def _is_switch_far_away(source: Source, sites: Sites) -> bool:
    """Whether the lines asked about are steps that pay for a switch set elsewhere: no line of a switch is among them."""
    lines = [source.span(source.statement(call)) for call in source.calls(*_SWITCHES, *_CONTEXTS)]
    return not sites.touch(*((first, first) for first, _ in lines))


def _unwrapped(node: cst.CSTNode) -> New:
    """The lines of a block without the `with` around them."""
    assert isinstance(node, cst.With)
    first, *rest = node.body.body
    leading = first.leading_lines if isinstance(first, cst.SimpleStatementLine | cst.For | cst.While | cst.With | cst.If) else ()
    return cst.FlattenSentinel([first.with_changes(leading_lines=[*node.leading_lines, *leading]), *rest])


def _without_items(calls: list[cst.Call]) -> Change:
    codes = {cst.Module([]).code_for_node(call) for call in calls}

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.With)
        kept = [item for item in node.items if cst.Module([]).code_for_node(item.item) not in codes]
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return node.with_changes(items=kept)

    return change


EDIT = Edit(
    id="debug_off",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="Debugging is switched on by a literal, on a line or in a `with` of its own, and its result is not used.",
    unsafe_when="The script counts on the error that anomaly detection raises at the first NaN.",
    changes="No number. A NaN no longer stops the script.",
)
