"""`breakeven compare`: what differs between two runs or two traces, cause by cause."""

from __future__ import annotations

from pathlib import Path

from breakeven.diagnose.imported.comparison import changes
from breakeven.readers.profiles.files import OnBytes
from breakeven.results.compared import CompareReport
from breakeven.workflows.compared_runs import are_runs, compare_runs
from breakeven.workflows.trace import looked_at


def compare(
    a: Path | str, b: Path | str, on_bytes: OnBytes = lambda done, size: None, device: str | None = None
) -> CompareReport:  # fmt: skip
    """The differences of two runs (on `device`, where it is named) or two traces, second less first.

    Raises:
        InputError: one of them cannot be read.
        NoAnswer: one of them holds nothing to account for.
    """
    if are_runs(str(a), str(b)):
        return compare_runs(str(a), str(b), device)
    first, second = Path(a), Path(b)
    one, two = looked_at((first,), on_bytes), looked_at((second,), on_bytes)
    both = (one.evidence, two.evidence)
    warnings = [f"{name}: {said}" for name, look in ((first.name, one), (second.name, two)) for said in look.warnings]
    if both[0].on_cpu != both[1].on_cpu:
        warnings.append("one of them shows a GPU and the other only the CPU: their causes are not the same")
    return CompareReport(
        first=first.name, second=second.name, step_ms=(both[0].step_ms, both[1].step_ms), changes=changes(*both),
        devices=(both[0].device, both[1].device), warnings=tuple(warnings),
    )  # fmt: skip
