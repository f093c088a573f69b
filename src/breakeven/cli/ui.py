"""`breakeven ui [DIR]`: the runs of a folder as pages of this machine, until Ctrl-C."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.errors import InputError

_PORTS = 65_536


def command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder that holds the runs; this one unless given.")] = ".",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port of the page; 0: one that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Also open the page in the browser.")] = False,
) -> int:
    """Show the runs in DIR in a browser: list, compare, open. Only this machine can see it, and it changes nothing."""
    if not 0 <= port < _PORTS:
        raise InputError(f"--port {port}: 0 to {_PORTS - 1}")

    from breakeven.workflows.ui import serving

    with serving(folder, port) as server:
        sys.stdout.write(f"{server.url}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(server.url)
        server.wait()
    return 0
