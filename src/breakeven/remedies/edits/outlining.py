"""Which statements of a training loop can stand in a compiled function: forward, loss, backward and clipping, all of tensors.

Only what the file shows to be such is taken: names, arithmetic, modules, functions of torch that draw nothing at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from breakeven.remedies.edits.host_values import is_host
from breakeven.remedies.edits.source import Loop, Source
from breakeven.remedies.edits.switches import fresh
from breakeven.remedies.edits.values import TENSOR_METHODS, is_module, is_tensor
from breakeven.remedies.edits.variables import Variable, bound, inside, names, variable

_CLIPS = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grad.clip_grad_norm_")
_FUNCTIONS = frozenset(
    (
        "cat",
        "stack",
        "mean",
        "sum",
        "tanh",
        "relu",
        "sigmoid",
        "softmax",
        "log_softmax",
        "exp",
        "log",
        "sqrt",
        "square",
        "abs",
        "matmul",
        "einsum",
        "squeeze",
        "unsqueeze",
    )
)
#: Methods that move or read a tensor: they stay outside.
_OUTSIDE = frozenset(("to", "cuda", "cpu", "any", "all", "bool", "int", "item_"))
_MOVES = frozenset(("to", "cuda"))
_RANDOM = ("dropout", "rrelu", "gumbel", "rand", "bernoulli", "multinomial", "normal", "fractional")
Part = cst.SimpleStatementLine


@dataclass
class Stretch:
    """Neighbouring lines of a loop that become a function.

    Attributes:
        outermost: the outermost loop around them, before which the function can stand.
        lines: the lines, in order.
        kept: lines between them that stay in the loop, before the call.
        loss: the name that is differentiated.
        lifted: expressions that are evaluated outside and handed in: the function's name for each, and their code.
    """

    outermost: Loop
    lines: list[Part]
    kept: list[Part]
    loss: cst.Name
    lifted: dict[str, str] = field(default_factory=dict)

    def replacements(self, source: Source) -> dict[cst.CSTNode, str]:
        """Each expression that is handed in, with the name that stands for it in the function."""
        known = {code: name for name, code in self.lifted.items()}
        return {node: known[source.code(node)] for line in self.lines for node in lifts(source, self.outermost, line)}


def stretch(source: Source, backward: cst.Call, modules: Sequence[str]) -> Stretch | str:
    """The lines around a `loss.backward()`, from the first that calls a model on; or why they stay.

    Args:
        source: the script.
        backward: the call.
        modules: names of the models that are trained.
    """
    line = source.statement(backward)
    where = f"(line {source.line(backward)})"
    assert isinstance(backward.func, cst.Attribute)
    loss, block, loops = backward.func.value, source.block(line), source.loops(backward)
    if not isinstance(line, Part) or not isinstance(loss, cst.Name) or backward.args:
        return f"backward is not called on one loss alone {where}"
    if block is None or not loops or loops[0].body is not block:
        return f"backward is called under a condition, a context or in no loop {where}"
    first = next((at for at, one in enumerate(block.body) if _calls(source, one, modules)), None)
    here = next(at for at, one in enumerate(block.body) if one is line)
    if first is None or first > here:
        return f"the model is not called in the lines before backward {where}"
    last = here
    while last + 1 < len(block.body) and _is_clip(source, block.body[last + 1]):
        last += 1
    found = Stretch(loops[-1], [], [], loss)
    for one in block.body[first : last + 1]:
        if isinstance(one, Part) and _is_zero_grad(one):
            found.kept.append(one)
        elif isinstance(one, Part) and (one is line or _is_clip(source, one) or _is_assignment(source, found.outermost, one)):
            found.lines.append(one)
        else:
            return f"a line between the model and backward does more than compute (line {source.line(one)})"
    for one in found.lines:
        for node in lifts(source, found.outermost, one):
            code = source.code(node)
            if any(source.holds(earlier, store) for earlier in found.lines for name in names(source, node)
                   for store in _stores(source, name)):  # fmt: skip
                return f"{code} is made of what the lines themselves compute (line {source.line(node)})"
            if code not in found.lifted.values():
                base = next(iter(names(source, node))).value
                found.lifted[fresh(source, f"{base}_now", f"{base}_part", taken=found.lifted)] = code
    return found


def lifts(source: Source, loop: Loop, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Expressions that are evaluated outside: parts of a tensor by an index that changes, and moves between devices."""
    if isinstance(node, cst.Subscript) and any(inside(source, loop, _stores(source, name)) for part in node.slice
                                              for name in names(source, part)):  # fmt: skip
        yield node
        return
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _MOVES:
        yield node
        return
    for child in node.children:
        yield from lifts(source, loop, child)


def takes(source: Source, found: Stretch) -> list[str] | str:
    """Names that change in the loop and are read before the lines bind them: the function's arguments; or why not."""
    known, taken = set[str](), dict[str, None]()
    lifted = found.replacements(source)
    for line in found.lines:
        for name in names(source, line):
            if any(source.holds(node, name) for node in lifted):
                continue
            one = variable(source, name)
            if one is None or name in one.stores or name.value in known or not inside(source, found.outermost, one.stores):
                continue
            if is_host(source, name) or _counts(source, one):
                return f"{name.value} is a number that changes from turn to turn (line {source.line(name)})"
            taken[name.value] = None
        known |= {name.value for name in names(source, line) if (v := variable(source, name)) is not None and name in v.stores}
    return list(taken)


def gives(source: Source, found: Stretch) -> dict[str, str] | str:
    """Names that are read elsewhere too, each with the tensor that the function hands back for it; or why it cannot."""
    given: dict[str, str] = {}
    for line in found.lines:
        for name in names(source, line):
            one = variable(source, name)
            if one is None or name not in one.stores:
                continue
            mine = sorted((s for s in one.stores if any(source.holds(each, s) for each in found.lines)), key=source.line)
            outside = [load for load in one.loads if not any(source.holds(each, load) for each in found.lines)]
            carried = any(source.line(load) <= source.line(mine[0]) for load in one.loads if load not in outside)
            if not outside and not carried and name.value != found.loss.value:
                continue
            value = bound(source, mine[-1])
            if value is not None and _is_detached(value):
                given[name.value] = name.value
            elif name.value == found.loss.value or (value is not None and is_tensor(source, value)) or _reads(source, outside):
                given[name.value] = f"{name.value}.detach()"
            else:
                return f"{name.value} may be something else than a tensor, and is used elsewhere (line {source.line(name)})"
    return given


def draws(source: Source) -> cst.CSTNode | None:
    """A place that draws at random where a model computes: compiled code draws other numbers."""
    for call in source.find(cst.Call):
        meaning = source.meaning(call.func) or (source.code(call.func) if isinstance(call.func, cst.Attribute) else "")
        last = meaning.split(".")[-1].lower()
        if "dropout" in last or (source.nearest(call, cst.ClassDef) is not None and last.startswith(_RANDOM)):
            return call
        for arg in call.args:
            if arg.keyword is not None and "dropout" in arg.keyword.value and source.code(arg.value) not in ("0", "0.0"):
                return call
    return None


def _stores(source: Source, name: cst.Name) -> tuple[cst.CSTNode, ...]:
    found = variable(source, name)
    return () if found is None else found.stores


def _calls(source: Source, statement: cst.CSTNode, modules: Sequence[str]) -> bool:
    return any(isinstance(call.func, cst.Name) and call.func.value in modules for call in source.find(cst.Call, statement))


def _only(statement: cst.CSTNode) -> cst.BaseSmallStatement | None:
    return statement.body[0] if isinstance(statement, Part) and len(statement.body) == 1 else None


def _is_zero_grad(statement: cst.CSTNode) -> bool:
    part = _only(statement)
    call = part.value if isinstance(part, cst.Expr) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "zero_grad"


def _is_clip(source: Source, statement: cst.CSTNode) -> bool:
    part = _only(statement)
    call = part.value if isinstance(part, cst.Expr) else None
    if not isinstance(call, cst.Call) or source.meaning(call.func) not in _CLIPS or not call.args:
        return False
    of = call.args[0].value
    plain = isinstance(of, cst.Call) and isinstance(of.func, cst.Attribute) and of.func.attr.value == "parameters"
    return plain and all(isinstance(arg.value, cst.Integer | cst.Float | cst.Name) for arg in call.args[1:])


def _is_assignment(source: Source, loop: Loop, statement: Part) -> bool:
    part = _only(statement)
    if not isinstance(part, cst.Assign) or len(part.targets) != 1 or not _computes(source, loop, part.value):
        return False
    target = part.targets[0].target
    many = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    return all(isinstance(one, cst.Name) for one in many)


def _computes(source: Source, loop: Loop, node: cst.BaseExpression) -> bool:
    """Whether an expression does nothing but compute with tensors, apart from what is handed in."""
    if isinstance(node, cst.Name | cst.Integer | cst.Float | cst.SimpleString):
        return True
    if any(one is node for one in lifts(source, loop, node)):
        return True
    if isinstance(node, cst.Attribute):
        return node.attr.value == "T" and _computes(source, loop, node.value)
    if isinstance(node, cst.BinaryOperation):
        return _computes(source, loop, node.left) and _computes(source, loop, node.right)
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not) and _computes(source, loop, node.expression)
    if isinstance(node, cst.Tuple):
        return all(isinstance(e, cst.Element) and _computes(source, loop, e.value) for e in node.elements)
    if isinstance(node, cst.Subscript):
        return _computes(source, loop, node.value)
    return isinstance(node, cst.Call) and _call_computes(source, loop, node)


def _call_computes(source: Source, loop: Loop, call: cst.Call) -> bool:
    if any(arg.star for arg in call.args) or not all(_computes(source, loop, arg.value) for arg in call.args):
        return False
    meaning = source.meaning(call.func)
    if meaning is not None:
        last = meaning.split(".")[-1]
        quiet = meaning.startswith("torch.nn.functional.") or (meaning.startswith("torch.") and last in _FUNCTIONS)
        return quiet and not last.startswith(_RANDOM)
    if isinstance(call.func, cst.Name):
        return is_module(source, call.func)
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in TENSOR_METHODS - _OUTSIDE:
        return False
    return _computes(source, loop, call.func.value)


def _counts(source: Source, found: Variable) -> bool:
    """Whether a name counts turns: the target of a loop over a range."""
    return any(
        isinstance(parent := source.parents.get(store), cst.For) and "range" in source.code(parent.iter) for store in found.stores
    )


def _is_detached(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "detach"


def _reads(source: Source, loads: Sequence[cst.Name]) -> bool:
    """Whether a name is used as a tensor only: by a method that tensors have."""
    return bool(loads) and all(
        isinstance(above := source.parents[load], cst.Attribute) and above.value is load
        and above.attr.value in (TENSOR_METHODS | {"item", "tolist", "numpy"})
        for load in loads
    )  # fmt: skip
