"""`breakeven sweep SCRIPT --vary …`: checks the call, runs the workflow, shows and writes the answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, stdout_kept, write_html, write_json
from breakeven.cli.progress import progress_on
from breakeven.cli.why import DEFAULT_GPU
from breakeven.errors import BreakevenError, InputError
from breakeven.report.writing import check_target, write_whole
from breakeven.results.swept import SweepReport

if TYPE_CHECKING:
    from breakeven.workflows.sweep import SweepRequest

_VARY = "A parameter and its values: NAME=LO:HI[:xK], NAME=LO:HI:+STEP or NAME=a,b,c; repeat for more."
_PICTURE = "Also draw the curves and the map: F.svg or F.png; needs the extra html."


def command(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="The training script.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="The script's own arguments, after --.")] = None,
    vary: Annotated[list[str] | None, typer.Option("--vary", metavar="NAME=VALUES", help=_VARY)] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="NAME", help=f"A GPU to predict; repeat for more. Without it: {DEFAULT_GPU}."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="The machine that the GPUs sit in. Without it: this one.")
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="NAME", help="Where cells run: local or ray.")] = "local",
    address: Annotated[
        str | None, typer.Option("--address", metavar="A", help="A Ray cluster. Without it: one is started.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="Keep the run in this folder or URL.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    measure: Annotated[int | None, typer.Option("--measure", metavar="N", help="Run so many cells; price the others.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="Stop a cell after so many warm steps.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="Time a cell for so many seconds.")] = None,
    mark: Annotated[str | None, typer.Option("--mark", metavar="FILE:LINE", help="A line that runs once in each step.")] = None,
    prices: Annotated[str | None, typer.Option("--prices", metavar="F", help="A price list of your own, as CSV.")] = None,
    epoch: Annotated[int | None, typer.Option("--epoch", metavar="N", help="Samples of an epoch, to price one.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
    picture: Annotated[str | None, typer.Option("--picture", metavar="F", help=_PICTURE)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Say from which size on which device wins, and what it costs.

    Some cells of the grid are run on this machine's CPU; the others are priced by the laws that those show.
    """
    _check(script, measure, epoch, json, html, picture)
    from breakeven.workflows.sweep import SweepRequest, sweep

    request = SweepRequest(
        script=script, vary=tuple(vary or ()), args=tuple(args or ()), gpus=tuple(gpu or (DEFAULT_GPU,)), host=host, steps=steps,
        seconds=seconds, mark=mark, engine=engine, address=address, out=out, resume=resume, measure=measure, prices=prices,
        epoch=epoch,
    )  # fmt: skip
    try:
        with stdout_kept(json == STDOUT), progress_on(sys.stderr, quiet, shared=False) as on_progress:
            report = sweep(request, on_progress)
    except InputError:
        raise
    except BreakevenError as error:
        _hand_over_nothing(script, error, json)
        raise
    _hand_over(report, json, html, picture, shlex.join(_typed(request)))


def _check(script: str, measure: int | None, epoch: int | None, json: str | None, html: str | None, picture: str | None) -> None:
    """Everything that can be wrong with the call and needs no work to be known."""
    check_json(json, script)
    if measure is not None and measure < 1:
        raise InputError(f"--measure {measure}: at least 1 cell has to be run")
    if epoch is not None and epoch < 1:
        raise InputError(f"--epoch {epoch}: an epoch has at least 1 sample")
    check_html(html, script)
    if picture is not None:
        check_target(Path(picture), "--picture")
        from breakeven.report.picture import check_picture

        check_picture(picture)


def _hand_over_nothing(script: str, error: BreakevenError, json: str | None) -> None:
    """The JSON of an answer that could not be given."""
    from breakeven.report.json import encode

    empty = SweepReport(
        script=script, parameters=(), cells=(), crossings=(), contours=(), paybacks=(), costs=(), checks=(), runs={},
        error=str(error), failed=error.slug,
    )  # fmt: skip
    write_json(json, encode(empty))


def _typed(request: SweepRequest) -> Iterator[str]:
    """The call that asks the same again."""
    yield from ("breakeven", "sweep", request.script)
    for words in request.vary:
        yield from ("--vary", words)
    for name in request.gpus:
        yield from ("--gpu", name)
    others = ("host", "measure", "steps", "seconds", "mark", "prices", "epoch")
    for option in others:
        value = getattr(request, option)
        yield from () if value is None else (f"--{option}", str(value))
    yield from ("--", *request.args) if request.args else ()


def _hand_over(report: SweepReport, json: str | None, html: str | None, picture: str | None, typed: str) -> None:
    from breakeven.report.json import encode
    from breakeven.report.screen import show
    from breakeven.report.sweep import render_sweep

    write_json(json, encode(report))
    if html is not None:
        from breakeven.report.html.sweep import sweep_page

        write_html(html, lambda: sweep_page(report, typed))
    if picture is not None:
        from breakeven.report.picture import picture_of

        write_whole(Path(picture), picture_of(report, Path(picture).suffix))
    if json != STDOUT:
        show(lambda width, ascii_only: render_sweep(report, width, ascii_only), sys.stdout)
