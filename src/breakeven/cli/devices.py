"""`breakeven devices`: what is here, can it be used, and if not why."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.errors import NoAnswer


def command(json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None) -> int:
    """Show the CPU, the memory and the accelerators that this process may use; where none is usable, why, and what to do.

    Ends with 0 where an accelerator is usable, with 4 where none is.
    """
    check_json(json)

    from breakeven.report.json import encode
    from breakeven.workflows.devices import devices

    report = devices()
    write_json(json, encode(report))
    if json != STDOUT:
        from breakeven.report.devices import render_devices
        from breakeven.report.screen import show

        show(lambda width, ascii_only: render_devices(report, width, ascii_only), sys.stdout)
    if not report.usable:
        first = report.causes[0]
        raise NoAnswer(f"no accelerator is usable: {first.sentence}; {first.fix}")
    return 0
