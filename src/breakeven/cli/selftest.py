"""`breakeven selftest`: plants known faults on this machine and counts which are found."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, stdout_kept, write_json
from breakeven.cli.progress import progress_on


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Only read the scripts: seconds instead of minutes.")] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> int:
    """Plant known faults into healthy scripts and say how many each rule finds on this machine.

    The scripts come with the program; nothing of yours is looked at.
    """
    check_json(json)

    from breakeven.report.screen import show
    from breakeven.report.selftest import render_selftest, selftest_json
    from breakeven.workflows.selftest import selftest

    with stdout_kept(json == STDOUT), progress_on(sys.stderr, quiet, shared=False) as on_progress:
        report = selftest(run=not quick, tell=on_progress)
    write_json(json, selftest_json(report))
    if json != STDOUT:
        show(lambda width, ascii_only: render_selftest(report, width, ascii_only), sys.stdout)
    return 0
