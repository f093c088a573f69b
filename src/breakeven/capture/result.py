"""What a capture hands back: the records of its passes, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.capture.request import ScriptEnd, TimedPass
from breakeven.errors import BreakevenError, Interrupted, NoAnswer, ScriptFailed
from breakeven.timeline import OpStream


@dataclass(frozen=True)
class VirtualPass:
    """What the virtual GPU recorded; `stream` None: nothing was recorded, `end` says why."""

    stream: OpStream | None
    end: ScriptEnd
    facts: Mapping[str, Any] = field(default_factory=dict)  # JSON values, see capture/virtual
    warnings: tuple[str, ...] = ()
    peak_rss_bytes: int | None = None


@dataclass(frozen=True)
class CaptureResult:
    """Everything that was learned; a pass that was not run, or died before its first edge, is None."""

    cpu: TimedPass | None = None
    virtual: VirtualPass | None = None
    device: TimedPass | None = None
    warnings: tuple[str, ...] = ()

    def error(self) -> BreakevenError | None:
        """What to tell the user where the capture did not go through; None: all went well."""
        timed = [p for p in (self.device, self.cpu) if p is not None]
        ends = [p.end for p in timed] + ([self.virtual.end] if self.virtual is not None else [])
        if any(end.how == "interrupted" for end in ends):
            return Interrupted("interrupted: what was finished is kept")
        for part in timed:
            if part.end.failed:
                count = len(part.principal.samples_ns) if part.principal is not None else 0
                after = f" after {count} steps" if count else " before its first step ended"
                return ScriptFailed(f"the script failed{after}: {part.end.text}")
        for part in timed:
            if part.principal is None:
                return NoAnswer(f"nothing could be timed: {part.end.text or 'the script trains nothing'}")
        return None
