"""What the page of `why` shows beyond the answer: each GPU's step as it is played, prices by line, and other batch sizes."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable
from pathlib import Path

from breakeven.diagnose.line_prices import line_prices
from breakeven.diagnose.played import played_step
from breakeven.diagnose.sizes import Ground, sizes
from breakeven.results.pictured import Pictured, PlayedStep
from breakeven.simulate import run, schedule
from breakeven.workflows.why import Answered

#: A longer file is shown by its priced lines alone.
_LONGEST = 400_000  # bytes


def pictured(answer: Answered) -> Pictured:
    """All that can be had of it; an answer without a stream has none of it."""
    grounds = tuple(one.ground for one in answer.priced)
    lines = line_prices([ground.evidence for ground in grounds])
    steps = tuple(step for step in (_played(ground) for ground in grounds) if step is not None)
    return Pictured(steps, lines, _sources(line.file for line in lines), sizes(grounds))


def _played(ground: Ground) -> PlayedStep | None:
    stream = ground.evidence.stream
    costs = ground.pricing.costs(stream)
    timeline = run(schedule(stream, costs, ground.pricing.host(stream, costs)))
    return played_step(timeline, ground.evidence.device.name, "predicted")


def _sources(names: Iterable[str]) -> dict[str, str]:
    """Text of the files that can still be read where the recording found them."""
    found = {}
    for name in dict.fromkeys(names):
        text = _text(Path(name))
        if text is not None:
            found[name] = text
    return found


def _text(path: Path) -> str | None:
    try:
        content = path.read_bytes() if path.is_file() and path.stat().st_size <= _LONGEST else None
        if content is None:
            return None
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding, "replace")
    except (OSError, SyntaxError, LookupError):
        return None
