"""padding: kernels that do nothing but pad, in a trace."""

from __future__ import annotations

import re

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.imported.seen import Seen
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding, Interval
from breakeven.timeline.intervals import piece_of, union

#: cuDNN's and PyTorch's kernels that write a padded copy.
_KERNELS = (
    "add_padding", "addpadding", "constant_pad", "constantpad", "reflection_pad", "replication_pad", "padding_kernel",
    "to_padded",
)  # fmt: skip
_OPERATIONS = re.compile(
    r"^aten::(?:constant_pad_nd|pad|_pad_enum|reflection_pad\dd|replication_pad\dd|pad_sequence|_pad_packed_sequence|"
    r"to_padded_tensor|_jagged_to_padded_dense_forward|_nested_from_padded)$"
)


def padding(evidence: TraceEvidence) -> Finding | None:
    """The device writes padded copies of tensors.

    What it sees: kernels that are named so, and those launched inside operations that pad.
    Why it costs: a padded copy is written and read again, and what comes after it computes on the padding too.
    Evidence: the time of those kernels alone; what is computed on the padding a trace does not tell.
    Example: `F.pad` before a convolution, which could pad itself; channels that are no multiple of 8 in half precision.
    Remedy: `padding=` of the convolution; sizes that are multiples of 8; batches of similar length.
    When it is wrong: where the padded copy is the result.
    """
    if evidence.on_cpu:
        return None
    device = evidence.device_in_steps
    found = device.where(
        _launched_in(device, evidence.host_in_steps.named(_OPERATIONS)) | np.isin(device.at, device.containing(*_KERNELS).at)
    )
    spent = found.total_ms / evidence.count
    if spent <= 0:
        return None
    price = Interval(0.0, spent, spent)
    sentence = (
        f"{count(len(found) / evidence.count, 'kernel')} {unit(evidence)} only pad ({found.longest(1)}): "
        f"{part(evidence, price)}, and what comes after them computes on the padding."
    )
    return finding(evidence, "padding", "bandwidth", price, sentence, ("bucket_lengths",))


def _launched_in(device: Seen, operations: Seen) -> np.typing.NDArray[np.bool_]:
    """Whether the launch of each event lies in one of these operations."""
    link = device.link
    spans = union(operations.start, operations.start + operations.duration)
    called = Seen(device.timeline, np.maximum(link, 0)).start
    inside: np.typing.NDArray[np.bool_] = (link >= 0) & (piece_of(spans, called) >= 0)
    return inside
