"""From cells that were run to the answer of a sweep: models, the table of all cells, crossings, costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from breakeven import __version__
from breakeven.capture.result import CaptureResult
from breakeven.machine.prices import Offer
from breakeven.machine.records import Cpu, Gpu
from breakeven.results.records import Interval
from breakeven.results.swept import Cell, CellDevice, Crossing, LawCheck, SweepReport, SweptParameter, Value
from breakeven.sweep.block import CELLS, DEVICE, HIGH_MS, LOW_MS, MID_MS, POSITION, WINS, Block, blocks
from breakeven.sweep.contours import contours
from breakeven.sweep.design import places
from breakeven.sweep.grid import Axis, Grid
from breakeven.sweep.job import Job, Recorded, Timed
from breakeven.sweep.lines import crossings
from breakeven.sweep.model import CPU, Machine, Model, capped, model, numbers
from breakeven.sweep.pick import Pick
from breakeven.sweep.ran import Ran
from breakeven.sweep.worth import costs, paybacks
from breakeven.units import NS_PER_MS
from breakeven.workflows.cpu_side import recorded as settled_stream
from breakeven.workflows.cpu_side import step_of


@dataclass(frozen=True)
class Asked:
    """A request, found and checked.

    Attributes:
        script: what the report calls it.
        grid: the axes.
        job: how a cell is run.
        gpus: that are predicted.
        host: the machine that they sit in; None: this one.
        offers: the price list.
        epoch: samples of an epoch; None: not known.
        measure: cells to time; None: as many as the grid needs.
        seconds: time for which a cell is timed.
    """

    script: str
    grid: Grid
    job: Job
    gpus: tuple[Gpu, ...]
    host: str | None
    offers: tuple[Offer, ...]
    epoch: int | None = None
    measure: int | None = None
    seconds: float = 1.0


@dataclass(frozen=True)
class Part:
    """The cells of one choice of words, and what is known of them.

    Attributes:
        words: of each parameter, its word; None for the numbers.
        positions: of these cells in the whole grid.
        model: their devices.
    """

    words: tuple[Value | None, ...]
    positions: tuple[int, ...]
    model: Model


@dataclass(frozen=True)
class Swept:
    """Everything but the table of cells."""

    rans: tuple[Ran, ...]
    errors: dict[int, str]
    parts: tuple[Part, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...]
    versions: dict[str, str]
    machine: Machine


def work(asked: Asked, chosen: Pick, timed: dict[int, Timed], recorded: dict[int, Recorded], machine: Machine) -> Swept:
    """Models of every choice of words, and the blocks of cells that are to be computed from them."""
    rans = tuple(_ran(asked.grid, at, timed.get(at), recorded.get(at)) for at in sorted({*timed, *chosen.recorded}))
    held, warnings = capped(asked.grid, rans)
    parts = tuple(_parts(asked.grid, held, machine))
    out: list[Block] = []
    for part in parts:
        cells = [asked.grid.cells[at] for at in part.positions]
        first = len(out) * CELLS
        out += [
            replace(block, first=first + block.first)
            for block in blocks(part.model.devices, numbers(part.model.grid, cells), places(part.model.grid, cells))
        ]
    errors = {at: one.error for at, one in timed.items() if one.error is not None}
    errors |= {at: one.error for at, one in recorded.items() if one.error is not None}
    disturbed = [r for r in rans if r.disturbed]
    if disturbed:
        count = sum(r.step_ms is not None for r in rans)
        warnings += (f"Other processes were at work while {len(disturbed)} of {count} cells were timed: their times are long.",)
    versions = next((dict(one.timed.versions) for one in timed.values() if one.timed is not None), {})
    return Swept(rans, errors, parts, tuple(out), warnings, versions, machine)


def _ran(grid: Grid, at: int, timed: Timed | None, recorded: Recorded | None) -> Ran:
    cell = grid.cells[at]
    passed = timed.timed if timed is not None else None
    virtual = recorded.virtual if recorded is not None else None
    step = step_of(passed)
    ms = None if step is None else Interval(*(x / NS_PER_MS for x in (step.low, step.mid, step.high)))
    stream = settled_stream(CaptureResult(cpu=passed, virtual=virtual))
    return Ran(
        at, cell, cell, ms, passed.batch if passed is not None else None, stream,
        timed is not None and timed.load is not None and timed.load.disturbed,
    )  # fmt: skip


def _parts(grid: Grid, rans: Sequence[Ran], machine: Machine) -> list[Part]:
    """One model for each choice of words; a choice of which no cell could be run has none."""
    words = [axis.values if not axis.is_number else (None,) for axis in grid.axes]
    out = []
    for choice in itertools.product(*words):
        mine = [at for at, cell in enumerate(grid.cells) if _has(cell, choice)]
        axes = tuple(Axis(a.name, a.values if w is None else (w,)) for a, w in zip(grid.axes, choice, strict=True))
        known = [r for r in rans if _has(r.values, choice)]
        if any(r.stream is not None or r.step_ms is not None for r in known):
            out.append(Part(tuple(choice), tuple(mine), model(Grid(axes), known, machine)))
    return out


def _has(cell: Sequence[Value], words: Sequence[Value | None]) -> bool:
    return all(word is None or word == value for word, value in zip(words, cell, strict=True))


def answer(asked: Asked, found: Swept, table: pl.DataFrame, warnings: Sequence[str], cpu: Cpu) -> SweepReport:
    """The whole answer."""
    cells = _cells(asked.grid, found, table)
    today = [bound.today for bound in asked.job.bound]
    crossed: list[Crossing] = []
    checks: list[LawCheck] = []
    for part in found.parts:
        crossed += crossings(part.model, today, part.words)
        checks += part.model.checks
    kernels = max((part.model.kernels or 0 for part in found.parts), default=0) or None
    return SweepReport(
        script=asked.script, parameters=_parameters(asked), cells=cells, crossings=tuple(crossed),
        contours=contours(found.parts[0].model, crossed, found.parts[0].words) if found.parts else (),
        paybacks=paybacks(cells, kernels),
        costs=costs(cells, asked.gpus, asked.offers, cpu.cores, asked.epoch), checks=tuple(checks),
        runs={
            "cells": len(cells), "timed": sum(r.step_ms is not None for r in found.rans),
            "recorded": sum(r.stream is not None for r in found.rans), "failed": len(found.errors),
        },
        warnings=(*warnings, *found.warnings, *_failures(asked.grid, found)),
        machine={"cpu": asdict(cpu), "host": asdict(found.machine.host)},
        versions={"breakeven": __version__, **found.versions},
    )  # fmt: skip


def _failures(grid: Grid, found: Swept) -> tuple[str, ...]:
    return tuple(f"{grid.key(grid.cells[at])}: {error}" for at, error in list(found.errors.items())[:5])


def _parameters(asked: Asked) -> tuple[SweptParameter, ...]:
    return tuple(
        SweptParameter(axis.name, axis.values, bound.today, bound.kind, f"{bound.words} of {Path(bound.file).name}")
        for axis, bound in zip(asked.grid.axes, asked.job.bound, strict=True)
    )


def _cells(grid: Grid, found: Swept, table: pl.DataFrame) -> tuple[Cell, ...]:
    """Cells in the order of the grid."""
    order = [at for part in found.parts for at in part.positions]
    offsets, made = {}, 0
    for part in found.parts:
        for n, at in enumerate(part.positions):
            offsets[at] = made * CELLS + n
        made += -(-len(part.positions) // CELLS)
    rows: dict[int, list[dict[str, object]]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(int(row[POSITION]), []).append(row)
    run = {r.position: r for r in found.rans}
    of = {at: part.model for part in found.parts for at in part.positions}
    batches = {id(p.model): _batches(grid, p) for p in found.parts}
    out = []
    for at, cell in enumerate(grid.cells):
        named = dict(zip(grid.names, cell, strict=True))
        if at not in offsets:
            out.append(Cell(named, None, (), None, None, found.errors.get(at, "no cell like it could be run")))
            continue
        batch = batches[id(of[at])].get(at)
        devices = tuple(_device(row, run.get(at), of[at], batch) for row in rows.get(offsets[at], ()))
        wins = {str(row[DEVICE]): float(str(row[WINS])) for row in rows.get(offsets[at], ())}
        best = max(wins, key=lambda name: wins[name], default=None)
        out.append(Cell(named, batch, devices, best, wins[best] if best else None, found.errors.get(at)))
    assert len(order) == len(set(order))
    return tuple(out)


def _batches(grid: Grid, part: Part) -> dict[int, int]:
    if part.model.batch is None:
        return {}
    cells = [grid.cells[at] for at in part.positions]
    values = part.model.batch(numbers(part.model.grid, cells))
    return {at: int(v) for at, v in zip(part.positions, values, strict=True) if v >= 1}


def _device(row: dict[str, object], ran: Ran | None, of: Model, batch: int | None) -> CellDevice:
    name = str(row[DEVICE])
    step = Interval(*(float(str(row[c])) for c in (LOW_MS, MID_MS, HIGH_MS)))
    own = ran is not None and ran.values == ran.asked
    if name == CPU:
        measured = own and ran is not None and ran.step_ms is not None
        source, how = ("measured", None) if measured else ("interpolated", None)
    else:
        source, how = "predicted", "recorded" if own and ran is not None and ran.stream is not None else of.how[name]
    return CellDevice(name, source, how, step, batch / step.mid * 1000 if batch and step.mid > 0 else None)


def cell_table(report: SweepReport) -> pl.DataFrame:
    """The cells as a table, one row for each cell and device."""
    rows: list[dict[str, object]] = []
    for cell in report.cells:
        for d in cell.devices:
            rows.append({
                **cell.values, "batch_samples": cell.batch, "device": d.name, "source": d.source, "how": d.how,
                "low_ms": d.step_ms.low, "mid_ms": d.step_ms.mid, "high_ms": d.step_ms.high, "per_s": d.per_s,
                "fastest": cell.fastest == d.name,
            })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()


__all__ = ["Asked", "Part", "Swept", "answer", "cell_table", "work"]
