"""What a name may stand for while a script is read without running it: tensors with a device, modules, numbers, containers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import msgspec

NOTHING: frozenset[int] = frozenset()


class Value(msgspec.Struct, frozen=True):
    """Something that the reading knows nothing of, except what may be inside it.

    `ids` are the forward passes that it reaches back to: a tensor without any has no graph. `tags` are the loops whose element
    it was taken from and the names that carried it over from the iteration before.
    """

    ids: frozenset[int] = NOTHING
    tags: frozenset[int] = NOTHING


UNKNOWN = Value()


class Const(Value, frozen=True):
    """A Python constant that the reading knows: number, text, bool or None."""

    value: object = None


class Number(Value, frozen=True):
    """A whole number as a sum of symbols and a constant: `top + h` minus `top` is `h`.

    `terms` holds (symbol, coefficient); a symbol below zero keeps its value for the whole run, others are drawn anew.
    """

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0

    @property
    def varies(self) -> bool:
        """Whether it may differ from one evaluation to the next."""
        return any(symbol >= 0 for symbol, _ in self.terms)


class Device(Value, frozen=True):
    """A device: `cuda`, `cpu`, or not known."""

    kind: str | None = None


class Ref(Value, frozen=True):
    """A dotted name of an imported module: `torch.nn.functional.relu`."""

    path: str = ""


class Tensor(Value, frozen=True):
    """A tensor or an array."""

    device: str | None = None  # cuda, cpu or not known
    dtype: str | None = None
    scalar: bool = False  # surely without dimensions
    numpy: bool = False
    factory: int = 0  # line where it was made on the host out of nothing
    made_in: frozenset[int] = NOTHING  # loops that were open there
    double_line: int = 0  # line where it became float64
    born: int = 0  # line where it was made or moved last
    ones: frozenset[int] = NOTHING  # dimensions of length one
    varies: bool = False  # its shape is drawn anew in each step
    moved: int = 0  # line of the copy to the device that it came from, in the same loop
    parameter: bool = False
    mask: bool = False  # of truth values
    zeros: bool = False  # nothing but zeros
    gradient: bool = False  # taken from a parameter's `.grad`
    origin: int = 0  # record of the call that gave it, as it is; below zero: the tag of a name that carried it


class Clock(Value, frozen=True):
    """A reading of a clock: how much device work had been issued, and whether some of it was still running."""

    line: int = 0
    node: int = 0
    work: int = 0
    pending: bool = False
    loops: int = 0
    steps: int = 0
    epochs: int = 0


class Duration(Value, frozen=True):
    """The difference of two readings; `event` is the position of its record."""

    event: int = 0


class Text(Value, frozen=True):
    """A text that is not known."""


class Remainder(Value, frozen=True):
    """A counter modulo a number: `step % 50`."""


class Sometimes(Value, frozen=True):
    """A condition that holds in few of the iterations (`rare`), or in all but a few."""

    rare: bool = True


class Reading(Value, frozen=True):
    """A number that was read from a tensor."""


@dataclass
class Box:
    """A container: what its elements may be, each by itself where that is known. Shared by reference, as in Python."""

    kind: str  # list, tuple, dict, loader, range, modules
    items: list[object] | None = None
    keys: dict[object, object] | None = None
    element: object = UNKNOWN
    loops: int = 0  # how many loops were open when it was made
    ids: frozenset[int] = NOTHING


@dataclass
class Function:
    """A function of the file, with the names that it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    owner: Class | None = None
    no_grad: bool = False
    called: bool = False


@dataclass
class Class:
    """A class of the file."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple[object, ...]
    members: dict[str, object]


@dataclass
class Thing:
    """An instance: of a class of the file, or of a library's (`kind` is then its dotted name)."""

    kind: str
    cls: Class | None = None
    attrs: dict[str, object] = field(default_factory=dict)
    arguments: list[object] = field(default_factory=list)
    options: dict[str, object] = field(default_factory=dict)
    device: str | None = None
    module: bool = False
    line: int = 0
    double_line: int = 0


@dataclass
class Method:
    """A method together with the object that it was taken from."""

    name: str
    owner: object
    function: Function | None = None


@dataclass
class Scope:
    """Names of one running function or of the file."""

    names: dict[str, object]
    parent: Scope | None = None

    def find(self, name: str) -> object | None:
        """What a name stands for here; None where it is not known."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None


def graph(value: object) -> frozenset[int]:
    """The recorded results that a value reaches back to."""
    if isinstance(value, Value):
        return value.ids
    if isinstance(value, Box):
        found = value.ids
        for item in (*(value.items or ()), *(value.keys or {}).values(), value.element):
            found |= item.ids if isinstance(item, Value) else NOTHING
        return found
    return NOTHING


def join(first: object, second: object) -> object:
    """What a value may be that comes from either of two places."""
    if first is second or second is None:
        return first
    if first is None:
        return second
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return join_tensors(first, second)
    if isinstance(first, Tensor) and isinstance(second, Const):
        return first  # `h = None` before the loop, a tensor within
    if isinstance(second, Tensor) and isinstance(first, Const):
        return second
    if isinstance(first, Const) and isinstance(second, Const) and first.value == second.value:
        return first
    if isinstance(first, Thing | Box | Function | Class) and not isinstance(second, Thing | Box | Function | Class):
        return first
    if isinstance(second, Thing | Box | Function | Class) and not isinstance(first, Thing | Box | Function | Class):
        return second
    if type(first) is type(second) and first == second:
        return first
    return Value(graph(first) | graph(second))


def join_tensors(first: Tensor, second: Tensor) -> Tensor:
    """Keeps what both agree on."""
    return Tensor(
        ids=first.ids | second.ids,
        tags=first.tags | second.tags,
        device=first.device if first.device == second.device else None,
        dtype=first.dtype if first.dtype == second.dtype else None,
        scalar=first.scalar and second.scalar,
        numpy=first.numpy and second.numpy,
        factory=first.factory and second.factory,
        made_in=first.made_in & second.made_in,
        double_line=first.double_line and second.double_line,
        born=first.born,
        ones=first.ones & second.ones,
        varies=first.varies and second.varies,
        moved=first.moved and second.moved,
        mask=first.mask and second.mask,
    )
