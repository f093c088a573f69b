"""The list of commands. To add one: a file here with a function `command`, and a line in `COMMANDS`."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A verb of the command line.

    Attributes:
        name: what the user types.
        module: the module that holds its function `command`, imported when it is called.
        help: its line in the list of commands.
        hint: what a wrong call should be told besides.
    """

    name: str
    module: str
    help: str
    hint: str = ""


COMMANDS: tuple[Command, ...] = (
    Command(
        "why",
        "breakeven.cli.why",
        "which device a training should run on, why it is slow, what to change",
        "the script's own arguments go after --",
    ),
    Command("ask", "breakeven.cli.ask", "from a network in one line: are reported times plausible, and what would change them"),
    Command("devices", "breakeven.cli.devices", "what is here, can it be used, and if not why"),
    Command("time", "breakeven.cli.time", "honest timing of a job, a function or code, on devices that take turns"),
    Command(
        "race",
        "breakeven.cli.race",
        "the same training for the same time on each device: iterations, and the loss they bought",
        "the script's own arguments go after --",
    ),
    Command("trace", "breakeven.cli.trace", "a profiler's trace: where its time goes, why, and what to change"),
    Command("compare", "breakeven.cli.compare", "two runs, or two traces: what differs, cause by cause"),
    Command(
        "sweep",
        "breakeven.cli.sweep",
        "from which batch, width or length on which device wins",
        "give --vary NAME=LO:HI or NAME=a,b,c",
    ),
    Command("gpus", "breakeven.cli.gpus", "the catalog of GPUs that can be predicted"),
    Command("lint", "breakeven.cli.lint", "lines that may cost time on a GPU, found without running anything"),
    Command(
        "fix",
        "breakeven.cli.fix",
        "what makes a script faster, carried out and proven to compute the same",
        "the script's own arguments go after --",
    ),
    Command("selftest", "breakeven.cli.selftest", "plants known faults on this machine and counts which are found"),
    Command("predict", "breakeven.cli.predict", "the time on a GPU of single operations, row by row of a file"),
    Command("runs", "breakeven.cli.runs", "the kept runs of a folder"),
    Command("settle", "breakeven.cli.settle", "how forecasts turned out, and what that teaches about a device"),
    Command("gate", "breakeven.cli.gate", "end with 1 where a run is worse than its baseline"),
    Command("ui", "breakeven.cli.ui", "the kept runs of a folder as pages in the browser"),
)

_OVERVIEW = """\
Usage: breakeven COMMAND [OPTIONS] ...

  Should this training run on a CPU or a GPU, why is it slow, and what to change?
  Start with: breakeven why train.py

Commands:
{commands}

Options:
  --version  Show the version and exit.
  --help     Show this message and exit; after a command, its own help.
"""


def overview() -> str:
    """The help of the program as a whole. It is text, so that showing it waits for no import."""
    width = max(len(c.name) for c in COMMANDS)
    return _OVERVIEW.format(commands="\n".join(f"  {c.name.ljust(width)}  {c.help}" for c in COMMANDS))
