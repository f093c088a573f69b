"""What a capture is asked, and what a timing pass hands back: plain frozen records that travel to and from a child as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.timeline.looked import Looked

#: Passes that can be asked for: the CPU's own time; the virtual GPU's recording; the real accelerator's own time.
CPU, VIRTUAL, DEVICE = "cpu", "virtual", "device"
#: One arm of a proof (`capture/proof`).
PROOF = "proof"


@dataclass(frozen=True)
class Substitution:
    """A value in the place of one expression of the user's source; the span is that of Python's syntax tree.

    Attributes:
        file: absolute path.
        line: first line of the expression, from 1.
        column: where it begins there, in bytes.
        end_line: its last line.
        end_column: where it ends there.
        value: what stands there in the child.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    value: int | float | bool | str


@dataclass(frozen=True)
class CaptureRequest:
    """One user's script and how much of it to run.

    Attributes:
        target: path of a script, or the dotted name of a module (as `python -m` takes it).
        args: the script's own arguments.
        cwd: its working directory; None: ours.
        steps: after how many to stop, counted once warmed up; None: until the figure is steady.
        seconds: seconds to measure at most; None: chosen by the length of a step.
        mark: `FILE:LINE` whose every execution begins a step; None: steps are found.
        passes: which passes to run, in this order.
        show_output: whether the first pass's output appears (on our standard error).
        synchronise: `MODULE:FUNCTION` called at each edge of a step in the `device` pass (a backend's `synchronise`).
        recorded: steps that the virtual pass records.
        patient: `seconds` says how long to measure and not how long the user waits: a busy machine gets the usual time-outs.
        threads: that PyTorch uses in the recording pass, where several run side by side; None: its own choice.
        substitutions: values put in the place of expressions of the source, in the child only (a sweep's parameters).
    """

    target: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    steps: int | None = None
    seconds: float | None = None
    mark: str | None = None
    passes: tuple[str, ...] = (CPU, VIRTUAL)
    show_output: bool = True
    synchronise: str | None = None
    recorded: int = 3
    substitutions: tuple[Substitution, ...] = ()
    patient: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class Place:
    """Where steps end: a line of the user's source, and what is called or repeated there."""

    kind: str  # marked | optimizer | backward | loop | run
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class StepGroup:
    """Steps of one place on one logical device. Groups are reported side by side, never averaged.

    Attributes:
        place: where its steps end.
        device: logical device as far as the pass can tell: `cpu` or `cuda`.
        samples_ns: length of every step, in order, warm-up included.
        input_wait_ns: of each step, the time spent waiting for a `DataLoader`'s next batch.
        warmup: how many of the first samples are warm-up.
        loop_line: line of the loop that these steps go through, where there is one.
    """

    place: Place
    device: str
    samples_ns: tuple[int, ...]
    input_wait_ns: tuple[int, ...]
    warmup: int
    loop_line: int | None = None

    @property
    def measured_ns(self) -> tuple[int, ...]:
        """The samples after warm-up: what an estimate may use."""
        return self.samples_ns[self.warmup :]

    @property
    def total_ns(self) -> int:
        """Time in all its steps."""
        return sum(self.samples_ns)


@dataclass(frozen=True)
class ScriptEnd:
    """How the script ended: `ok` by itself, `budget` by us at a step's edge, or by exception, exit, signal or time-out."""

    how: str  # ok | budget | exception | exit | killed | timeout | interrupted
    text: str = ""
    code: int = 0

    @property
    def failed(self) -> bool:
        """Whether the user's own script is to blame: raised, left with a non-zero code, or died."""
        return self.how in ("exception", "killed") or (self.how == "exit" and self.code != 0)


@dataclass(frozen=True)
class KerasLayer:
    """A recurrent layer of Keras: its class, its name, and the arguments that decide whether it runs as one fused call."""

    kind: str
    name: str
    arguments: Mapping[str, str | float | bool]


@dataclass(frozen=True)
class KerasScript:
    """What the script's Keras says: the name of its backend, and its recurrent layers where that is PyTorch."""

    backend: str
    layers: tuple[KerasLayer, ...] = ()


@dataclass(frozen=True)
class Decayed:
    """A tensor that held denormal numbers when the timing pass ended.

    Attributes:
        what: what it is, with its shape.
        share: part of its elements, 0 to 1.
    """

    what: str
    share: float


@dataclass(frozen=True)
class Beside:
    """Steps right before a setting was changed, and right after, ns."""

    before_ns: tuple[int, ...]
    after_ns: tuple[int, ...]


@dataclass(frozen=True)
class TimedPass:
    """What the CPU pass (or, with an accelerator, the device pass) measured.

    Attributes:
        unit: `step`, `loop` or `run`; None: nothing that could be timed ran.
        principal: the group that the answer is about; None as above.
        groups: all groups, most time first.
        batch: samples per step where known.
        peak_rss_bytes: peak resident memory of the child.
        named_devices: logical devices that the script named (`cuda`, `mps`, …), empty: it never named one.
        end: how the script ended.
        segments: where the unit is the run: each stretch between two statements outside loops, as (line, ns), in order.
        looked: what the operations of a step take, seen after the timing; None: not looked at.
        keras: what the script's Keras says; None: it has none.
        decayed: tensors with denormal numbers among what optimizers hold, at the end.
        matched: steps with as many threads as cores beside those with more; None: not measured.
        flushed: steps with denormal numbers flushed beside those without, on one thread; None: not measured.
    """

    unit: str | None
    principal: StepGroup | None
    groups: tuple[StepGroup, ...]
    end: ScriptEnd
    batch: int | None = None
    peak_rss_bytes: int | None = None
    named_devices: tuple[str, ...] = ()
    threads: int | None = None
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[tuple[int, int], ...] = ()
    looked: Looked | None = None
    keras: KerasScript | None = None
    decayed: tuple[Decayed, ...] = ()
    matched: Beside | None = None
    flushed: Beside | None = None


@dataclass(frozen=True)
class Plan:
    """Which steps the timing pass measured, so that the recording pass records the same ones."""

    unit: str
    place: Place
    device: str
    loop_line: int | None = None
    edges: int = 0  # how many edges of this group the timing pass saw
    named_devices: tuple[str, ...] = ()
    batch: int | None = None
    step_ns: int = 0


@dataclass(frozen=True)
class Order:
    """How one arm of a proof runs (`capture/proof`).

    Attributes:
        file: the script's file.
        text: its text in this arm; None: as it is on the disk.
        commands: file descriptor that commands are read from.
        reports: file descriptor that reports are written to.
        seed: that every random generator starts from, unless the script sets its own.
        bytes_per_step: numbers of a step that are kept for comparison; of larger tensors every n-th, and a digest of the whole.
        on_cpu: what names an accelerator means the CPU; False: the script runs where it says.
    """

    file: str
    text: str | None
    commands: int
    reports: int
    seed: int
    bytes_per_step: int
    on_cpu: bool = True


@dataclass(frozen=True)
class ChildSpec:
    """What a child is told: the request, which pass, where its folder is, the plan of an earlier pass, how an arm runs.

    Attributes:
        request: the request.
        which: the pass.
        folder: where its results go.
        module: whether the target is a module's name.
        plan: of an earlier pass.
        order: how an arm of a proof runs.
        installed: whether the target is no file of the user's: where it starts Python, that is followed.
    """

    request: CaptureRequest
    which: str
    folder: str
    module: bool
    plan: Plan | None = None
    order: Order | None = None
    installed: bool = False
