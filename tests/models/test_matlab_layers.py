"""Each MATLAB layer has the output size and the number of learnables that its documentation states, in words and in PyTorch."""

from __future__ import annotations

import pytest
import torch

from breakeven.models.learnables import count
from tests.models.layer_cases import CASES, STEPS, Case
from tests.models.scripts import module, network

BATCH = 2


def sizes(case: Case) -> tuple[str, ...]:
    """The length of the sequences, said as a user would."""
    if not case.given.startswith(("sequenceInputLayer", "inputLayer")):
        return ()
    inside = case.given[case.given.index("(") + 1 : -1].partition("'")[0].strip(" ,[]").replace("NaN", "").split()
    return (f"XTrain={'x'.join((*inside, str(STEPS)))}xN",)


def test_there_are_at_least_sixty_cases() -> None:
    assert len(set(CASES)) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.layer)
def test_sizes_and_learnables_are_those_of_the_documentation(case: Case) -> None:
    net = network(case.given, case.layer, data=sizes(case)).network
    assert (net.output.spatial, net.output.channels, net.output.time) == (case.spatial, case.channels, case.time)
    assert count(net, net.layers[-1]) == case.learnables


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.layer)
def test_the_written_module_gives_these_sizes_and_learns_as_much(case: Case) -> None:
    model = network(case.given, case.layer, data=sizes(case))
    made = module(model)
    learned = sum(p.numel() for p in made.parameters() if p.requires_grad)
    assert learned == case.learnables
    entering = model.network.inputs[0]
    shape = model.network.shapes[entering.name]
    time = () if shape.time is None else (shape.time,)
    words = case.given == "sequenceInputLayer(1)"
    x = torch.randint(1000, (BATCH, *time)) if words else torch.randn(BATCH, *time, shape.channels, *shape.spatial)
    out = made(x)
    expected = (BATCH, *(() if case.time is None else (case.time,)), case.channels, *case.spatial)
    assert tuple(out.shape) == expected
