"""Hand-made timelines of one device, with the account written out; times in microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from breakeven.timeline import Lane, Origin, Timeline, TimelineBuilder

#: Lanes of a case by the letter that its events begin with.
LANES = {
    "h": Lane("host", "cpu", "main"),
    "a": Lane("host", "cpu", "autograd"),
    "p": Lane("host", "cpu", "pin memory"),
    "s": Lane("stream", "cuda:0", "stream 0"),
    "t": Lane("stream", "cuda:0", "stream 1"),
    "c": Lane("copy", "cuda:0", "h2d"),
    "m": Lane("host", "cpu", "steps"),
}


@dataclass(frozen=True)
class Event:
    """Lane's letter, kind, start and end (µs), the number of the event that caused it, and what else is known."""

    lane: str
    kind: str
    start: int
    end: int
    link: int = -1
    cause: str | None = None
    limit: str | None = None
    name: str = ""


@dataclass(frozen=True)
class Case:
    """A timeline, and the account in microseconds that must come out; what is not named is zero."""

    claim: str
    events: tuple[Event, ...]
    expect: dict[str, int] = field(default_factory=dict)

    def timeline(self) -> Timeline:
        builder = TimelineBuilder()
        for e in self.events:
            builder.add(
                e.name or e.kind, kind=e.kind, lane=builder.lane(LANES[e.lane]), start_ns=e.start * 1000,
                duration_ns=(e.end - e.start) * 1000, link=e.link, cause=e.cause, limited_by=e.limit,
                step=0 if e.kind == "step" else -1,
            )  # fmt: skip
        return builder.build(Origin("measured"))


def step(start: int, end: int) -> Event:
    return Event("m", "step", start, end)


def launch(start: int, end: int, **rest: str) -> Event:
    return Event(rest.pop("lane", "h"), "launch", start, end, **rest)  # type: ignore[arg-type]


def kernel(start: int, end: int, link: int, limit: str = "compute", lane: str = "s") -> Event:
    return Event(lane, "compute", start, end, link, limit=limit)


CASES = (
    Case(
        "a kernel's time belongs to what limits it",
        (step(0, 60), launch(0, 1), kernel(0, 10, 1), kernel(10, 30, 1, "bandwidth"), kernel(30, 60, 1, "small_kernel")),
        {"compute": 10, "bandwidth": 20, "small_kernel": 30},
    ),
    Case(
        "while two streams run, time is counted once and arithmetic comes first",
        (step(0, 40), launch(0, 1), kernel(0, 30, 1, "bandwidth"), kernel(20, 40, 1, "compute", "t")),
        {"bandwidth": 20, "compute": 20},
    ),
    Case(
        "a copy hidden behind a kernel costs nothing, the rest of it is copy",
        (step(0, 50), launch(0, 1), kernel(0, 30, 1), Event("c", "copy", 10, 50, 1)),
        {"compute": 30, "copy": 20},
    ),
    Case(
        "idle until the launch is done is launch, Python before it included",
        (
            step(0, 50), Event("h", "host", 0, 5), launch(5, 8), kernel(8, 18, 2),
            Event("h", "host", 20, 25), launch(30, 34), kernel(36, 50, 5),
        ),
        {"compute": 24, "launch": 26},
    ),
    Case(
        "idle with work issued long ago is not the host's fault",
        (step(0, 50), launch(0, 2), launch(2, 4), kernel(4, 20, 1), kernel(30, 50, 2)),
        {"launch": 4, "compute": 36, "other": 10},
    ),
    Case(
        "the way from the launch to the device belongs to the launch",
        (step(0, 20), launch(0, 5), kernel(9, 20, 1)),
        {"launch": 9, "compute": 11},
    ),
    Case(
        "after a wait the idle time up to the first kernel is sync, as far as the wait was long",
        (
            step(0, 60), launch(0, 2), kernel(2, 20, 1), Event("h", "sync", 10, 20, 2),
            launch(26, 28), kernel(28, 40, 4), launch(44, 46), kernel(46, 60, 6),
        ),
        {"launch": 2 + 6, "compute": 18 + 12 + 14, "sync": 8},
    ),
    Case(
        "a wait of 3 µs cannot have cost more than 3 µs of head start",
        (
            step(0, 60), launch(0, 2), kernel(2, 20, 1), Event("h", "sync", 17, 20, 2),
            launch(26, 28), kernel(28, 60, 4),
        ),
        {"launch": 2 + 5, "compute": 18 + 32, "sync": 3},
    ),
    Case(
        "idle while the host still waits is sync",
        (step(0, 40), launch(0, 2), kernel(2, 20, 1), Event("h", "sync", 5, 24, 2), launch(24, 26), kernel(26, 40, 4)),
        {"launch": 2, "compute": 32, "sync": 6},
    ),
    Case(
        "the loader is input even right after a wait",
        (
            step(0, 60), launch(0, 2), kernel(2, 20, 1), Event("h", "sync", 10, 20, 2),
            Event("h", "host", 20, 40, cause="input"), launch(42, 44), kernel(44, 60, 5),
        ),
        {"launch": 2 + 4, "compute": 34, "input": 20},
    ),
    Case(
        "what lies inside the loader is input too, unless it says otherwise",
        (
            step(0, 40), Event("h", "host", 0, 20, cause="input"), Event("h", "host", 4, 8), Event("h", "alloc", 10, 15),
            launch(20, 22), kernel(22, 40, 4),
        ),
        {"input": 15, "memory": 5, "launch": 2, "compute": 18},
    ),
    Case(
        "allocating and freeing stop the device: memory",
        (step(0, 40), Event("h", "host", 0, 20), Event("h", "alloc", 5, 15), launch(20, 22), kernel(22, 40, 3)),
        {"launch": 12, "memory": 10, "compute": 18},
    ),
    Case(
        "memory that the autograd thread frees counts though the main thread launches next",
        (
            step(0, 60), launch(0, 2, lane="a"), kernel(2, 10, 1), Event("a", "alloc", 12, 30),
            Event("h", "host", 0, 40), launch(40, 44), kernel(44, 60, 5),
        ),
        {"launch": 2 + 2 + 14, "compute": 24, "memory": 18},
    ),
    Case(
        "a wait of another thread is not what this thread's kernel waited for",
        (
            step(0, 60), launch(0, 2, lane="h"), kernel(2, 10, 1), Event("h", "sync", 4, 55),
            Event("a", "host", 0, 40), launch(40, 44, lane="a"), kernel(44, 60, 5),
        ),
        {"launch": 2 + 34, "compute": 24},
    ),
    Case(
        "the host inside the call of a copy is copy",
        (step(0, 40), launch(0, 20), Event("c", "copy", 16, 26, 1), launch(26, 28), kernel(28, 40, 3)),
        {"copy": 16 + 10, "launch": 2, "compute": 12},
    ),
    Case(
        "refilling after a blocking copy is copy",
        (
            step(0, 50), launch(0, 2, cause="launch"), Event("c", "copy", 2, 20, 1), Event("h", "copy", 2, 20),
            launch(30, 32), kernel(32, 50, 4),
        ),
        {"launch": 2, "copy": 18 + 12, "compute": 18},
    ),
    Case(
        "a pause that no event explains, longer than Python takes, is other",
        (
            step(0, 3000), launch(0, 2), kernel(2, 10, 1), launch(2510, 2512), kernel(2512, 3000, 3),
        ),
        {"launch": 2 + 2, "compute": 8 + 488, "other": 2500},
    ),
    Case(
        "a device whose work has no launches cannot tell why it is idle",
        (step(0, 50), kernel(0, 10, -1), kernel(30, 50, -1)),
        {"compute": 30, "other": 20},
    ),
    Case(
        "set-up is warmup, busy or idle",
        (
            step(0, 60), Event("h", "host", 0, 30, cause="warmup"), launch(25, 28),
            Event("s", "compute", 30, 40, 2, cause="warmup"), launch(40, 41), kernel(41, 60, 4),
        ),
        {"warmup": 40, "launch": 1, "compute": 19},
    ),
    Case(
        "a collective counts where nothing else hides it",
        (step(0, 50), launch(0, 1), kernel(0, 20, 1), Event("t", "communication", 10, 50, 1)),
        {"compute": 20, "communication": 30},
    ),
    Case(
        "kernels outside the step do not count, and those across its edge count in part",
        (step(10, 30), launch(0, 1), kernel(1, 15, 1), kernel(25, 60, 1)),
        {"compute": 10, "other": 10},
    ),
    Case(
        "after the last kernel the host's doings still count",
        (step(0, 40), launch(0, 2), kernel(2, 10, 1), Event("h", "host", 10, 40)),
        {"launch": 32, "compute": 8},
    ),
)  # fmt: skip
