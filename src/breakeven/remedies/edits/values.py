"""What an expression is: a tensor, a module, a device. Three questions answered with yes only where the file shows it."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.variables import bound, only_value, variable

_DEPTH = 12
#: Methods of a tensor that give a tensor, and are not so named on other common objects.
TENSOR_METHODS = frozenset(
    (
        "mean",
        "sum",
        "square",
        "sqrt",
        "exp",
        "log",
        "abs",
        "pow",
        "argmax",
        "argmin",
        "softmax",
        "log_softmax",
        "sigmoid",
        "tanh",
        "relu",
        "float",
        "double",
        "half",
        "long",
        "int",
        "bool",
        "to",
        "cuda",
        "cpu",
        "detach",
        "clone",
        "squeeze",
        "unsqueeze",
        "view",
        "reshape",
        "flatten",
        "permute",
        "transpose",
        "t",
        "contiguous",
        "eq",
        "ne",
        "gt",
        "lt",
        "ge",
        "le",
        "max",
        "min",
        "norm",
        "gather",
        "clamp",
        "mul",
        "div",
        "add",
        "sub",
        "matmul",
        "item_",
        "chunk",
        "topk",
        "any",
        "all",
        "prod",
        "std",
        "var",
        "cumsum",
        "logsumexp",
        "nan_to_num",
        "type_as",
    )
)
_VIEWS = frozenset(
    (
        "squeeze",
        "unsqueeze",
        "view",
        "reshape",
        "flatten",
        "permute",
        "transpose",
        "t",
        "contiguous",
        "detach",
        "to",
        "float",
        "double",
        "half",
        "cuda",
        "cpu",
        "long",
        "type_as",
    )
)
#: Functions of torch that give something else than a tensor.
_NO_TENSOR = frozenset(
    (
        "device",
        "Generator",
        "Size",
        "manual_seed",
        "no_grad",
        "inference_mode",
        "compile",
        "load",
        "save",
        "is_tensor",
        "set_num_threads",
    )
)
_MODULE_METHODS = frozenset(
    ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "train", "eval", "requires_grad_", "apply")
)


def is_tensor(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether an expression is a tensor wherever it is evaluated."""
    if depth == 0:
        return False
    if isinstance(node, cst.Call):
        return _call_gives_tensor(source, node, depth)
    if isinstance(node, cst.BinaryOperation):
        return is_tensor(source, node.left, depth - 1) or is_tensor(source, node.right, depth - 1)
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not) and is_tensor(source, node.expression, depth - 1)
    if isinstance(node, cst.Comparison):
        return len(node.comparisons) == 1 and (
            is_tensor(source, node.left, depth - 1) or is_tensor(source, node.comparisons[0].comparator, depth - 1)
        )
    if isinstance(node, cst.Subscript):
        return is_tensor(source, node.value, depth - 1)
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("data", "T", "grad") and is_tensor(source, node.value, depth - 1)
    if isinstance(node, cst.Name):
        found = variable(source, node)
        if found is None:
            return False
        if any(is_backward(source, name) for name in found.loads):
            return True
        stores = [store for store in found.stores if not isinstance(source.parents.get(store), cst.AugAssign)]
        values = [value for store in stores if not _comes_from_itself(value := bound(source, store), node.value)]
        return bool(values) and all(value is not None and is_tensor(source, value, depth - 1) for value in values)
    return False


def is_backward(source: Source, name: cst.CSTNode) -> bool:
    """Whether a name is the receiver of `name.backward(...)`."""
    attribute = source.parents[name]
    if not (isinstance(attribute, cst.Attribute) and attribute.value is name and attribute.attr.value == "backward"):
        return False
    return isinstance(source.parents[attribute], cst.Call)


def is_fresh(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether an expression makes a tensor with storage of its own at each evaluation, so that it can be kept."""
    if isinstance(node, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison):
        return True
    if not isinstance(node, cst.Call) or depth == 0:
        return False
    if isinstance(node.func, cst.Attribute) and source.meaning(node.func) is None:
        if node.func.attr.value in _VIEWS:
            return is_fresh(source, node.func.value, depth - 1)
        return not node.func.attr.value.endswith("_")
    return True


def is_module(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether an expression is a module of torch.nn or of a class of this file that derives from one."""
    return bool(made_by(source, node, depth))


def made_by(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> list[cst.Call]:
    """The calls that make the module that an expression stands for; empty where it may be something else."""
    if depth == 0:
        return []
    if isinstance(node, cst.Call):
        name = source.meaning(node.func)
        if name is not None and name.startswith("torch.nn.") and name.split(".")[-1][:1].isupper() and "functional" not in name:
            return [node]
        if isinstance(node.func, cst.Name) and module_class(source, node.func) is not None:
            return [node]
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _MODULE_METHODS:
            return made_by(source, node.func.value, depth - 1)
        if name in ("torch.compile", "torch.jit.script") and node.args:
            return made_by(source, node.args[0].value, depth - 1)
        return []
    values: list[cst.BaseExpression | None] = []
    if isinstance(node, cst.Name):
        found = variable(source, node)
        stores = found.stores if found else ()
        values = [value for store in stores if not _comes_from_itself(value := bound(source, store), node.value)]
    elif isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        values = list(attribute_values(source, node))
    makers = [made_by(source, value, depth - 1) if value is not None else [] for value in values]
    return [call for calls in makers for call in calls] if makers and all(makers) else []


def attribute_values(source: Source, node: cst.Attribute) -> list[cst.BaseExpression | None]:
    """What `self.NAME` is bound to anywhere in its class; None for a binding that cannot be read."""
    owner = source.nearest(node, cst.ClassDef)
    if owner is None:
        return []
    found: list[cst.BaseExpression | None] = []
    for target in source.find(cst.Attribute, owner):
        if target.attr.value != node.attr.value or not (isinstance(target.value, cst.Name) and target.value.value == "self"):
            continue
        parent = source.parents[target]
        if isinstance(parent, cst.AssignTarget | cst.AnnAssign) or (
            isinstance(parent, cst.AugAssign) and parent.target is target
        ):
            found.append(None if isinstance(parent, cst.AugAssign) else bound(source, target))
        elif isinstance(parent, cst.Element) and bound(source, target) is not None:
            found.append(bound(source, target))
    return found


def module_class(source: Source, name: cst.Name, depth: int = _DEPTH) -> cst.ClassDef | None:
    """The class of this file that a name stands for, if it derives from torch.nn.Module."""
    found = variable(source, name)
    if found is None or len(found.stores) != 1 or depth == 0:
        return None
    (node,) = found.stores
    if not isinstance(node, cst.ClassDef):
        return None
    for base in node.bases:
        if source.meaning(base.value) in ("torch.nn.Module", "torch.nn.modules.Module"):
            return node
        if isinstance(base.value, cst.Name) and module_class(source, base.value, depth - 1) is not None:
            return node
    return None


def is_device(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether an expression names a device: a string, `torch.device(...)`, `x.device`, or a name bound to nothing else."""
    if depth == 0:
        return False
    if isinstance(node, cst.SimpleString):
        return str(node.evaluated_value).split(":")[0] in ("cpu", "cuda", "mps", "xpu")
    if isinstance(node, cst.Call):
        return source.meaning(node.func) == "torch.device"
    if isinstance(node, cst.IfExp):
        return is_device(source, node.body, depth - 1) and is_device(source, node.orelse, depth - 1)
    if isinstance(node, cst.Attribute):
        return node.attr.value == "device"
    if isinstance(node, cst.Name):
        found = variable(source, node)
        if found is None or not found.stores:
            return False
        for store in found.stores:
            if isinstance(store, cst.Param) or isinstance(source.parents.get(store), cst.Param):
                if node.value not in ("device", "dev"):
                    return False
                continue
            value = bound(source, store)
            if value is None or not is_device(source, value, depth - 1):
                return False
        return True
    return False


def _comes_from_itself(value: cst.BaseExpression | None, name: str) -> bool:
    """Whether a name is bound to what one of its own methods gives: `x = x.to(device)`."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        inner = value.args[0].value if value.func.attr.value == "compile" and value.args else value.func.value
        value = inner
    return isinstance(value, cst.Name) and value.value == name


def _call_gives_tensor(source: Source, node: cst.Call, depth: int) -> bool:
    name = source.meaning(node.func)
    if name is not None:
        last = name.split(".")[-1]
        if name.startswith("torch.nn.functional."):
            return True
        return name.startswith("torch.") and name.count(".") == 1 and last[:1].islower() and last not in _NO_TENSOR
    loss = [source.meaning(call.func) or "" for call in made_by(source, node.func, depth - 1)]
    if loss and all(
        one.endswith("Loss") or one in ("torch.nn.Linear", "torch.nn.Sequential", "torch.nn.Embedding") for one in loss
    ):
        return True
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in TENSOR_METHODS:
        return is_tensor(source, node.func.value, depth - 1)
    return False


def number(source: Source, node: cst.CSTNode) -> float | None:
    """The number that an expression is: a literal, or a name bound once to one."""
    if isinstance(node, cst.Integer | cst.Float):
        return float(node.evaluated_value)
    if isinstance(node, cst.Name):
        value = only_value(source, node)
        return number(source, value) if isinstance(value, cst.Integer | cst.Float) else None
    return None
