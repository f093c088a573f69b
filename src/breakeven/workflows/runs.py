"""`breakeven runs`: the runs in a folder, newest first."""

from __future__ import annotations

from pathlib import Path

from breakeven.errors import BreakevenError, InputError
from breakeven.results import WhyReport
from breakeven.results.runs import RunRow, RunsReport
from breakeven.store.run import Run
from breakeven.store.search import runs_in
from breakeven.workflows.answers import answer_in


def runs(folder: str = ".") -> RunsReport:
    """Every run in a folder and below it.

    Raises:
        InputError: there is no such folder.
    """
    if "://" not in folder and not Path(folder).expanduser().is_dir():
        raise InputError(f"no such folder: {folder}")
    warnings: list[str] = []
    rows = [_row(run, folder, warnings) for run in runs_in(folder, warnings)]
    rows.sort(key=lambda row: (row.created, row.path), reverse=True)
    return RunsReport(folder, tuple(rows), tuple(warnings))


def _row(run: Run, folder: str, warnings: list[str]) -> RunRow:
    report = None
    try:
        report = answer_in(run)
        parts = len(run.keys())
    except BreakevenError as error:
        warnings.append(str(error))
        parts = 0
    warnings += [f"{run.path}: {said}" for said in run.warnings]
    head = run.head
    return RunRow(
        _below(run.path, folder), head.kind, head.id, head.created, head.title, head.finished, parts, _devices(report),
        report.verdict.sentence if report and report.verdict else None,
    )  # fmt: skip


def _devices(report: WhyReport | None) -> tuple[str, ...]:
    return tuple(d.name for d in report.devices if d.step_ms is not None) if report else ()


def _below(path: str, folder: str) -> str:
    """A path as it is found from the folder."""
    start = folder.rstrip("/") + "/"
    return path.removeprefix(start) if path.startswith(start) else path
