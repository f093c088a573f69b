"""`breakeven compare`: what differs between two traces, cause by cause."""

from __future__ import annotations

from pathlib import Path

from breakeven.diagnose.imported.comparison import changes
from breakeven.readers.profiles.files import OnBytes
from breakeven.results.compared import CompareReport
from breakeven.workflows.trace import looked_at


def compare(first: Path, second: Path, on_bytes: OnBytes = lambda done, size: None) -> CompareReport:
    """The differences, second less first.

    Raises:
        InputError: one of them cannot be read.
        NoAnswer: one of them holds nothing to account for.
    """
    one, two = looked_at((first,), on_bytes), looked_at((second,), on_bytes)
    both = (one.evidence, two.evidence)
    warnings = [f"{name}: {said}" for name, look in ((first.name, one), (second.name, two)) for said in look.warnings]
    if both[0].on_cpu != both[1].on_cpu:
        warnings.append("one of them shows a GPU and the other only the CPU: their causes are not the same")
    return CompareReport(
        first=first.name, second=second.name, step_ms=(both[0].step_ms, both[1].step_ms), changes=changes(*both),
        devices=(both[0].device, both[1].device), warnings=tuple(warnings),
    )  # fmt: skip
