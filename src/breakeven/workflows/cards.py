"""The user's cards: what `why` takes from them, and what it says of that."""

from __future__ import annotations

from collections.abc import Iterable

from breakeven.diagnose.correction import Correction, learned
from breakeven.diagnose.evidence import Evidence
from breakeven.results import Interval
from breakeven.results.settled import CardState
from breakeven.store.cards import read_card

#: What stands in each sentence of `said_of_cards`.
PRICED_WITH = "is priced with your card"


def check_cards(devices: Iterable[str]) -> None:
    """Reads the cards of these devices, so that a damaged one is told before a script has run for minutes.

    Raises:
        InputError: one cannot be read.
    """
    for device in devices:
        read_card(device)


def correction_for(device: str, host: str) -> Correction | None:
    """What settled forecasts taught about a device in a host; None: nothing.

    Raises:
        InputError: the card cannot be read.
    """
    return learned(read_card(device).lessons, host)


def card_state(device: str, host: str) -> CardState | None:
    """What a device's card says; None: it has none."""
    known = correction_for(device, host)
    if known is None:
        return None
    return CardState(device, known.lessons, known.factor(0), host, known.factor(1))


def said_of_cards(evidence: Iterable[Evidence], host: str) -> tuple[str, ...]:
    """A sentence for each device that was priced by a card."""
    states = [card_state(one.device.name, host) for one in evidence]
    return tuple(_sentence(state) for state in states if state is not None)


def _sentence(state: CardState) -> str:
    jobs = "one settled forecast" if state.lessons == 1 else f"{state.lessons} settled forecasts"
    return (
        f"{state.device} {PRICED_WITH} ({jobs}): its own times {_times(state.device_factor)}, its host's "
        f"{_times(state.host_factor)}; `breakeven settle --undo` takes the last one back."
    )


def _times(factor: Interval) -> str:
    return f"× {factor.mid:.2f} ({factor.low:.2f}–{factor.high:.2f})"
