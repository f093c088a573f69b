"""The page of a watched loop: what a step takes, where it goes, and the loss against the wall clock; while it runs and after."""

from __future__ import annotations

from collections.abc import Sequence

from breakeven.report.html.race import curves
from breakeven.report.html.writing import document
from breakeven.report.numbers import duration, percentage
from breakeven.report.watch import head, where
from breakeven.results.race import Racer, RaceReport
from breakeven.results.watching import Watched


def watch_page(seen: Watched, points: Sequence[tuple[float, float]], *, refresh_s: int | None = None) -> bytes:
    """What was seen so far as a page, UTF-8.

    Args:
        seen: of the loop.
        points: seconds since the watch began, and the loss then.
        refresh_s: seconds after which a browser reads the page again; None: the loop has ended.
    """
    at, loss = zip(*points, strict=True) if points else ((), ())
    racer = Racer(seen.device or "the loop", seen.steps, seen.seconds, at, loss)
    report = RaceReport("", seen.seconds, (racer,), None, head(seen))
    return document(
        "watch.html.j2", {"race": report if points else None}, report=report, title="breakeven.watch", said=head(seen),
        shares=[(p.cause, duration(p.ms), percentage(p.share)) for p in sorted(seen.parts, key=lambda part: -part.ms)],
        found=[(f.id, f.sentence, [where(site) for site in f.sites]) for f in seen.findings],
        drawn=[racer] if points else [], curves=tuple(curves(report)), refresh_s=refresh_s,
    )  # fmt: skip
