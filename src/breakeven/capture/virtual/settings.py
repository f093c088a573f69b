"""Settings of torch that a recording is worth a word about: threads, cuDNN's benchmark mode."""

from __future__ import annotations

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.notes import Notes
from breakeven.machine.cores import usable_cores


def note(notes: Notes) -> None:
    """Look at them now."""
    cores, threads = usable_cores(), torch.get_num_threads()
    if threads > cores:
        notes.note(facts.THREADS, f"torch uses {threads} threads on {cores} cores", threads=threads, cores=cores)
    if torch.backends.cudnn.benchmark:
        notes.note(
            facts.CUDNN_BENCHMARK, "torch.backends.cudnn.benchmark is on: each new shape is tried with every algorithm first"
        )
