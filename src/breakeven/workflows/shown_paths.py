"""Files in an answer as the user would name them: relative to the working directory where they lie under it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from breakeven.results import Finding, WhyReport


def with_shown_paths(report: WhyReport, working: Path | None = None) -> WhyReport:
    """The report with the files of its sites named from the working directory (None: this process's own)."""
    root = (working or Path.cwd()).resolve()
    return replace(report, findings=tuple(_named(finding, root) for finding in report.findings))


def _named(finding: Finding, root: Path) -> Finding:
    return replace(finding, sites=tuple(replace(site, file=shown_path(site.file, root)) for site in finding.sites))


def shown_path(file: str, root: Path) -> str:
    """A file's name from a folder; the file as it is where it lies elsewhere.

    >>> shown_path("/srv/job/train.py", Path("/srv/job"))
    'train.py'
    >>> shown_path("/opt/other.py", Path("/srv/job"))
    '/opt/other.py'
    """
    path = Path(file)
    return path.relative_to(root).as_posix() if path.is_absolute() and path.is_relative_to(root) else file
