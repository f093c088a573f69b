"""cpu_oversubscription: more threads than cores share the work, and wait for each other."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen
from breakeven.diagnose.wording import count, of_step
from breakeven.results.records import Finding, Interval

#: Device name of findings about the CPU.
CPU = "cpu"


def cpu_oversubscription(evidence: Evidence) -> Finding | None:
    """PyTorch uses more threads than the process may use cores.

    What it sees: the number of threads as the steps ran, and the cores that the process is allowed.
    Why it costs: threads of one operation wait for each other at its end; one that has no core holds up all others for a time
        slice.
    Evidence: the two numbers, and where it was measured the step with as many threads as cores.
    Example: `torch.set_num_threads(64)`, or a container limited to one core after PyTorch counted eight.
    Remedy: as many threads as there are cores.
    When it is wrong: where the limit was set for the measurement only.
    """
    threads = evidence.facts.threads
    used, cores = (threads.used, threads.cores) if threads else (0, 0)
    if threads is None and evidence.cpu.cpu is not None:
        used, cores = evidence.cpu.cpu.threads, evidence.cpu.cpu.cores
    if cores < 1 or used <= cores:
        return None
    step, matched = evidence.cpu.step_ms, evidence.cpu.matched_ms
    said = f"{count(used, 'CPU thread')} share {count(cores, 'core')} and wait for each other"
    price = None
    if step is not None and matched is not None:
        price = Interval(step.low - matched.high, step.mid - matched.mid, step.high - matched.low)
        said += f"; with {count(cores, 'thread')} the CPU's step would save {of_step(max(0.0, price.mid), step.mid)}"
    return Finding(
        id="cpu_oversubscription",
        device=CPU,
        cause="overhead",
        price_ms=price,
        sentence=f"{said}. The CPU is slower here than it could be.",
        sites=seen(threads.site if threads else None),
        remedies=("threads",),
    )
