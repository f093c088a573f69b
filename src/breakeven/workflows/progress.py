"""What a capture is doing, in words for a person who waits."""

from __future__ import annotations

from collections.abc import Callable

from breakeven.capture.request import CPU, DEVICE, VIRTUAL
from breakeven.capture.run import Progress

_PHASES = {CPU: "timing your script on the CPU", VIRTUAL: "recording it on the virtual GPU", DEVICE: "timing it on the GPU"}


def in_words(tell: Callable[[str], None]) -> Callable[[Progress], None]:
    """Hands a capture's progress on as `PHASE: how far`.

    Args:
        tell: takes the words.

    >>> in_words(print)(Progress("cpu", seconds=2.5, steps=34))
    timing your script on the CPU: step 34
    >>> in_words(print)(Progress("virtual", seconds=2.5, steps=0))
    recording it on the virtual GPU: 2 s
    """
    return lambda progress: tell(_words(progress))


def _words(progress: Progress) -> str:
    how_far = f"step {progress.steps}" if progress.steps else f"{progress.seconds:.0f} s"
    return f"{_PHASES.get(progress.which, progress.which)}: {how_far}"
