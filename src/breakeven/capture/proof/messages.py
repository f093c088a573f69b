"""What the parent tells an arm, and what an arm answers: one line of JSON each, over two pipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: File in an arm's folder that holds the numbers of one compared step.
NUMBERS: Final = "step_{step:06d}.npz"


@dataclass(frozen=True)
class Command:
    """Run so many steps, then report and wait.

    Attributes:
        steps: how many.
        compare: write down losses, gradients and parameters of each (such steps are not timed).
        losses: report the loss of each.
        optimizers: report the time in optimizers' steps.
    """

    steps: int
    compare: bool = False
    losses: bool = False
    optimizers: bool = False


@dataclass(frozen=True)
class Report:
    """What came of a command.

    Attributes:
        step: steps ended so far in this arm.
        ns: length of each step of the command, in order; the first one after a pause finds cold caches.
        cpu_ns: processor time of the main thread in each: what other programs take from the machine is not in it.
        losses: as asked.
        optimizer_ns: as asked: processor time of each optimizer's step, in order.
        end: how the script ended (`ScriptEnd.how`); None: it waits for the next command.
        text: how, in words.
        batch: samples of a step, where losses were asked for and it could be told; None: it is not known.
    """

    step: int
    ns: tuple[int, ...] = ()
    cpu_ns: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    optimizer_ns: tuple[int, ...] = ()
    end: str | None = None
    text: str = ""
    batch: int | None = None
