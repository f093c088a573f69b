"""`sweep`: runs some cells of a grid, learns the laws that lead to the others, and answers from where on which device wins.

What it does not know: whether a larger size trains as well; only how long its step takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Final

import polars as pl

from breakeven import __version__, store
from breakeven.capture.request import CaptureRequest
from breakeven.capture.starting import Starter, fork_server
from breakeven.capture.target import resolve_own
from breakeven.costs.host_model import host_model
from breakeven.errors import InputError, Interrupted, NoAnswer, ScriptFailed
from breakeven.machine.gpus import find_gpu
from breakeven.machine.hosts import find_host, host_name
from breakeven.machine.prices import offers
from breakeven.machine.records import Cpu
from breakeven.results.swept import SweepReport
from breakeven.sweep.block import compute
from breakeven.sweep.engines.local import Local, measuring
from breakeven.sweep.engines.task import Done, Engine, Task
from breakeven.sweep.grid import Grid, grid
from breakeven.sweep.job import Job, Recorded, Timed, record_cell, time_cell
from breakeven.sweep.kept import Memory, Parts, get_block, get_recorded, get_timed, put_block, put_recorded, put_timed
from breakeven.sweep.model import Machine
from breakeven.sweep.names import bind
from breakeven.sweep.names.found import Found, Kind
from breakeven.sweep.pick import Pick, first, pick
from breakeven.sweep.reach import too_long
from breakeven.units import NS_PER_MS
from breakeven.workflows.cpu_side import step_of
from breakeven.workflows.probing import probed_cpu
from breakeven.workflows.swept import Asked, Swept, answer, work

OnProgress = Callable[[str], None]

ENGINES: Final = ("local", "ray")
#: Seconds for which a cell is timed at most where nothing else is asked: a map needs many cells, each to a few per cent.
SECONDS: Final = 1.0
#: Rounds in which cells that failed are replaced by others.
_MOST_REPLACED: Final = 3


@dataclass(frozen=True)
class SweepRequest:
    """What is asked.

    Attributes:
        script: path of a script.
        vary: one `NAME=LO:HI[:xK]` or `NAME=a,b,c` for each parameter.
        args: the script's own arguments.
        gpus: names of the catalog, at least one.
        host: the machine that the GPUs sit in; None: this one.
        steps: after how many to stop in each cell, counted once warmed up; None: until the figure is steady.
        seconds: longest time to time a cell; None: `SECONDS`.
        mark: `FILE:LINE` that runs once in each step; None: steps are found.
        engine: local or ray.
        address: of a Ray cluster; None: one that is started here.
        out: folder or URL to keep the run in; None: it is not kept.
        resume: go on with the run in `out`.
        measure: cells to run; None: as many as the grid's dimensions need.
        prices: a price list of the user's own; None: the catalog's.
        epoch: samples of an epoch; None: not known.
    """

    script: str
    vary: tuple[str, ...]
    args: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ("Tesla T4",)
    host: str | None = None
    steps: int | None = None
    seconds: float | None = None
    mark: str | None = None
    engine: str = "local"
    address: str | None = None
    out: str | None = None
    resume: bool = False
    measure: int | None = None
    prices: str | None = None
    epoch: int | None = None


def sweep(request: SweepRequest, on_progress: OnProgress = lambda text: None) -> SweepReport:
    """Answer from where on which device wins.

    Raises:
        InputError: the script, a parameter, a GPU, the host, or the folder is not as it should be.
        ScriptFailed, NoAnswer: no cell could be run.
        Interrupted: stopped by the user; what was finished is kept in `out`.
    """
    return _swept(request, ask(request), on_progress)


def sweep_of(request: SweepRequest, axes: Grid, bound: tuple[Found, ...], name: str) -> SweepReport:
    """The same for a grid whose parameters are bound already.

    Args:
        request: all but `vary`.
        axes: the grid.
        bound: where each parameter's value goes.
        name: what the report calls the script.
    """
    return _swept(replace(request, script=name), _asked(request, axes, bound, name), lambda text: None)


def _swept(request: SweepRequest, asked: Asked, on_progress: OnProgress) -> SweepReport:
    engine = engine_of(request)
    with closing(engine), _parts(request, asked) as parts, _starter(request) as starter:
        asked = replace(asked, job=replace(asked.job, starter=starter))
        try:
            report = run(asked, engine, parts, on_progress)
        except KeyboardInterrupt:
            kept = f"; --out {request.out} --resume goes on" if request.out else ""
            raise Interrupted(f"interrupted: finished cells are kept{kept}" if kept else "interrupted") from None
        _finish(parts, report)
    return report


@contextmanager
def _starter(request: SweepRequest) -> Iterator[Starter | None]:
    """How cells are started: quickly, unless most of them are finished."""
    if request.resume:
        yield None
        return
    with fork_server() as starter:
        yield starter


def ask(request: SweepRequest) -> Asked:
    """The request with everything found and checked that needs no running.

    Raises:
        InputError: as `sweep`.
    """
    target = resolve_own(_capture(request))
    if target.file is None:
        raise InputError(f"{request.script}: its source is needed to find parameters in")
    axes = grid(request.vary)
    bound = tuple(bind(axis.name, Path(target.file)) for axis in axes.axes)
    for axis, found in zip(axes.axes, bound, strict=True):
        if found.kind == Kind.LAYER and not all(isinstance(v, int) for v in axis.values):
            raise InputError(f"--vary {axis.name}: a layer's size is a whole number")
    return _asked(request, axes, bound, request.script)


def _capture(request: SweepRequest) -> CaptureRequest:
    return CaptureRequest(
        target=request.script, args=request.args, steps=request.steps, seconds=request.seconds or SECONDS, mark=request.mark,
        show_output=False, patient=True,
    )  # fmt: skip


def _asked(request: SweepRequest, axes: Grid, bound: tuple[Found, ...], name: str) -> Asked:
    gpus = tuple(dict.fromkeys(find_gpu(gpu) for gpu in request.gpus))
    listed = offers(Path(request.prices) if request.prices else None)
    host = None if request.host is None else host_name(request.host)
    return Asked(
        name, axes, Job(_capture(request), bound), gpus, host, listed, request.epoch, request.measure,
        max(request.seconds or SECONDS, SECONDS),
    )  # fmt: skip


def engine_of(request: SweepRequest) -> Engine:
    """The engine that was asked for.

    Raises:
        InputError: there is no such engine.
        MissingExtra: Ray is not installed.
    """
    if request.engine not in ENGINES:
        raise InputError(f"--engine {request.engine}: there are {', '.join(ENGINES)}")
    if request.engine == "ray":
        from breakeven.sweep.engines.ray import Ray

        return Ray.at(request.address)
    if request.address is not None:
        raise InputError("--address is that of a Ray cluster: it needs --engine ray")
    return Local()


def run(asked: Asked, engine: Engine, parts: Parts, on_progress: OnProgress) -> SweepReport:
    """Runs what is not finished yet, and answers."""
    cpu, doubts = _machine(parts, asked.job.starter, on_progress)
    host = find_host(asked.host or "this machine", cpu, host_model().dispatch_us)
    progress = _Progress(on_progress)
    chosen, timed = _timed(asked, engine, parts, progress)
    recorded = _recorded(asked, engine, parts, chosen, timed, progress)
    on_progress("pricing the cells")
    found = work(asked, chosen, timed, recorded, Machine(cpu, host, asked.gpus))
    table = _cells(engine, parts, found, _digest(asked.grid, chosen, timed), progress)
    return answer(asked, found, table, (*doubts, *progress.warnings), cpu)


def _machine(parts: Parts, starter: Starter | None, on_progress: OnProgress) -> tuple[Cpu, tuple[str, ...]]:
    if parts.has("machine"):
        said = parts.get("machine")
        return Cpu(**said["cpu"]), tuple(said["doubts"])
    on_progress("probing this machine")
    with measuring():
        cpu, doubts = probed_cpu(starter=starter)
    parts.put("machine", {"cpu": asdict(cpu), "doubts": list(doubts)})
    return cpu, doubts


@dataclass
class _Progress:
    """Counts what is done, left and failed, and says so."""

    tell: OnProgress
    warnings: list[str] = field(default_factory=list)

    def over(self, what: str, ends: Iterator[Done], total: int) -> Iterator[Done]:
        """Passes ends on."""
        failed = 0
        for count, done in enumerate(ends, start=1):
            failed += done.error is not None or getattr(done.value, "error", None) is not None
            self.tell(f"{what}: {count} done, {total - count} left" + (f", {failed} failed" if failed else ""))
            yield done


def _timed(asked: Asked, engine: Engine, parts: Parts, progress: _Progress) -> tuple[Pick, dict[int, Timed]]:
    """Times cells in rounds: the smallest and the middle, then those that they say can be run in the time there is.

    One that cannot be run is replaced by another, as long as there are as many others as were wanted.
    """
    axes, timed = asked.grid, dict[int, Timed]()
    whole = pick(axes, asked.measure)
    new = first(axes) if len(whole.measured) < len(axes.cells) else whole.measured
    tried = 0
    while True:
        _time(asked, engine, parts, progress, new, timed)
        failed = frozenset(at for at, one in timed.items() if one.timed is None)
        have = tuple(at for at in timed if at not in failed)
        long = too_long(axes, {at: ms for at in have if (ms := _step_ms(timed[at])) is not None}, asked.seconds)
        chosen = pick(axes, asked.measure, failed, have, long=long)
        if set(chosen.measured) <= set(timed):
            return chosen, timed
        if (tried := tried + bool(failed)) > _MOST_REPLACED:
            return pick(axes, asked.measure, failed, have, more=False, long=long), timed
        # Those that would be chosen anyway and can be run; what they say decides on the rest.
        freely = pick(axes, asked.measure, failed, have).measured
        new = tuple(at for at in freely if at in chosen.measured and at not in timed) or chosen.measured


def _step_ms(timed: Timed) -> float | None:
    step = step_of(timed.timed)
    return None if step is None else step.mid / NS_PER_MS


def _time(
    asked: Asked, engine: Engine, parts: Parts, progress: _Progress, positions: tuple[int, ...], timed: dict[int, Timed]
) -> None:  # fmt: skip
    """Times these cells, but for those that were timed before."""
    axes = asked.grid
    tasks = []
    names = {f"timed {axes.key(axes.cells[at])}": at for at in positions if at not in timed}
    for key, at in names.items():
        if parts.has(key):
            timed[at] = get_timed(parts, key)
        else:
            tasks.append(Task(key, time_cell, (asked.job, axes.cells[at]), exclusive=True))
    for done in progress.over("timing cells", engine.run(tasks), len(tasks)):
        value: Timed = done.value if done.value is not None else Timed(None, None, done.error)
        put_timed(parts, done.key, value)
        timed[names[done.key]] = value


def _recorded(
    asked: Asked, engine: Engine, parts: Parts, chosen: Pick, timed: dict[int, Timed], progress: _Progress
) -> dict[int, Recorded]:
    axes = asked.grid
    passes = [one.timed for one in timed.values() if one.timed is not None]
    if not passes:
        errors = [one.error for one in timed.values() if one.error]
        raise (ScriptFailed if errors else NoAnswer)(errors[0] if errors else "no cell could be timed")
    out: dict[int, Recorded] = {}
    tasks, names = [], {}
    for at in chosen.recorded:
        key = f"recorded {axes.key(axes.cells[at])}"
        if parts.has(key):
            out[at] = get_recorded(parts, key)
            continue
        own = timed.get(at)
        plan = own.timed if own is not None and own.timed is not None else passes[0]
        tasks.append(Task(key, record_cell, (asked.job, axes.cells[at], plan)))
        names[key] = at
    for done in progress.over("recording cells", engine.run(tasks), len(tasks)):
        value: Recorded = done.value if done.value is not None else Recorded(None, done.error)
        put_recorded(parts, done.key, value)
        out[names[done.key]] = value
    return out


def _cells(engine: Engine, parts: Parts, found: Swept, digest: str, progress: _Progress) -> pl.DataFrame:
    """The table of all cells, from blocks that are computed or kept."""
    blocks = {f"cells {block.first} {digest}": block for block in found.blocks}
    tables = {key: get_block(parts, key) for key in blocks if parts.has(key)}
    tasks = [Task(key, compute, (block,)) for key, block in blocks.items() if key not in tables]
    for done in progress.over("pricing cells", engine.run(tasks), len(tasks)):
        if done.value is None:
            raise NoAnswer(f"cells could not be priced: {done.error}")
        put_block(parts, done.key, done.value)
        tables[done.key] = done.value
    return pl.concat([tables[key] for key in blocks]) if blocks else pl.DataFrame()


def _digest(axes: Grid, chosen: Pick, timed: dict[int, Timed]) -> str:
    """Names what the predicted cells follow from: which cells were run and how long they took."""
    said = [(axes.key(axes.cells[at]), one.timed.principal) for at, one in sorted(timed.items()) if one.timed is not None]
    return hashlib.sha256(repr((said, chosen.recorded)).encode()).hexdigest()[:12]


@contextmanager
def _parts(request: SweepRequest, asked: Asked) -> Iterator[Parts]:
    if request.out is None:
        if request.resume:
            raise InputError("--resume goes on with a run that is kept: name its folder with --out")
        yield Memory()
        return
    settings: dict[str, Any] = {  # JSON
        "script": PurePath(request.script).name, "vary": {a.name: list(a.values) for a in asked.grid.axes},
        "gpus": [g.name for g in asked.gpus],
        "host": request.host, "args": list(request.args), "steps": request.steps, "seconds": request.seconds,
        "measure": request.measure,
    }  # fmt: skip
    with store.create(
        request.out, "sweep", title=PurePath(request.script).name, settings=settings, versions={"breakeven": __version__},
        resume=request.resume,
    ) as kept:  # fmt: skip
        yield kept


def _finish(parts: Parts, report: SweepReport) -> None:
    """The answer beside the parts, and its table, for Polars, pandas and DuckDB alone."""
    if isinstance(parts, store.Run):
        from breakeven.report.json import encode
        from breakeven.workflows.swept import cell_table

        parts.put_table("cells", cell_table(report))
        parts.put_file("answer.json", encode(report))
        parts.finish()
