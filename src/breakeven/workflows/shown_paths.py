"""Files in an answer as the user would name them: relative to the working directory where they lie under it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from breakeven.results import Finding, WhyReport
from breakeven.results.pictured import Pictured, PlayedStep


def with_shown_paths(report: WhyReport, working: Path | None = None) -> WhyReport:
    """The report with the files of its sites named from the working directory (None: this process's own)."""
    root = (working or Path.cwd()).resolve()
    return replace(report, findings=tuple(_named(finding, root) for finding in report.findings))


def picture_with_shown_paths(picture: Pictured, working: Path | None = None) -> Pictured:
    """The picture with the same names, so that its lines meet the findings of the report."""
    root = (working or Path.cwd()).resolve()
    return replace(
        picture,
        steps=tuple(_placed(step, root) for step in picture.steps),
        lines=tuple(replace(line, file=shown_path(line.file, root)) for line in picture.lines),
        sources={shown_path(file, root): text for file, text in picture.sources.items()},
    )


def _placed(step: PlayedStep, root: Path) -> PlayedStep:
    parts = (place.rpartition(":") for place in step.places)
    return replace(step, places=tuple(f"{shown_path(file, root)}{colon}{line}" for file, colon, line in parts))


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
