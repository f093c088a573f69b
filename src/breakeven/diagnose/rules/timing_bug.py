"""timing_bug: a clock is read while the GPU is still working."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from breakeven.diagnose.evidence import Evidence, seen, share
from breakeven.diagnose.wording import ms, times
from breakeven.results.records import Finding
from breakeven.simulate.schedule import QUEUE_LIMIT
from breakeven.timeline import Site, edit, schema

#: A reading of a clock is named so in a stream.
CLOCK = "host::clock"

#: From this part of the true time on that the clock does not see, its figure is no measurement.
LEAST_UNSEEN = 0.2


@dataclass(frozen=True)
class _Reading:
    shown_ms: float
    unseen_ms: float
    opened: Site | None
    closed: Site | None

    @property
    def part(self) -> float:
        return share(self.unseen_ms, self.shown_ms + self.unseen_ms)


def timing_bug(evidence: Evidence) -> Finding | None:
    """Time is taken by hand around device work, and nothing waits for the device before the clock is read.

    What it sees: two readings of a clock with device work between them.
    Why it costs: it costs no step anything; it spoils the comparison. Operations on a GPU are queued, and the clock shows how
        long queueing took.
    Evidence: the work still queued at the second reading, from the simulated host and device. Where the host is the slower of
        the two the queue is empty, the clock is right, and the rule is silent.
    Example: `t0 = time.time(); y = model(x); print(time.time() - t0)`.
    Remedy: `torch.cuda.synchronize()` before each reading.
    When it is wrong: where the launching itself was to be timed.
    """
    found = [*_in_stream(evidence), *_in_facts(evidence)]
    worst = max(found, key=lambda r: r.part, default=None)
    if worst is None or worst.part < LEAST_UNSEEN:
        return None
    true_ms = worst.shown_ms + worst.unseen_ms
    longer = f" ({times(true_ms / worst.shown_ms)} as long)" if worst.shown_ms > 0 else ""
    return Finding(
        id="timing_bug",
        device=evidence.device.name,
        cause="other",
        price_ms=None,
        sentence=(
            f"The clock is read while the GPU still has work queued: it shows about {ms(worst.shown_ms)} where the work "
            f"takes {ms(true_ms)}{longer}. That is no measurement."
        ),
        sites=seen(worst.closed, worst.opened),
        remedies=("synchronise",),
    )


def _in_stream(evidence: Evidence) -> list[_Reading]:
    """Spans between clock rows of the recording, played with the row's own times from an empty queue; each pair of lines once."""
    stream = evidence.stream
    clocks = np.flatnonzero(edit.marked(stream, [call.op == CLOCK for call in edit.calls_of(stream)]))
    site = edit.column(stream, schema.ROW_SITE)
    lines: dict[tuple[int, int], tuple[int, int]] = {}
    for a, b in pairwise(clocks.tolist()):  # the span with most in it: on one line a closing and an opening are a pair as well
        key = (int(site[a]), int(site[b]))
        lines[key] = max(lines.get(key, (a, b)), (a, b), key=lambda span: span[1] - span[0])
    return [reading for a, b in lines.values() if (reading := _played(evidence, a, b)) is not None]


def _played(evidence: Evidence, opened: int, closed: int) -> _Reading | None:
    stream, times_ = evidence.stream, evidence.times
    inside = slice(opened + 1, closed + 1)
    if not (times_.device_ns[inside] > 0).any():
        return None
    waits = edit.column(stream, schema.ROW_WAITS)
    ends: dict[int, float] = {}
    host = device = 0.0
    for row, took, runs, wait in zip(
        range(opened + 1, closed + 1),
        times_.host_ns[inside].tolist(),
        times_.device_ns[inside].tolist(),
        waits[inside].tolist(),
        strict=True,
    ):
        host += took
        if runs > 0:
            device = max(device, host) + runs
            ends[row] = device
        if wait >= 0:
            host = max(host, ends.get(wait, 0.0))
    if host <= 0:
        return None
    at = edit.column(stream, schema.ROW_SITE)
    lines = [stream.sites[at[row]] if at[row] >= 0 else None for row in (opened, closed)]
    return _Reading(host / 1e6, max(0.0, device - host) / 1e6, *lines)


def _in_facts(evidence: Evidence) -> list[_Reading]:
    """Spans over whole steps, whose clock lies outside: the queue grows by what the device is slower than the host."""
    steps = max(1, evidence.stream.steps)
    working = evidence.times.kernels > 0
    operations = evidence.per_step(working)
    if not operations:
        return []
    host, device = evidence.times.host_ns.sum() / steps, evidence.times.device_ns.sum() / steps
    readings = []
    for span in evidence.facts.clocks:
        ahead = max(0.0, device - host)
        unseen = min(span.after_wait * ahead, QUEUE_LIMIT * device if ahead else 0.0) / operations
        true = span.operations / operations * max(host, device)
        readings.append(_Reading(max(0.0, true - unseen) / 1e6, unseen / 1e6, span.opened, span.closed))
    return readings
