"""Evidence: all that a rule may look at, for one GPU. Frozen; rules read it, and ask its `price` what a rewrite would save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from breakeven.machine.records import Cpu, Gpu
from breakeven.results.facts import Facts
from breakeven.results.records import DeviceResult, Interval, Share, Site, Verdict
from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline import Site as Line

#: So many lines of one finding are priced by a simulation each; the report shows fewer.
MOST_SITES = 5
#: … and so many where the stream has more rows than this, since a simulation of it takes a second.
MOST_OF_LONG = 2
LONG_STREAM = 200_000


class Price(Protocol):
    """What a rewritten stream saves."""

    def __call__(self, rewritten: OpStream, per: float = 1.0) -> Interval:
        """Milliseconds saved per recorded step: the step less the rewritten step, with common random draws.

        Args:
            rewritten: the stream after a what-if.
            per: recorded steps whose work one rewritten step does (a batch eight times as large: 8).
        """


@dataclass(frozen=True)
class RowTimes:
    """What each row of the stream costs, in ns, at the middle of its price; shape (rows,).

    Attributes:
        host_ns: host time of the row on a GPU machine: what is before it, and issuing it.
        issue_ns: of that, framework and launches.
        device_ns: time on the device; 0 where it runs on none.
        kernels: kernels that it runs.
    """

    host_ns: NDArray[np.float64]
    issue_ns: NDArray[np.float64]
    device_ns: NDArray[np.float64]
    kernels: NDArray[np.int64]


@dataclass(frozen=True)
class CpuSide:
    """The same step on the CPU of this machine, measured.

    Attributes:
        step_ms: the measured step.
        account: where it goes.
        cpu: the processor.
        matched_ms: the step with as many threads as there are cores, where that was measured beside; None: it was not.
        flushed_ms: the step with denormal numbers flushed to zero, where that was measured beside; None: it was not.
    """

    step_ms: Interval | None
    account: tuple[Share, ...] = ()
    cpu: Cpu | None = None
    matched_ms: Interval | None = None
    flushed_ms: Interval | None = None


@dataclass(frozen=True)
class Evidence:
    """All that is known about one GPU's step, and about the CPU that it is compared with.

    Attributes:
        stream: what the script asked for.
        device: the GPU's step and its account.
        times: what each row costs.
        price: what a rewrite of the stream would save on this GPU.
        cpu: the CPU's side.
        facts: what the recording noticed beside the operations.
        gpu: the catalog's record; None: a traced device that is not in it.
        verdict: CPU or this GPU; None where there is none.
    """

    stream: OpStream
    device: DeviceResult
    times: RowTimes
    price: Price
    cpu: CpuSide = field(default_factory=lambda: CpuSide(None))
    facts: Facts = field(default_factory=Facts)
    gpu: Gpu | None = None
    verdict: Verdict | None = None

    @property
    def step_ms(self) -> float:
        """Middle of the GPU's step in ms; 0 where it has none."""
        return self.device.step_ms.mid if self.device.step_ms else 0.0

    def cause_ms(self, *causes: str) -> float:
        """Milliseconds of the GPU's step that the account gives to these causes."""
        return sum(share.ms for share in self.device.account if share.cause in causes)

    def per_step(self, rows: NDArray[np.bool_], weights: NDArray[np.float64] | None = None) -> float:
        """Rows of a mask per recorded step, or the sum of their weights."""
        total = float(weights[rows].sum()) if weights is not None else float(rows.sum())
        return total / max(1, self.stream.steps)

    def phase(self, *wanted: str) -> NDArray[np.bool_]:
        """Rows of these phases."""
        return np.isin(edit.phases(self.stream), wanted)


def sites_of(
    evidence: Evidence, rows: NDArray[np.bool_], rewrite: Callable[[Sequence[int]], OpStream | None], *, most: int = MOST_SITES
) -> tuple[Site, ...]:
    """The lines that rows come from, dearest first, each priced by rewriting that line alone.

    Args:
        evidence: the evidence.
        rows: the rows in question.
        rewrite: the stream rewritten at these positions of `stream.sites`; None: such a line has no price.
        most: lines that are priced; those with the most host and device time are taken.
    """
    at = edit.column(evidence.stream, schema.ROW_SITE)
    known = rows & (at >= 0)
    most = most if len(evidence.stream) <= LONG_STREAM else MOST_OF_LONG
    weight = np.bincount(at[known], weights=(evidence.times.host_ns + evidence.times.device_ns + 1)[known])
    order = [int(p) for p in np.argsort(-weight, kind="stable")[:most] if weight[p] > 0]
    priced = [site(evidence.stream.sites[p], _priced(evidence, rewrite([p]))) for p in order]
    return tuple(sorted(priced, key=lambda s: -(s.price_ms.mid if s.price_ms else 0.0)))


def site(line: Line, price: Interval | None = None) -> Site:
    """A line of the user's source as a result shows it."""
    return Site(line.file, line.line, line.text, price)


def seen(*lines: Line | None) -> tuple[Site, ...]:
    """The known of these lines, each once, without a price of its own."""
    return tuple(site(line) for line in dict.fromkeys(lines) if line is not None)


def _priced(evidence: Evidence, rewritten: OpStream | None) -> Interval | None:
    return None if rewritten is None else evidence.price(rewritten)


def share(part: float, whole: float) -> float:
    """Part of a whole; 0 of nothing."""
    return part / whole if whole > 0 else 0.0
