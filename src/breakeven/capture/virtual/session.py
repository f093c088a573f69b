"""The session: what the child process holds while a script runs under the virtual GPU."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from breakeven.capture.virtual.facts import Fact
from breakeven.timeline import OpStream


class Session:
    """One installed virtual GPU; made by `install`."""

    @property
    def facts(self) -> Mapping[str, tuple[Fact, ...]]:
        """What was noticed so far, by kind (`facts.py` lists the kinds)."""
        raise NotImplementedError

    @property
    def device_rows(self) -> int:
        """Operations seen on cuda so far, recorded or not; 0 at the end means that the script never named cuda."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin recording, at a step's edge."""
        raise NotImplementedError

    def edge(self) -> None:
        """A recorded step has ended."""
        raise NotImplementedError

    def stop(self, *, unit: str = "step", batch: int | None = None) -> OpStream:
        """The frozen stream of the steps between `start` and the last `edge` (of everything, where there was no edge)."""
        raise NotImplementedError

    def uninstall(self) -> None:
        """Put every patch back."""
        raise NotImplementedError

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()


def install(*, lift: bool = False, repair: bool = True) -> Session:
    """Patch torch so that `cuda` is answered by stand-ins, process-wide.

    Args:
        lift: move a script that never names cuda: modules, optimizer state and what enters the outermost module call.
        repair: record a CPU tensor that meets a cuda one and go on as if it had been moved; else raise CUDA's error.
    """
    raise NotImplementedError
