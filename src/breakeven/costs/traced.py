"""A formula run once with names in place of numbers, and made into one Python function: single calls without its detours.

What the formulas do with a device's rates and weights is done while they are traced; what is left is straight arithmetic on the
sizes, in the same order, so that the numbers are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.arithmetic import SCALAR, Values

#: How each step is written; {0} to {2} are names or numbers.
_WRITTEN: Final = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "pow": "{0} ** {1}",
    "sqrt": "sqrt({0})",
    "ceil": "ceil({0})",
    "exp": "exp({0})",
    "log2": "log2({0})",
    "whole": "int({0})",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "eq": "{0} == {1}",
    "and": "{0} and {1}",
    "or": "{0} or {1}",
    "max": "{0} if {0} >= {1} else {1}",
    "min": "{0} if {0} <= {1} else {1}",
    "if": "{1} if {0} else {2}",
    "item": "{0}[{1}]",
}
#: Steps that name an operand twice: it is worked out before.
_TWICE: Final = ("max", "min")
#: Characters from which on an expression is cut: Python reads brackets to a depth of 200.
_LONG: Final = 300


@dataclass
class Steps:
    """The steps of a formula so far; the same step is made once.

    Attributes:
        made: of each step its kind and operands (names of steps or sizes, or numbers as Python writes them).
        lists: tables that are looked into.
        guards: conditions that were taken for false.
    """

    made: dict[tuple[str, ...], str] = field(default_factory=dict)
    lists: list[Sequence[float]] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)

    def step(self, kind: str, *operands: Values) -> Name:
        """The name of a step's result."""
        key = (kind, *(o.text if isinstance(o, Name) else repr(o) for o in operands))
        return Name(self, self.made.setdefault(key, f"v{len(self.made)}"))


@dataclass(frozen=True, eq=False)
class Name:
    """The result of a step, or a size: what a formula is traced with."""

    steps: Steps
    text: str

    def __add__(self, other: Values) -> Values:
        return self if _is(other, 0) else self.steps.step("add", self, other)

    def __radd__(self, other: Values) -> Values:
        return self if _is(other, 0) else self.steps.step("add", other, self)

    def __sub__(self, other: Values) -> Values:
        return self if _is(other, 0) else self.steps.step("sub", self, other)

    def __rsub__(self, other: Values) -> Values:
        return self.steps.step("sub", other, self)

    def __mul__(self, other: Values) -> Values:
        return self if _is(other, 1) else 0.0 if _is(other, 0) else self.steps.step("mul", self, other)

    def __rmul__(self, other: Values) -> Values:
        return self if _is(other, 1) else 0.0 if _is(other, 0) else self.steps.step("mul", other, self)

    def __truediv__(self, other: Values) -> Values:
        return self if _is(other, 1) else self.steps.step("div", self, other)

    def __rtruediv__(self, other: Values) -> Values:
        return self.steps.step("div", other, self)

    def __pow__(self, other: Values) -> Values:
        return self.steps.step("sqrt", self) if _is(other, 0.5) else self.steps.step("pow", self, other)

    def __gt__(self, other: Values) -> Values:
        return self.steps.step("gt", self, other)

    def __ge__(self, other: Values) -> Values:
        return self.steps.step("ge", self, other)

    def __lt__(self, other: Values) -> Values:
        return self.steps.step("lt", self, other)

    def __le__(self, other: Values) -> Values:
        return self.steps.step("le", self, other)

    def __eq__(self, other: object) -> Values:
        return self.steps.step("eq", self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Values) -> Values:
        return self.steps.step("and", self, other) if isinstance(other, Name) else self if other else False

    def __rand__(self, other: Values) -> Values:
        return self & other

    def __or__(self, other: Values) -> Values:
        return self.steps.step("or", self, other) if isinstance(other, Name) else True if other else self

    def __ror__(self, other: Values) -> Values:
        return self | other

    def __bool__(self) -> bool:
        raise TypeError("a formula asks for a size's truth: what it does then cannot be traced")


def _is(value: Values, number: float) -> bool:
    return isinstance(value, (int, float)) and value == number


class Tracing:
    """The arithmetic of names. `some`: whether conditions that pick a rare way are taken for true, or for false and guarded."""

    def __init__(self, steps: Steps, some: bool) -> None:
        self._steps, self._some = steps, some

    def _apply(self, kind: str, plain: Callable[..., Values], *operands: Values) -> Values:
        if not any(isinstance(o, Name) for o in operands):
            return plain(*operands)
        return self._steps.step(kind, *operands)

    def maximum(self, a: Values, b: Values) -> Values:
        """The larger of two."""
        return self._apply("max", SCALAR.maximum, a, b)

    def minimum(self, a: Values, b: Values) -> Values:
        """The smaller of two."""
        return self._apply("min", SCALAR.minimum, a, b)

    def ceil(self, a: Values) -> Values:
        """The next whole number up."""
        return self._apply("ceil", SCALAR.ceil, a)

    def exp(self, a: Values) -> Values:
        """Exponential."""
        return self._apply("exp", SCALAR.exp, a)

    def log2(self, a: Values) -> Values:
        """Logarithm to base 2."""
        return self._apply("log2", SCALAR.log2, a)

    def whole(self, a: Values) -> Values:
        """Rounded down, as an index."""
        return self._apply("whole", SCALAR.whole, a)

    def where(self, condition: Values, yes: Values, no: Values) -> Values:
        """One or the other."""
        if not isinstance(condition, Name):
            return yes if condition else no
        return self._steps.step("if", condition, yes, no)

    def some(self, a: Values) -> bool:
        """Known of a number; of a name as this trace takes it."""
        if not isinstance(a, Name):
            return bool(a)
        if not self._some:
            self._steps.guards.append(a.text)
        return self._some

    def take(self, few: Sequence[float], many: NDArray[np.float64], index: Values) -> Values:
        """One value."""
        return self.around(few, many, index, (0,))[0]

    def around(self, few: Sequence[float], many: NDArray[np.float64], first: Values, further: Sequence[int]) -> Sequence[Values]:
        """One value a distance."""
        if not isinstance(first, Name):
            return SCALAR.around(few, many, first, further)
        if not any(known is few for known in self._steps.lists):
            self._steps.lists.append(few)
        at = next(i for i, known in enumerate(self._steps.lists) if known is few)
        values = Name(self._steps, f"t{at}")
        return [self._steps.step("item", values, first + f) for f in further]


def function(
    steps: Steps, least: dict[str, float], results: Sequence[Values]
) -> Callable[..., tuple[float, float, float, int] | None]:
    """The Python function of the results; it gives None where a guard is true, or a size is not at least what it must be.

    Args:
        least: the sizes that it takes, in this order, and the least that each may be.
    """
    lines: list[str] = []
    kinds = {name: key for key, name in steps.made.items()}
    uses = _uses(kinds, [*steps.guards, *(r.text for r in results if isinstance(r, Name))])
    known: dict[str, str] = {}

    def text(operand: str) -> str:
        """How an operand is read: its name, or where it is used once its step itself."""
        return known.get(operand, operand)

    def write(name: str) -> None:
        """All steps that a result needs, in order of making (no step needs a later one)."""
        for one in sorted((n for n in _needed(kinds, [name]) if n not in known), key=lambda n: int(n[1:])):
            kind, *operands = kinds[one]
            step = _WRITTEN[kind].format(*(text(o) for o in operands))
            if uses[one] > 1 or len(step) > _LONG:
                lines.append(f"{one} = {step}")
                known[one] = one
            else:
                known[one] = f"({step})"

    lines += [f"if {size} is None or not {bound!r} <= {size} < inf: return None" for size, bound in least.items()]
    lines += [f"{size} = float({size})" for size in least]
    for guard in steps.guards:
        write(guard)
        lines.append(f"if {text(guard)}: return None")
    for result in results:
        if isinstance(result, Name):
            write(result.text)
    lines.append(f"return {', '.join(text(r.text) if isinstance(r, Name) else repr(r) for r in results)}")
    tables = [f"t{i}" for i in range(len(steps.lists))]
    given = ["*", *(f"{t}={t}" for t in tables)] if tables else []
    source = f"def priced({', '.join([*least, *given])}):\n  " + "\n  ".join(lines)
    names: dict[str, Any] = {n: getattr(math, n) for n in ("sqrt", "ceil", "exp", "log2", "inf")}  # Any: it gets a function too
    names |= dict(zip(tables, steps.lists, strict=True))
    exec(compile(source, "<traced formula>", "exec"), names)
    made: Callable[..., tuple[float, float, float, int] | None] = names["priced"]
    return made


def _needed(kinds: dict[str, tuple[str, ...]], results: Sequence[str]) -> set[str]:
    found: set[str] = set()
    left = list(results)
    while left:
        name = left.pop()
        if name in kinds and name not in found:
            found.add(name)
            left += kinds[name][1:]
    return found


def _uses(kinds: dict[str, tuple[str, ...]], results: Sequence[str]) -> dict[str, int]:
    """How often each step that is needed is read."""
    uses = dict.fromkeys(_needed(kinds, results), 0)
    for name in [*uses]:
        kind, *operands = kinds[name]
        for operand in operands:
            if operand in uses:
                uses[operand] += 2 if kind in _TWICE else 1
    for name in results:
        if name in uses:
            uses[name] += 1
    return uses
