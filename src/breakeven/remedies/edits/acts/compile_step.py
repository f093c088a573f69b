"""Forward, loss, backward and clipping become one function, which `torch.compile` makes one graph of."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.compiling import compiles, objection
from breakeven.remedies.edits.models import models
from breakeven.remedies.edits.outlining import Stretch, draws, gives, stretch, takes
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import replaced, statements
from breakeven.remedies.edits.source import Change, New, Source, with_changes
from breakeven.remedies.edits.switches import fresh, module_name
from breakeven.remedies.edits.values import made_by
from breakeven.remedies.edits.variables import variable

_BLANK = (cst.EmptyLine(indent=False),)
_RECURRENT = ("torch.nn.RNN", "torch.nn.LSTM", "torch.nn.GRU")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Take the lines around the one backward pass out of the loop, whatever line is asked about."""
    torch = module_name(source, "torch")
    if torch is None:
        return Refused("the file does not import torch under a name")
    if compiles(source):
        return Refused("the script compiles already")
    known, passes = models(source), source.methods("backward")
    if not known or len(passes) != 1:
        return Refused("no model is made and trained with one backward pass in one function here")
    against = next((said for model in known if (said := objection(source, model)) is not None), None)
    if against is not None:
        return Refused(against)
    random = draws(source)
    if random is not None:
        return Refused(f"compiled code draws other random numbers (line {source.line(random)})")
    found = stretch(source, passes[0], [model.name for model in known])
    if isinstance(found, str):
        return Refused(found)
    recurrent = source.calls(*_RECURRENT)
    if recurrent and not _one_time_step(source, found, recurrent):
        return Refused(f"the compiler unrolls a recurrent layer over its time steps (line {source.line(recurrent[0])})")
    return _outlined(source, torch, found, bool(recurrent))


def _one_time_step(source: Source, found: Stretch, layers: list[cst.Call]) -> bool:
    """Whether the layers see one time step in each call: the input gets its time dimension by `unsqueeze`."""
    first = [arg.keyword is None and "batch_first" not in source.code(arg) for call in layers for arg in call.args[:1]]
    dimension = {"1" if "batch_first=True" in source.code(call).replace(" ", "") else "0" for call in layers}
    if len(dimension) != 1 or not all(first):
        return False
    wanted = f".unsqueeze({dimension.pop()})"
    for call in source.find(cst.Call, found.lines[0]):
        if not (isinstance(call.func, cst.Name) and made_by(source, call.func) and call.args):
            continue
        given = call.args[0].value
        stores = variable(source, given) if isinstance(given, cst.Name) else None
        if stores is None:
            return source.code(given).endswith(wanted)
        return all(source.code(source.statement(store)).split("#")[0].rstrip().endswith(wanted) for store in stores.stores)
    return False


def _outlined(source: Source, torch: str, found: Stretch, recurrent: bool) -> Edited | Refused:
    taken, given = takes(source, found), gives(source, found)
    if isinstance(taken, str):
        return Refused(taken)
    if isinstance(given, str):
        return Refused(given)
    name = fresh(source, "forward_and_backward")
    arguments = ", ".join([*found.lifted.values(), *taken])
    head = f"{torch}._dynamo.config.trace_autograd_ops = True  # backward() within compiled code\n"
    head += f"{torch}._dynamo.config.allow_rnn = True\n" if recurrent else ""
    inner = {node: replaced(cst.Name(word)) for node, word in found.replacements(source).items()}
    lines = [with_changes(line, inner) for line in found.lines]
    back = statements(source, f"return {', '.join(given.values())}")
    new = statements(source, f"{head}@{torch}.compile\ndef {name}({', '.join([*found.lifted, *taken])}):\n    pass\n")
    function = new[-1]
    assert isinstance(function, cst.FunctionDef)
    assert isinstance(function.body, cst.IndentedBlock)
    body = function.body.with_changes(body=[*lines, *back])
    top = isinstance(source.parents[found.outermost], cst.Module)
    new[-1] = function.with_changes(body=body, leading_lines=_BLANK * (2 if top else 1))
    call = statements(source, f"{', '.join(given)} = {name}({arguments})")
    changes: dict[cst.CSTNode, Change] = {line: lambda _: cst.RemoveFromParent() for line in (*found.lines, *found.kept)}
    first = min((*found.lines, *found.kept), key=source.line)
    changes[first] = lambda _: cst.FlattenSentinel([*found.kept, *call])
    changes[found.outermost] = _under(new, top)
    note = "The first steps take longer while the step is compiled: seconds to a minute. PyTorch 2.13 has the switch for it."
    return source.changed(changes, note)


def _under(new: list[cst.SimpleStatementLine | cst.BaseCompoundStatement], top: bool) -> Change:
    """Put lines before a loop, which keeps its comments."""

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For | cst.While)
        head = new[0].with_changes(leading_lines=_BLANK)
        comments = [line for line in node.leading_lines if line.comment is not None]
        loop = node.with_changes(leading_lines=[*_BLANK * (2 if top else 1), *comments])
        return cst.FlattenSentinel([head, *new[1:], loop])

    return change


EDIT = Edit(
    id="compile_step",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="Between the model's call and the backward pass a loop only computes with tensors, the model draws nothing at "
    "random, and a recurrent layer sees one time step in each call.",
    unsafe_when="PyTorch is older than the switch `torch._dynamo.config.trace_autograd_ops` (2.13 has it), there is no C++ "
    "compiler, shapes change all the time, or the run is short.",
    changes="Joined operations round otherwise. What the lines hand back has no graph.",
)
