"""`breakeven race SCRIPT`: checks the call, races the devices, shows and writes the answer."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, stdout_kept, write_html, write_json
from breakeven.cli.racing import also_to, live
from breakeven.errors import InputError

if TYPE_CHECKING:
    from breakeven.workflows.race import RaceRequest


def command(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="The training script, or a module as in python -m.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="The script's own arguments, after --.")] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Training time of each device.")] = 30.0,
    device: Annotated[
        list[str] | None, typer.Option("--device", metavar="D", help="cpu, cuda, mps, xpu; repeat it. Without it: all here.")
    ] = None,
    vary: Annotated[
        str | None, typer.Option("--vary", metavar="NAME=VALUES", help="Race values of a parameter, as in batch=32,128.")
    ] = None,
    remedy: Annotated[
        list[str] | None,
        typer.Option("--remedy", metavar="ID", help="Race the script with it against the script as it is; repeat it."),
    ] = None,
    loss: Annotated[float | None, typer.Option("--loss", metavar="L", help="Who reaches this loss first?")] = None,
    mark: Annotated[str | None, typer.Option("--mark", metavar="FILE:LINE", help="A line that runs once in each step.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> int:
    """The same training for the same time on each device, or with each value: iterations, and the loss that they bought."""
    if not 0 < seconds < 1e6:
        raise InputError(f"--seconds {seconds:g}: give a time above 0")
    check_json(json, script)
    check_html(html, script)

    from breakeven.report.json import encode
    from breakeven.report.race import render_race
    from breakeven.report.screen import show
    from breakeven.workflows.race import RaceRequest, race

    request = RaceRequest(script, seconds, _devices(device or []), tuple(args or ()), mark, loss, vary, tuple(remedy or ()))
    typed = shlex.join(_typed(request))
    with stdout_kept(json == STDOUT), live(sys.stderr, quiet) as (on_progress, on_report):
        report = race(request, on_progress, also_to(html, typed, on_report))
    write_json(json, encode(report))
    if html is not None:
        from breakeven.report.html.race import race_page

        write_html(html, lambda: race_page(report, typed))
    if json != STDOUT:
        show(lambda width, ascii_only: render_race(report, width, ascii_only), sys.stdout)
    return 0


def _typed(request: RaceRequest) -> Iterator[str]:
    """The call that asks the same again."""
    yield from ("breakeven", "race", request.script, "--seconds", f"{request.seconds:g}")
    for name in request.devices:
        yield from ("--device", name)
    for name in request.remedies:
        yield from ("--remedy", name)
    for option, value in (("--vary", request.vary), ("--loss", request.loss), ("--mark", request.mark)):
        yield from () if value is None else (option, str(value))
    yield from ("--", *request.args) if request.args else ()


def _devices(asked: list[str]) -> tuple[str, ...]:
    """The devices asked for, which must be usable; without a word: the CPU, and the first accelerator where there is one."""
    from breakeven.measure.known import split_name
    from breakeven.workflows.devices import devices

    for name in asked:
        split_name(name)
    usable = tuple(one.device for one in devices().accelerators if one.usable and one.device) if set(asked) != {"cpu"} else ()
    if not asked:
        return ("cpu", *usable[:1])
    missing = [
        name for name in asked if name != "cpu" and not any(one.partition(":")[0] == name.partition(":")[0] for one in usable)
    ]
    if missing:
        from breakeven.errors import NoAnswer

        raise NoAnswer(f"{missing[0]} cannot be used here; `breakeven devices` says why and what to do")
    return tuple(dict.fromkeys(asked))
