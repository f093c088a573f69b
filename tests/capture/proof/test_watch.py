"""What an arm hears of a step."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch

from breakeven.capture.proof.watch import Watch

Function = Callable[..., object]


@pytest.fixture
def watch(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """It hears what is compiled, which here is left as it is."""
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    heard = Watch(str(tmp_path), 1 << 20)
    heard.hear_compiled()
    return heard


def test_a_loss_whose_backward_pass_is_compiled_is_heard_by_what_is_handed_back(watch: Watch) -> None:
    """And only while losses are followed and gradients wanted; a tensor of more numbers is none."""

    @torch.compile()
    def step(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x.sum().detach()

    step(torch.ones(3))
    assert watch.taken() == []
    watch.follow(True)
    with torch.no_grad():
        step(torch.ones(2))
    step(torch.ones(3))
    watch.follow(False)
    assert watch.taken() == [3.0]


def test_a_loss_that_was_heard_at_its_backward_pass_is_not_heard_twice(watch: Watch) -> None:
    weight = torch.ones(3, requires_grad=True)

    def step() -> torch.Tensor:
        loss = (weight * weight).sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        return loss.detach()

    watch.follow(True)
    torch.compile(step)()
    watch.follow(False)
    assert watch.taken() == [3.0]
