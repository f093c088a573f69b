"""`breakeven why SCRIPT`: checks the call, runs the workflow, shows and writes the answer."""

from __future__ import annotations

import shlex
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breakeven.capture.launching import python_call
from breakeven.capture.request import CaptureRequest
from breakeven.capture.target import resolve
from breakeven.cli.model_options import asked_of
from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, stdout_kept, write_html, write_json
from breakeven.cli.progress import progress_on
from breakeven.errors import BreakevenError, InputError, Interrupted, NoAnswer, ScriptFailed
from breakeven.results import WhyReport
from breakeven.workflows.shown_paths import with_shown_paths

if TYPE_CHECKING:
    from breakeven.models.asked import Asked
    from breakeven.results.pictured import Pictured
    from breakeven.workflows.model_files import Prepared
    from breakeven.workflows.why import Answered, WhyRequest

#: The GPU that is predicted where none is named: the one that notebooks are given for nothing, so most people meet it first.
DEFAULT_GPU = "Tesla T4"

DATA_HELP = (
    "For MATLAB: the size of a variable (XTrain=1440x28xN), or a .mat file that holds it; for Keras and ONNX: a size that the "
    "file leaves open (seq=128). Repeat for more."
)
EXPORT_HELP = "For MATLAB, Keras, ONNX: also keep the PyTorch script that the network became."
BATCH_HELP = "For Keras and ONNX: samples of a step."
LENGTH_HELP = "For Keras and ONNX: time steps, where the file leaves them open."
LOSS_HELP = "For Keras and ONNX: mse, crossentropy, bce, mae or huber. ONNX is trained only where --optimizer is given too."
OPTIMIZER_HELP = "For Keras and ONNX: adam, adamw, sgd, rmsprop, adagrad, adadelta, adamax or nadam."


def command(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="The training script, or a module as in python -m.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="The script's own arguments, after --.")] = None,
    module: Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is a module's name, as in python -m.")] = False,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="NAME", help=f"A GPU to predict; repeat for more. Without it: {DEFAULT_GPU}."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="The machine that the GPUs sit in. Without it: this one.")
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="Stop after so many steps, once warmed up.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="Time for at most so many seconds.")] = None,
    mark: Annotated[str | None, typer.Option("--mark", metavar="FILE:LINE", help="A line that runs once in each step.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Also keep the answer as a run: a new folder, or a URL.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither what the script prints nor the progress.")] = False,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="X=SIZES", help=DATA_HELP)] = None,
    export: Annotated[str | None, typer.Option("--export", metavar="F", help=EXPORT_HELP)] = None,
    batch: Annotated[int | None, typer.Option("--batch", metavar="N", help=BATCH_HELP)] = None,
    length: Annotated[int | None, typer.Option("--length", metavar="N", help=LENGTH_HELP)] = None,
    loss: Annotated[str | None, typer.Option("--loss", metavar="NAME", help=LOSS_HELP)] = None,
    optimizer: Annotated[str | None, typer.Option("--optimizer", metavar="NAME", help=OPTIMIZER_HELP)] = None,
) -> int:
    """Say which device SCRIPT should run on, why it is as slow as it is, and what to change.

    The script runs as it is, on this machine's CPU; no GPU is needed. Its own arguments follow after --. A launcher may stand in
    front of it: breakeven why -- accelerate launch train.py --lr 0.1
    """
    script, args = _program(script, args or [], module)
    check_json(json, script)
    check_html(html, script)
    _check_out(out)
    with _prepared(script, asked_of(data, batch, length, loss, optimizer), export) as prepared:
        resolve(CaptureRequest(target=prepared.target, steps=steps, seconds=seconds, mark=mark))
        gpus, host = _gpu_names(gpu or []), _host_name(host)

        from breakeven.workflows.why import WhyRequest

        request = WhyRequest(
            script=prepared.target, args=tuple(args), gpus=gpus, host=host, steps=steps, seconds=seconds, mark=mark,
            quiet=quiet, named=bool(gpu),
        )  # fmt: skip
        with stdout_kept(json == STDOUT):
            report, answer, error = _run(request)
        report = with_shown_paths(prepared.finish(report))
        shown = html or out
        picture = _picture(answer) if shown else None  # while the script that a model file became is still there
    report = report if gpu else _with_default_named(report)
    _hand_over(report, json)
    request = replace(request, script=script)
    page = _page(report, picture, request) if shown else b""
    write_html(html, lambda: page)
    _keep(answer, report, request, out, page)
    if error is not None:
        raise error
    return 0


def _keep(answer: Answered | None, report: WhyReport, request: WhyRequest, out: str | None, page: bytes) -> None:
    if out is not None and answer is not None:
        from breakeven.workflows.keeping import keep

        keep(replace(answer, report=report), request, out, page)


def _check_out(out: str | None) -> None:
    if out is not None:
        from breakeven.store import check_free

        check_free(out)


def _with_default_named(report: WhyReport) -> WhyReport:
    """Says which GPU was predicted where none was named, unless one was measured."""
    if any(device.kind == "gpu" and device.source == "measured" for device in report.devices):
        return report
    note = f"No --gpu was named, so a {DEFAULT_GPU} was predicted; `breakeven gpus` lists the others."
    return replace(report, warnings=(note, *report.warnings))


def _program(script: str, args: list[str], module: bool) -> tuple[str, list[str]]:
    """What is run and with which arguments, where Python itself stands in front of it, or `-m`."""
    call = python_call(["python", "-m", script, *args] if module else [script, *args])
    if call is None or (not module and Path(script).is_file()):
        return script, args
    if call.module and (call.target.endswith(".py") or not all(part.isidentifier() for part in call.target.split("."))):
        raise InputError(f"-m {call.target}: give a module's dotted name, such as lab.train")
    return call.target, list(call.args)


def _prepared(script: str, asked: Asked, export: str | None) -> AbstractContextManager[Prepared]:
    """What to run: a script as it is, a file that holds a network as the script that it becomes."""
    from breakeven.workflows.model_files import prepared

    return prepared(script, asked, export)


def _gpu_names(asked: list[str]) -> tuple[str, ...]:
    """The catalog's names of the GPUs asked for, each once."""
    from breakeven.machine.gpus import find_gpu

    return tuple(dict.fromkeys(find_gpu(name).name for name in asked or [DEFAULT_GPU]))


def _host_name(asked: str | None) -> str | None:
    if asked is None:
        return None
    from breakeven.machine.hosts import host_name

    return host_name(asked)


def _run(request: WhyRequest) -> tuple[WhyReport, Answered | None, BreakevenError | None]:
    """The report, what stands behind it, and the error that left it partial."""
    from breakeven.workflows.why import answered

    try:
        with progress_on(sys.stderr, request.quiet, shared=not request.quiet) as on_progress:
            answer = answered(request, on_progress)
    except InputError:
        raise
    except BreakevenError as error:
        return _nothing(request.script, error), None, error
    except KeyboardInterrupt:
        stopped = Interrupted("interrupted before anything was known")
        return _nothing(request.script, stopped), None, stopped
    return answer.report, answer, _failure(answer.report)


def _failure(report: WhyReport) -> BreakevenError | None:
    kinds = {kind.slug: kind for kind in (ScriptFailed, NoAnswer, Interrupted)}
    return kinds[report.failed](report.error or report.failed) if report.failed in kinds else None


def _nothing(script: str, error: BreakevenError) -> WhyReport:
    return WhyReport(
        script=script, unit=None, steps={}, devices=(), verdict=None, verdicts=(), break_even=(), findings=(),
        error=str(error), failed=error.slug,
    )  # fmt: skip


def _picture(answer: Answered | None) -> Pictured | None:
    if answer is None:
        return None
    from breakeven.workflows.picturing import pictured
    from breakeven.workflows.shown_paths import picture_with_shown_paths

    return picture_with_shown_paths(pictured(answer))


def _page(report: WhyReport, picture: Pictured | None, request: WhyRequest) -> bytes:
    from breakeven.report.html.why import why_page

    return why_page(report, picture, _typed(request))


def _typed(request: WhyRequest) -> str:
    """The call that asks the same again."""
    options = [word for gpu in request.gpus for word in ("--gpu", gpu)]
    for name, value in (("host", request.host), ("steps", request.steps), ("seconds", request.seconds), ("mark", request.mark)):
        options += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(["breakeven", "why", request.script, *options, *(["--", *request.args] if request.args else [])])


def _hand_over(report: WhyReport, json: str | None) -> None:
    """Writes the JSON and shows the page; a file that cannot be written after all does not cost the page."""
    from breakeven.report.json import why_json

    failure = None
    try:
        write_json(json, why_json(report))
    except InputError as error:
        failure = error
    if json != STDOUT and (report.devices or report.verdict):
        from breakeven.report.screen import show
        from breakeven.report.terminal import render

        show(lambda width, ascii_only: render(report, width, ascii_only), sys.stdout)
    if failure is not None:
        raise failure
