"""Records of `breakeven.watch`: a loop of the user's own process, as it ran. Missing is None, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.records import Finding, Interval, Share


@dataclass(frozen=True)
class Watched:
    """What was seen of a loop so far.

    Attributes:
        device: that the steps ran on, as PyTorch calls it; None: no step has ended yet.
        steps: that have ended.
        step_ms: median of the latest steps after warm-up, with its interval; on an asynchronous device of windows, each with all
            its work waited for; None: not known yet.
        first_ms: the first step, set-up and all.
        parts: where a step goes: `input`, `forward`, `backward`, `rest`, `optimizer`; on an asynchronous device from sampled
            steps in which each part was waited for.
        sampled: steps in which each part was waited for; 0 on a CPU, where none has to be.
        seconds: since the watch began.
        loss: the latest one; None: there was no backward pass of a single number.
        findings: what is wrong, worst first.
    """

    device: str | None
    steps: int
    step_ms: Interval | None
    first_ms: float | None
    parts: tuple[Share, ...]
    sampled: int
    seconds: float
    loss: float | None = None
    findings: tuple[Finding, ...] = ()
    schema: str = "breakeven/watch/1"
