"""The child process: runs a user's script under one pass and writes down, at every milestone, what has been learned.

Started by `breakeven.capture.run` as `python -m breakeven.capture.child SPEC.json`. Everything it learns is in its folder, so
that whatever ends it (an exception, `sys.exit`, a signal, the budget, the memory) takes nothing away.
"""

from __future__ import annotations

import sys

from breakeven.capture.passes import run_child


def main(spec: str) -> None:
    """Run the child that SPEC describes, and end the process with the exit code that the script would have had."""
    run_child(spec)


if __name__ == "__main__":
    main(sys.argv[1])
