"""A very large product that is asked for again is copied, and stays exact."""

from __future__ import annotations

import pytest

from breakeven.capture.virtual import budget

from .recording import record, torch


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    monkeypatch.setattr(budget, "LARGE", 100)


def products(change):
    torch.manual_seed(0)
    one, other = torch.rand(8, 8).to("cuda"), torch.rand(8, 8).to("cuda")
    first = one @ other
    change(one, other, first)
    return first.cpu(), (one @ other).cpu(), (one.cpu() @ other.cpu())


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b, c: None,
        lambda a, b, c: a.mul_(2),
        lambda a, b, c: b[0].zero_(),
        lambda a, b, c: c.zero_(),
        lambda a, b, c: a.copy_(torch.ones(8, 8)),
        lambda a, b, c: a.data.add_(1),
        lambda a, b, c: setattr(a, "data", torch.ones(8, 8).cuda()),
        lambda a, b, c: b.t_(),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_the_second_product_is_right_whatever_happened_between(change, recorded):
    found = []
    run = lambda: found.append(products(change))  # noqa: E731  # one line for both ways
    record(run) if recorded else record(lambda: None, before=run)
    _, second, truth = found[0]
    assert torch.equal(second, truth)


def test_a_copied_product_is_a_row_with_the_time_of_the_first():
    found = record(lambda: products(lambda a, b, c: None))
    first, second = (row for row in found.rows if row.op == "aten::mm" and row.device != "cpu")
    assert first.cpu_ns == second.cpu_ns > 0
