"""What an hour of a device costs: the catalog's list (`machine/data/prices.csv`), or a user's own of the same columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from breakeven.errors import InputError

#: What the list calls a machine without a GPU.
CPU_ONLY: Final = "CPU only"
COLUMNS: Final = ("provider", "instance", "gpu", "gpus", "vcpus", "usd_per_hour", "usd_per_gpu_hour", "source")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Offer:
    """One line of a price list.

    Attributes:
        provider: who offers it.
        instance: what they call it; empty: an accelerator alone.
        gpu: the catalog's name, or `CPU_ONLY`.
        vcpus: of the machine; None: not known.
        usd_per_hour: of one GPU's part of the machine; of the whole machine where it has none.
        source: where the price was read, with the day or the edition.
    """

    provider: str
    instance: str
    gpu: str
    vcpus: int | None
    usd_per_hour: float
    source: str

    @property
    def dated(self) -> str:
        """The day that the source names; else its edition, as the source has it."""
        day = _DAY.search(self.source)
        return day[0] if day else self.source

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.provider} {self.instance}".strip()


def offers(path: Path | None = None) -> tuple[Offer, ...]:
    """Every line of a list.

    Args:
        path: a user's own list; None: the catalog's.

    Raises:
        InputError: the file cannot be read, or a line is no offer.
    """
    try:
        if path is not None:
            text = path.read_text(encoding="utf-8")
        else:
            text = (files("breakeven.machine") / "data" / "prices.csv").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--prices {path}: cannot be read ({error})") from None
    reader = csv.DictReader(text.splitlines())
    missing = [c for c in ("provider", "gpu", "usd_per_gpu_hour") if c not in (reader.fieldnames or ())]
    if missing:
        raise InputError(f"--prices {path}: no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    return tuple(_offer(row, path) for row in reader)


def _offer(row: dict[str, str], path: Path | None) -> Offer:
    try:
        price = float(row["usd_per_gpu_hour"])
        vcpus = int(row["vcpus"]) if row.get("vcpus") else None
    except (TypeError, ValueError):
        raise InputError(f"--prices {path}: {row.get('gpu')}: {row.get('usd_per_gpu_hour')!r} is no price") from None
    return Offer(row["provider"], row.get("instance") or "", row["gpu"], vcpus, price, row.get("source") or "no date given")


def cheapest(listed: Sequence[Offer], gpu: str) -> Offer | None:
    """The cheapest hour of one GPU, its machine included; None: the list has none."""
    fit = [o for o in listed if o.gpu == gpu and o.instance]
    return min(fit, key=lambda o: (o.usd_per_hour, o.words), default=None)


def cheapest_cpu(listed: Sequence[Offer], cores: int) -> Offer | None:
    """The cheapest machine without a GPU that has as many virtual CPUs; None: the list has none."""
    fit = [o for o in listed if o.gpu == CPU_ONLY and o.vcpus is not None and o.vcpus >= cores]
    return min(fit, key=lambda o: (o.usd_per_hour, o.words), default=None)
