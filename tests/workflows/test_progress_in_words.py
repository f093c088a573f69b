"""A capture's progress reaches the person in words."""

from __future__ import annotations

import io

from breakeven.capture.run import Progress
from breakeven.cli.progress import progress_on
from breakeven.workflows.progress import in_words


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_each_pass_is_one_line_beside_a_script_that_prints() -> None:
    stream = Terminal()
    with progress_on(stream, quiet=False, shared=True) as on_progress:
        tell = in_words(on_progress)
        for which in ("cpu", "virtual", "device"):
            tell(Progress(which, 0.4, 0))
            tell(Progress(which, 1.2, 7))
            tell(Progress(which, 2.0, 9, done=True))
    assert stream.getvalue() == (
        "breakeven: timing your script on the CPU ...\n"
        "breakeven: recording it on the virtual GPU ...\n"
        "breakeven: timing it on the GPU ...\n"
    )
