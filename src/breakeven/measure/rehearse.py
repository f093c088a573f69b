"""Times parts that a remedy would bring in, on this machine's CPU: an optimizer in another form, a recurrent layer in one call.

Runs in a child process that imports torch: `python -m breakeven.measure.rehearse` reads a JSON list of parts and prints their
times. What it does not know: what else the script does to the caches between two calls.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

#: Seconds for one part, and the fewest calls whose median counts.
BUDGET_S: Final = 0.6
FEWEST: Final = 5
_LAYERS: Final = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}


@dataclass(frozen=True)
class Part:
    """One part to time.

    Attributes:
        kind: `optimizer`, or `rnn`, `gru`, `lstm`.
        name: of an optimizer: its class in `torch.optim`.
        options: of an optimizer its arguments; of a layer `hidden input layers batch timesteps train`.
        shapes: of an optimizer: its parameters.
    """

    kind: str
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON values
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Rehearsed:
    """Processor time of one call of a part, ns: quartiles and median."""

    low: float
    mid: float
    high: float


def main() -> None:
    """Read parts from standard input, write their times to standard output; null where one cannot be run."""
    parts = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Part])
    sys.stdout.write(msgspec.json.encode(rehearse(parts)).decode() + "\n")


def rehearse(parts: list[Part]) -> list[Rehearsed | None]:
    """Time parts in turns, so that what the machine does otherwise falls on all of them (imports torch).

    A part that this PyTorch does not have gives None.
    """
    calls: list[Callable[[], object] | None] = []
    for part in parts:
        try:
            call = _optimizer(part) if part.kind == "optimizer" else _layer(part)
            call()
            calls.append(call)
        except (RuntimeError, TypeError, ValueError, AttributeError, KeyError):
            calls.append(None)
    able = [call for call in calls if call is not None]
    times: dict[int, list[int]] = {id(call): [] for call in able}
    until = time.perf_counter() + BUDGET_S * len(able)
    while able and (time.perf_counter() < until or len(times[id(able[0])]) < FEWEST):
        for call in able:
            call()  # its own caches
            began = time.thread_time_ns()  # what other programs take from the machine is not in it
            call()
            times[id(call)].append(time.thread_time_ns() - began)
    return [None if call is None else _summary(times[id(call)]) for call in calls]


def _summary(found: list[int]) -> Rehearsed:
    low, _, high = statistics.quantiles(found, n=4)
    return Rehearsed(low, statistics.median(found), high)


def _optimizer(part: Part) -> Callable[[], object]:
    import torch

    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in part.shapes]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    made: Any = getattr(torch.optim, part.name)  # Any: each optimizer has arguments of its own
    step: Callable[[], object] = made(parameters, **part.options).step
    return step


def _layer(part: Part) -> Callable[[], object]:
    import torch

    at = part.options
    made: Any = getattr(torch.nn, _LAYERS[part.kind])  # Any: torch declares its arguments loosely
    layer = made(int(at["input"]), int(at["hidden"]), int(at["layers"]))
    given = torch.randn(int(at["timesteps"]), int(at["batch"]), int(at["input"]), requires_grad=True)

    def forward_backward() -> None:
        out = layer(given)[0]
        if at["train"]:
            torch.autograd.backward(out.sum())

    return forward_backward


if __name__ == "__main__":
    main()
