"""A loop over an nn.LSTMCell, GRUCell or RNNCell becomes one call of nn.LSTM, GRU or RNN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import statements
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.switches import fresh, module_name
from breakeven.remedies.edits.time_loops import time_slices, trains
from breakeven.remedies.edits.values import made_by
from breakeven.remedies.edits.variables import bound, inside, names, variable

_LAYERS = {"torch.nn.LSTMCell": "LSTM", "torch.nn.GRUCell": "GRU", "torch.nn.RNNCell": "RNN"}
_POINTWISE = ("torch.nn.Linear", "torch.nn.Embedding", "torch.nn.ReLU", "torch.nn.Tanh", "torch.nn.LayerNorm")


@dataclass(frozen=True)
class _CellLoop:
    """A loop over time with one call of a cell.

    Attributes:
        loop: the loop.
        line: the line `h = cell(x_t, h)`.
        call: the call.
        maker: the call that makes the cell.
        layer: LSTM, GRU or RNN.
        state: the names of the state: h, or h and c.
        whole: the code of the input of all steps.
        dim: the dimension that is time.
        dropped: lines before the call that only fetch its input, and go.
    """

    loop: cst.For
    line: cst.SimpleStatementLine
    call: cst.Call
    maker: cst.Call
    layer: str
    state: tuple[str, ...]
    whole: str
    dim: int
    dropped: tuple[cst.CSTNode, ...]


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Fuse the loops one after the other, until none is left that can be."""
    done: Edited | Refused = Refused("no loop over time steps calls a cell of torch.nn here")
    lines: tuple[int, ...] = ()
    for _ in range(8):
        one = _first(source, sites)
        if isinstance(one, str):
            done = done if isinstance(done, Edited) else Refused(one)
            break
        if one is None:
            break
        changes = _changes(source, one)
        if isinstance(changes, str):
            done = done if isinstance(done, Edited) else Refused(changes)
            break
        edited = source.changed(
            changes, "Parameters are called weight_ih_l0 and so on: checkpoints of the old script do not fit."
        )
        assert isinstance(edited, Edited)
        lines = lines or edited.lines
        done = Edited(edited.text, lines, edited.note)
        source, sites = Source.read(source.path, edited.text), Sites(None)
    return done


def _first(source: Source, sites: Sites) -> _CellLoop | str | None:
    """The first loop over a cell that can be fused; or why the last one seen cannot; None where there is none."""
    reason: str | None = None
    for loop in source.find(cst.For):
        for call in source.find(cst.Call, loop.body):
            makers = made_by(source, call.func)
            if len(makers) != 1 or source.meaning(makers[0].func) not in _LAYERS or source.loops(call)[:1] != [loop]:
                continue
            if not sites.touch(source.span(loop), source.span(source.statement(makers[0]))):
                continue
            found = _matched(source, loop, call, makers[0])
            if isinstance(found, _CellLoop):
                return found
            reason = f"the loop at line {source.line(loop)} stays: {found}"
    return reason


def _matched(source: Source, loop: cst.For, call: cst.Call, maker: cst.Call) -> _CellLoop | str:
    line = source.statement(call)
    if not isinstance(line, cst.SimpleStatementLine) or source.parents[line] is not loop.body or len(line.body) != 1:
        return "the cell is not called in every turn, on a line of its own"
    (assign,) = line.body
    if not isinstance(assign, cst.Assign) or assign.value is not call or len(call.args) != 2 or call.args[1].keyword is not None:
        return "the call is not of the form h = cell(x, h)"
    layer = _LAYERS[source.meaning(maker.func) or ""]
    target, given = assign.targets[0].target, call.args[1].value
    if not source.same(_bare(target), _bare(given)):
        return "its state is changed on the way in or out"
    state = tuple(name.value for name in names(source, target))
    if len(state) != (2 if layer == "LSTM" else 1) or len(assign.targets) != 1:
        return "its state is not held in plain names"
    if (
        trains(source, loop)
        or loop.orelse is not None
        or any(True for k in (cst.Break, cst.Continue, cst.Return) for _ in source.find(k, loop))
    ):
        return "parameters change within the loop, or it may end early"
    feed = _feed(source, loop, line, call.args[0].value)
    if isinstance(feed, str):
        return feed
    whole, dim, dropped = feed
    trouble = _state_trouble(source, loop, line, state)
    return trouble or _CellLoop(loop, line, call, maker, layer, state, whole, dim, dropped)


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=(), rpar=()) if isinstance(node, cst.Tuple | cst.Name) else node


def _feed(
    source: Source, loop: cst.For, line: cst.SimpleStatementLine, fed: cst.BaseExpression
) -> tuple[str, int, tuple[cst.CSTNode, ...]] | str:
    """The input of all steps, from the expression that makes it for one."""
    slices = {one.node: one for one in time_slices(source, loop)}
    dropped: list[cst.CSTNode] = []
    for _ in range(4):
        if not isinstance(fed, cst.Name) or fed in slices:
            break
        found = variable(source, fed)
        stores = inside(source, loop, found.stores) if found is not None else []
        value = bound(source, stores[0]) if len(stores) == 1 else None
        if found is None or value is None or not isinstance(source.parents[stores[0]], cst.AssignTarget):
            return "its input is not a slice of a sequence"
        fetch = source.statement(stores[0])
        if source.parents[fetch] is not loop.body or source.line(fetch) >= source.line(line):
            return "its input is not fetched right before"
        if all(load is fed for load in found.loads):
            dropped.append(fetch)
        elif any(not source.holds(loop, load) for load in found.loads):
            return f"{fed.value} is used after the loop"
        fed = value
    used = [slices[node] for node in slices if source.holds(fed, node)]
    if len(used) != 1 or not _is_pointwise(source, fed, used[0].node):
        return "its input is more than a slice of a sequence, or is computed in the loop"
    (one,) = used
    new = (
        cst.parse_expression(one.sequence) if fed is one.node else fed.deep_replace(one.node, cst.parse_expression(one.sequence))
    )
    assert isinstance(new, cst.CSTNode)
    return source.code(new), one.dim, tuple(dropped)


def _is_pointwise(source: Source, fed: cst.BaseExpression, inner: cst.CSTNode) -> bool:
    """Whether all that happens to the slice on its way in is done to each time step alone."""
    node: cst.CSTNode = inner
    while node is not fed:
        above = source.parents[node]
        call = source.parents[above] if isinstance(above, cst.Arg) else None
        if not isinstance(call, cst.Call) or len(call.args) != 1:
            return False
        makers = made_by(source, call.func)
        if source.meaning(call.func) not in ("torch.tanh", "torch.relu", "torch.sigmoid", "torch.nn.functional.relu") and not (
            makers and all(source.meaning(maker.func) in _POINTWISE for maker in makers)
        ):
            return False
        node = call
    return True


def _state_trouble(source: Source, loop: cst.For, line: cst.SimpleStatementLine, state: tuple[str, ...]) -> str | None:
    """Why the rest of the loop stands in the way: it changes the state, or reads what a fused call does not give."""
    for name in names(source, line):
        if name.value not in state:
            continue
        found = variable(source, name)
        assert found is not None
        for store in found.stores:
            if source.holds(loop, store) and not source.holds(line, store):
                return f"{name.value} is changed in the loop (line {source.line(store)})"
            value = bound(source, store)
            if value is not None and source.code(value) == "None":
                return f"{name.value} begins as None"
        for load in found.loads:
            if source.holds(loop, load) and not source.holds(line, load):
                if name.value == state[-1] and len(state) == 2:
                    return f"{name.value} is read at every time step (line {source.line(load)})"
                if source.line(load) < source.line(line):
                    return f"{name.value} is read before the cell is called (line {source.line(load)})"
    return None


def _changes(source: Source, one: _CellLoop) -> dict[cst.CSTNode, Change] | str:
    """The changes for one loop: where the cell is made, and the loop."""
    maker = _maker(source, one)
    if isinstance(maker, str):
        return maker
    states = fresh(source, "states", "all_states")
    lifted = ", ".join(f"{name}.unsqueeze(0)" for name in one.state)
    last = ", ".join(f"{name}.squeeze(0)" for name in one.state)
    head, tail = (f"({lifted})", f"({', '.join(one.state)})") if len(one.state) == 2 else (lifted, one.state[0])
    cell = source.code(one.call.func)
    lines = [f"{states}, {tail} = {cell}({one.whole}, {head})", f"{', '.join(one.state)} = {last}"]
    rest = [part for part in one.loop.body.body if part is not one.line and part not in one.dropped]
    changes: dict[cst.CSTNode, Change] = {one.maker: maker}
    kept = _appended_state(source, rest, one.state[0])
    if not rest:
        changes[one.loop] = _instead(source, lines)
    elif kept is not None:
        changes[one.loop] = _instead(source, [*lines, f"{kept}.extend({states}.unbind({one.dim}))"])
    else:
        return _with_rest(source, one, changes, states, [f"{states}, {tail} = {cell}({one.whole}, {head})"])
    return changes


def _appended_state(source: Source, rest: Sequence[cst.CSTNode], h: str) -> str | None:
    """The list that the loop's only other line appends the state to."""
    if len(rest) != 1 or not isinstance(rest[0], cst.SimpleStatementLine):
        return None
    code = source.code(rest[0]).strip().split("#")[0].strip()
    return (
        code.removesuffix(f".append({h})") if code.endswith(f".append({h})") and code.split(".append")[0].isidentifier() else None
    )


def _with_rest(
    source: Source, one: _CellLoop, changes: dict[cst.CSTNode, Change], states: str, lines: list[str]
) -> dict[cst.CSTNode, Change] | str:
    """Keep the loop for what else it does at each step, with the state taken from the fused call."""
    if len(one.state) == 2 and any(
        name.value == one.state[1] and not source.holds(one.loop, name) and source.line(name) > source.line(one.loop)
        for name in source.find(cst.Name)
        if source.function(name) is source.function(one.loop)
    ):
        lines = [*lines, f"{one.state[1]} = {one.state[1]}.squeeze(0)"]
    if not isinstance(one.loop.target, cst.Name) or not (
        isinstance(one.loop.iter, cst.Call) and source.meaning(one.loop.iter.func) == "range"
    ):
        changes[one.loop] = _led(source, lines, f"{states}{'' if one.dim == 0 else '.unbind(1)'}", one.state[0])
        changes[one.line] = lambda _: cst.RemoveFromParent()
    else:
        index = f"[{one.loop.target.value}]" if one.dim == 0 else f"[:, {one.loop.target.value}]"
        changes[one.line] = _line(source, f"{one.state[0]} = {states}{index}")
        changes[one.loop] = _preceded(source, lines)
    for fetch in one.dropped:
        changes[fetch] = lambda _: cst.RemoveFromParent()
    return changes


def _maker(source: Source, one: _CellLoop) -> Change | str:
    """The change that makes the layer in the cell's place; or why it may not: others know the cell."""
    if source.methods("load_state_dict"):
        return "the script loads checkpoints, whose parameters have the cell's names"
    for text in source.find(cst.SimpleString):
        if any(word in text.value for word in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")):
            return f"parameters are found by their names (line {source.line(text)})"
    owner = one.call.func
    label = owner.attr.value if isinstance(owner, cst.Attribute) else source.code(owner)
    places: list[cst.Attribute | cst.Name] = (
        [*source.find(cst.Attribute)] if isinstance(owner, cst.Attribute) else [*source.find(cst.Name)]
    )
    for node in places:
        said = node.attr.value if isinstance(node, cst.Attribute) else node.value
        if said == label and node is not owner and not isinstance(source.parents[node], cst.AssignTarget):
            return f"the cell is used elsewhere (line {source.line(node)})"
    makes = [
        n for n in source.find(cst.Attribute) if source.meaning(n) in _LAYERS and not isinstance(source.parents[n], cst.Call)
    ]
    if makes:
        return f"the cell's class is asked for (line {source.line(makes[0])})"
    torch = module_name(source, "torch")
    if not isinstance(one.maker.func, cst.Attribute) and torch is None:
        return "the file does not import torch under a name"
    func = source.code(one.maker.func.value) if isinstance(one.maker.func, cst.Attribute) else f"{torch}.nn"

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Call)
        args = list(node.args)
        for position, word in ((2, "bias"), (3, "nonlinearity")):
            if len(args) > position and args[position].keyword is None:
                args[position] = args[position].with_changes(keyword=cst.Name(word), equal=cst.AssignEqual(_NONE, _NONE))
        if one.dim == 1:
            if args:
                args[-1] = args[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            args.append(cst.Arg(cst.Name("True"), cst.Name("batch_first"), equal=cst.AssignEqual(_NONE, _NONE)))
        return node.with_changes(func=cst.parse_expression(f"{func}.{one.layer}"), args=args)

    return change


_NONE = cst.SimpleWhitespace("")


def _instead(source: Source, lines: list[str]) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        first, *rest = statements(source, "\n".join(lines))
        return cst.FlattenSentinel([first.with_changes(leading_lines=node.leading_lines), *rest])

    return change


def _preceded(source: Source, lines: list[str]) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        first, *rest = statements(source, "\n".join(lines))
        return cst.FlattenSentinel(
            [first.with_changes(leading_lines=node.leading_lines), *rest, node.with_changes(leading_lines=())]
        )

    return change


def _led(source: Source, lines: list[str], states: str, h: str) -> Change:
    """Lead the state into a loop that has no counter: beside what it goes over."""
    put = _preceded(source, lines)

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        target = cst.parse_expression(
            f"({source.code(node.target)}), {h}" if isinstance(node.target, cst.Tuple) else f"{source.code(node.target)}, {h}"
        )
        assert isinstance(target, cst.Tuple)
        return put(node.with_changes(target=target, iter=cst.parse_expression(f"zip({source.code(node.iter)}, {states})")))

    return change


def _line(source: Source, code: str) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.SimpleStatementLine)
        (new,) = statements(source, code)
        return new.with_changes(leading_lines=node.leading_lines, trailing_whitespace=node.trailing_whitespace)

    return change


EDIT = Edit(
    id="fuse_rnn",
    promise="tolerance",
    tolerance=1e-4,
    apply=apply,
    safe_when="A loop over time steps calls one cell per step on a slice of a sequence that is there before the loop, and "
    "hands its state on unchanged; nothing else uses the cell, and no checkpoint is loaded.",
    unsafe_when="The state is masked or dropped out between steps, the input depends on the step before, the cell state is read "
    "at every step, or the loop makes no step at all.",
    changes="The same recurrence with the same first parameters (drawn in the same order): results differ by rounding.",
)
