"""What a capture hands back: the records of its passes, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.capture.request import ScriptEnd, TimedPass
from breakeven.capture.virtual.facts import Fact
from breakeven.errors import BreakevenError, Interrupted, NoAnswer, ScriptFailed
from breakeven.timeline import OpStream


@dataclass(frozen=True)
class VirtualPass:
    """What the virtual GPU recorded.

    Attributes:
        stream: the recorded steps; None: nothing was recorded, `end` says why.
        end: how the script ended in this pass.
        facts: what was noticed beside operations, by kind.
        warnings: what this pass could not do, one sentence each.
        peak_rss_bytes: peak resident memory of the child.
        device_rows: operations seen on the virtual GPU, recorded or not; 0: the script never used it.
        segments: where the unit is the run: which of the timing pass's segments the stream holds.
    """

    stream: OpStream | None
    end: ScriptEnd
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    peak_rss_bytes: int | None = None
    device_rows: int = 0
    segments: tuple[int, ...] = ()


@dataclass(frozen=True)
class CaptureResult:
    """Everything that was learned; a pass that was not run, or died before its first edge, is None.

    Attributes:
        cpu: the timing pass.
        virtual: the recording pass.
        device: the timing pass on a real accelerator.
        warnings: what could not be done.
        beside_s: processor time of the script's that this process's own counters do not hold: of forks of another process, and
            of what the script left running.
    """

    cpu: TimedPass | None = None
    virtual: VirtualPass | None = None
    device: TimedPass | None = None
    warnings: tuple[str, ...] = ()
    beside_s: float = 0.0

    def error(self) -> BreakevenError | None:
        """What to tell the user where the capture did not go through; None: all went well."""
        timed = [p for p in (self.device, self.cpu) if p is not None]
        ends = [p.end for p in timed] + ([self.virtual.end] if self.virtual is not None else [])
        if any(end.how == "interrupted" for end in ends):
            return Interrupted("interrupted: what was finished is kept")
        for part in timed:
            if part.end.failed:
                count = len(part.principal.samples_ns) if part.principal is not None else 0
                after = f" after {count} step{'s' if count > 1 else ''}" if count else " before its first step ended"
                where = " on the accelerator" if part is self.device else ""
                return ScriptFailed(f"the script failed{where}{after}: {part.end.text}")
        main = self.cpu or self.device
        if main is not None:
            idle = self.virtual is None or self.virtual.device_rows == 0
            if main.principal is None or (main.unit == "run" and main.end.how == "timeout" and idle):
                why = main.end.text or "the script trains nothing"
                if main.keras is not None and main.keras.backend != "torch":
                    why = f"Keras runs on {main.keras.backend} here, and only PyTorch's steps are seen; set KERAS_BACKEND=torch"
                return NoAnswer(f"nothing could be timed: {why}")
        if main is not None and main.keras is not None and main.keras.backend != "torch":
            return NoAnswer(
                f"only the time on this CPU was measured: Keras runs on {main.keras.backend}, and only PyTorch's operations are "
                "recorded and priced; KERAS_BACKEND=torch runs the same script on PyTorch"
            )
        if self.virtual is not None and self.virtual.device_rows == 0 and self.virtual.end.how in ("ok", "exit"):
            return NoAnswer("the script does no work that a GPU could do (processes that it starts are not looked at)")
        return _unrecorded(self.virtual) if self.virtual is not None else None


def _unrecorded(virtual: VirtualPass) -> NoAnswer | None:
    """Why there is nothing to predict a GPU from, where the timing pass found a training; None: there is."""
    if virtual.stream is not None and len(virtual.stream):
        return None
    if virtual.stream is not None or virtual.end.how == "budget":  # its steps came again, and none of their operations
        return NoAnswer(
            "the steps run in a thread that the script starts, where the virtual GPU sees no operations: "
            "call the training from the main thread"
        )
    return NoAnswer(f"the virtual GPU recorded nothing: {virtual.end.text or 'none of the timed steps came again'}")
