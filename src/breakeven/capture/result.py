"""What a capture hands back: the records of its passes, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.capture.request import ScriptEnd, TimedPass
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

    @property
    def failure(self) -> ScriptEnd | None:
        """The end of the first timed pass where the user's own script failed, else None."""
        ends = [p.end for p in (self.device, self.cpu) if p is not None and p.end.failed]
        return ends[0] if ends else None
