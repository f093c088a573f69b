"""`breakeven gpus [TEXT]`: the catalog of devices that can be predicted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.machine.gpus import find_gpu, matching_gpus


def command(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Only those whose name, maker or family has these words.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> None:
    """List the GPUs that can be predicted, with the facts that decide how fast a training runs on them."""
    from breakeven.report.json import gpus_json

    check_json(json)
    asked = " ".join(text or ())
    found = matching_gpus(asked) or (find_gpu(asked),)
    write_json(json, gpus_json(found))
    if json != STDOUT:
        from breakeven.report.catalog import render_catalog
        from breakeven.report.screen import show

        show(lambda width, ascii_only: render_catalog(found, width, ascii_only), sys.stdout)
