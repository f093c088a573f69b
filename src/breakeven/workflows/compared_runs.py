"""`breakeven compare` of two runs, and `breakeven gate`: what changed on a device, and whether it is worse."""

from __future__ import annotations

from breakeven.diagnose.run_changes import changes_on, common_devices, gate_on
from breakeven.errors import InputError, NoAnswer
from breakeven.machine.gpus import find_gpu
from breakeven.results import DeviceResult, WhyReport
from breakeven.results.compared import CompareReport
from breakeven.results.runs import GateReport
from breakeven.workflows.answers import Kept, is_kept, kept
from breakeven.workflows.cards import PRICED_WITH

#: Part of the baseline's step that a cause may take on top before the gate closes; `--tolerance` sets another.
TOLERANCE = 0.05


def are_runs(first: str, second: str) -> bool:
    """Whether either is a kept answer (then both must be)."""
    return is_kept(first) or is_kept(second)


def compare_runs(first: str, second: str, device: str | None = None) -> CompareReport:
    """What differs on one device, second less first.

    Args:
        first: a run, or the JSON of `why`.
        second: the same.
        device: the one to look at; None: the one that the first verdict names, else the first that both know.

    Raises:
        InputError: one of them is no kept answer, or does not know that device.
        NoAnswer: there is no device that both know.
    """
    one, two = _both(first, second)
    names = _devices(one, two, device)
    name = names[0]
    before, after = _on(one.report, name), _on(two.report, name)
    return CompareReport(
        first=first, second=second, step_ms=(before.step_ms, after.step_ms), changes=changes_on(one.report, two.report, name),
        devices=(name, name), warnings=(_looked_at(before, after, names[1:]), *_warnings(one, two)),
        sources=(before.source, after.source),
    )  # fmt: skip


def gate(baseline: str, run: str, device: str | None = None, tolerance: float = TOLERANCE) -> GateReport:
    """Whether anything grew, on every device that both know or on the one that is named.

    Raises:
        InputError: one of them is no kept answer, or does not know that device.
        NoAnswer: there is no device that both know.
    """
    one, two = _both(baseline, run)
    names = _devices(one, two, device)
    looked = names if device is None else names[:1]
    gates = tuple(gate_on(one.report, two.report, name, tolerance) for name in looked)
    return GateReport(baseline, run, any(g.worse for g in gates), tolerance, gates, _warnings(one, two))


def _both(first: str, second: str) -> tuple[Kept, Kept]:
    one, two = kept(first), kept(second)
    for answer in (one, two):
        if answer.report.failed is not None and not answer.report.devices:
            raise NoAnswer(f"{answer.name} holds nothing to compare: {answer.report.error}")
    return one, two


def _devices(one: Kept, two: Kept, asked: str | None) -> tuple[str, ...]:
    """The devices that both know, the wanted one first."""
    both = common_devices(one.report, two.report)
    if not both:
        raise NoAnswer(f"no device is in both: {_names(one)} in {one.name}, {_names(two)} in {two.name}")
    if asked is None:
        return both
    wanted = asked if asked in both else find_gpu(asked).name
    if wanted not in both:
        raise InputError(f"--device {asked}: both know {', '.join(both)}")
    return (wanted, *(name for name in both if name != wanted))


def _names(answer: Kept) -> str:
    return ", ".join(d.name for d in answer.report.devices) or "none"


def _on(report: WhyReport, name: str) -> DeviceResult:
    return next(d for d in report.devices if d.name == name and d.step_ms is not None)


def _looked_at(before: DeviceResult, after: DeviceResult, others: tuple[str, ...]) -> str:
    """Which step is compared, where it comes from, and what else could be."""
    how = f"{before.source} in both" if before.source == after.source else f"{before.source}, then {after.source}"
    more = f"; --device looks at {' or '.join(others)} instead" if others else ""
    return f"the step on {before.name}, {how}{more}"


def _warnings(one: Kept, two: Kept) -> tuple[str, ...]:
    """What to know before believing the difference."""
    said = []
    versions = [answer.report.versions for answer in (one, two)]
    for what in sorted({*versions[0], *versions[1]}):
        before, after = (v.get(what) for v in versions)
        if before is not None and after is not None and before != after:
            said.append(f"{what} is {before} in the first and {after} in the second")
    cpus = [(answer.report.machine.get("cpu") or {}).get("model") for answer in (one, two)]
    if None not in cpus and cpus[0] != cpus[1]:
        said.append(f"the CPU is a {cpus[0]} in the first and a {cpus[1]} in the second")
    told = [{warning for warning in answer.report.warnings if PRICED_WITH in warning} for answer in (one, two)]
    said += [f"not the same card: {warning}" for warning in sorted(told[0] ^ told[1])]
    return tuple(said)
