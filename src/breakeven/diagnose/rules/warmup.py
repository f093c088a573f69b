"""warmup: a hand-made measurement holds the first call's set-up."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen, share
from breakeven.diagnose.wording import ms, percent
from breakeven.results.facts import ClockSpan
from breakeven.results.records import Finding
from breakeven.timeline import edit, schema

#: A reading of a clock is named so in a stream.
CLOCK = "host::clock"

#: What a first call costs at least, ms: the first launch of a run, which creates the context, and every further kernel,
#: which has to be loaded. The trace a100_moe_small (a first call on an A100) shows one launch of 497 ms, 188 ms in the
#: slow launches of the other 29 kernels. An older driver and library took 12.9 s in all (a100_alexnet_first_call): these are
#: a low end, then.
CONTEXT_MS, KERNEL_MS = 497.0, 188.0 / 29

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
    return Finding(
        id="warmup",
        device=evidence.device.name,
        cause="warmup",
        price_ms=None,
        sentence=(
            f"The timed part holds first calls on the GPU: setting up takes {ms(_set_up_ms(span))} or more, and the work itself "
            f"{ms(_length_ms(evidence, span))}. {percent(part)} of such a measurement is set-up."
        ),
        sites=seen(span.opened, span.closed),
        remedies=("warm_up",),
    )


def meaningless(evidence: Evidence) -> bool:
    """The script is one short run, timed as a whole, and nearly all set-up: whoever reads that clock reads nothing else."""
    return evidence.stream.unit == "run" and _worst(evidence)[1] >= MEANINGLESS


def _worst(evidence: Evidence) -> tuple[ClockSpan | None, float]:
    """The span that is set-up for the largest part, and that part at the low end."""
    spans = [c for c in evidence.facts.clocks if (c.first_work or c.novel) and not _repeated(evidence, c)]
    parts = [(share(_set_up_ms(c), _set_up_ms(c) + _length_ms(evidence, c)), c) for c in spans]
    part, span = max(parts, key=lambda p: p[0], default=(0.0, None))
    return span, part


def _repeated(evidence: Evidence, span: ClockSpan) -> bool:
    """The same two lines are timed again without first calls: by another span, or in the recorded (steady) steps."""
    if any((c.opened, c.closed) == (span.opened, span.closed) and not (c.first_work or c.novel) for c in evidence.facts.clocks):
        return True
    stream = evidence.stream
    clocks = edit.marked(stream, [call.op == CLOCK for call in edit.calls_of(stream)])
    at = {stream.sites[p] for p in edit.column(stream, schema.ROW_SITE)[clocks] if p >= 0}
    return stream.unit != "run" and span.closed in at


def _set_up_ms(span: ClockSpan) -> float:
    return CONTEXT_MS * span.first_work + KERNEL_MS * span.novel


def _length_ms(evidence: Evidence, span: ClockSpan) -> float:
    if span.steps is not None:
        return span.steps * evidence.step_ms
    rows = evidence.per_step(evidence.times.kernels > 0)
    return share(span.operations, rows) * evidence.step_ms
