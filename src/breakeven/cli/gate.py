"""`breakeven gate BASELINE RUN`: ends with 1 where a cause takes more of a step than it did."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.errors import InputError

_WORSE = 1


def command(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="A run, or the JSON of `why`: how it was.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, or the JSON of `why`: how it is.")],
    device: Annotated[
        str | None, typer.Option("--device", metavar="NAME", help="Look at this device alone: cpu, or a GPU of both.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="PERCENT", help="Part of the baseline's step that may come on top.")
    ] = 5.0,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> int:
    """End with 1 where a cause, or the step, takes more than in BASELINE: really, and by more than the tolerance."""
    check_json(json)
    if not 0 <= tolerance < float("inf"):
        raise InputError(f"--tolerance {tolerance}: a number of percent, 0 or more")

    from breakeven.report.json import encode
    from breakeven.workflows.compared_runs import gate

    report = gate(baseline, run, device, tolerance / 100)
    write_json(json, encode(report))
    if json != STDOUT:
        from breakeven.report.runs import render_gate
        from breakeven.report.screen import show

        show(lambda width, ascii_only: render_gate(report, width, ascii_only), sys.stdout)
    return _WORSE if report.worse else 0
