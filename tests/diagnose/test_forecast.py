"""A GPU's step as a result: its interval is the draws', its account sums to the middle."""

from __future__ import annotations

import pytest
from literal_streams import PRICING, Script

from breakeven.diagnose.forecast import forecast
from breakeven.simulate import step_ms


def script(kind: str) -> Script:
    made = Script(batch=16)
    for step in range(3):
        if step:
            made.next_step()
        if kind == "copies":
            made.copy_in(1_000_000)
        if kind == "products":
            made.linear(512, 512, 512)
        for _ in range(20):
            made.op("aten::mul", (16, 64), cpu_us=3)
        if kind == "reads":
            made.item()
        if kind == "python":
            made.host("host::python", 2.0)
    return made


@pytest.mark.parametrize(
    ("kind", "cause"),
    [("small", "launch"), ("copies", "copy"), ("products", "compute"), ("reads", "sync"), ("python", "launch")],
)
def test_the_account_sums_to_the_middle_and_names_what_was_put_in(kind: str, cause: str) -> None:
    stream = script(kind).stream()
    step = PRICING.step(stream)
    result = forecast("Literal GPU", stream, PRICING, step)  # type: ignore[arg-type]  # literal prices
    assert (result.name, result.kind, result.source) == ("Literal GPU", "gpu", "predicted")
    assert result.step_ms is not None
    assert (result.step_ms.low, result.step_ms.mid, result.step_ms.high) == (step.low, step.mid, step.high)
    assert step.low <= step.mid <= step.high
    assert sum(part.ms for part in result.account) == pytest.approx(step.mid)
    assert sum(part.share for part in result.account) == pytest.approx(1.0)
    assert {part.cause for part in result.account if part.ms > 0} >= {cause}


def test_a_step_of_nothing_has_no_time() -> None:
    stream = Script().stream()
    costs = PRICING.costs(stream)
    nothing = step_ms(stream, costs, PRICING.host(stream, costs), draws=20)
    result = forecast("Literal GPU", stream, PRICING, nothing)  # type: ignore[arg-type]  # literal prices
    assert (result.step_ms, result.account) == (None, ())
