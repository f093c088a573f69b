"""`breakeven ask`: a network in one line and what somebody measured: is it plausible, why, from where on does the GPU win?"""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from breakeven.cli.model_options import LOSSES, OPTIMIZERS, one_of, whole
from breakeven.cli.options import JSON_HELP, STDOUT, check_json, stdout_kept, write_json
from breakeven.cli.progress import progress_on
from breakeven.errors import InputError

_NET = 'The network in one line ("embed 1→8, rnn 256, linear 1"; -> works too), or a MATLAB, Keras or ONNX file.'
_RATE = "650it/s, 1.5ms, or 15223it/5min"
_SECONDS = {"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(\d[\d,]*(?:\.\d+)?|\.\d+)"
_COUNT = rf"{_NUMBER}\s*(?:it|its|iterations?|steps?)?"
_TIME = r"(\d[\d,]*(?:\.\d+)?|\.\d+)?\s*(us|µs|μs|ms|sec|s|min|m|h)"


def command(
    net: Annotated[str, typer.Option("--net", metavar="NET", help=_NET)],
    batch: Annotated[int | None, typer.Option("--batch", metavar="N", help="Samples a step; 64, or a script's own.")] = None,
    length: Annotated[int | None, typer.Option("--length", metavar="N", help="Time steps of a sequence.")] = None,
    optimizer: Annotated[
        str | None, typer.Option("--optimizer", metavar="NAME", help=f"One of {', '.join(OPTIMIZERS)}; adam unless given.")
    ] = None,
    loss: Annotated[str | None, typer.Option("--loss", metavar="NAME", help="mse, crossentropy, bce, mae or huber.")] = None,
    cpu: Annotated[str | None, typer.Option("--cpu", metavar="RATE", help=f"What was measured on the CPU: {_RATE}.")] = None,
    gpu_rate: Annotated[str | None, typer.Option("--gpu-rate", metavar="RATE", help="What was measured on the GPU.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="NAME", help="The GPU; a Tesla T4 unless given.")] = None,
    host: Annotated[str | None, typer.Option("--host", metavar="NAME", help="The machine that it was measured on.")] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="X=SIZES", help="Of such a file: as for `why`.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
) -> int:
    """Judge reported times of a training from its shapes alone: plausible or not, what limits it, and what to change."""
    from breakeven.machine.gpus import find_gpu
    from breakeven.machine.hosts import host_name
    from breakeven.workflows.ask import AskRequest, ask, described

    check_json(json)
    request = AskRequest(
        net=net, batch=whole(batch, "--batch"), length=whole(length, "--length"),
        optimizer=one_of(optimizer, "--optimizer", OPTIMIZERS),
        loss=one_of(loss, "--loss", LOSSES), cpu_ms=rate(cpu, "--cpu"), gpu_ms=rate(gpu_rate, "--gpu-rate"),
        gpu=find_gpu(gpu or "Tesla T4").name, host=host_name(host) if host is not None else None, data=tuple(data or ()),
    )  # fmt: skip
    described(request)  # a network that cannot be understood is said at once
    with stdout_kept(json == STDOUT), progress_on(sys.stderr, False, shared=False) as on_progress:
        report = ask(request, on_progress)
    from breakeven.report.ask import ask_json, render_ask
    from breakeven.report.screen import show

    write_json(json, ask_json(report))
    if json != STDOUT:
        show(lambda width, ascii_only: render_ask(report, width, ascii_only), sys.stdout)
    return 0


def rate(text: str | None, option: str) -> float | None:
    """A reported speed as milliseconds a step.

    Raises:
        InputError: it is none.

    >>> rate("500it/s", "--cpu"), rate("15000it/5min", "--cpu"), rate("2.5 ms", "--cpu")
    (2.0, 20.0, 2.5)
    """
    if text is None:
        return None
    plain = text.strip().lower()
    wrong = InputError(f"{option} {text}: give a speed such as {_RATE}")
    if found := re.fullmatch(rf"{_COUNT}\s*(?:/|per|in)\s*{_TIME}", plain):
        count, time = _number(found[1]), _number(found[2] or "1") * _SECONDS[found[3]]
    elif found := re.fullmatch(rf"{_TIME}\s*(?:(?:/|per)\s*{_NUMBER}?\s*(?:it|its|iterations?|steps?))?", plain):
        count, time = _number(found[3] or "1"), _number(found[1] or "") * _SECONDS[found[2]]
    else:
        raise wrong
    if not 0 < count < 1e15 or not 0 < time < 1e12:
        raise wrong
    return 1000 * time / count


def _number(text: str) -> float:
    return float(text.replace(",", "") or "nan")
