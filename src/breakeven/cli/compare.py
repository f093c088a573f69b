"""`breakeven compare A B`: what differs between two runs, or two traces."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, write_html, write_json


def command(
    first: Annotated[str, typer.Argument(metavar="A", help="A run or a trace: before.")],
    second: Annotated[str, typer.Argument(metavar="B", help="A run or a trace: after.")],
    device: Annotated[str | None, typer.Option("--device", metavar="NAME", help="Of two runs: look at this device.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
) -> int:
    """Say what differs between two runs or two traces: each cause's part of a step, the largest change first."""
    for file in (first, second):
        check_json(json, file)
        check_html(html, file)

    from breakeven.cli.reading import bytes_on
    from breakeven.report.json import encode
    from breakeven.workflows.compare import compare

    with bytes_on(sys.stderr) as on_bytes:
        report = compare(first, second, on_bytes, device)
    write_json(json, encode(report))
    if html is not None:
        from breakeven.report.html.compare import compare_page

        asked = ["breakeven", "compare", first, second, *(["--device", device] if device is not None else [])]
        write_html(html, lambda: compare_page(report, shlex.join(asked)))
    if json != STDOUT:
        from breakeven.report.compare import render_compare
        from breakeven.report.screen import show

        show(lambda width, ascii_only: render_compare(report, width, ascii_only), sys.stdout)
    return 0
