"""The page of `breakeven why`: verdict, account, other batches, the step, the source, what to do, and what is not known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from breakeven.report.html.bars import causes, chart
from breakeven.report.html.operations import operations
from breakeven.report.html.panels import panel_of
from breakeven.report.html.saying import near
from breakeven.report.html.source import source_files
from breakeven.report.html.writing import Link, document, part
from breakeven.results import Remedy, WhyReport
from breakeven.results.pictured import Pictured, PlayedStep

_UNITS = {"step": "step", "loop": "pass of the loop", "run": "run"}


@dataclass(frozen=True)
class Known:
    """What stands behind the answer, in sentences."""

    measured: tuple[str, ...]
    predicted: tuple[str, ...]
    unknown: tuple[str, ...]


def why_page(
    report: WhyReport, pictured: Pictured | None = None, command: str | None = None, links: Sequence[Link] = ()
) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer.
        pictured: the step, the source and the other sizes; None: they are not known, and the page says nothing of them.
        command: what was typed; None: as far as the answer tells.
        links: to pages beside this one.
    """
    beyond = pictured or Pictured()
    panel = panel_of(beyond.sizes) if beyond.sizes and len(beyond.sizes.curves) > 1 else None
    played = [_placed(step, report.script) for step in beyond.steps]
    return document(
        "why.html.j2",
        {"panels": [panel] if panel else [], "steps": played, "causes": causes()}, links,
        **_shown(report), title=f"breakeven why {PurePath(report.script).name}", command=command or _command(report),
        sizes=beyond.sizes if panel else None, panel=panel, steps=[(step, operations(step)) for step in played],
        files=source_files(beyond, report.findings), known=_known(report, beyond),
        gpus=[d.name for d in report.devices if d.kind == "gpu"][:3],
    )  # fmt: skip


def why_fragment(report: WhyReport) -> str:
    """The verdict, the devices, what costs time and what to do as a piece of a page, without a script: for a notebook's cell."""
    return part("fragment.html.j2", **_shown(report))


def unit_of(report: WhyReport) -> str:
    """What is counted, in words."""
    return _UNITS.get(report.unit or "", "step")


def _placed(step: PlayedStep, script: str) -> PlayedStep:
    """Its places as they are seen from the script's folder: short, and nobody else's business less."""
    places = (place.rpartition(":") for place in step.places)
    return replace(step, places=tuple(f"{near(file, script)}:{line}" for file, _, line in places))


def _shown(report: WhyReport) -> dict[str, object]:
    return {
        "report": report, "unit": unit_of(report), "chart": chart(report.devices),
        "verdicts": report.verdicts or ((report.verdict,) if report.verdict else ()),
        "remedies": report.remedies or _unpriced(report), "samples": report.steps.get("measured"),
    }  # fmt: skip


def _unpriced(report: WhyReport) -> tuple[Remedy, ...]:
    """The remedies that findings name, each once per device, where nothing has priced them."""
    named = dict.fromkeys((name, f.device) for f in report.findings for name in f.remedies)
    return tuple(Remedy(name, device, None, "") for name, device in named)


def _known(report: WhyReport, pictured: Pictured) -> Known:
    return Known(tuple(_measured(report)), tuple(_predicted(report, pictured)), tuple(_unknown(report, pictured)))


def _measured(report: WhyReport) -> Iterator[str]:
    unit = unit_of(report)
    for device in report.devices:
        if device.source == "measured" and device.step_ms is not None:
            count = report.steps.get("measured")
            after = f", after {report.steps['warmup']} to warm up" if report.steps.get("warmup") else ""
            timed = f": {count} timed on this machine{after}" if count else ""
            yield f"One {unit} on {'the CPU' if device.name == 'cpu' else device.name}{timed}."
    if report.steps.get("recorded"):
        yield f"Which operations a {unit} asks for: {report.steps['recorded']} recorded, with the real values."
    cpu = report.machine.get("cpu")
    if isinstance(cpu, Mapping) and cpu.get("model"):
        yield f"How fast this CPU is: {cpu['model']}" + (f", {cpu['cores']} cores." if cpu.get("cores") else ".")


def _predicted(report: WhyReport, pictured: Pictured) -> Iterator[str]:
    names = [d.name for d in report.devices if d.source == "predicted" and d.step_ms is not None]
    if names:
        host = report.machine.get("host")
        where = f" in the host {host['name']}" if isinstance(host, Mapping) and host.get("name") else ""
        yield f"Everything about {_listed(names)}{where}: simulated from the recorded operations; no such GPU was used."
    if pictured.sizes is not None:
        yield f"Every {pictured.sizes.parameter} but today's {pictured.sizes.today:,}, on the CPU too: scaled, not run."
    if any(r.gain_ms for r in report.remedies) or any(f.price_ms for f in report.findings):
        yield "What a finding costs and what a remedy saves: the changed step was simulated, not run."


def _unknown(report: WhyReport, pictured: Pictured) -> Iterator[str]:
    for device in report.devices:
        if device.step_ms is None:
            yield f"A step on {device.name}: it was not {device.source}."
    open_gains = list(dict.fromkeys(r.id for r in report.remedies if r.gain_ms is None))
    if open_gains:
        yield f"What these would save: {', '.join(open_gains)}."
    for step in pictured.steps:
        if step.left_out:
            yield f"The timeline of {step.device} leaves out the {step.left_out:,} shortest events of the {unit_of(report)}."
    yield "How the training behaves after the steps that were run, and whether another batch size trains as well."
    yield from report.warnings


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _command(report: WhyReport) -> str:
    gpus = " ".join(f"--gpu {shlex.quote(d.name)}" for d in report.devices if d.kind == "gpu")
    return f"breakeven why {shlex.quote(report.script)} {gpus}".rstrip()
