"""What the timing child is asked, and where it leaves its answer: records that both sides read. No PyTorch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Files of the child's folder.
REQUEST: Final = "request.json"
ANSWER: Final = "answer.json"
PROGRESS: Final = "progress.txt"

#: Kinds of target.
JOB, FUNCTION, CODE = "job", "function", "code"

#: The built-in jobs (a test holds this equal to the table in `jobs/`, which only a process with PyTorch can import).
JOB_NAMES: Final = (
    "matmul", "copy_h2d", "copy_h2d_pinned", "copy_d2h", "copy_d2h_pinned", "launch", "elementwise", "lstm", "attention", "cnn",
    "char_rnn", "cnn_lstm", "reviews", "tagger_bilstm", "tiny_transformer",
)  # fmt: skip


@dataclass(frozen=True)
class TimeRequest:
    """What is to be timed.

    Attributes:
        target: name of a built-in job, `MODULE:FUNCTION` (or `FILE.py:FUNCTION`), or code.
        kind: `job`, `function` or `code`.
        setup: code that runs once before, for `code`.
        devices: names as typed; all take turns.
        size: of a built-in job; None: its default.
        dtype: of a built-in job.
        seconds: longest time to measure.
        precision: half width of the interval at which to stop, as a part of the median.
        tune_cpu: try the CPU's settings against each other.
    """

    target: str
    kind: str
    setup: str = ""
    devices: tuple[str, ...] = ("cpu",)
    size: int | None = None
    dtype: str = "float32"
    seconds: float = 10.0
    precision: float = 0.01
    tune_cpu: bool = False
