"""A number of threads is cut to the cores that the process may use."""

from __future__ import annotations

import os
import re

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import expression
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.switches import import_change, module_name
from breakeven.remedies.edits.values import number
from breakeven.remedies.edits.variables import only_value

_SETTERS = ("torch.set_num_threads", "torch.set_num_interop_threads")
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_COUNTS = re.compile(r"cpu_count|sched_getaffinity")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`set_num_threads(64)` → `set_num_threads(min(64, cores))`, and the same in the environment's variables."""
    name = module_name(source, "os") or "os"
    cores = f"len({name}.sched_getaffinity(0))" if hasattr(os, "sched_getaffinity") else f"({name}.cpu_count() or 1)"
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.calls(*_SETTERS):
        if len(call.args) == 1 and sites.touch(source.span(call)) and _may_be_many(source, call.args[0].value):
            value = source.code(call.args[0].value)
            changes[call.args[0].value] = expression(f"min({value}, {cores})")
    for target in source.find(cst.AssignTarget):
        assign = source.parents[target]
        if not isinstance(assign, cst.Assign) or not _is_variable(source, target.target) or not sites.touch(source.span(assign)):
            continue
        literal = assign.value
        if (
            isinstance(literal, cst.SimpleString)
            and str(literal.evaluated_value).isdigit()
            and int(str(literal.evaluated_value)) > 1
        ):
            changes[literal] = expression(f"str(min({literal.evaluated_value!s}, {cores}))")
    if not changes:
        return Refused("the script asks for no number of threads that could exceed the cores")
    imported = import_change(source, "os")
    if imported is None:
        return Refused("the name 'os' stands for something else in this file")
    return source.changed({**changes, **imported})


def _may_be_many(source: Source, node: cst.BaseExpression) -> bool:
    """Whether a number of threads may exceed the cores: not 1, and not counted from the cores."""
    value = number(source, node)
    if value is not None:
        return value > 1
    return not _COUNTS.search(source.code(node)) and not _counted(source, node)


def _counted(source: Source, node: cst.BaseExpression) -> bool:
    value = only_value(source, node) if isinstance(node, cst.Name) else None
    return value is not None and bool(_COUNTS.search(source.code(value)))


def _is_variable(source: Source, target: cst.BaseExpression) -> bool:
    if not isinstance(target, cst.Subscript) or source.meaning(target.value) != "os.environ":
        return False
    index = target.slice[0].slice
    return (
        isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString) and index.value.evaluated_value in _VARIABLES
    )


EDIT = Edit(
    id="threads",
    promise="tolerance",
    tolerance=1e-4,
    apply=apply,
    safe_when="The script itself asks for a number of threads, and the number is not 1 and not counted from the cores.",
    unsafe_when="The cores are shared with other programs: then fewer threads than cores may be better still.",
    changes="Sums are split among fewer threads: results differ by rounding.",
)
