"""input_bound: the step waits for its batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence, seen, share, sites_of
from breakeven.diagnose.wording import of_step, percent
from breakeven.results.facts import Loader
from breakeven.results.records import Finding
from breakeven.timeline import edit
from breakeven.whatif.without_input import input_rows, without_input


def input_bound(evidence: Evidence) -> Finding | None:
    """The host makes, or awaits, the next batch while the GPU has nothing to do.

    What it sees: host time in the input phase: fetching, collating, augmenting, waiting for workers.
    Why it costs: in the training process the batch is made one after the other with the step; on a GPU, whose step is
        shorter, it weighs more.
    Evidence: the step simulated with batches that cost the host nothing. The time itself was measured here.
    Example: a `DataLoader` over a `TensorDataset` in memory that fetches and collates row by row.
    Remedy: whole batches by index where the data are in memory; else worker processes that stay.
    When it is wrong: workers need free cores; on two cores they take them from the training.
    """
    stream = evidence.stream
    rows = input_rows(stream)
    if not rows.any():
        return None
    price = evidence.price(without_input(stream))
    loader = evidence.facts.loaders[0] if evidence.facts.loaders else None
    sites = sites_of(evidence, rows, lambda at: without_input(stream, at)) or seen(loader.site if loader else None)
    part = share(max(0.0, price.mid), evidence.step_ms)
    return Finding(
        id="input_bound",
        device=evidence.device.name,
        cause="input",
        price_ms=price,
        sentence=(
            f"The GPU waits for the next batch {of_step(max(0.0, price.mid), evidence.step_ms)} ({percent(part)} of the step): "
            f"{_how(loader, evidence.stream.batch)}."
        ),
        sites=sites,
        remedies=_remedies(evidence, loader, rows),
    )


def _how(loader: Loader | None, batch: int | None) -> str:
    if loader is None:
        return "the host makes it between two steps"
    if loader.workers:
        return f"{loader.workers} worker process{'es' if loader.workers > 1 else ''} cannot make batches as fast as they are used"
    if loader.by_row:
        return f"the training process itself fetches its {loader.batch or batch or 'many'} samples one by one and joins them"
    return "the training process makes it itself (num_workers=0)"


def _remedies(evidence: Evidence, loader: Loader | None, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    if loader is None:
        steps_on_host = any(call.op.startswith("aten::") for call in edit.calls_of(evidence.stream))
        return ("data_on_device", "prefetch") if steps_on_host else ("prefetch",)
    if loader.in_memory:  # workers would only send back and forth what is there already
        return ("index_batches", "data_on_device") if loader.by_row is not False else ("data_on_device",)
    if loader.workers:
        return ("prefetch",)
    return (
        ("loader_workers", "persistent_workers", "index_batches")
        if loader.in_memory is None
        else ("loader_workers", "persistent_workers")
    )
