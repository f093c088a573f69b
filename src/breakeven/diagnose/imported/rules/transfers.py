"""transfer_bound: copies between host and device that nothing hides, in a trace."""

from __future__ import annotations

import polars as pl

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.wording import count, size
from breakeven.results.records import Finding
from breakeven.timeline import schema
from breakeven.timeline.schema import Kind

#: Copies below this take as long for their start as for their bytes: 64 KB at 12 GB/s is 5 µs, the cost of a launch.
_SMALL_BYTES = 65_536
_MANY = 8


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
    name = pl.col(schema.EVENT_NAME.name)
    to_device, from_device = r"(?i)HtoD|HostToDevice|H2D|host-to-device", r"(?i)DtoH|DeviceToHost|D2H|device-to-host"
    copies = evidence.in_steps(evidence.on_device.filter(pl.col(schema.EVENT_KIND.name) == Kind.COPY))
    crossing = copies.filter(name.str.contains(to_device) | name.str.contains(from_device))
    pageable = crossing.filter(name.str.contains("Pageable"))
    size_of = pl.col(schema.EVENT_BYTES.name)
    small = crossing.filter(size_of.is_not_null() & (size_of < _SMALL_BYTES)).height / evidence.count
    bytes_ = int(crossing[schema.EVENT_BYTES.name].sum() or 0) / evidence.count
    about = f", {size(bytes_)}" if bytes_ else ""
    kind = f", {round(pageable.height / evidence.count) or 'some'} of them from or to pageable memory" if pageable.height else ""
    unit = "a step" if evidence.steps is not None else "in all"
    sentence = (
        f"Copies between main memory and the GPU take {part(evidence, price)}, with no kernel running beside: "
        f"{count(crossing.height / evidence.count, 'copy', 'copies')} {unit}{about}{kind}."
    )
    remedies = [
        ("pin_memory", pageable.height > 0),
        ("merge_copies", small >= _MANY),
        ("prefetch", True),
        ("data_on_device", True),
    ]
    return finding(evidence, "transfer_bound", "copy", price, sentence, tuple(r for r, true in remedies if true))
