"""The session: what the child process holds while a script runs under the virtual GPU."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from torch._library import simple_registry

from breakeven.capture.virtual import (
    ask_factory,
    ask_tensor,
    clocks,
    compiled,
    foreach,
    loader,
    lowering_cells,
    lowering_rnn,
    mismatch,
    parallel,
    phases,
    saving,
    settings,
)  # fmt: skip
from breakeven.capture.virtual.autocast import Autocast
from breakeven.capture.virtual.calibrate import overhead_ns
from breakeven.capture.virtual.cuda_objects import T4
from breakeven.capture.virtual.cuda_surface import Surface
from breakeven.capture.virtual.facts import Fact
from breakeven.capture.virtual.lift import Lift
from breakeven.capture.virtual.lowering import Lowerer
from breakeven.capture.virtual.marks import Marks
from breakeven.capture.virtual.moves import Mover
from breakeven.capture.virtual.notes import Notes
from breakeven.capture.virtual.outermost import Outermost
from breakeven.capture.virtual.padding import Padding
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder
from breakeven.capture.virtual.sites import Sites
from breakeven.capture.virtual.special import specials
from breakeven.machine.records import Gpu
from breakeven.timeline import OpStream


@dataclass(frozen=True)
class _Watch:
    """What looks at the script's batches."""

    outermost: Outermost
    padding: Padding


class Session:
    """One installed virtual GPU; made by `open_session`."""

    def __init__(
        self, recorder: Recorder, patches: Patches, notes: Notes, watch: _Watch, lift: Lift | None, surface: Surface
    ) -> None:
        self.recorder = recorder
        self.surface = surface
        self._watch = watch
        self._lift = lift
        self._patches = patches
        self._notes = notes

    @property
    def facts(self) -> Mapping[str, tuple[Fact, ...]]:
        """What was noticed so far, by kind (`facts.py` lists the kinds)."""
        return self._notes.facts()

    @property
    def device_rows(self) -> int:
        """Operations seen on cuda so far, recorded or not; 0 at the end means that the script never named cuda."""
        return self.recorder.device_ops

    def start(self) -> None:
        """Begin recording, at a step's edge."""
        self.recorder.overhead = overhead_ns(self.recorder)
        self.recorder.begin()

    def edge(self) -> None:
        """A step has ended."""
        self.recorder.edge()
        if self._lift is not None:
            self._lift.edge()

    def stop(self, *, unit: str = "step", batch: int | None = None) -> OpStream:
        """The frozen stream of the steps between `start` and the last `edge` (of everything, where there was no edge).

        Args:
            unit: `step`, `loop` or `run`: what an edge is.
            batch: samples per step where the caller knows better than what entered the model.
        """
        rows, self.recorder.rows = self.recorder.rows, None
        if rows is None:
            raise RuntimeError("stop() before start(): nothing was recorded")
        settings.note(self._notes)
        self._watch.padding.note(self._notes)
        batch = batch or rows.recurrent_batch() or self._watch.outermost.batch
        return rows.freeze(
            self.recorder.sites.sites, overhead_ns=self.recorder.overhead, unit=unit, batch=batch,
            warnings=tuple(self._notes.warnings),
        )  # fmt: skip

    def uninstall(self) -> None:
        """Put every patch back."""
        self.recorder.rows = None
        self._patches.undo()
        self.recorder.marks.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.uninstall()


def open_session(*, lift: bool, repair: bool, gpu: Gpu | None) -> Session:
    """Install everything; see `breakeven.capture.virtual.install`."""
    importlib.import_module("torch._dynamo")  # optimizers import it; it must not meet a torch that claims to have CUDA
    sites = Sites()
    notes = Notes(sites)
    recorder = Recorder(Marks(), sites, notes)
    recorder.repair = repair
    _equip(recorder)
    patches = Patches()
    mover = Mover(recorder)
    ask_tensor.install(patches, recorder, mover)
    ask_factory.Factories(recorder, mover).install(patches)
    surface = Surface(recorder, gpu or T4)
    surface.install(patches)
    phases.install(patches, recorder)
    lowerer = Lowerer(recorder)
    lowering_rnn.install(patches, recorder, lowerer)
    lowering_cells.install(patches, recorder, lowerer)
    foreach.install(patches, recorder)
    saving.install(patches, recorder)
    loader.install(patches, recorder)
    compiled.install(patches, recorder)
    clocks.install(patches, recorder)
    parallel.install(patches, recorder, mover, lambda: _shadow(recorder))
    Autocast(recorder).install(patches)
    lifted = None
    if lift:
        lifted = Lift(recorder, mover)
        lifted.install(patches)
    watch = _Watch(Outermost(recorder, lifted), Padding(recorder))
    watch.outermost.install(patches)
    watch.padding.install(patches)
    # The interpreter asks before each operation whether a custom operator has a rule for this very mode: none has.
    patches.set(simple_registry, "find_torch_dispatch_rule", _no_rule)
    recorder.__enter__()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
    patches.on_undo(lambda: recorder.__exit__(None, None, None))  # type: ignore[no-untyped-call]  # as above
    return Session(recorder, patches, notes, watch, lifted, surface)


def _no_rule(op: object, mode: type) -> None:
    return None


def _equip(recorder: Recorder) -> None:
    """Give a recorder what it calls back into."""
    recorder.specials = specials(recorder)
    recorder.meet = partial(mismatch.meet, recorder)


def _shadow(recorder: Recorder) -> Recorder:
    """A mode for another thread: marks like the recorder, records nothing."""
    shadow = Recorder(recorder.marks, recorder.sites, recorder.notes)
    _equip(shadow)
    shadow.repair, shadow.move = recorder.repair, recorder.move
    return shadow


__all__ = ["Session", "open_session"]
