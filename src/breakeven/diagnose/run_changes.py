"""What differs between two answers on one device, cause by cause, and whether it is more than the answers' own uncertainty.

Two predictions of one device by one version on one kind of CPU err together: their prices come from the same formulas. What sets
them apart is the measured step and the probe that the host's speed was found from; so the spread of these, and not the whole
interval of the prediction, says what is real.
"""

from __future__ import annotations

from typing import Any, Final

from breakeven.diagnose.imported.comparison import FINDING_OF
from breakeven.machine.hosts import THIS_MACHINE
from breakeven.results.compared import Change
from breakeven.results.records import DeviceResult, Interval, WhyReport
from breakeven.results.runs import DeviceGate

#: Two runs of the timing pass of one unchanged script differ by this much although each is steady; seen on shared machines
#: (`workflows/cpu_side.py`, DRIFT, is the drift within a minute), assumed as the least spread of any measured time.
LEAST_SPREAD: Final = 0.02
_CPU: Final = "cpu"
_VERSION: Final = "breakeven"


def common_devices(first: WhyReport, second: WhyReport) -> tuple[str, ...]:
    """Devices of which both know a step, in the order of the first; the one that its verdict names comes first."""
    known = {d.name for d in second.devices if d.step_ms is not None}
    both = [d.name for d in first.devices if d.step_ms is not None and d.name in known]
    chosen = first.verdict.device if first.verdict else None
    return tuple(sorted(both, key=lambda name: name != chosen))


def changes_on(first: WhyReport, second: WhyReport, device: str) -> tuple[Change, ...]:
    """Every cause that either answer has for a device, second less first, the largest change first."""
    one, two = _device(first, device), _device(second, device)
    spreads = _spreads(first, second, one, two)
    before, after = ({part.cause: part.ms for part in d.account} for d in (one, two))
    found = []
    for cause in dict.fromkeys([*before, *after]):
        ends = [_around(ms.get(cause, 0.0), spread) for ms, spread in ((before, spreads[0]), (after, spreads[1]))]
        if ends[0].mid or ends[1].mid:
            change = ends[1].mid - ends[0].mid
            found.append(Change(FINDING_OF.get(cause), cause, change, _apart(*ends), ends[0].mid, ends[1].mid))
    return tuple(sorted(found, key=lambda change: (-abs(change.ms), change.cause)))


def gate_on(first: WhyReport, second: WhyReport, device: str, tolerance: float) -> DeviceGate:
    """Whether a device's step, or a cause of it, takes really more, and by more than this part of the baseline's step."""
    one, two = _device(first, device), _device(second, device)
    before, after = _step(one), _step(two)
    allowed = tolerance * before.mid
    grew = tuple(c for c in changes_on(first, second, device) if c.real and c.ms > allowed)
    spreads = _spreads(first, second, one, two)
    ends = _around(before.mid, spreads[0]), _around(after.mid, spreads[1])
    step_grew = after.mid - before.mid > allowed and _apart(*ends)
    return DeviceGate(device, two.source, (before, after), grew, step_grew, step_grew or bool(grew))


def _device(report: WhyReport, name: str) -> DeviceResult:
    return next(d for d in report.devices if d.name == name and d.step_ms is not None)


def _step(device: DeviceResult) -> Interval:
    if device.step_ms is None:
        raise ValueError(f"no step of {device.name} is known")
    return device.step_ms


def _spreads(first: WhyReport, second: WhyReport, one: DeviceResult, two: DeviceResult) -> tuple[Interval, Interval]:
    """Relative uncertainty of each one's times, as far as it sets them apart."""
    if not _same_formulas(first, second, one, two):
        return _own_spread(one), _own_spread(two)
    probe = _probe_change(first, second)
    spreads = (_own_spread(_measured(report) or device) for report, device in ((first, one), (second, two)))
    before, after = (Interval(spread.low / probe, 1.0, spread.high * probe) for spread in spreads)
    return before, after


def _same_formulas(first: WhyReport, second: WhyReport, one: DeviceResult, two: DeviceResult) -> bool:
    """Whether both are predictions that err together."""
    if one.source != "predicted" or two.source != "predicted" or first.versions.get(_VERSION) != second.versions.get(_VERSION):
        return False
    places = [(_said(report, _CPU, "model"), _said(report, "host", "name")) for report in (first, second)]
    return None not in places[0] and places[0] == places[1]


def _measured(report: WhyReport) -> DeviceResult | None:
    return next((d for d in report.devices if d.name == _CPU and d.source == "measured" and d.step_ms), None)


def _probe_change(first: WhyReport, second: WhyReport) -> float:
    """By what factor the probe of the host differs, 1 or more: a predicted host's times follow it, whatever the script does."""
    if _said(first, "host", "name") != THIS_MACHINE:  # a preset owes nothing to this machine's probe
        return 1.0
    probes = [_said(report, _CPU, "dispatch_us") for report in (first, second)]
    if not all(isinstance(us, (int, float)) and us > 0 for us in probes):
        return 1.0
    return float(max(probes) / min(probes))


def _said(report: WhyReport, part: str, name: str) -> Any:  # Any: a JSON value
    return (report.machine.get(part) or {}).get(name)


def _own_spread(device: DeviceResult) -> Interval:
    """A device's step interval relative to its middle."""
    step = _step(device)
    if step.mid <= 0:
        return Interval(1.0, 1.0, 1.0)
    return Interval(min(step.low / step.mid, 1 - LEAST_SPREAD), 1.0, max(step.high / step.mid, 1 + LEAST_SPREAD))


def _around(ms: float, spread: Interval) -> Interval:
    return Interval(ms * spread.low, ms, ms * spread.high)


def _apart(one: Interval, two: Interval) -> bool:
    return two.low > one.high or two.high < one.low
