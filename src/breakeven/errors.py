"""The one tree of errors: each has a slug (its page in docs/errors.md) and the exit code that the command line gives it."""

from __future__ import annotations

from typing import ClassVar


class BreakevenError(Exception):
    """Something that the user can be told in one line: what, where, and the way out."""

    slug: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 2


class InputError(BreakevenError):
    """The call or its input is wrong: a missing file, a bad option, a file that cannot be read."""

    slug = "input"
    exit_code = 2


class UnknownDevice(InputError):
    """A device name that the catalog does not know; the message lists the nearest."""

    slug = "unknown-device"


class MissingExtra(InputError):
    """A part that an optional dependency brings is asked for without it; the message names the pip install."""

    slug = "missing-extra"


class ScriptFailed(BreakevenError):
    """The user's own script raised, exited or died; its traceback has been shown as it was."""

    slug = "script-failed"
    exit_code = 3


class NoAnswer(BreakevenError):
    """Everything was in order and there is still no answer: nothing ran, or nothing ran on the device."""

    slug = "no-answer"
    exit_code = 4


class Interrupted(BreakevenError):
    """The user pressed Ctrl-C; what was finished is kept."""

    slug = "interrupted"
    exit_code = 130
