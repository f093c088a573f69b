"""Sequences of different lengths: how much of the recorded batches is padding, and whether it is packed away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.notes import Notes
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.plans import Plan
from breakeven.capture.virtual.recorder import Recorder

#: An index counts as padding, where nobody says so, if it ends this part of the sequences, one of them more than once …
_ENDED: Final = 0.5
#: … and stands among at most this part of what comes before: a word of a large vocabulary may have its number.
_INSIDE: Final = 0.01


@dataclass
class _Seen:
    """What one line padded, over the recorded steps."""

    total: int = 0
    real: int = 0
    longest: int = 0  # sum over batches of the longest real length
    batches: int = 0
    timesteps: set[int] = field(default_factory=set)


class Padding:
    """Watches what makes, looks up and packs padded batches. One per session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._seen: dict[int, _Seen] = {}  # by the number of the user's line
        self._packed: set[int] = set()  # lengths that were packed

    def install(self, patches: Patches) -> None:
        """Patch `pad_sequence` and `pack_padded_sequence`, and look at what embeddings look up."""
        rnn = torch.nn.utils.rnn
        patches.set(rnn, "pad_sequence", self._padding(rnn.pad_sequence))
        patches.set(rnn, "pack_padded_sequence", self._packing(rnn.pack_padded_sequence))
        self._recorder.specials["aten::embedding"] = self._embedding

    def note(self, notes: Notes) -> None:
        """Hand over what was seen."""
        for site, seen in self._seen.items():
            notes.note(
                facts.PADDING, f"{1 - seen.real / seen.total:.0%} of what is made here is padding", site,
                total=seen.total, real=seen.real, timesteps=max(seen.timesteps), longest=seen.longest / seen.batches,
                packed=bool(seen.timesteps & self._packed),
            )  # fmt: skip

    def _add(self, site: int, total: int, real: int, timesteps: int, longest: int) -> None:
        seen = self._seen.setdefault(site, _Seen())
        seen.total += total
        seen.real += real
        seen.longest += longest
        seen.batches += 1
        seen.timesteps.add(timesteps)

    def _padding(self, real: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @wraps(real)
        def pad_sequence(sequences: Any, *args: Any, **kwargs: Any) -> torch.Tensor:  # Any: torch's own
            out = real(sequences, *args, **kwargs)
            if self._is_watched() and isinstance(sequences, (list, tuple)) and sequences:
                lengths = [len(sequence) for sequence in sequences]
                most = max(lengths)
                if most:
                    self._add(self._recorder.sites.here(), len(lengths) * most, sum(lengths), most, most)
            return out

        return pad_sequence

    def _packing(self, real: Callable[..., Any]) -> Callable[..., Any]:  # Any: a packed sequence
        @wraps(real)
        def pack_padded_sequence(
            input: Any,  # noqa: A002  # the name that torch gives it
            lengths: Any,
            batch_first: bool = False,
            enforce_sorted: bool = True,
        ) -> Any:  # Any: as above
            if self._is_watched() and isinstance(input, torch.Tensor) and input.dim() > 1:
                self._packed.add(int(input.shape[1 if batch_first else 0]))
            return real(input, lengths, batch_first, enforce_sorted)

        return pack_padded_sequence

    def _embedding(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        """A look-up: its indices tell what is padding (below the mode: nothing here is recorded)."""
        out = self._recorder.common(plan, args, kwargs, began)
        indices, index = args[1], args[2] if len(args) > 2 else kwargs.get("padding_idx", -1)
        if not self._is_watched() or not isinstance(index, int) or indices.dim() != 2 or not indices.numel():
            return out
        if index < 0:
            self._unnamed(indices)
        else:
            axis = _time_axis(indices == index)
            if axis is not None:
                real = indices != index
                lengths = real.sum(axis)
                self._add(
                    self._recorder.sites.here(), indices.numel(), int(lengths.sum()), int(indices.shape[axis]), int(lengths.max())
                )
        return out

    def _unnamed(self, indices: torch.Tensor) -> None:
        """A look-up that was told no `padding_idx`: an index that fills the ends of sequences of different lengths is one."""
        for axis in (1, 0):
            for flipped in (False, True):
                lengths = _lengths(indices.flip(axis) if flipped else indices, axis)
                if lengths is not None:
                    real, most = int(lengths.sum()), int(lengths.max())
                    self._add(self._recorder.sites.here(), indices.numel(), real, int(indices.shape[axis]), most)
                    return

    def _is_watched(self) -> bool:
        return self._recorder.is_mine() and self._recorder.rows is not None and not self._recorder.off


def _time_axis(padded: torch.Tensor) -> int | None:
    """The axis along which padding stands at one end of every sequence; None: these are no padded sequences.

    Args:
        padded: which elements are padding, shape (batch, time) or (time, batch).
    """
    for axis in (1, 0):
        first, second = padded.narrow(axis, 0, padded.shape[axis] - 1), padded.narrow(axis, 1, padded.shape[axis] - 1)
        if bool((second >= first).all()) or bool((second <= first).all()):
            return axis
    return None


def _lengths(indices: torch.Tensor, axis: int) -> torch.Tensor | None:
    """Lengths of sequences without the index that fills their ends; None: no index does, or all are of one length.

    Args:
        indices: shape (batch, time) or (time, batch).
        axis: of time.
    """
    filler = indices.select(axis, -1).mode().values
    real = indices != filler
    place = torch.arange(1, indices.shape[axis] + 1).unsqueeze(1 - axis)
    lengths = (real * place).amax(axis)
    kept = int(lengths.sum())
    inside = kept - int(real.sum())
    fills = indices.shape[axis] - lengths
    ended = float((fills > 0).float().mean())
    if ended < _ENDED or int(fills.max()) < 2 or inside > _INSIDE * kept or int(lengths.min()) < 1:
        return None
    return lengths if bool((lengths != lengths[0]).any()) else None
