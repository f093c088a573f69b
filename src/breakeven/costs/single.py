"""Prices of single calls: the first few of a kind by the formula as it is written, more of them by its trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from breakeven.costs import columns
from breakeven.costs.arithmetic import SCALAR
from breakeven.costs.estimate import Job, estimate, job
from breakeven.costs.operations import KINDS
from breakeven.costs.rates import NotPricedError
from breakeven.costs.traced import Name, Steps, Tracing, function
from breakeven.errors import InputError
from breakeven.machine.records import Gpu

#: Low, mid and high time in µs, and the index of what limits.
Found = tuple[float, float, float, int]
#: Calls of a kind after which its formula is traced: that takes as long as one to three hundred calls as it is written.
WRITTEN_OUT: Final = 8


class Single:
    """Prices single calls that share their words and the columns that are given."""

    def __init__(self, task: Job, given: tuple[str, ...]) -> None:
        self._task, self._calls = task, 0
        self._least = {c: 1.0 if task.operation.columns.get(c) is None else 0.0 for c in given if c not in KINDS}
        self._traces: tuple[Callable[..., Found | None], ...] = ()

    def price(self, sizes: Mapping[str, float]) -> Found:
        """The price of one call.

        Raises:
            InputError: a size is missing, below its least, or not of the vocabulary.
        """
        for trace in self._traces:
            found = trace(*[sizes[c] for c in self._least])
            if found is not None:
                return found
        checked, wrong = columns.checked(self._task.operation, sizes)
        if wrong:
            raise InputError(wrong)
        self._calls += 1
        if self._calls == WRITTEN_OUT:
            self._traces = tuple(_trace(self._task, self._least, checked, some) for some in (False, True))
        low, mid, high, limit = estimate(SCALAR, self._task, checked)
        return low, mid, high, limit


@lru_cache(maxsize=8192)
def single(
    op: str, gpu: Gpu, dtype: str, direction: str, graph: bool, given: tuple[str, ...], kinds: tuple[float | None, ...]
) -> Single:
    """What prices calls with these words, these columns, and these values of the columns that choose a variant (`KINDS`).

    Raises:
        InputError: a word is not of the vocabulary.
    """
    try:
        return Single(job(op, dtype, direction, graph, gpu), given)
    except NotPricedError as error:
        raise InputError(str(error)) from error


def _trace(task: Job, least: dict[str, float], sizes: Mapping[str, float], some: bool) -> Callable[..., Found | None]:
    """The formula with names for the sizes that are given; the others are as in this call: their defaults, or the same kind."""
    steps = Steps()
    return function(steps, least, estimate(Tracing(steps, some), task, {**sizes, **{c: Name(steps, c) for c in least}}))
