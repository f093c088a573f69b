"""transfer_bound: copies between host and device that nothing hides, in a trace."""

from __future__ import annotations

import re

from breakeven.diagnose.imported.copies import CROSSING
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.wording import count, size
from breakeven.results.records import Finding
from breakeven.timeline.schema import Kind

#: Copies below this take as long for their start as for their bytes: 64 KB at 12 GB/s is 5 µs, the cost of a launch.
_SMALL_BYTES = 65_536
_MANY = 8
_PAGEABLE = re.compile("Pageable")


def transfer_bound(evidence: TraceEvidence) -> Finding | None:
    """The device does nothing but copy from or to the host's memory.

    What it sees: copies between host and device while no kernel runs, and idle time around them.
    Why it costs: PCIe moves 12 to 60 GB/s, the device's own memory thirty times that; a copy from pageable memory also stops
        the host.
    Evidence: the account's part `copy`, averaged over the steps; what kernels hide does not count.
    Example: `x.to("cuda")` of a large batch from pageable memory in every step.
    Remedy: pinned memory and `non_blocking=True`; keep on the device what is used again; join small copies.
    When it is wrong: where the data do not fit on the device.
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("copy")
    if price.mid <= 0:
        return None
    crossing = evidence.device_in_steps.of_kind(Kind.COPY).named(CROSSING)
    pageable = len(crossing.named(_PAGEABLE))
    sizes = crossing.bytes
    small = int(((sizes >= 0) & (sizes < _SMALL_BYTES)).sum()) / evidence.count
    bytes_ = int(sizes[sizes > 0].sum()) / evidence.count
    about = f", {size(bytes_)}" if bytes_ else ""
    kind = f", {round(pageable / evidence.count) or 'some'} of them from or to pageable memory" if pageable else ""
    sentence = (
        f"Copies between main memory and the GPU take {part(evidence, price)}, with no kernel running beside: "
        f"{count(len(crossing) / evidence.count, 'copy', 'copies')} {unit(evidence)}{about}{kind}."
    )
    remedies = [
        ("pin_memory", pageable > 0),
        ("merge_copies", small >= _MANY),
        ("prefetch", True),
        ("data_on_device", True),
    ]
    return finding(evidence, "transfer_bound", "copy", price, sentence, tuple(r for r, true in remedies if true))
