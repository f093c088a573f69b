"""The records of a proof: two versions of a training run side by side, and whether they compute the same.

A proof is a measurement on the machine that it names; what was not measured is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.results.records import Interval


@dataclass(frozen=True)
class Difference:
    """How far one kind of numbers lies apart between the two versions.

    Attributes:
        what: losses, gradients or parameters.
        bitwise: every bit is the same at every step that was compared.
        largest: greatest relative difference at the first steps, which the tolerance is held against: of a tensor the norm of
            the difference over its own norm (of a gradient whose difference drowns in the rounding of all gradients, over the
            norm of them all); None: the two cannot be compared number by number.
        first_step: first step, from 1, at which a bit differs; None: none does.
        last: greatest relative difference at the last step that was compared, after the timed ones; rounding that a training
            amplifies shows here.
    """

    what: str
    bitwise: bool
    largest: float | None
    first_step: int | None = None
    last: float | None = None


@dataclass(frozen=True)
class Equality:
    """Whether the two versions train the same.

    Attributes:
        promise: what the remedies promise together: bitwise, tolerance or changes_mathematics.
        tolerance: the greatest relative difference that is allowed; None: none is.
        steps: steps compared one by one from the first; after the timed ones another is compared.
        differences: of losses, gradients and parameters.
        repeatable: the unchanged script gives the same bits when it is run twice; None: that was not needed.
        holds: the promise is kept.
        sentence: the same in words.
    """

    promise: str
    tolerance: float | None
    steps: int
    differences: tuple[Difference, ...]
    repeatable: bool | None
    holds: bool
    sentence: str


@dataclass(frozen=True)
class Race:
    """Both versions train for the same time, and their losses at its end are compared.

    Attributes:
        seconds: time that each trained.
        before: mean loss over the last quarter of that time, unchanged.
        after: the same, changed.
        steps: steps that each made, unchanged and changed.
        won: the changed version's loss is not higher.
    """

    seconds: float
    before: Interval
    after: Interval
    steps: tuple[int, int]
    won: bool


@dataclass(frozen=True)
class Proof:
    """What two versions, run in alternation, showed.

    Attributes:
        device: what they ran on.
        speedup: how many times as many steps a second the changed version does; None: too few steps ended.
        before_ms: a step of the unchanged version.
        after_ms: a step of the changed one.
        pairs: pairs of blocks of steps that this rests on.
        block: steps in a block.
        equality: whether they train the same; None: no step could be compared.
        race: instead, where the mathematics changes.
        kept: whether the change is kept for it.
        reason: why, or why not.
        cpu_speedup: the same by the main thread's processor time, in which other programs' share of the machine is not.
    """

    device: str
    speedup: Interval | None
    before_ms: Interval | None
    after_ms: Interval | None
    pairs: int
    block: int
    equality: Equality | None
    race: Race | None
    kept: bool
    reason: str
    cpu_speedup: Interval | None = None


@dataclass(frozen=True)
class Tried:
    """One remedy on its way: predicted, carried out, proven, kept or not.

    Attributes:
        id: the remedy.
        title: what it does.
        promise: what the edited training computes: bitwise, tolerance or changes_mathematics; None: it has no edit.
        gain_ms: what it is predicted to save of a step on the asked device, beside those kept before it; None: unknown.
        lines: of the script as it was before this remedy.
        note: what the user should know.
        proof: of this remedy beside those kept before it; None: not asked for.
        kept: it is in the change that is shown; None: left open.
        reason: why, or why not.
    """

    id: str
    title: str
    promise: str | None
    gain_ms: Interval | None
    lines: tuple[int, ...]
    note: str
    proof: Proof | None
    kept: bool | None
    reason: str


@dataclass(frozen=True)
class FixReport:
    """The answer of `breakeven fix`; its JSON is the certificate.

    Attributes:
        script: the file.
        device: the device that gains are predicted for.
        step_ms: a step as it is, there.
        remedies: those that were looked at, in order.
        diff: the change, as a unified diff; empty: there is none.
        predicted: the speed-up that the simulator promises for the change as a whole; None: it cannot say.
        proof: of the change as a whole, against the script as it was; None: not asked for, or nothing was kept.
        error: how far the predicted saving is from the proven one, as a part of the latter; None: one of the two is missing,
            or they are about different devices.
        written: the file was changed.
        backup: where the file as it was is kept; None: nothing was written.
        warnings: what could not be done.
        machine: what it ran on.
        versions: of Python, torch and breakeven.
        failed: slug of the error that left this partial.
    """

    script: str
    device: str
    step_ms: Interval | None
    remedies: tuple[Tried, ...]
    diff: str
    predicted: Interval | None
    proof: Proof | None
    error: float | None
    written: bool
    backup: str | None
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    schema: str = "breakeven/fix/1"
