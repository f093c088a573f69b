"""Records of `breakeven race`; their field names are those of its JSON. Missing is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.results.records import Interval


@dataclass(frozen=True)
class Racer:
    """One training: of a device, or of a variant of the script there.

    Attributes:
        device: as PyTorch calls it.
        iterations: steps that ended.
        seconds: that they took, waiting for others left out.
        at_s: training time of each point of the curve.
        loss: mean loss around that time.
        end_loss: mean of the last quarter of the time, with its interval; None: no loss was seen.
        reached_s: when the curve first was at or below the target; None: never.
        error: why it ended early; None: it did not.
        variant: what sets it apart on its device: `batch=64`, `as it is`, `with pin_memory`; empty: nothing.
        samples: that its steps trained on; None: the size of a batch is not known.
    """

    device: str
    iterations: int
    seconds: float
    at_s: tuple[float, ...] = ()
    loss: tuple[float, ...] = ()
    end_loss: Interval | None = None
    reached_s: float | None = None
    error: str | None = None
    variant: str = ""
    samples: int | None = None

    @property
    def name(self) -> str:
        """What the answer calls it."""
        return f"{self.device}, {self.variant}" if self.variant else self.device


@dataclass(frozen=True)
class RaceReport:
    """The whole answer of `breakeven race`.

    Attributes:
        target: the loss to be reached: as asked, else the highest of the ends, which all can reach.
        sentence: who was first, in words, and what throughput bought.
    """

    script: str
    seconds: float
    racers: tuple[Racer, ...]
    target: float | None
    sentence: str
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    schema: str = "breakeven/race/1"
