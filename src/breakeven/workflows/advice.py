"""What to do next: the remedies that the findings name, each priced by simulating the stream that it would leave."""

from __future__ import annotations

from collections.abc import Sequence

from breakeven.diagnose.evidence import Evidence
from breakeven.remedies import REMEDIES
from breakeven.results import Finding, Interval, Remedy

#: Remedies shown; the rest is in the findings.
MOST = 6
#: A remedy that saves less than this part of a step is not worth a line.
LEAST_SHARE = 0.02


def gains(evidence: Sequence[Evidence], found: Sequence[Finding]) -> tuple[Remedy, ...]:
    """The remedies of all devices, the largest predicted gain (as a part of its own step) first, those without a price last.

    Args:
        evidence: of each GPU.
        found: their findings, which name the remedies.
    """
    told = [(share, remedy) for one in evidence for share, remedy in _of(one, found)]
    told.sort(key=lambda t: -t[0])
    return tuple(remedy for _, remedy in told)


def _of(evidence: Evidence, found: Sequence[Finding]) -> list[tuple[float, Remedy]]:
    named = dict.fromkeys(name for finding in found if finding.device == evidence.device.name for name in finding.remedies)
    result = []
    for name in named:
        remedy = REMEDIES[name]
        gain = _gain(evidence, name)
        if gain is not None and gain.mid < LEAST_SHARE * evidence.step_ms:
            continue
        share = gain.mid / evidence.step_ms if gain is not None and evidence.step_ms else 0.0
        result.append((share, Remedy(name, evidence.device.name, gain, remedy.title)))
    return sorted(result, key=lambda t: -t[0])[:MOST]


def _gain(evidence: Evidence, name: str) -> Interval | None:
    """What the step would save; None where a stream cannot show it."""
    if name == "use_cpu":
        measured = evidence.cpu.step_ms
        if measured is None or evidence.device.step_ms is None:
            return None
        step = evidence.device.step_ms
        return Interval(step.low - measured.high, step.mid - measured.mid, step.high - measured.low)
    rewrite = REMEDIES[name].rewrite
    return None if rewrite is None else evidence.price(rewrite(evidence.stream))
