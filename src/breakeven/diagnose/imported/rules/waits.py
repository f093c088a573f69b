"""sync_bound: the host stops to wait for the device, which then runs dry, in a trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.frames import lines_of
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.imported.seen import Seen
from breakeven.diagnose.wording import often
from breakeven.results.records import Finding
from breakeven.timeline.schema import Kind

#: Waits whose operations are looked for, the longest first.
_LOOKED_AT = 20


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
    waits = evidence.host_in_steps.of_kind(Kind.SYNC)
    if not len(waits):
        return None
    sites = lines_of(waits)
    where = f"in {sites[0].text} at {sites[0].file}:{sites[0].line}" if sites else f"inside {_around(evidence, waits)}"
    sentence = (
        f"The host stops {often(len(waits) / evidence.count)} a step to wait for the GPU ({where}), and the "
        f"GPU then waits for the host: {part(evidence, price)}."
    )
    return replace(finding(evidence, "sync_bound", "sync", price, sentence, ("metrics_on_device",)), sites=sites)


def _around(evidence: TraceEvidence, waits: Seen) -> str:
    """The operations in which the longest waits lie; the calls themselves where no operation was recorded."""
    calls = evidence.timeline.kinds.among(Kind.SYNC, Kind.LAUNCH, Kind.ALLOC)
    host, names = evidence.on_host.where(~calls), evidence.timeline.names
    start, lane = host.start, host.lane
    end = start + host.duration
    spent: dict[str, int] = {}
    top = np.argsort(-waits.duration, kind="stable")[:_LOOKED_AT]
    for at, on, length in zip(waits.start[top].tolist(), waits.lane[top].tolist(), waits.duration[top].tolist(), strict=True):
        before = int(np.searchsorted(start, at, side="right"))  # a timeline is in order of time
        inside = np.flatnonzero((end[:before] >= at + length) & (lane[:before] == on))
        if len(inside):
            innermost = inside[np.argmin((end - start)[inside])]
            name = names.values[names.codes[host.at[innermost]]]
            spent[name] = spent.get(name, 0) + length
    return max(spent, key=lambda n: spent[n]) if spent else waits.longest()
