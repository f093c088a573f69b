"""The findings with their price and lines, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import approximately
from breakeven.report.paper import Paper
from breakeven.report.words import remedy_words
from breakeven.results import Finding, Interval, Remedy, Site, WhyReport

_FINDINGS = 3  # per device
_SITES = 3  # per finding
_REMEDIES = 5
_INDENT = 5


def the_device(device: str) -> str:
    """How a sentence names a device."""
    if device == "cpu":
        return "the CPU"
    return device if device.startswith("the ") else f"the {device}"


def costs_time(report: WhyReport, paper: Paper) -> Iterator[tuple[str, RenderableType]]:
    """One section, title and body, per device that has findings: the first GPU in full, further ones in a line each."""
    by_device: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_device.setdefault(finding.device, []).append(finding)
    gpus = [d.name for d in report.devices if d.kind == "gpu"]
    principal = {device: found for device, found in by_device.items() if device not in gpus[1:]}
    for device, found in principal.items():
        shown = [_finding(number, finding, paper) for number, finding in enumerate(found[:_FINDINGS], 1)]
        yield f"What costs time on {the_device(device)}", Group(*shown)
    others = [(device, found) for device, found in by_device.items() if device not in principal]
    if others:
        lines = (f"{device}: {', '.join(f.id for f in found[:_FINDINGS])}" for device, found in others)
        yield "On the other GPUs", Group(*(paper.text(line, indent=2) for line in lines))
    if not report.findings and report.verdict is not None:
        yield "What costs time", paper.text("Nothing stands out: no single cause costs enough to be worth a change.", indent=2)


def next_steps(report: WhyReport, paper: Paper) -> RenderableType | None:
    """What to change, a line each, with what it is predicted to save; None where there is nothing to say."""
    remedies = report.remedies or tuple(_unpriced(report.findings))
    if not remedies:
        return None
    several = len(report.devices) > 1
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=4, justify="right", no_wrap=True)
    table.add_column()
    for number, remedy in enumerate(remedies[:_REMEDIES], 1):
        table.add_row(Text(f"{number}."), _remedy(remedy, several, paper))
    return table


def _finding(number: int, finding: Finding, paper: Paper) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=4, justify="right", no_wrap=True)
    table.add_column()
    table.add_row(Text(f"{number}."), paper.text(finding.sentence))
    table.add_row("", paper.text(f"[{finding.id}] {_price(finding.price_ms)}".rstrip(), style="italic"))
    return Group(table, *_sites(finding.sites, paper))


def _sites(sites: Sequence[Site], paper: Paper) -> Iterator[RenderableType]:
    """`file:line  source text  price`, one line each; the text gives way where the line is too long."""
    shown = sites[:_SITES]
    places = [f"{paper.short_path(s.file, 30)}:{s.line}" for s in shown]
    wide = max((len(p) for p in places), default=0)
    prices = [approximately(s.price_ms) if s.price_ms else "" for s in shown]
    dear = max((len(p) for p in prices), default=0)
    room = max(paper.width - _INDENT - wide - 2 - (dear + 2 if dear else 0), 8)
    texts = [paper.short(s.text, room) for s in shown]
    longest = max((cell_len(t) for t in texts), default=0)
    for place, text, price in zip(places, texts, prices, strict=True):
        gap = " " * (longest - cell_len(text))
        yield Padding(
            Text.assemble(
                (place.ljust(wide), "bold"), "  ", text, gap, "  ", (paper.short(price, dear), "italic"), overflow="ellipsis"
            ),
            (0, 0, 0, _INDENT),
        )
    if len(sites) > _SITES:
        more = len(sites) - _SITES
        yield paper.text(f"and {more} more line{'s' if more > 1 else ''}", style="dim", indent=_INDENT)


def _unpriced(findings: Sequence[Finding]) -> Iterator[Remedy]:
    """The remedies that the findings name, each once, where nothing has priced them."""
    seen = set()
    for finding in findings:
        for remedy in finding.remedies:
            if (remedy, finding.device) not in seen:
                seen.add((remedy, finding.device))
                yield Remedy(id=remedy, device=finding.device, gain_ms=None, sentence="")


def _remedy(remedy: Remedy, several: bool, paper: Paper) -> RenderableType:
    words = remedy.sentence or remedy_words(remedy.id)
    words = words[:1].upper() + words[1:]
    preposition = "against" if remedy.id == "use_cpu" else "on"
    where = f" {preposition} {the_device(remedy.device)}" if several else ""
    return Group(paper.text(words), paper.text(f"[{remedy.id}] {_gain(remedy.gain_ms, where)}", style="italic"))


def _price(price: Interval | None) -> str:
    if price is None:
        return ""
    return (
        f"without it a step would be {approximately(price)} shorter" if price.mid > 0 else "without it a step would be no shorter"
    )


def _gain(gain: Interval | None, where: str) -> str:
    if gain is None:
        return f"gain{where} not computed"
    return (
        f"saves {approximately(gain)} of a step{where}, predicted"
        if gain.mid > 0
        else f"saves nothing of a step{where}, predicted"
    )
