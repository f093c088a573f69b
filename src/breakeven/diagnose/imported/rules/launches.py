"""launch_bound: the device waits because the host cannot issue its work fast enough, in a trace."""

from __future__ import annotations

from breakeven.diagnose.evidence import share
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.wording import count, ms
from breakeven.results.records import Finding
from breakeven.timeline.schema import Kind


def launch_bound(evidence: TraceEvidence) -> Finding | None:
    """The host needs longer to issue a step's work than the device needs to run it.

    What it sees: idle time of the device that ends with work which the host had not launched before.
    Why it costs: Python, dispatch and the launch take the host 5 to 40 µs for each operation; small kernels take the device 2
        to 5 µs.
    Evidence: the account's part `launch` (on a CPU `overhead`), averaged over the steps. Work launched from a graph, and idle
        while launched work waits, do not count.
    Example: a model of a thousand small layers at batch 2.
    Remedy: fewer and larger operations (a larger batch), or one launch (a CUDA graph, torch.compile).
    When it is wrong: profilers slow the host down; `without_profiler_ms` says by how much.
    """
    if evidence.on_cpu:
        return _on_cpu(evidence)
    price = evidence.price("launch")
    if price.mid <= 0:
        return None
    per_step = len(evidence.host_in_steps.of_kind(Kind.LAUNCH)) / evidence.count
    each = share(price.mid, per_step)
    sentence = (
        f"The GPU idles {part(evidence, price)} because the host has not launched the next work yet: "
        f"{count(per_step, 'launch', 'launches')} {unit(evidence)}, {ms(each)} of idle time for each."
    )
    return finding(evidence, "launch_bound", "launch", price, sentence, ("larger_batch", "cuda_graph", "compile"))


def _on_cpu(evidence: TraceEvidence) -> Finding | None:
    price = evidence.price("overhead")
    operations = len(evidence.host_in_steps) / evidence.count
    if price.mid <= 0 or operations < 1:
        return None
    sentence = (
        f"Python and PyTorch between the operations take {part(evidence, price)}: {count(operations, 'call')}, "
        f"{ms(price.mid / operations)} around each."
    )
    return finding(evidence, "launch_bound", "overhead", price, sentence, ("larger_batch", "compile"))
