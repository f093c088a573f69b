"""What each line of the user's source asks for in one step: the host's time and the devices', at the middle of all prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence
from breakeven.results.pictured import LinePrice
from breakeven.timeline import edit, schema
from breakeven.units import NS_PER_MS


def line_prices(evidence: Sequence[Evidence]) -> tuple[LinePrice, ...]:
    """Every line that the recorded stream blames something on, by file and number.

    These are shares of the work, and no savings: what a step would save without a line is a finding's price.
    """
    if not evidence:
        return ()
    first = evidence[0]
    host = _by_site(first, first.times.host_ns)
    device = {one.device.name: _by_site(one, one.times.device_ns) for one in evidence}
    lines: dict[tuple[str, int], LinePrice] = {}
    for place, site in enumerate(first.stream.sites):
        at = lines.get((site.file, site.line))
        of = {name: float(ms[place]) + (at.device_ms[name] if at else 0.0) for name, ms in device.items()}
        lines[site.file, site.line] = LinePrice(
            site.file, site.line, site.text, float(host[place]) + (at.host_ms if at else 0.0), of
        )  # fmt: skip
    return tuple(lines[key] for key in sorted(lines))


def _by_site(evidence: Evidence, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Milliseconds of a step by site."""
    at = edit.column(evidence.stream, schema.ROW_SITE)
    known = at >= 0
    total = np.bincount(at[known], weights=weights[known], minlength=len(evidence.stream.sites)).astype(np.float64)
    return total / (max(1, evidence.stream.steps) * NS_PER_MS)
