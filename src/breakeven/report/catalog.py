"""The catalog of GPUs as a table. What a data sheet does not say is a dash."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.machine.records import Gpu
from breakeven.report.paper import LEAST_WIDTH, Paper
from breakeven.report.text import clean

_FAMILY_FROM = 70

#: (heading, second line of it, value, shown from this width on)
_COLUMNS = (
    ("Memory", "GB", "memory_gb", 0),
    ("Bandwidth", "GB/s", "memory_bandwidth_gb_s", 50),
    ("float32", "TFLOP/s", "fp32_tflops", 0),
    ("half", "TFLOP/s", "tensor_fp16_tflops", 60),
    ("float64", "TFLOP/s", "fp64_tflops", 100),
    ("PCIe", "", "pcie_gen", 100),
)


def render_catalog(gpus: Sequence[Gpu], width: int = 80, ascii_only: bool = False) -> RenderableType:
    """One row per GPU: what decides how fast a training runs on it."""
    paper = Paper(max(LEAST_WIDTH, width), ascii_only)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    family = paper.width >= _FAMILY_FROM
    table.add_column("GPU", overflow="fold", no_wrap=family)  # a name can be copied from it; the family gives way
    if family:
        table.add_column("Family", overflow="ellipsis")
    columns = [c for c in _COLUMNS if paper.width >= c[3]]
    for heading, unit, _, _ in columns:
        table.add_column(Text(f"{heading}\n{unit}", justify="right"), justify="right", no_wrap=True)
    table.add_column("From", no_wrap=True)
    for gpu in gpus:
        facts = [_fact(getattr(gpu, name)) for _, _, name, _ in columns]
        cells = [gpu.name, *([gpu.architecture] if family else []), *facts, gpu.released[:4]]
        table.add_row(*(Text(clean(cell, ascii_only)) for cell in cells))
    count = f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}; use any of these names, or a part of one, with --gpu"
    return Group(table, Text(), paper.text(f"{count}. half: dense tensor cores, 32-bit accumulation.", style="dim"))


def _fact(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
