"""A loader with workers has four batches ready per worker."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import loaders
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, with_argument
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.values import number


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Add `prefetch_factor=4` where there are workers and no such argument."""
    changes: dict[cst.CSTNode, Change] = {}
    for loader in loaders(source, sites):
        workers = argument(loader, "num_workers", 5)
        if workers is not None and (number(source, workers.value) or 0) > 0 and argument(loader, "prefetch_factor") is None:
            changes[loader] = with_argument("prefetch_factor", "4")
    return source.changed(changes) if changes else Refused("no loader with a known number of workers and no prefetch_factor here")


EDIT = Edit(
    id="prefetch",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="The loader has worker processes and does not set `prefetch_factor`.",
    unsafe_when="Batches are so large that twice as many of them do not fit into the host's memory.",
    changes="No number.",
)
