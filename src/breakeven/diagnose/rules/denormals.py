"""denormals: numbers too small for normal floating point make the CPU slow."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen
from breakeven.diagnose.wording import of_step, percent
from breakeven.results.records import Finding, Interval

#: Device name of findings about the CPU.
CPU = "cpu"

#: From this part of an operand's elements on: a row of 256 of them then holds one with probability 1 - 0.996^256 = 64 %.
LEAST_SHARE = 0.004


def denormals(evidence: Evidence) -> Finding | None:
    """Operands of products hold denormal (subnormal) numbers: under 1.2e-38 in float32.

    What it sees: denormal elements in parameters and inputs of products, with the line that multiplies.
    Why it costs: a CPU takes an assist of a hundred cycles and more for each; a GPU handles them at full speed.
    Evidence: their share, and where it was measured the step with them flushed to zero against the step as it is, on one thread.
    Example: weights that decay without a gradient, a filter's tail, probabilities multiplied over and over.
    Remedy: `torch.set_flush_denormal(True)`.
    When it is wrong: where such small numbers carry meaning.
    """
    found = [d for d in evidence.facts.denormals if d.share >= LEAST_SHARE]
    if not found:
        return None
    worst = max(found, key=lambda d: d.share)
    step, flushed = evidence.cpu.step_ms, evidence.cpu.flushed_ms
    said = f"{percent(worst.share)} of {worst.what} are denormal numbers, which the CPU computes with a hundred times as slowly"
    price = None
    if step is not None and flushed is not None:
        price = Interval(step.low - flushed.high, step.mid - flushed.mid, step.high - flushed.low)
        said += f"; flushed to zero they would save the CPU {of_step(max(0.0, price.mid), step.mid)}"
    return Finding(
        id="denormals",
        device=CPU,
        cause="compute",
        price_ms=price,
        sentence=f"{said}. A GPU does not mind them.",
        sites=seen(worst.site, *(d.site for d in found)),
        remedies=("flush_denormals",),
    )
