"""What the command line says beside a file that holds a network: words and numbers, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.models.asked import Asked

#: What is typed → as the description calls it.
OPTIMIZERS = {
    "adam": "adam", "adamw": "adamw", "sgd": "sgd", "sgdm": "sgd", "rmsprop": "rmsprop", "adagrad": "adagrad",
    "adadelta": "adadelta", "adamax": "adamax", "nadam": "nadam",
}  # fmt: skip
LOSSES = {"mse": "squares", "crossentropy": "cross_entropy", "bce": "binary_cross_entropy", "mae": "absolute", "huber": "huber"}
_LARGEST = 2**31


def asked_of(data: list[str] | None, batch: int | None, length: int | None, loss: str | None, optimizer: str | None) -> Asked:
    """The options of `why` and `ask` that are about a file.

    Raises:
        InputError: one is wrong.
    """
    from breakeven.models.asked import Asked

    return Asked(
        tuple(data or ()), whole(batch, "--batch"), whole(length, "--length"), one_of(loss, "--loss", LOSSES),
        one_of(optimizer, "--optimizer", OPTIMIZERS),
    )  # fmt: skip


def whole(value: int | None, option: str) -> int | None:
    """A count.

    Raises:
        InputError: it is none.
    """
    if value is not None and not 1 <= value < _LARGEST:
        raise InputError(f"{option} {value}: give a whole number from 1 on")
    return value


def one_of(value: str | None, option: str, known: dict[str, str]) -> str | None:
    """A word of a list, as the description calls it.

    Raises:
        InputError: it is none of them.
    """
    if value is None:
        return None
    plain = value.strip().lower()
    if plain not in known:
        raise InputError(f"{option} {value}: understood are {', '.join(known)}")
    return known[plain]
