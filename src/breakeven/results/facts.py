"""What a recording noticed beside the operations: facts about the script, each with the line where it was seen.

They are the plain records that `capture` hands to `diagnose`, which may not import it. A fact is an observation and no
judgement: a rule decides whether it costs anything. What was not looked for is an empty tuple or None, never a zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from breakeven.timeline.opstream import Site


@dataclass(frozen=True)
class Asked:
    """The script asked whether there is a GPU.

    Attributes:
        site: the line that asked; None: not known.
        truth: what the machine's own answer is, without the virtual GPU.
    """

    site: Site | None
    truth: bool


@dataclass(frozen=True)
class Mismatch:
    """A tensor on the host met one on the GPU, which raises on CUDA.

    Attributes:
        site: the line of the user's file.
        operation: the operation that would have raised, such as `aten::addmm`.
        message: the error's text as CUDA would give it.
        operands: names on the line by device, with the lines that made them, in words; empty: not known.
        made: lines that made those on the host.
    """

    site: Site | None
    operation: str
    message: str
    operands: str = ""
    made: tuple[Site, ...] = ()


@dataclass(frozen=True)
class ClockSpan:
    """Two readings of a clock with device work between them: the user timed something by hand.

    Attributes:
        opened: line of the first reading; None: not known.
        closed: line of the second reading; None: not known.
        operations: operations issued to the device between them.
        after_wait: operations issued to the device after the last point at which the host waited for the device, before
            the clock was read again (0: it was read right after a wait; equal to `operations`: nothing waited).
        steps: whole steps between them; None: not known.
        first_work: the span holds the first device work of the whole run, and so the device's set-up.
        novel: operations in it that the run had not called before, whose kernels the device had to load.
    """

    opened: Site | None
    closed: Site | None
    operations: int
    after_wait: int
    steps: float | None = None
    first_work: bool = False
    novel: int = 0


@dataclass(frozen=True)
class Loader:
    """A data loader that the steps take their batches from.

    Attributes:
        site: the line of the user's loop over it, else of its making.
        workers: worker processes (0: in the training process itself).
        in_memory: the data set holds its tensors in memory (a `TensorDataset` or the like); None: not known.
        by_row: it fetches sample by sample and collates, as against whole batches by index; None: not known.
        batch: samples per batch; None: not known.
        pinned: it hands over pinned memory.
    """

    site: Site | None
    workers: int
    in_memory: bool | None = None
    by_row: bool | None = None
    batch: int | None = None
    pinned: bool = False


@dataclass(frozen=True)
class Padding:
    """Elements of a batch of sequences that are padding, summed over the recorded steps.

    Attributes:
        site: the line at which it was seen (the look-up of an embedding with `padding_idx`, a pack, a pad).
        total: elements (time steps of all samples) in the padded tensor.
        real: those of them that are no padding.
        timesteps: length that the batch is padded to (of the largest such batch).
        longest: longest real length in a batch, on average over batches; None: not known.
        packed: the padding is packed away before the recurrent layers (`pack_padded_sequence`), so they do not compute it.
    """

    site: Site | None
    total: int
    real: int
    timesteps: int
    longest: float | None = None
    packed: bool = False


@dataclass(frozen=True)
class Denormals:
    """Numbers too small for normal floating point, in an operand of a product on the CPU.

    Attributes:
        site: the line that computes with it.
        what: name of the parameter, or the operation.
        share: part of its elements, 0 to 1.
    """

    site: Site | None
    what: str
    share: float


@dataclass(frozen=True)
class Threads:
    """CPU threads of the training process as its steps ran.

    Attributes:
        used: threads that PyTorch was set to use.
        cores: processor cores that the process may run on.
        site: the line that set the number (or the affinity), where the script did.
    """

    used: int
    cores: int
    site: Site | None = None


@dataclass(frozen=True)
class Debugging:
    """A debugging aid was on during the steps.

    Attributes:
        site: the line that switched it on; None: not known.
        what: `anomaly` (autograd's anomaly detection), `profiler`, `gradcheck`, `deterministic`.
    """

    site: Site | None
    what: str


@dataclass(frozen=True)
class Facts:
    """Everything that one recording noticed."""

    asked: tuple[Asked, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    clocks: tuple[ClockSpan, ...] = ()
    loaders: tuple[Loader, ...] = ()
    padding: tuple[Padding, ...] = ()
    denormals: tuple[Denormals, ...] = ()
    debugging: tuple[Debugging, ...] = ()
    threads: Threads | None = None
    lifted: bool = False  # the script never named cuda: its modules and batches were taken to the GPU for it
    peak_device_bytes: int | None = None  # largest sum of live device tensors that was seen


def facts_of(
    noticed: Mapping[str, Sequence[Any]], *, gpu_visible: bool, threads: Threads | None = None,
    peak_device_bytes: int | None = None,
) -> Facts:  # fmt: skip  # Any: records or JSON values
    """The facts of a recording, from what `capture` hands over: records, or the JSON that they became.

    Args:
        noticed: by kind, records with `sites` and `values`; a kind or value that is not there was not noticed.
        gpu_visible: whether this machine really has a GPU that PyTorch can use.
        threads: as the timing pass found them.
        peak_device_bytes: as the recording found it.
    """
    return Facts(
        asked=tuple(Asked(where[0], gpu_visible) for where, _ in _each(noticed, "is_available")),
        mismatches=tuple(
            Mismatch(
                where[0], str(values.get("op", "")), str(values.get("error", "tensors on two devices")),
                str(values.get("operands", "")), tuple(Site(*where) for where in values.get("made", ())),
            )
            for where, values in _each(noticed, "device_mismatch")
        ),
        clocks=tuple(_clock(where, values) for kind in ("no_sync", "first_call") for where, values in _each(noticed, kind)),
        loaders=tuple(
            Loader(
                where[0], int(values.get("workers", 0)), values.get("in_memory"), values.get("by_row"), values.get("batch"),
                bool(values.get("pinned", False)),
            )
            for where, values in _each(noticed, "loader")
        ),
        padding=tuple(
            Padding(
                where[0], int(values["total"]), int(values["real"]), int(values["timesteps"]), values.get("longest"),
                bool(values.get("packed", False)),
            )
            for where, values in _each(noticed, "padding")
        ),
        denormals=tuple(
            Denormals(where[0], _operand(values), float(values.get("fraction", 0.0)))
            for where, values in _each(noticed, "denormals")
        ),
        debugging=tuple(Debugging(where[0], "anomaly") for where, _ in _each(noticed, "anomaly")),
        threads=threads or next((_threads(where, values) for where, values in _each(noticed, "threads")), None),
        lifted=bool(noticed.get("lifted")),
        peak_device_bytes=peak_device_bytes,
    )  # fmt: skip


def _each(
    noticed: Mapping[str, Sequence[Any]], kind: str
) -> Iterator[tuple[tuple[Site | None, Site | None], Mapping[str, Any]]]:  # Any: JSON values
    """First and second site, and the values, of each record of a kind."""
    for given in noticed.get(kind, ()):
        record = msgspec.to_builtins(given)
        sites = [Site(**where) for where in record.get("sites", ())]
        yield (sites[0] if sites else None, sites[1] if len(sites) > 1 else None), record.get("values", {})


def _clock(where: tuple[Site | None, Site | None], values: Mapping[str, Any]) -> ClockSpan:  # Any: JSON values
    issued = int(values.get("issued", 0))
    pending = min(int(values.get("pending", 0)), issued)
    return ClockSpan(where[0], where[1], issued, pending, None, bool(values.get("first", False)), int(values.get("novel", 0)))


def _threads(where: tuple[Site | None, Site | None], values: Mapping[str, Any]) -> Threads:  # Any: JSON values
    return Threads(int(values["threads"]), int(values["cores"]), where[0])


def _operand(values: Mapping[str, Any]) -> str:  # Any: JSON values
    """What holds the denormal numbers, in words."""
    return str(values.get("what") or f"the numbers that go into {values.get('op', 'a product')}")
