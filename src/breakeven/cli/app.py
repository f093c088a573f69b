"""The program as Typer sees it: a group that imports a command when it is called."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from breakeven import __version__
from breakeven.cli.commands import COMMANDS, overview

#: How help is asked for, everywhere.
_HELP = {"help_option_names": ["-h", "--help"]}
_NAMES = tuple(c.name for c in COMMANDS)


class LazyGroup(TyperGroup):
    """Knows its commands by name; imports one when it is called."""

    # `ctx` and what is returned are Any: Typer has no public names for their classes.
    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the tuple."""
        return list(_NAMES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Imports the command's module; None where there is no such command."""
        return load(cmd_name) if cmd_name in _NAMES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Names the nearest commands where there is none of that name."""
        if args and args[0] not in _NAMES and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _NAMES, n=1)
            way_out = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(_NAMES)}"
            ctx.fail(f"no command {args[0]!r}; {way_out}")
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """The overview of the commands: none is imported for it."""
        return overview().rstrip()


def build() -> Any:
    """The program as a command object (Any: Typer has no public name for its class)."""
    app = typer.Typer(cls=LazyGroup, name="breakeven", add_completion=False, rich_markup_mode=None, context_settings=_HELP)
    app.callback(invoke_without_command=True)(_program)
    return typer.main.get_command(app)


def load(name: str) -> Any:
    """One command, ready to be called (Any: as in `build`)."""
    module = import_module(next(c.module for c in COMMANDS if c.name == name))
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, context_settings=_HELP)(module.command)
    command = typer.main.get_command(app)
    command.name = name
    return command


def hint(error: Exception) -> str:
    """The way out of a usage error: the help of the command where it happened."""
    path = getattr(getattr(error, "ctx", None), "command_path", "breakeven")
    said = next((f" ({c.hint})" for c in COMMANDS if c.hint and path == f"breakeven {c.name}"), "")
    return f"`{path} --help` says how to call it{said}"


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"breakeven {__version__}")
        raise typer.Exit


def _program(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Should this training run on a CPU or a GPU, why is it slow, and what to change?"""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
