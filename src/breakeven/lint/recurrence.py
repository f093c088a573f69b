"""Loops over time: which of them carry a state, whether cuDNN has that cell, and what in them needs no state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from breakeven.lint.check import loops_of
from breakeven.lint.reading.facts import Event, Facts, Loop
from breakeven.lint.reading.values import Box, Tensor

_KINDS = ("cell", "product", "activation", "disturbed", "chunk")


@dataclass(frozen=True)
class TimeLoop:
    """A loop that carries a state from one time step to the next."""

    loop: Loop
    cells: tuple[Event, ...]  # calls of library cells on an input that needs no state
    input_products: tuple[Event, ...]  # products with the input of this time step alone
    state_products: tuple[Event, ...]  # products that need the state
    fusable: bool  # cuDNN has this cell


def time_loops(facts: Facts) -> Iterator[TimeLoop]:
    """The loops over time in training steps, or in modules whose use the file does not show."""
    events = [event for event in facts.of(*_KINDS) if event.often]
    for loop in loops_of(events):
        inside = any(outer.steps for event in events if loop in event.loops for outer in event.loops[: event.loops.index(loop)])
        if loop.steps or loop.holds_steps or (loop.forwards and not inside) or not loop.carried:
            continue
        found = _read(loop, [event for event in events if loop in event.loops])
        if found is not None:
            yield found


def _read(loop: Loop, events: list[Event]) -> TimeLoop | None:
    """What the events in a loop say about it; None where it carries no state."""
    names = set(loop.carried.values())
    cells = tuple(e for e in events if e.kind == "cell" and _library_cell(loop, e, events))
    products = [e for e in events if e.kind == "product" and e.value is not None]
    by_input = tuple(e for e in products if loop.symbol in _tags(e) and not names & _tags(e))
    by_state = tuple(e for e in products if names & _tags(e))
    gated = any(e.kind == "activation" and names & _tags(e) for e in events)
    stateful = by_state or gated or any(e.kind == "cell" and names & _given(e) for e in events)
    if not stateful:
        return None
    fusable = bool(cells) or _cudnn_cell(loop, by_input, by_state, events)
    return TimeLoop(loop, cells, by_input, by_state, fusable)


def _tags(event: Event) -> frozenset[int]:
    return event.value.tags if event.value is not None else frozenset()


def _given(event: Event) -> frozenset[int]:
    return event.other.tags if event.other is not None else frozenset()


def _library_cell(loop: Loop, event: Event, events: list[Event]) -> bool:
    """A cell whose input needs no earlier output, and whose state goes on as the cell gave it."""
    names = set(loop.carried.values())
    if names & _tags(event) or loop.symbol not in _tags(event) or not names & _given(event):
        return False
    if event.other is None or not event.other.origin:  # the state was changed on its way
        return False
    positions = {e.position for e in events if e.kind == "cell"}
    for name, tag in loop.carried.items():
        if tag in _given(event):
            last = loop.final.get(name)
            if isinstance(last, Box):
                continue
            if isinstance(last, Tensor) and last.origin not in positions:
                return False
    return True


def _cudnn_cell(loop: Loop, by_input: tuple[Event, ...], by_state: tuple[Event, ...], events: list[Event]) -> bool:
    """A cell written by hand that is one of cuDNN's: Elman, LSTM, or GRU with the reset gate behind its product."""
    names = set(loop.carried.values())
    if not by_state or any(e.kind == "disturbed" and names & _tags(e) for e in events):
        return False
    if not any(loop.symbol in _tags(e) for e in events):
        return False
    gates = [e for e in events if e.kind == "activation" and names & _tags(e)]
    sigmoid = [e for e in gates if e.name == "sigmoid"]
    tanh = sum(e.name == "tanh" for e in gates)
    relu = sum(e.name == "relu" for e in gates)
    split = {e.value.origin: e.number for e in events if e.kind == "chunk" and e.value is not None and e.number}
    sigmoids = sum(split.get(e.position, 1) for e in sigmoid)
    states = [name for name, tag in loop.carried.items() if _is_state(loop, name, names)]
    if not sigmoids and tanh + relu == 1:
        return len(by_state) == 1 and _is_given(loop, gates[0].position)
    if sigmoids == 3 and tanh == 2 and not relu:
        return len(states) == 2
    direct = all(e.value is not None and e.value.origin < 0 for e in by_state)
    return sigmoids == 2 and tanh == 1 and not relu and len(states) == 1 and direct


def _is_state(loop: Loop, name: str, names: set[int]) -> bool:
    last = loop.final.get(name)
    return isinstance(last, Tensor) and bool(last.tags & names)


def _is_given(loop: Loop, position: int) -> bool:
    """Whether the state of the next time step is the activation's result itself."""
    return any(isinstance(last, Tensor) and last.origin == position for last in loop.final.values())
