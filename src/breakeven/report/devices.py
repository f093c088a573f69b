"""The page of `breakeven devices`: the answer first, then why and what to do, then the facts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results.devices import Accelerator, DevicesReport, HostFacts, TorchFacts


def render_devices(report: DevicesReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    parts: list[RenderableType] = [*_answer(report, paper), Text(), _facts(report, paper)]
    if report.warnings:
        parts += [Text(), *(paper.text(warning, style="yellow") for warning in report.warnings)]
    return Group(*parts)


def _answer(report: DevicesReport, paper: Paper) -> Iterator[RenderableType]:
    if report.usable:
        names = ", ".join(a.name for a in report.accelerators if a.usable is not False)
        yield paper.text(f"An accelerator is usable: {names}.", style="bold green")
        return
    yield paper.text("No accelerator is usable.", style="bold")
    for cause in report.causes:
        yield paper.text(f"Why: {cause.sentence} [{cause.id}]", indent=2)
        yield paper.text(f"Fix: {cause.fix}", indent=2)


def _facts(report: DevicesReport, paper: Paper) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, value in _rows(report):
        table.add_row(paper.text(name, style="dim"), paper.text(value))
    return table


def _rows(report: DevicesReport) -> Iterator[tuple[str, str]]:
    yield from _host(report.host)
    if report.torch is not None:
        yield "PyTorch", _torch(report.torch)
    for accelerator in report.accelerators:
        yield accelerator.device or accelerator.kind, _accelerator(accelerator)


def _host(host: HostFacts) -> Iterator[tuple[str, str]]:
    limit = f" of {host.machine_cores}, limited by {host.limited_by}" if host.limited_by else ""
    yield "CPU", f"{host.cpu}, {host.cores} cores{limit}"
    if host.instructions:
        yield "instructions", " ".join(host.instructions)
    if host.threads:
        yield "threads", ", ".join(f"{name} {value}" for name, value in host.threads.items())
    yield "memory", _of(host.memory_free_gb, host.memory_total_gb)
    yield "disk", _of(host.disk_free_gb, host.disk_total_gb)
    if host.container or host.notebook:
        yield "inside of", ", ".join(place for place in (host.container, host.notebook) if place)


def _torch(torch: TorchFacts) -> str:
    if torch.version is None:
        return torch.error or "not installed"
    parts = [torch.version, f"built for {torch.build}", f"CPU kernels {torch.cpu_capability}", " ".join(torch.libraries)]
    return ", ".join(part for part in parts if part)


def _accelerator(accelerator: Accelerator) -> str:
    parts = [
        accelerator.name,
        _of(accelerator.memory_free_gb, accelerator.memory_total_gb),
        f"driver {accelerator.driver}" if accelerator.driver else "",
        f"compute capability {accelerator.compute_capability}" if accelerator.compute_capability else "",
        {True: "usable", False: "not usable", None: "not tried"}[accelerator.usable],
    ]
    return ", ".join(part for part in parts if part)


def _of(free: float | None, total: float | None) -> str:
    if total is None:
        return "not known"
    return f"{free:.1f} of {total:.1f} GB free" if free is not None else f"{total:.1f} GB"
