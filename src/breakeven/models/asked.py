"""What a user says beside a file: sizes that it leaves open, and a training where it has none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from breakeven.errors import InputError
from breakeven.models.network import Training


@dataclass(frozen=True)
class Asked:
    """What is said on the command line; None: not said.

    Attributes:
        data: sizes, as `--data` takes them.
        batch: samples of a step.
        length: time steps, or whatever size the file leaves open.
        loss, optimizer: as `network.Training` calls them.
    """

    data: tuple[str, ...] = ()
    batch: int | None = None
    length: int | None = None
    loss: str | None = None
    optimizer: str | None = None

    def sizes(self) -> dict[str, int]:
        """The sizes that `--data NAME=SIZE` gives.

        Raises:
            InputError: one is no such thing.
        """
        found: dict[str, int] = {}
        for text in self.data:
            name, _, size = text.rpartition("=")
            if not name or not size.isdecimal() or not 1 <= int(size) < 2**31:
                raise InputError(f"--data {text}: of such a file, give a size that it leaves open, as in --data time=128")
            found[name] = int(size)
        return found

    def applied(self, training: Training) -> Training:
        """A training with what was said in its place."""
        said = {"batch": self.batch, "loss": self.loss, "solver": self.optimizer}
        return replace(training, **{k: v for k, v in said.items() if v is not None})  # type: ignore[arg-type]  # the command line checked them


#: Nothing is said.
NOTHING = Asked()


def unused(sizes: Iterable[str], known: Iterable[str]) -> None:
    """Refuse sizes of nothing.

    Raises:
        InputError: a name is none that the file leaves open.
    """
    open_ = sorted(set(known))
    for name in sizes:
        if name not in open_:
            there = f"it leaves open: {', '.join(open_)}" if open_ else "it leaves no size open"
            raise InputError(f"--data {name}=…: the file has no such size; {there}")
