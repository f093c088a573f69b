"""A loader keeps its workers from epoch to epoch."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import loaders, loops_over
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, with_argument
from breakeven.remedies.edits.source import Change, Loop, Source
from breakeven.remedies.edits.values import number

_DRAWS = ("torch.rand", "torch.bernoulli", "torch.multinomial", "torch.normal", "torch.nn.functional.dropout", "torch.nn.Dropout")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Add `persistent_workers=True` where a loader with workers is gone through several times."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loader with a known number of workers that starts them anew here"
    for loader in loaders(source, sites):
        workers = argument(loader, "num_workers", 5)
        if workers is None or (number(source, workers.value) or 0) < 1 or argument(loader, "persistent_workers") is not None:
            continue
        epochs = [around[-1] for loop in loops_over(source, loader) if (around := source.loops(loop))]
        if not epochs:
            reason = f"the loader at line {source.line(loader)} stays: it is gone through once"
        elif _draws(source, epochs):
            reason = f"the loader at line {source.line(loader)} stays: random numbers would be drawn in another order"
        else:
            changes[loader] = with_argument("persistent_workers", "True")
    return source.changed(changes) if changes else Refused(reason)


def _draws(source: Source, epochs: list[Loop]) -> bool:
    """Whether anything draws from the random state that starting workers anew moves on: the order itself, dropout, noise.

    What a script draws in the lines before its epochs, in the same function, is drawn before any worker starts.
    """
    for one in loaders(source, Sites(None)):
        shuffle, generator = argument(one, "shuffle", 2), argument(one, "generator")
        if generator is not None or (shuffle is not None and source.code(shuffle.value) != "False"):
            return True
        if argument(one, "sampler") is not None:
            return True
    later = [
        source.meaning(call.func) or ""
        for call in source.find(cst.Call)
        if source.loops(call)
        or any(source.function(call) is not source.function(loop) or source.line(call) > source.line(loop) for loop in epochs)
    ]
    return any(name.startswith(_DRAWS) for name in later) or bool(source.calls("torch.nn.Dropout"))


EDIT = Edit(
    id="persistent_workers",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="A loader with workers is gone through several times, without shuffling, dropout or noise.",
    unsafe_when="The data set changes between epochs: workers that stay do not see it.",
    changes="No number without shuffling; with it, other orders from the second epoch on, so it is left alone.",
)
