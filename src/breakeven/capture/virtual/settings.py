"""Settings of torch that a recording is worth a word about: threads, cuDNN's benchmark mode."""

from __future__ import annotations

import os

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.notes import Notes


def note(notes: Notes) -> None:
    """Look at them now."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = torch.get_num_threads()
    if threads > cores:
        notes.note(facts.THREADS, f"torch uses {threads} threads on {cores} cores", threads=threads, cores=cores)
    if torch.backends.cudnn.benchmark:
        notes.note(
            facts.CUDNN_BENCHMARK, "torch.backends.cudnn.benchmark is on: each new shape is tried with every algorithm first"
        )
