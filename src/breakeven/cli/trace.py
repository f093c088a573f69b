"""`breakeven trace FILE...`: checks the call, runs the workflow, shows and writes the answer."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, write_html, write_json
from breakeven.report.writing import check_target, write_whole

if TYPE_CHECKING:
    from breakeven.workflows.trace import TraceRequest


def command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Traces, archives or folders of them; several are ranks of one job.")
    ],
    step: Annotated[str | None, typer.Option("--step", metavar="N", help="Look at this step alone.")] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="NAME", help="Also predict the same job on this GPU; repeat for more."),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Also play the trace's own operations through the simulator: does it explain the step?"),
    ] = False,
    minimise: Annotated[
        str | None,
        typer.Option("--minimise", metavar="F", help="Also write a small trace to share: no paths or names, the same verdict."),
    ] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
) -> int:
    """Say what a profiler's trace shows: where a step's time goes, what causes it, and what to change.

    Reads traces of PyTorch's profiler, Nsight Systems (exported to SQLite), JAX and TensorFlow.
    """
    for file in files:
        check_json(json, str(file))
        check_html(html, str(file))
    if minimise is not None:
        check_target(Path(minimise), "--minimise")

    from breakeven.cli.reading import bytes_on
    from breakeven.machine.gpus import find_gpu
    from breakeven.report.json import encode
    from breakeven.workflows.trace import TraceRequest, traced

    for name in gpu or ():
        find_gpu(name)  # a wrong name is said before a large file is read
    request = TraceRequest(tuple(files), step, replay, minimise is not None, what_if=True, gpus=tuple(gpu or ()))
    with bytes_on(sys.stderr) as on_bytes:
        answer = traced(request, on_bytes)
    report, small = answer.report, answer.small
    write_json(json, encode(report))
    if minimise is not None and small is not None:
        write_whole(Path(minimise), small)
    if html is not None:
        from breakeven.report.html.trace import trace_page

        write_html(html, lambda: trace_page(report, answer.step, _typed(request)))
    if json != STDOUT:
        from breakeven.report.screen import show
        from breakeven.report.trace import render_trace

        show(lambda width, ascii_only: render_trace(report, width, ascii_only), sys.stdout)
    return 0


def _typed(request: TraceRequest) -> str:
    """The call that asks the same again."""
    options = ["--step", request.step] if request.step is not None else []
    options += [part for name in request.gpus for part in ("--gpu", name)]
    options += ["--replay"] if request.replay else []
    return shlex.join(["breakeven", "trace", *map(str, request.files), *options])
