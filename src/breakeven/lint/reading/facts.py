"""What the reading of a file notes: loops, and events in them. Checks look at these and at nothing else."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from breakeven.lint.reading.values import Tensor


@dataclass(eq=False)
class Loop:
    """One loop as it was met, by whatever chain of calls."""

    node: ast.AST
    line: int
    symbol: int  # of its index; also the tag of what is taken by it
    carried: dict[str, int] = field(default_factory=dict)  # names that live on from one iteration to the next, with their tags
    final: dict[str, object] = field(default_factory=dict)  # what those names hold at the end of an iteration
    steps: bool = False  # a backward pass or an optimizer's step is done directly in it
    forwards: bool = False  # a model is called directly in it
    holds_steps: bool = False  # in a loop beneath it


@dataclass(frozen=True)
class Event:
    """Something that the checks ask about, where it happens."""

    kind: str
    line: int
    column: int
    loops: tuple[Loop, ...]
    forward: bool  # inside a module's forward
    rare: bool  # under a condition that holds only now and then
    grad: bool  # autograd records
    calls: tuple[int, ...]  # lines of the calls that led here, outermost first
    value: Tensor | None = None
    other: Tensor | None = None
    name: str = ""
    number: int = 0
    position: int = 0
    known: bool = True  # met from the top of the file, not by reading what nothing in it calls

    @property
    def hot(self) -> bool:
        """In each step of a training, as far as the file shows."""
        return not self.rare and any(loop.steps for loop in self.loops)

    @property
    def often(self) -> bool:
        """In each step, or in each call of a module of which the file shows no training."""
        return self.hot or (self.forward and not self.rare and not self.known)


@dataclass
class Timing:
    """A difference of two readings of a clock, and what was done with it."""

    line: int
    column: int
    start_line: int
    work: int  # launches of device work in between
    start_pending: bool
    end_pending: bool
    first: bool  # nothing of the kind had run before
    loops: int
    steps: int  # of a training that lie in between
    epochs: int  # loops over such steps that lie in between
    rate: bool = False
    compared: bool = False
    shown: bool = False


@dataclass
class Facts:
    """Everything that was noted of one file."""

    events: list[Event] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  # recorded results that a backward pass reaches, or that left the view
    trains: bool = False
    device: bool = False  # the file names a GPU, or leaves the device to its caller

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds, in the order of the reading."""
        return [event for event in self.events if event.kind in kinds]
