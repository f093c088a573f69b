"""`selftest`: plants known faults into healthy scripts on this machine, and counts which of them each rule finds.

What it does not know: faults of other kinds, and how they look in other people's scripts.
"""

from __future__ import annotations

import platform
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from breakeven.errors import BreakevenError
from breakeven.results import WhyReport
from breakeven.results.selftest import RuleScore, SelftestReport
from breakeven.workflows.lint import lint
from breakeven.workflows.planting import FAULTS, Fault, Planted, healthy, planted
from breakeven.workflows.why import WhyRequest, why

#: A finding of `why` counts as an alarm from this part of its device's step on.
SHARE_OF_STEP: Final = 0.05


@dataclass
class _Tally:
    planted: Counter[Fault] = field(default_factory=Counter)
    found: Counter[Fault] = field(default_factory=Counter)
    tools: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    missed: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    alarms: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Said:
    """A finding of either tool: the lines that it names, and what it advises."""

    lines: frozenset[int]
    remedies: tuple[str, ...]

    def names(self, one: Planted) -> bool:
        """Whether it is about this fault."""
        return bool(self.lines & set(one.lines)) and bool(set(self.remedies) & set(one.fault.remedies))


def selftest(run: bool = True, tell: Callable[[str], None] = lambda text: None) -> SelftestReport:
    """Plant every fault, look for it, and count.

    Args:
        run: run scripts with `why` too, where reading them cannot show the fault, and the healthy ones; else only read.
        tell: told what is being done.
    """
    tally = _Tally()
    with tempfile.TemporaryDirectory(prefix="breakeven-") as name:
        folder = Path(name)
        for script, text in healthy().items():
            _count_alarms(tally, _read(folder, text), ())
            if run:
                tell(f"running {script} as it is")
                _count_alarms(tally, _run(folder, text, tally, f"{script} as it is"), ())
        for one in planted():
            if one.fault.lint or run:
                tell(f"{one.fault.id} in {one.script}")
                _look(folder, one, tally, run)
    return _report(tally, run)


def _look(folder: Path, one: Planted, tally: _Tally, run: bool) -> None:
    tally.planted[one.fault] += 1
    key = one.fault.remedies[0]
    said = _read(folder, one.text)
    tool = "lint" if any(s.names(one) for s in said) else ""
    _count_alarms(tally, said, one.fault.remedies)
    if not tool and run and not one.fault.lint:
        found = _run(folder, one.text, tally, f"{one.fault.id} in {one.script}")
        tool = "why" if any(s.names(one) for s in found) else ""
    if tool:
        tally.found[one.fault] += 1
        tally.tools[key].add(tool)
    else:
        tally.missed[key].append(one.script)


def _count_alarms(tally: _Tally, said: Iterable[_Said], expected: tuple[str, ...]) -> None:
    """Each remedy that is advised without its fault counts once for a script."""
    advised = {s.remedies[0] for s in said if s.remedies and not set(s.remedies) & set(expected)}
    tally.alarms.update(advised)


def _read(folder: Path, text: str) -> list[_Said]:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return [_Said(frozenset({f.line}), f.remedies) for f in lint([path]).findings]


def _run(folder: Path, text: str, tally: _Tally, what: str) -> list[_Said]:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    try:
        report = why(WhyRequest(script=str(path), quiet=True))
    except BreakevenError as error:
        tally.warnings.append(f"{what}: {error}")
        return []
    return [_Said(frozenset(s.line for s in f.sites), f.remedies) for f in report.findings if _dear(report, f.device, f.price_ms)]


def _dear(report: WhyReport, device: str, price: object) -> bool:
    step = next((d.step_ms for d in report.devices if d.name == device), None)
    mid = getattr(price, "mid", None)
    return step is not None and mid is not None and mid > SHARE_OF_STEP * step.mid


def _report(tally: _Tally, run: bool) -> SelftestReport:
    remedies = dict.fromkeys(f.remedies[0] for f in FAULTS if tally.planted[f])
    rules = [_score(tally, name) for name in remedies]
    rules += [RuleScore("", name, 0, 0, count, None, 0.0, "") for name, count in tally.alarms.items() if name not in remedies]
    machine = {"platform": platform.platform(), "python": platform.python_version()}
    return SelftestReport(
        tuple(rules), tally.planted.total(), tally.found.total(), tally.alarms.total(), tuple(healthy()), run,
        tuple(tally.warnings), machine,
    )  # fmt: skip


def _score(tally: _Tally, name: str) -> RuleScore:
    faults = [f for f in FAULTS if f.remedies[0] == name]
    count, found = sum(tally.planted[f] for f in faults), sum(tally.found[f] for f in faults)
    alarms = tally.alarms[name]
    precision = found / (found + alarms) if found + alarms else None
    tool = " and ".join(sorted(tally.tools[name]))
    return RuleScore(faults[0].id, name, count, found, alarms, found / count, precision, tool, tuple(tally.missed[name]))
