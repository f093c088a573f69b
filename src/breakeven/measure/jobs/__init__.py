"""Built-in jobs: one function each, in a table. They run in the child process alone, which imports PyTorch."""

from __future__ import annotations

from breakeven.measure.jobs.algebra import attention, elementwise, launch, matmul
from breakeven.measure.jobs.copies import copy_d2h, copy_d2h_pinned, copy_h2d, copy_h2d_pinned
from breakeven.measure.jobs.job import Make
from breakeven.measure.jobs.networks import cnn, lstm
from breakeven.measure.jobs.steps import char_rnn, cnn_lstm, reviews, tagger_bilstm, tiny_transformer

#: Name → what makes the job, its default size, and what `--size` means.
JOBS: dict[str, tuple[Make, int, str]] = {
    "matmul": (matmul, 1024, "rows and columns of both matrices"),
    "copy_h2d": (copy_h2d, 64, "MiB, pageable memory to the device"),
    "copy_h2d_pinned": (copy_h2d_pinned, 64, "MiB, page-locked memory to the device"),
    "copy_d2h": (copy_d2h, 64, "MiB, device to pageable memory"),
    "copy_d2h_pinned": (copy_d2h_pinned, 64, "MiB, device to page-locked memory"),
    "launch": (launch, 1, "elements of the smallest operation"),
    "elementwise": (elementwise, 1 << 24, "elements that are added"),
    "lstm": (lstm, 256, "hidden units of one layer, 100 time steps, batch 32, forward and backward"),
    "attention": (attention, 512, "positions, 8 heads of 64, batch 8"),
    "cnn": (cnn, 8, "batch of 64 x 64 images through three convolutions, forward and backward"),
    "char_rnn": (char_rnn, 100, "window of a training step of examples/char_rnn.py"),
    "cnn_lstm": (cnn_lstm, 64, "batch of a training step of examples/cnn_lstm.py"),
    "reviews": (reviews, 300, "reviews in a training step of examples/reviews.py"),
    "tagger_bilstm": (tagger_bilstm, 32, "batch of a training step of examples/tagger_bilstm.py"),
    "tiny_transformer": (tiny_transformer, 32, "batch of a training step of examples/tiny_transformer.py"),
}
