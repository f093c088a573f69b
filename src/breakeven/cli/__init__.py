"""The command line. Importing it imports nothing heavy: each command is loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from breakeven.cli.commands import overview
from breakeven.errors import BreakevenError

PROGRAM = "breakeven"
#: Set to 1, the traceback of an unexpected error is shown.
DEBUG = "BREAKEVEN_DEBUG"

_USAGE = 2
_UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h: an internal fault
_INTERRUPTED = 130
_LONGEST = 380  # characters of a message


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and says how it went.

    Args:
        argv: the arguments after the program's name; those of the process by default.

    Returns:
        The exit code, as `docs/cli.md` lists them.
    """
    _have_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BreakevenError as error:
        return _say(str(error), error.exit_code)
    except BrokenPipeError:  # the reader (`| head`) has gone: what it wanted was given, and Python's end must not fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)
    except Exception as error:  # the door of the program: a user gets a line, not a traceback
        if os.environ.get(DEBUG) == "1":
            raise
        return _say(f"a fault of {PROGRAM} itself: {type(error).__name__}: {error} ({DEBUG}=1 shows where)", _UNEXPECTED)


def _dispatch(arguments: list[str]) -> int:
    """Calls the command that the arguments name; its exit code."""
    if arguments in ([], ["--help"], ["-h"]):  # Typer would say the same 0.1 s later
        sys.stdout.write(overview())
        return 0

    from typer import Exit, TyperException

    from breakeven.cli.app import build, hint

    program = build()
    try:
        with program.make_context(PROGRAM, arguments) as context:
            code = program.invoke(context)
    except Exit as ended:  # --version, and --help of a command
        return ended.exit_code
    except TyperException as error:
        return _say(f"{error.format_message().rstrip('.')}; {hint(error)}", _USAGE)
    return code if isinstance(code, int) else 0


def _have_streams() -> None:
    """Python has no `sys.stdout` where the caller closed it (`>&-`); what nobody wants to read goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # it lives as long as the process


def _say(message: str, code: int) -> int:
    """One line on standard error, without characters that steer a terminal."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    line = flat if len(flat) <= _LONGEST else flat[:_LONGEST] + "..."
    encoding = sys.stderr.encoding or "ascii"
    safe = f"{PROGRAM}: {line}\n".encode(encoding, "backslashreplace").decode(encoding)
    with suppress(OSError):  # nobody listens: the exit code still says it
        sys.stderr.write(safe)
        sys.stderr.flush()
    return code
