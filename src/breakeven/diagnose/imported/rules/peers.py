"""communication: collectives that no computation hides, in a trace."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.results.records import Finding
from breakeven.timeline.schema import Kind


def communication(evidence: TraceEvidence) -> Finding | None:
    """The device runs a collective and nothing beside.

    What it sees: collectives (NCCL, RCCL, copies between devices) while no other kernel runs.
    Why it costs: the devices exchange gradients, or wait in the collective for the slowest of them.
    Evidence: the account's part `communication`, averaged over the steps.
    Example: distributed training whose buckets are sent after the backward pass instead of within.
    Remedy: overlap with the backward pass (DDP's buckets), send less often (gradient accumulation), balance the ranks' work.
    When it is wrong: one rank's trace does not show whether it sends or waits; several ranks' do (`ranks`).
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("communication")
    if price.mid <= 0:
        return None
    calls = evidence.on_device.of_kind(Kind.COMMUNICATION)
    what = f" ({calls.longest(1)})" if len(calls) else ""
    sentence = f"Exchange with other GPUs takes {part(evidence, price)}, with nothing computed beside{what}."
    return finding(evidence, "communication", "communication", price, sentence)
