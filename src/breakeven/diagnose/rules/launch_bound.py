"""launch_bound: the GPU waits because the host cannot issue its work fast enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence, share, site, sites_of
from breakeven.diagnose.wording import count, ms, of_step
from breakeven.results.records import Finding, Site
from breakeven.timeline import edit, schema
from breakeven.whatif.cuda_graph import cuda_graph, graph_rows
from breakeven.whatif.foreach_optimizer import foreach_optimizer, single_rows
from breakeven.whatif.larger_window import windowed_calls
from breakeven.whatif.without_syncs import sync_rows, without_syncs

#: So many lines that wait for the device are named beside the launches.
MOST_WAITS = 2

#: Operations that fill gradients with zeros instead of dropping them.
ZEROING = ("aten::zero_", "aten::_foreach_zero_")


def launch_bound(evidence: Evidence) -> Finding | None:
    """The host needs longer to issue the operations of a step than the GPU needs to run them.

    What it sees: a step that a CUDA graph, which issues everything with one launch, would shorten.
    Why it costs: Python, dispatch and the launch take the host 5 to 40 µs for each operation; small kernels take the GPU 2 to
        5 µs, and it idles for the rest.
    Evidence: the step simulated with the host's time for each operation, against the step with one launch.
    Example: `for t in range(100): h = cell(x[t], h)` on small tensors.
    Remedy: fewer and larger operations (a larger batch, a window, a fused layer), or one launch (a CUDA graph).
    When it is wrong: shapes that change from step to step cannot be captured; then only fewer operations help.
    """
    rows = graph_rows(evidence.stream)
    working = rows & (evidence.times.kernels > 0)
    operations = evidence.per_step(working)
    if operations < 1:
        return None
    price = evidence.price(cuda_graph(evidence.stream))
    each = share(evidence.per_step(rows, evidence.times.issue_ns), operations) / 1e6
    idle = min(_idle_ms(evidence, working), each * operations)  # more than that is the script's own Python
    return Finding(
        id="launch_bound",
        device=evidence.device.name,
        cause="launch",
        price_ms=price,
        sentence=(
            f"The GPU idles {of_step(idle, evidence.step_ms)} because the host needs {ms(each)} to issue each of "
            f"{count(operations, 'operation')}; with one launch for all of them the step would take {ms(price.mid)} less."
        ),
        sites=_sites(evidence, rows),
        remedies=_remedies(evidence),
    )


def _idle_ms(evidence: Evidence, working: NDArray[np.bool_]) -> float:
    """What the account gives to launching; without an account what the device's work leaves of the step."""
    busy = evidence.per_step(working, evidence.times.device_ns) / 1e6
    return evidence.cause_ms("launch") if evidence.device.account else max(0.0, evidence.step_ms - busy)


def _sites(evidence: Evidence, rows: NDArray[np.bool_]) -> tuple[Site, ...]:
    """The dearest lines, and every line that waits for the device besides: there the host loses its lead."""
    stream = evidence.stream
    dearest = sites_of(evidence, rows, lambda at: cuda_graph(stream, at))
    at = edit.column(stream, schema.ROW_SITE)
    named = {(s.file, s.line) for s in dearest}
    positions, counts = np.unique(at[sync_rows(stream) & (at >= 0)], return_counts=True)
    often = [int(p) for p in positions[np.argsort(-counts, kind="stable")[:MOST_WAITS]]]
    lines = [(stream.sites[p], p) for p in often if (stream.sites[p].file, stream.sites[p].line) not in named]
    return (*dearest, *(site(line, evidence.price(without_syncs(stream, [p]))) for line, p in lines))


def _remedies(evidence: Evidence) -> tuple[str, ...]:
    """What would help here, the most first; only what the stream shows a reason for."""
    stream = evidence.stream
    names = edit.calls_of(stream)
    wanted = [
        ("window_loop", any(windowed_calls(stream))),
        ("larger_batch", stream.batch is not None),
        ("cuda_graph", True),
        ("compile", True),
        ("fused_optimizer", bool(single_rows(stream).any()) and _worth(evidence)),
        ("set_to_none", any(call.op in ZEROING and all(call.parameters) and call.parameters for call in names)),
        ("use_cpu", evidence.verdict is not None and evidence.verdict.device == "cpu" and not evidence.verdict.tie),
    ]
    return tuple(name for name, true in wanted if true)


def _worth(evidence: Evidence) -> bool:
    return evidence.price(foreach_optimizer(evidence.stream)).mid >= 0.02 * evidence.step_ms
