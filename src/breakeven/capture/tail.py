"""The end of a timing pass: what the numbers have become, and some more steps under a profiler, and under settings that would
spare the CPU.

Weights decay into denormal numbers only after many steps, so they are looked at last. Steps of the tail are none of the
answer's: they come after all of those and are told by themselves, beside the last ones before them. What it does not know:
whether a setting helps from the first step on. Child process only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any, Final

from breakeven.capture.denormals import WORTH_A_WORD, denormal_share
from breakeven.capture.kernels import LONGEST_NS, Kernels
from breakeven.capture.request import Beside, Decayed
from breakeven.capture.series import Series
from breakeven.machine.cores import usable_cores
from breakeven.timeline.looked import Looked
from breakeven.units import NS_PER_S

#: Steps of the tail for one setting: the first ones, which find other caches and threads, are left out.
_WARM: Final = 2
_STEPS: Final = 20
#: Longest tail for one setting, and fewest steps that have to fit into it.
_LONGEST_NS: Final = NS_PER_S
_FEWEST: Final = 5

MATCHED, FLUSHED, SINGLE = "matched", "flushed", "single"
Setting = tuple[str, Callable[[], object]]


class Tail:
    """Runs after the steps that count; asked at each edge.

    Attributes:
        decayed: tensors that hold denormal numbers, once it was looked for them.
        looked: what the operations of a step take; None: not looked at.
        found: steps under each setting, beside those before.
    """

    def __init__(self, optimizers: Callable[[], Iterable[Any]]) -> None:  # torch's optimizers
        self.decayed: tuple[Decayed, ...] = ()
        self.looked: Looked | None = None
        self.found: dict[str, Beside] = {}
        self._kernels: Kernels | None = None
        self._optimizers = optimizers
        self._left: list[Setting] = []
        self._name: str | None = None
        self._before: tuple[int, ...] = ()
        self._after: list[int] = []
        self._edge_ns = 0
        self._series: Series | None = None

    @property
    def runs(self) -> bool:
        """Whether it has begun."""
        return self._series is not None

    def look(self) -> None:
        """Look at the numbers; not in the hot path."""
        self.decayed = decayed(self._optimizers())

    def begin(self, series: Series, clock: Callable[[], int]) -> bool:
        """Look at the numbers, and begin where more steps can tell something; whether it did."""
        self.look()
        self._before = tuple(series.samples[-_STEPS:])
        usual = median(self._before) if self._before else 0
        few = len(series.samples) < _FEWEST or usual * (_FEWEST + _WARM) > _LONGEST_NS
        self._left = [] if few else _settings(bool(self.decayed))
        kernels = Kernels()
        if usual <= LONGEST_NS and kernels.begin(clock()):
            self._kernels = kernels
        elif not self._next(clock):
            return False
        self._series = series
        return True

    def goes_on(self, series: Series, now: int, clock: Callable[[], int]) -> bool:
        """Another step has ended: whether more are wanted."""
        if series is not self._series:
            return True
        if self._kernels is not None:
            if self._kernels.edge(now):
                self.looked, self._kernels = self._kernels.end(), None
                return self._next(clock)
            return True
        self._after.append(now - self._edge_ns)
        self._edge_ns = now
        kept = self._after[_WARM:]
        if len(kept) < _FEWEST or (len(kept) < _STEPS and sum(kept) < _LONGEST_NS):
            return True
        assert self._name is not None
        self.found[self._name] = Beside(self._before, tuple(kept))
        self._before = tuple(kept)
        return self._next(clock)

    def _next(self, clock: Callable[[], int]) -> bool:
        if not self._left:
            return False
        self._name, make = self._left.pop(0)
        make()
        self._after = []
        self._edge_ns = clock()
        return True


def decayed(optimizers: Iterable[Any]) -> tuple[Decayed, ...]:  # torch's optimizers
    """Denormal numbers among parameters, gradients and states on the CPU, the tensor with most of them first."""
    import torch

    found = []
    with torch.no_grad():
        for what, tensor in _held(optimizers):
            share = denormal_share(tensor)
            if share > WORTH_A_WORD:
                shape = " × ".join(map(str, tensor.shape)) or "one number"
                found.append(Decayed(f"{what} of {shape}", share))
    return tuple(sorted(found, key=lambda one: -one.share))


def _held(optimizers: Iterable[Any]) -> Iterator[tuple[str, Any]]:  # tensors of the CPU, and what they are
    import torch

    for optimizer in optimizers:
        parameters: Sequence[Any] = [p for group in optimizer.param_groups for p in group["params"]]
        states = (value for state in optimizer.state.values() for value in state.values())
        named = (
            (("a parameter", p) for p in parameters),
            (("a gradient", p.grad) for p in parameters),
            (("a state", s) for s in states),
        )
        for what, tensor in (one for group in named for one in group):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
                yield what, tensor.detach()


def _settings(denormal: bool) -> list[Setting]:
    """Settings that the CPU would be spared by; flushing comes last, since the numbers are others afterwards.

    Steps with denormal numbers flushed stand beside steps without, both on one thread: threads that are there do not flush.
    """
    import torch

    cores = usable_cores()
    wanted: list[Setting] = []
    if torch.get_num_threads() > cores:
        wanted.append((MATCHED, lambda: torch.set_num_threads(cores)))
    if denormal and torch.get_num_threads() > 1:  # flushing reaches the thread that asks for it, and those that begin afterwards
        wanted.append((SINGLE, lambda: torch.set_num_threads(1)))
    if denormal:
        wanted.append((FLUSHED, lambda: torch.set_flush_denormal(True)))
    return wanted
