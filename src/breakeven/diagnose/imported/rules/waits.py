"""sync_bound: the host stops to wait for the device, which then runs dry, in a trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.frames import lines_of
from breakeven.diagnose.imported.rules.finding import finding, longest, part
from breakeven.diagnose.wording import often
from breakeven.results.records import Finding
from breakeven.timeline import schema
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column


def sync_bound(evidence: TraceEvidence) -> Finding | None:
    """The host waits for a result, and the device then waits for the host.

    What it sees: idle time of the device while the host was in a synchronising call, or was filling the queue again after one.
    Why it costs: the host cannot issue ahead while it waits.
    Evidence: the account's part `sync`, averaged over the steps.
    Example: `loss.item()` in every step.
    Remedy: add up on the device, and read once an epoch.
    When it is wrong: where the value decides what the loop does next.
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("sync")
    if price.mid <= 0:
        return None
    waits = evidence.in_steps(evidence.on_host.filter(pl.col(schema.EVENT_KIND.name) == Kind.SYNC))
    if not waits.height:
        return None
    sites = lines_of(evidence.timeline, waits)
    where = f"in {sites[0].text} at {sites[0].file}:{sites[0].line}" if sites else f"inside {_around(evidence, waits)}"
    sentence = (
        f"The host stops {often(waits.height / evidence.count)} a step to wait for the GPU ({where}), and the "
        f"GPU then waits for the host: {part(evidence, price)}."
    )
    return replace(finding(evidence, "sync_bound", "sync", price, sentence, ("metrics_on_device",)), sites=sites)


def _around(evidence: TraceEvidence, waits: pl.DataFrame) -> str:
    """The operations in which the longest waits lie; the calls themselves where no operation was recorded."""
    host = evidence.on_host.filter(~pl.col(schema.EVENT_KIND.name).is_in([Kind.SYNC, Kind.LAUNCH, Kind.ALLOC]))
    top = waits.sort(schema.EVENT_DURATION.name, descending=True).head(20)
    start, end = column(host, schema.EVENT_START), column(host, schema.EVENT_START) + column(host, schema.EVENT_DURATION)
    lane = column(host, schema.EVENT_LANE)
    names: dict[str, int] = {}
    for at, on, length in zip(
        column(top, schema.EVENT_START), column(top, schema.EVENT_LANE), column(top, schema.EVENT_DURATION), strict=True
    ):
        inside = np.flatnonzero((lane == on) & (start <= at) & (end >= at + length))
        if len(inside):
            name = host[schema.EVENT_NAME.name][int(inside[np.argmin((end - start)[inside])])]
            names[name] = names.get(name, 0) + int(length)
    return max(names, key=lambda n: names[n]) if names else longest(waits)
