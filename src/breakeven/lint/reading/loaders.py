"""What a `DataLoader` does for each item: how much work its data set's `__getitem__` is, and whether it fetches row by row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import State
from breakeven.lint.reading.values import Class, Const, Function, Thing

_CHEAP = {
    "tensor",
    "from_numpy",
    "as_tensor",
    "float",
    "long",
    "int",
    "len",
    "FloatTensor",
    "LongTensor",
    "squeeze",
    "unsqueeze",
    "view",
    "item",
    "to",
    "astype",
    "reshape",
    "bool",
    "double",
    "str",
    "tuple",
    "is_tensor",
    "tolist",
    "isinstance",
    "copy",
    "clone",
    "array",
    "asarray",
    "float32",
    "type",
    "get",
    "dict",
}
#: Calls that read, decode, wait or transform: each alone is work.
_DEAR = (
    "open",
    "read",
    "load",
    "imread",
    "sleep",
    "decode",
    "fromfile",
    "transform",
    "augment",
    "resize",
    "fft",
    "crop",
    "download",
    "query",
    "parse",
    "tokenize",
    "encode",
    "fetch",
    "rotate",
    "filter",
    "convolve",
)
_DEEPEST = 4
#: Data sets of torchvision and torchaudio that decode each item.
_DECODING = ("torchvision.datasets", "torchaudio.datasets")


def note(state: State, args: list[object], options: dict[str, object], node: ast.expr) -> Thing:
    """A new `DataLoader`: notes what fetching costs, where the file shows it."""
    dataset = args[0] if args else options.get("dataset")
    size = args[1] if len(args) > 1 else options.get("batch_size")
    whole = isinstance(size, Const) and size.value is None
    workers = args[5] if len(args) > 5 else options.get("num_workers", Const(value=0))
    count = ops.index_of(workers)
    kind = weight(state, dataset)
    ragged = "collate_fn" in options  # items that do not stack by themselves: no index gives a batch of them
    if kind == "rows" and not ragged and (not whole or "batch_sampler" in options):
        state.note("loader", node, name="rows", number=-1 if count is None else count)
    elif kind == "heavy" and count == 0:
        state.note("loader", node, name="heavy", number=0)
    return Thing("torch.utils.data.DataLoader", None, {}, args, options, line=node.lineno)


def weight(state: State, dataset: object) -> str:
    """`rows`: each item is a row of something in memory; `heavy`: each item is work; `unknown`."""
    if not isinstance(dataset, Thing):
        return "unknown"
    if dataset.kind == "torch.utils.data.TensorDataset":
        return "rows"
    if dataset.kind in ("torch.utils.data.Subset", "torch.utils.data.random_split") and dataset.arguments:
        return weight(state, dataset.arguments[0])
    if dataset.kind.startswith(_DECODING):
        return "heavy"
    if dataset.cls is None:
        return "unknown"
    getter = _member(dataset.cls, "__getitem__")
    if getter is None:
        return "unknown"
    names = list(_calls(state, getter, dataset.cls, 0))
    work = [name for name in names if name not in _CHEAP]
    if any(part in name.lower() for name in work for part in _DEAR) or len(work) >= 3:
        return "heavy"
    if not work and _returns_rows(getter):
        return "rows"
    return "unknown"


def _member(cls: Class, name: str) -> Function | None:
    """A method of a class or of one of its bases in the file."""
    found = cls.members.get(name)
    if isinstance(found, Function):
        return found
    for base in cls.bases:
        if isinstance(base, Class) and (inherited := _member(base, name)) is not None:
            return inherited
    return None


def _calls(state: State, function: Function, cls: Class | None, depth: int) -> Iterator[str]:
    """Names of everything that a function calls, through the functions and methods of the file."""
    if depth > _DEEPEST:
        return
    for node in ast.walk(function.node):
        if isinstance(node, ast.For | ast.While):
            yield "loop"
        if not isinstance(node, ast.Call):
            continue
        target = node.func
        if isinstance(target, ast.Attribute):
            yield target.attr
            own = isinstance(target.value, ast.Name) and target.value.id == "self"
            inner = _member(cls, target.attr) if own and cls else None
        else:
            name = getattr(target, "id", "")
            found = function.scope.find(name)
            inner = found if isinstance(found, Function) else None
            yield name
        if inner is not None:
            yield from _calls(state, inner, cls, depth + 1)


def _returns_rows(function: Function) -> bool:
    """Whether the result is looked up by the index: `return self.x[i], self.y[i]`."""
    return any(isinstance(node, ast.Subscript) for node in ast.walk(function.node))
