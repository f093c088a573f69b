"""`breakeven fix SCRIPT`: checks the call, runs the workflow, shows the change and its proof."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from breakeven.cli.options import HTML_HELP, JSON_HELP, STDOUT, check_html, check_json, stdout_kept, write_html, write_json
from breakeven.cli.progress import progress_on
from breakeven.errors import BreakevenError, InputError

if TYPE_CHECKING:
    from breakeven.results.proof import FixReport
    from breakeven.workflows.fix import FixRequest


def command(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="The training script, or a module as in python -m.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="The script's own arguments, after --.")] = None,
    remedy: Annotated[
        list[str] | None,
        typer.Option("--remedy", metavar="ID", help="A remedy to carry out; repeat for more. Without it: all that fit."),
    ] = None,
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="NAME", help="Rank for this GPU. Without it: for this machine's CPU.")
    ] = None,
    prove: Annotated[bool, typer.Option("--prove", help="Run before and after in alternation; keep what passes.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the change alone, as `patch` takes it.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Prove, then change the file; a backup stays beside it.")] = False,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="Most time of each proof.")] = None,
    mark: Annotated[str | None, typer.Option("--mark", metavar="FILE:LINE", help="A line that runs once in each step.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="F", help=HTML_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> int:
    """Carry out what makes SCRIPT faster, and prove that it still computes the same.

    Nothing is changed without --write, and with it only what the proof has kept.
    """
    if diff and write:
        raise InputError("--diff shows the change and --write makes it: choose one")
    if seconds is not None and not 0 < seconds < 1e6:
        raise InputError(f"--seconds {seconds:g}: give a time above 0")
    check_json(json, script)
    check_html(html, script)

    from breakeven.workflows.fix import FixRequest, failed, fix

    request = FixRequest(
        script, tuple(args or ()), gpu, tuple(remedy or ()), prove=prove or write, write=write, seconds=seconds, mark=mark
    )
    error: BreakevenError | None = None
    with stdout_kept(json == STDOUT or diff), progress_on(sys.stderr, quiet, shared=False) as on_progress:
        try:
            report = fix(request, on_progress)
        except InputError:
            raise
        except BreakevenError as raised:
            report, error = failed(request, raised), raised
    if html is not None:
        from breakeven.report.html.fix import fix_page

        write_html(html, lambda: fix_page(report, shlex.join(_typed(request))))
    _hand_over(report, json, diff)
    if error is not None:
        raise error
    return 0


def _typed(request: FixRequest) -> Iterator[str]:
    """The call that asks the same again; of one that wrote, the proof alone."""
    yield from ("breakeven", "fix", request.script)
    for name in request.remedies:
        yield from ("--remedy", name)
    for option, value in (("--gpu", request.gpu), ("--seconds", request.seconds), ("--mark", request.mark)):
        yield from () if value is None else (option, str(value))
    yield from ("--prove",) if request.prove else ()
    yield from ("--", *request.args) if request.args else ()


def _hand_over(report: FixReport, json: str | None, diff: bool) -> None:
    from breakeven.report.fix import fix_json, render_fix
    from breakeven.report.screen import show

    write_json(json, fix_json(report))
    if json == STDOUT or report.failed:
        return
    if diff:
        sys.stdout.write(report.diff)
        sys.stdout.flush()
    else:
        show(lambda width, ascii_only: render_fix(report, width, ascii_only), sys.stdout)
