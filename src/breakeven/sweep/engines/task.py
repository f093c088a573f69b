"""A task, what becomes of it, and what an engine promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Task:
    """A piece of work that pickles.

    Attributes:
        key: its name; no two tasks share one.
        function: a function at the top of a module.
        arguments: what it is called with.
        exclusive: nothing else runs on that machine meanwhile: it measures.
        gpu: kind of accelerator that it needs (Ray's name of it); None: none.
    """

    key: str
    function: Callable[..., Any]  # what a task brings is its own affair
    arguments: tuple[Any, ...]
    exclusive: bool = False
    gpu: str | None = None


@dataclass(frozen=True)
class Done:
    """A task's end.

    Attributes:
        key: the task's.
        value: what its function returned; None where it failed.
        error: why it failed, in one line; None: it did not.
        attempts: how often it was begun.
    """

    key: str
    value: Any  # as `Task.function`
    error: str | None = None
    attempts: int = 1


class Engine(Protocol):
    """Runs tasks; hands each end on as soon as it is there, in no order."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Every task once; one whose worker was lost again, up to `MOST_ATTEMPTS` times."""

    def close(self) -> None:
        """Ends what it started."""


#: A task that takes its worker down this often is given up.
MOST_ATTEMPTS = 3
