"""The clock is read after the device has done its work."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import before
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.switches import module_name
from breakeven.remedies.edits.variables import bound

_CLOCKS = (
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.perf_counter_ns",
    "time.time_ns",
    "time.process_time",
    "timeit.default_timer",
)


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Put a synchronise before each line that starts or stops a stopwatch around work."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    starts = _starts(source)
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.calls(*_CLOCKS):
        line = source.statement(call)
        if not isinstance(line, cst.SimpleStatementLine) or source.block(line) is None or _is_synchronised(source, line):
            continue
        own = {name for name, at in starts.items() if at is line or any(n.value == name for n in source.find(cst.Name, line))}
        related = [source.statement(c) for c in source.calls(*_CLOCKS) if own & _names(source, source.statement(c))]
        if own and sites.touch(*(source.span(one) for one in related)):
            changes[line] = before(source, f"if {torch}.cuda.is_available():\n    {torch}.cuda.synchronize()\n")
    return source.changed(changes) if changes else Refused("no stopwatch runs without a synchronise here")


def _starts(source: Source) -> dict[str, cst.CSTNode]:
    """The names that a reading of the clock is bound to and that is subtracted later, with the line."""
    found: dict[str, cst.CSTNode] = {}
    for call in source.calls(*_CLOCKS):
        for name in source.find(cst.Name, source.statement(call)):
            if isinstance(source.parents[name], cst.AssignTarget | cst.Element) and bound(source, name) is call:
                found[name.value] = source.statement(call)
    taken = {
        n.value
        for one in source.find(cst.BinaryOperation)
        if isinstance(one.operator, cst.Subtract)
        for n in source.find(cst.Name, one)
    }
    return {name: line for name, line in found.items() if name in taken}


def _names(source: Source, node: cst.CSTNode) -> set[str]:
    return {name.value for name in source.find(cst.Name, node)}


def _is_synchronised(source: Source, line: cst.SimpleStatementLine) -> bool:
    """Whether the line before waits for the device already, or reads from it."""
    block = source.block(line)
    assert block is not None
    place = list(block.body).index(line)
    if place == 0:
        return False
    earlier = block.body[place - 1]
    waits = source.methods("synchronize", within=earlier) or source.methods("item", "tolist", within=earlier)
    return bool(waits) and not isinstance(earlier, cst.For | cst.While)


EDIT = Edit(
    id="synchronise",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A reading of the clock is bound to a name and subtracted later.",
    unsafe_when="The stopwatch stands in the step itself: waiting there costs time, and belongs in a measurement only.",
    changes="No number of the training; the times that the script shows become true.",
)
