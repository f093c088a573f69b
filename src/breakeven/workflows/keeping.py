"""Keeps an answer of `why` as a run: the answer, tables of it, the recorded stream, and its predictions as sealed forecasts."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path, PurePath

import polars as pl

from breakeven import __version__, store
from breakeven.diagnose.correction import parts
from breakeven.report.json import why_json
from breakeven.results import Interval, WhyReport
from breakeven.results.settled import Forecast, Measurement
from breakeven.store.run import Whole
from breakeven.store.seals import FORECASTS, MEASUREMENTS, seal
from breakeven.timeline import OpStream
from breakeven.timeline.fingerprint import fingerprint
from breakeven.timeline.parquet import stream_to_parquet
from breakeven.workflows.why import Answered, Priced, WhyRequest

ANSWER, PAGE, CALLS, ROWS = "answer.json", "report.html", "calls.parquet", "rows.parquet"
_PART = "answer"


def keep(answer: Answered, request: WhyRequest, out: str, page: bytes | None = None) -> None:
    """Writes the run, whole or not at all, with the answer's page where there is one.

    Raises:
        InputError: something is there already, or it cannot be written.
    """
    report, stream = answer.report, answer.stream
    job = fingerprint(stream) if stream is not None else None
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    forecasts = [
        seal(forecast_of(one, stream, job, answer.host, report.unit, now))
        for one in answer.priced
        if stream is not None and job is not None and one.device.step_ms is not None
    ]
    measured = [
        Measurement(job, device.name, device.step_ms, report.unit, "", now)
        for device in report.devices
        if device.source == "measured" and device.step_ms is not None
    ]
    part = {"fingerprint": job, FORECASTS: [asdict(s) for s in forecasts], MEASUREMENTS: [asdict(m) for m in measured]}
    whole = Whole(
        {_PART: part}, tables(report), {ANSWER: why_json(report), **({PAGE: page} if page else {}), **_stream_files(stream)}
    )
    store.write_run(
        out, "why", whole, title=PurePath(report.script).name, settings=_settings(request), versions=dict(report.versions),
        machine=dict(report.machine),
    )  # fmt: skip


def forecast_of(one: Priced, stream: OpStream, job: str, host: str, unit: str | None, now: str) -> Forecast:
    """One prediction as it is sealed."""
    told = one.device.step_ms
    if told is None:
        raise ValueError(f"nothing was predicted for {one.device.name}")
    step, (device, hosts) = one.plain.step(stream), parts(one.plain, stream)
    plain = Interval(step.low, step.mid, step.high)
    return Forecast(job, one.device.name, host, unit, told, plain, device, hosts, now, __version__)


def tables(report: WhyReport) -> dict[str, pl.DataFrame]:
    """The answer as tables that any reader of Parquet understands."""
    step = {end: [getattr(d.step_ms, end, None) for d in report.devices] for end in ("low", "mid", "high")}
    devices = pl.DataFrame(
        {
            "name": [d.name for d in report.devices], "kind": [d.kind for d in report.devices],
            "source": [d.source for d in report.devices], "step_low_ms": step["low"], "step_ms": step["mid"],
            "step_high_ms": step["high"],
        },
        schema={"name": pl.String, "kind": pl.String, "source": pl.String, **dict.fromkeys(_STEP, pl.Float64)},
    )  # fmt: skip
    shares = [(d.name, part.cause, part.ms, part.share) for d in report.devices for part in d.account]
    account = pl.DataFrame(shares, schema=_ACCOUNT, orient="row")
    prices = [
        (f.id, f.device, f.cause, *((f.price_ms.low, f.price_ms.mid, f.price_ms.high) if f.price_ms else (None,) * 3), f.sentence)
        for f in report.findings
    ]
    return {"devices": devices, "account": account, "findings": pl.DataFrame(prices, schema=_FINDINGS, orient="row")}


_STEP = ("step_low_ms", "step_ms", "step_high_ms")
_ACCOUNT = {"device": pl.String, "cause": pl.String, "ms": pl.Float64, "share": pl.Float64}
_FINDINGS = {
    "id": pl.String, "device": pl.String, "cause": pl.String, "price_low_ms": pl.Float64, "price_ms": pl.Float64,
    "price_high_ms": pl.Float64, "sentence": pl.String,
}  # fmt: skip


def _stream_files(stream: OpStream | None) -> dict[str, bytes]:
    """The recorded stream, so that it can be priced again; its two files belong together."""
    if stream is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        calls, rows = Path(folder, CALLS), Path(folder, ROWS)
        stream_to_parquet(stream, calls, rows)
        return {CALLS: calls.read_bytes(), ROWS: rows.read_bytes()}


def _settings(request: WhyRequest) -> dict[str, object]:
    """What was asked, as it was typed; a path of this machine is none of the next one's business."""
    asked = {"script": PurePath(request.script).name, "gpus": list(request.gpus), "host": request.host}
    return {**asked, "steps": request.steps, "seconds": request.seconds}
