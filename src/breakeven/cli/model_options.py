"""What the command line says beside a file that holds a network: words and numbers, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.models.asked import Asked

OPTIMIZERS = {
    "adam": "adam", "adamw": "adam", "sgd": "sgd", "sgdm": "sgd", "rmsprop": "rmsprop",
}  # fmt: skip
FILE_OPTIMIZERS = {
    **OPTIMIZERS,
    "adamw": "adamw",
    "adagrad": "adagrad",
    "adadelta": "adadelta",
    "adamax": "adamax",
    "nadam": "nadam",
}
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
        one_of(optimizer, "--optimizer", FILE_OPTIMIZERS),
    )  # fmt: skip


def whole(value: int | None, option: str) -> int | None:
    """A count.

    Raises:
        InputError: it is none.
    """
    if value is not None and not 1 <= value < _LARGEST:
        raise InputError(f"{option} {value}: give a number from 1 on")
    return value


def one_of(value: str | None, option: str, known: dict[str, str]) -> str | None:
    """A word of a list, as the description calls it.

    Raises:
        InputError: it is none of them.
    """
    if value is None:
        return None
    plain = value.strip().lower().replace("-", "").replace("_", "")
    if plain not in known:
        raise InputError(f"{option} {value}: one of {', '.join(known)}")
    return known[plain]
