"""`breakeven lint PATH...`: lines that may cost time on a GPU, found without running anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.errors import InputError
from breakeven.results.lint import LintReport

_FORMATS = "text, json, sarif or github (annotations of a workflow)."


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Scripts, notebooks, or folders that hold them.")],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help=_FORMATS)] = "text",
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> None:
    """Name the lines of a program that may cost time on a GPU. A line with `# noqa: BE101` is left out."""
    from breakeven.report.lint import FORMATS, lint_github, lint_json, lint_sarif, lint_text
    from breakeven.workflows.lint import lint

    if form not in FORMATS:
        raise InputError(f"--format {form}: there are {', '.join(FORMATS)}")
    check_json(json)
    report = lint(paths)
    write_json(json, lint_json(report))
    if json != STDOUT:
        writers: dict[str, Callable[[LintReport], str | bytes]] = {
            "text": lint_text, "github": lint_github, "json": lint_json, "sarif": lint_sarif,
        }  # fmt: skip
        content = writers[form](report)
        sys.stdout.flush()
        sys.stdout.buffer.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    if report.findings:
        raise typer.Exit(1)
