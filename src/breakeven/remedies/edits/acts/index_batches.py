"""A loader over tensors in memory fetches whole batches by index instead of row by row."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import loaders, origin
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, before
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.switches import fresh, module_name
from breakeven.remedies.edits.variables import variable

_DATA = "torch.utils.data."
_GONE = ("batch_size", "shuffle", "sampler", "drop_last", "batch_sampler")
_KNOWN = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`DataLoader(d, batch_size=None, sampler=BatchSampler(RandomSampler(d), n, False))`: the same batches in the same order."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loader over a TensorDataset here"
    for loader in loaders(source, sites):
        args = _named(loader)
        if args is None or "dataset" not in args or not _is_in_memory(source, args["dataset"]):
            continue
        objection = _objection(source, loader, args)
        if objection is None:
            data = source.code(args["dataset"])
            if not isinstance(args["dataset"], cst.Name):
                name, data = data, fresh(source, "dataset", "rows")
                line = source.statement(loader)
                if source.block(line) is None or line in changes:
                    continue
                changes[line] = before(source, f"{data} = {name}\n")
            changes[loader] = _rewritten(source, args, data, torch)
        else:
            reason = f"the loader at line {source.line(loader)} stays: {objection}"
    return source.changed(changes) if changes else Refused(reason)


def _named(loader: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """The arguments by name."""
    found: dict[str, cst.BaseExpression] = {}
    for index, arg in enumerate(loader.args):
        if arg.star or (arg.keyword is None and index >= len(_KNOWN)):
            return None
        found[arg.keyword.value if arg.keyword is not None else _KNOWN[index]] = arg.value
    return found


def _is_in_memory(source: Source, node: cst.BaseExpression, depth: int = 4) -> bool:
    """Whether a data set is a TensorDataset, or a part of one."""
    made = origin(source, node)
    if not isinstance(made, cst.Call) or depth == 0:
        return False
    name = source.meaning(made.func)
    if name == _DATA + "TensorDataset":
        return not any(arg.star for arg in made.args)
    if name in (_DATA + "random_split", _DATA + "Subset"):
        part = argument(made, "dataset", 0)
        return part is not None and _is_in_memory(source, part.value, depth - 1)
    return False


def _objection(source: Source, loader: cst.Call, args: dict[str, cst.BaseExpression]) -> str | None:
    if "collate_fn" in args or "batch_sampler" in args:
        return "it collates or samples in its own way"
    if "batch_size" in args and source.code(args["batch_size"]) == "None":
        return "it fetches whole batches already"
    if "batch_size" not in args:
        return "its batches hold one row"
    if "generator" in args and not isinstance(args["generator"], cst.Name):
        return "its generator has no name"
    for word in ("shuffle", "drop_last"):
        if word in args and source.code(args[word]) not in ("True", "False"):
            return f"{word} is decided at run time"
    statement = source.statement(loader)
    for name in source.find(cst.Name, statement):
        found = variable(source, name) if isinstance(source.parents[name], cst.AssignTarget) else None
        for load in found.loads if found is not None else ():
            above = source.parents[load]
            if isinstance(above, cst.Attribute) and above.value is load and above.attr.value != "dataset":
                return f"its {above.attr.value} is asked for (line {source.line(load)})"
    return None


def _rewritten(source: Source, args: dict[str, cst.BaseExpression], data: str, torch: str) -> Change:
    shuffled = "shuffle" in args and source.code(args["shuffle"]) == "True"
    generator = f", generator={source.code(args['generator'])}" if "generator" in args and shuffled else ""
    space = f"{torch}.utils.data"
    order = f"{space}.RandomSampler({data}{generator})" if shuffled else f"{space}.SequentialSampler({data})"
    if "sampler" in args and source.code(args["sampler"]) != "None":
        order = source.code(args["sampler"])
    last = source.code(args["drop_last"]) if "drop_last" in args else "False"
    kept = [f"{word}={source.code(value)}" for word, value in args.items() if word not in (*_GONE, "dataset")]
    sampler = f"sampler={space}.BatchSampler({order}, {source.code(args['batch_size'])}, {last})"
    code = ", ".join([data, "batch_size=None", sampler, *kept])

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Call)
        made = cst.parse_expression(f"x({code})")
        assert isinstance(made, cst.Call)
        return node.with_changes(args=made.args, whitespace_before_args=cst.SimpleWhitespace(""))

    return change


EDIT = Edit(
    id="index_batches",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="The data set is a TensorDataset of this file or a part of one, and PyTorch itself samples and collates.",
    unsafe_when="The loader is handed to code that asks for its batch size.",
    changes="No number: the same rows in the same order.",
)
