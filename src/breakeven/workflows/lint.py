"""Looks at sources without running them: which lines may cost time on a GPU, or mislead about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from breakeven.lint.scan import scan
from breakeven.results.lint import LintReport


def lint(paths: Iterable[Path]) -> LintReport:
    """The findings in scripts, notebooks and folders of them.

    Raises:
        InputError: a path names nothing that can be looked at.
    """
    return scan(paths)
