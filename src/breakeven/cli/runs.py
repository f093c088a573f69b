"""`breakeven runs [DIR]`: the runs that are kept in a folder."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json


def command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder (or URL) to look in; this one unless given.")] = ".",
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> int:
    """List the runs in DIR and below it, newest first."""
    check_json(json)

    from breakeven.report.json import encode
    from breakeven.workflows.runs import runs

    report = runs(folder)
    write_json(json, encode(report))
    if json != STDOUT:
        from breakeven.report.runs import render_runs
        from breakeven.report.screen import show

        show(lambda width, ascii_only: render_runs(report, width, ascii_only), sys.stdout)
    return 0
