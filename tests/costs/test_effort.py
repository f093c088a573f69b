"""Flops and bytes: literal figures of the cited formulas."""

from __future__ import annotations

import pytest

from breakeven.costs.works.effort import Effort, effort
from breakeven.costs.works.records import Work, work

CASES = [
    (work("gemm", m=10_000, n=10_000, k=10_000), Effort(2e12, 1.2e9)),
    (work("gemm", "float16", m=4, n=4, k=4), Effort(128, 96)),
    (work("bmm", b=3, m=2, n=4, k=5), Effort(240, 3 * (10 + 20 + 8) * 4)),
    (work("linear", m=2, n=4, k=5), Effort(80, (10 + 20 + 8 + 4) * 4)),
    (work("linear", direction="backward", m=2, n=4, k=5), Effort(160, 2 * (10 + 20 + 8 + 4) * 4)),
    (
        work("conv2d", n=1, c=3, h=8, w=8, k=4, r=3, s=3, pad_h=1, pad_w=1, stride_h=1, stride_w=1),
        Effort(13_824, (192 + 108 + 256) * 4),
    ),
    (
        work("conv2d", n=1, c=3, h=8, w=8, k=4, r=3, s=3, pad_h=0, pad_w=0, stride_h=2, stride_w=2),
        Effort(1_944, (192 + 108 + 36) * 4),
    ),
    # DeepBench: an LSTM of 256 over 50 steps of batch 16 multiplies 4 gates: 2 x 16 x 50 x 4 x 256 x 256 (recurrent part alone)
    (work("lstm", hidden=256, batch=16, timesteps=50, layers=1), Effort(419_430_400, (262_144 + 50 * 16 * 512) * 4)),
    (work("rnn", hidden=4, input=2, batch=1, timesteps=1, layers=1), Effort(2 * 4 * 6, (24 + 10) * 4)),
    (work("gru", direction="backward", hidden=4, input=2, batch=1, timesteps=1, layers=1), Effort(4 * 3 * 24, 2 * (72 + 10) * 4)),
    (work("add", elements=100, inputs=2), Effort(100, 1200)),
    (work("softmax", rows=10, cols=10), Effort(500, 800)),
    (work("layernorm", direction="backward", rows=10, cols=10), Effort(500, 1200)),
    (work("copy_h2d", bytes=100), Effort(0, 100)),
    (work("copy_d2d", bytes=100), Effort(0, 200)),
    (work("stream", count=3, bytes=100, elements=10), Effort(30, 300)),
]


@pytest.mark.parametrize(("job", "expected"), CASES)
def test_arithmetic_and_traffic_are_what_the_formulas_say(job: Work, expected: Effort) -> None:
    assert effort(job) == expected
