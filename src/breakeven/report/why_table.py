"""The answer of `why` as a small piece of HTML for notebooks: nothing loaded, all text escaped."""

from __future__ import annotations

from html import escape

from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, approximately, duration, measured, percentage, predicted
from breakeven.report.text import clean
from breakeven.results import DeviceResult, Finding, WhyReport


def why_html(report: WhyReport) -> str:
    """Verdict, devices with their accounts, break-even, findings with their lines, remedies, warnings."""
    parts = [f"<p>{_safe(report.error)}</p>"] if report.error else []
    parts += [f"<p><b>{_safe(verdict.sentence)}</b></p>" for verdict in report.verdicts]
    rows = "".join(_device(device) for device in report.devices if device.step_ms is not None)
    parts.append(
        f"<table><tr><th>device</th><th>a {_safe(report.unit or 'step')}</th><th></th><th>where it goes</th></tr>{rows}</table>"
    )
    parts += [f"<p>{_safe(point.sentence)}</p>" for point in report.break_even]
    if report.findings:
        parts.append("<ul>" + "".join(_finding(finding) for finding in report.findings) + "</ul>")
    if report.remedies:
        parts.append("<p>What to change:</p><ol>" + "".join(f"<li>{_safe(r.sentence)}</li>" for r in report.remedies) + "</ol>")
    parts += [f"<p><small>{_safe(warning)}</small></p>" for warning in report.warnings]
    return "".join(parts)


def _device(device: DeviceResult) -> str:
    step = device.step_ms
    assert step is not None  # the caller leaves the others out
    guess = device.source == "predicted"
    shown = ("≈ " if guess else "") + duration(step.mid, PREDICTED_DIGITS if guess else MEASURED_DIGITS)
    how = predicted(step) if guess else measured(step)
    parts = sorted((part for part in device.account if part.ms > 0), key=lambda part: -part.ms)
    where = ", ".join(f"{part.cause} {percentage(part.share)}" for part in parts)
    return f"<tr><td>{_safe(device.name)}</td><td>{_safe(shown)}</td><td>{_safe(how)}</td><td>{_safe(where)}</td></tr>"


def _finding(finding: Finding) -> str:
    price = f" ({approximately(finding.price_ms)})" if finding.price_ms is not None else ""
    sites = "".join(f"<br><code>{site.line}: {_safe(site.text)}</code>" for site in finding.sites)
    return f"<li><b>{_safe(finding.id)}</b> on {_safe(finding.device)}{_safe(price)}: {_safe(finding.sentence)}{sites}</li>"


def _safe(text: str) -> str:
    return escape(clean(text))
