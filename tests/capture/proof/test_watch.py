"""What an arm hears of a step."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch

from breakeven.capture.proof.watch import Watch

Function = Callable[..., object]


def test_a_loss_whose_backward_pass_is_compiled_is_heard_by_what_is_handed_back(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only while losses are followed; a tensor of more numbers is none."""
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    watch = Watch(str(tmp_path), 1 << 20)
    watch.hear_compiled()

    @torch.compile()
    def step(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x.sum().detach()

    step(torch.ones(3))
    assert watch.taken() == []
    watch.follow(True)
    step(torch.ones(3))
    watch.follow(False)
    assert watch.taken() == [3.0]


def test_a_loss_that_was_heard_at_its_backward_pass_is_not_heard_twice(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **options: function)
    watch = Watch(str(tmp_path), 1 << 20)
    watch.hear_compiled()
    weight = torch.ones(3, requires_grad=True)

    def step() -> torch.Tensor:
        loss = (weight * weight).sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        return loss.detach()

    watch.follow(True)
    torch.compile(step)()
    watch.follow(False)
    assert watch.taken() == [3.0]
