"""The public traces beside this checkout: every sum equals an independent count."""

from __future__ import annotations

import json
import pathlib

import pytest

from breakeven.diagnose.imported.evidence import evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.readers import read
from breakeven.timeline import queries

#: One of each kind; the others are scored outside of the tests.
FILES = (
    "gp100_small_loop.json.gz", "mi250_minitoy.json.gz", "a100_copies_both_ways.json.gz", "h100_tiny_transformer.json.gz",
    "cpu_loader_workers0.json.gz", "h100_fuser.sqlite", "jax_cpu_mlp.xplane.pb", "a100_pt_batch512.json.gz",
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_sums_and_first_findings_are_those_of_an_independent_count(shared: pathlib.Path, name: str) -> None:
    """Busy and idle within a microsecond, the account sums to the step, the expected finding leads."""
    truth = json.loads((shared / "traces" / "truth.json").read_text())["files"][name]
    (trace,), _ = read([shared / "traces" / name])
    evidence = evidence_from(trace.timeline, trace.devices, trace.shapes)
    if truth.get("device_busy_ms") is not None and not evidence.on_cpu:
        assert queries.busy(trace.timeline, evidence.lane_device).total_ns / 1e6 == pytest.approx(
            truth["device_busy_ms"], abs=1e-3
        )
        assert queries.idle(trace.timeline, evidence.lane_device).total_ns / 1e6 == pytest.approx(
            truth["device_idle_ms"], abs=1e-3
        )
    assert sum(evidence.account_ms.values()) == pytest.approx(evidence.step_ms.mid)
    expected = truth["expect"].get("first")
    if expected:
        assert trace_findings(evidence)[0].id in expected


def test_the_two_files_of_one_run_agree(shared: pathlib.Path) -> None:
    """JAX's Chrome JSON and its XPlane tell the same steps and the same account."""
    (one,), _ = read([shared / "traces" / "jax_cpu_mlp.xplane.pb"])
    (two,), _ = read([shared / "traces" / "jax_cpu_mlp.trace.json.gz"])
    first, second = (evidence_from(t.timeline, t.devices, t.shapes) for t in (one, two))
    assert first.step_ms.mid == pytest.approx(second.step_ms.mid, rel=1e-4)
    assert first.account_ms == pytest.approx(second.account_ms, rel=0.02, abs=0.02)
