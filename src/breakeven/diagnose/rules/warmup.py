"""warmup: a hand-made measurement holds the first call's set-up."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen, share
from breakeven.diagnose.wording import count, percent
from breakeven.results.facts import ClockSpan
from breakeven.results.records import Finding

#: Set-up of context and libraries at the first device work, ms, low and high. Low: 221 ms idle in lazy loading
#: (a100_moe_small); high: 12.9 s (a100_alexnet_first_call, an older driver and library): the two public traces of a first call.
SET_UP_MS = (221.0, 12_900.0)

#: From this part of the timed span on, at the low end of the set-up, the measurement is one of the set-up.
MISLEADING = 0.3

#: From this part on it is of hardly anything else.
MEANINGLESS = 0.8


def warmup(evidence: Evidence) -> Finding | None:
    """The clock was started before the GPU's first work, and the timed span is short.

    What it sees: two readings of a clock, the device's first work between them, and no other span of the same two lines
        without it.
    Why it costs: it costs no step anything; it spoils the measurement. The first call creates the context, loads kernels and
        libraries.
    Evidence: steps in the span times the predicted step, against the set-up that public traces of first calls show.
    Example: `t0 = time.time(); y = a @ b; torch.cuda.synchronize(); print(time.time() - t0)` at the top of a script.
    Remedy: run some steps before the clock starts.
    When it is wrong: where the script ran device work that the recording did not see.
    """
    span, part = _worst(evidence)
    if span is None or part < MISLEADING:
        return None
    steps = span.steps or 1
    return Finding(
        id="warmup",
        device=evidence.device.name,
        cause="warmup",
        price_ms=None,
        sentence=(
            f"The timed part ({count(steps, 'step')}) holds the GPU's first call: setting up context and libraries takes "
            f"{SET_UP_MS[0] / 1000:.1f} to {SET_UP_MS[1] / 1000:.0f} s, {percent(part)} or more of that time. "
            "It is no measurement of a step."
        ),
        sites=seen(span.opened, span.closed),
        remedies=("warm_up",),
    )


def meaningless(evidence: Evidence) -> bool:
    """The timed span is nearly all set-up: whoever reads that clock reads nothing else."""
    return _worst(evidence)[1] >= MEANINGLESS


def _worst(evidence: Evidence) -> tuple[ClockSpan | None, float]:
    """The span that is set-up for the largest part, and that part at the low end."""
    clean = {(c.opened, c.closed) for c in evidence.facts.clocks if not c.first_work}
    spans = [c for c in evidence.facts.clocks if c.first_work and (c.opened, c.closed) not in clean]
    parts = [(share(SET_UP_MS[0], SET_UP_MS[0] + _length_ms(evidence, c)), c) for c in spans]
    part, span = max(parts, key=lambda p: p[0], default=(0.0, None))
    return span, part


def _length_ms(evidence: Evidence, span: ClockSpan) -> float:
    if span.steps is not None:
        return span.steps * evidence.step_ms
    rows = evidence.per_step(evidence.times.kernels > 0)
    return share(span.operations, rows) * evidence.step_ms
