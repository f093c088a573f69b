"""`breakeven.pick`: the device for a step, measured once, remembered, and explained when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from breakeven.errors import InputError
from breakeven.report.printing import Printing
from breakeven.results.picking import Pick
from breakeven.store.picks import forget_picks, keep_pick, latest_pick, read_pick

if TYPE_CHECKING:
    import torch
    from rich.console import RenderableType

    from breakeven.measure.backends.protocol import Backend

Step = Callable[..., object]


@dataclass(frozen=True)
class Picker:
    """What `breakeven.pick` is: called, it picks; `explain` says why."""

    def __call__(self, step_or_module: Step, *example: object) -> torch.device:
        """The device of this machine on which a step is fastest.

        Measures a few steps on each device, for three seconds at most, on copies of what is handed over, and remembers the
        answer for this code, these shapes and this machine. What is remembered is tried with one step, since a device may
        have gone or filled up since; a device on which the step fails is never picked.

        Args:
            step_or_module: a `torch.nn.Module`; or a function, called with the example (and with `device`, where it has such a
                parameter; what it then hands back, if it can be called, is the step).
            example: a batch, as the module or function takes it; modules and optimizers may be among it.

        Raises:
            InputError: a function that takes neither a device nor an example.
            NoAnswer: the step fails on every device.

        Example:
            ``device = breakeven.pick(model, batch)``
        """
        import torch

        from breakeven.measure.known import present_backends

        return torch.device(pick_among(step_or_module, example, present_backends()).device)

    def explain(self, step_or_module: Step | None = None, *example: object) -> Explained:
        """Why a device was picked: for this step, or, without one, for the step that was measured last.

        Raises:
            InputError: nothing was picked yet.
        """
        if step_or_module is None:
            found = latest_pick()
        else:
            from breakeven.measure.known import present_backends
            from breakeven.measure.likeness import likeness

            found = read_pick(likeness(step_or_module, example, present_backends()))
        if found is None:
            raise InputError("nothing is remembered of this step: call breakeven.pick(...) first")
        return Explained(found)

    def forget(self) -> int:
        """Forget all that was picked; how many answers that were."""
        return forget_picks()


@dataclass(frozen=True, repr=False)
class Explained(Printing):
    """A pick that prints its reasons.

    Attributes:
        pick: the record.
    """

    pick: Pick

    def page(self, width: int, ascii_only: bool) -> RenderableType:
        """Each device's steps, and which one it is."""
        from breakeven.report.pick import render_pick

        return render_pick(self.pick, width, ascii_only)

    def html(self) -> str:
        """The same as a table."""
        from breakeven.report.pick import pick_table_html

        return pick_table_html(self.pick)


def pick_among(step_or_module: Step, example: tuple[object, ...], backends: tuple[Backend, ...]) -> Pick:
    """Pick one of some devices, by memory or by measuring; as `Picker.__call__`."""
    from breakeven.measure.likeness import likeness
    from breakeven.measure.picking import check_device, try_devices
    from breakeven.measure.placing import random_kept, step_maker

    make = step_maker(step_or_module, example)
    key = likeness(step_or_module, example, backends)
    known = read_pick(key)
    with random_kept():
        if known is not None:
            backend = next((b for b in backends if b.device == known.device), None)
            if backend is not None and check_device(backend, make) is None:
                return known
        found = try_devices(backends, make)
    found = replace(found, key=key, at=datetime.now(timezone.utc).isoformat())
    if found.decided:
        keep_pick(found)
    return found


#: What `breakeven.pick` hands on.
pick = Picker()
