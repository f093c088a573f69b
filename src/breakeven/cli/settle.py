"""`breakeven settle RUN`: how forecasts turned out, and what that teaches."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.errors import InputError


def command(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The run that holds the forecasts.")] = None,
    measured: Annotated[
        str | None,
        typer.Option(
            "--measured", metavar="RUN2", help="A run, the JSON of `why`, or a trace of the job. Without it: runs beside RUN."
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what the last settlement taught.")] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> int:
    """Score the forecasts of RUN against what was measured since, and refine your card of that device."""
    check_json(json)
    if undo == (run is not None) or (undo and measured is not None):
        raise InputError("settle takes a RUN, or --undo alone")

    from breakeven.report.json import encode
    from breakeven.workflows import settle as workflow

    report = workflow.undo() if run is None else workflow.settle(run, measured)
    write_json(json, encode(report))
    if json != STDOUT:
        from breakeven.report.screen import show
        from breakeven.report.settle import render_settle

        show(lambda width, ascii_only: render_settle(report, width, ascii_only), sys.stdout)
    return 0
