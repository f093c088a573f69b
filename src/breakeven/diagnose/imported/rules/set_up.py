"""warmup: the traced time holds set-up that further steps would not pay again."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding
from breakeven.diagnose.wording import ms, of_step
from breakeven.results.records import Finding


def warmup(evidence: TraceEvidence) -> Finding | None:
    """The device waits for first calls: library loads, compilation, the context, memory asked for once.

    What it sees: idle time of the device while the host was in a call that loads code, in the first launch of a kernel that
        took milliseconds, in the first call of an operation that compiles, or in an allocation that never comes again.
    Why it costs: it is paid once. A trace (or a clock) that holds it does not show a step.
    Evidence: the account's part `warmup`, averaged over all steps.
    Example: profiling the very first forward pass.
    Remedy: run some steps before the profiler, or the clock, starts (`schedule(wait=…, warmup=…)`).
    When it is wrong: programs that run one pass only, where set-up is the cost.
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("warmup", every=True)
    if price.mid <= 0:
        return None
    events = evidence.on_host.where(evidence.timeline.causes.among("warmup"))
    total = float(evidence.parts_ms["warmup"].sum())
    how = f", most of it in {events.longest()}" if len(events) else ""
    if evidence.count > 1:
        few = int((~evidence.usual).sum())
        where = f"all in {few} of {evidence.count} steps" if few else f"over {evidence.count} steps"
        sentence = f"Set-up that comes once takes {ms(total)} of the traced steps ({where}){how}. It is no part of a usual step."
    else:
        sentence = f"Set-up that comes once takes {of_step(total, evidence.step_ms.mid)}{how}. It says little about a usual step."
    return finding(evidence, "warmup", "warmup", price, sentence, ("warm_up",))
