"""Optimizers take the path that they take on cuda, and compute what the plain script computes."""

from __future__ import annotations

import pytest

from .recording import record, torch

nn = torch.nn

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}),
    ("Adagrad", {"lr": 0.01}),
    ("Adadelta", {}),
    ("RAdam", {}),
    ("Adamax", {}),
    ("Rprop", {}),
    ("NAdam", {"foreach": True}),
    ("ASGD", {"foreach": True}),
    ("Adam", {"fused": True}),
    ("Adam", {"foreach": False}),
]


def train(device, name, options, steps=4):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 13), nn.Tanh(), nn.Linear(13, 3)).to(device)
    optimizer = getattr(torch.optim, name)(net.parameters(), **options)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.randn(5, 7, device=device)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_losses_are_those_of_the_cpu_bit_for_bit(name, options):
    plain = train("cpu", name, options)
    got = []
    record(lambda: got.append(train("cuda", name, options)))
    assert got == [plain]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_the_step_is_in_lists_of_tensors_as_cuda_takes_it(name, options):
    found = record(lambda: train("cuda", name, options, 1))
    stepped = [row for row in found.rows if row.phase == "optimizer" and row.device != "cpu" and row.line == "optimizer.step()"]
    if options.get("fused"):
        assert [row.op for row in stepped][-1] == "aten::_fused_adam_"
    elif options.get("foreach") is False:
        assert sum(row.op == "aten::addcdiv_" for row in stepped) == 4
    else:
        lists = [row for row in stepped if row.op.startswith("aten::_foreach")]
        assert lists
        assert all(row.said["tensors"] == 4 for row in lists)
        assert all(all(row.parameters[:4]) for row in lists)


def test_clipping_belongs_to_the_optimizer_and_is_in_lists():
    found = record(lambda: train("cuda", "SGD", {"lr": 0.1}, 1))
    norm = found.the("aten::_foreach_norm")
    assert (norm.phase, norm.line, norm.said["tensors"]) == ("optimizer", "nn.utils.clip_grad_norm_(net.parameters(), 0.1)", 4)
    assert all(norm.parameters)


def test_zeroing_gradients_in_place_belongs_to_the_optimizer():
    net = nn.Linear(3, 2)

    def step():
        net(torch.rand(4, 3, device="cuda")).sum().backward()
        net.zero_grad(set_to_none=False)

    found = record(step, before=net.cuda)
    assert [row.op for row in found.rows if row.phase == "optimizer"] == ["aten::zero_"] * 2


def test_phases_follow_each_other_as_a_step_does():
    found = record(lambda: train("cuda", "SGD", {"lr": 0.1}, 1))
    phases = [row.phase for row in found.rows if row.device != "cpu" and row.op.startswith("aten::")]
    order = [p for i, p in enumerate(phases) if i == 0 or phases[i - 1] != p]
    assert order == ["forward", "backward", "optimizer"]


@pytest.mark.parametrize(("name", "options"), [("LBFGS", {"max_iter": 2}), ("SGD", {"lr": 0.1})])
@pytest.mark.parametrize("named", [False, True])
def test_what_an_optimizer_calls_back_is_not_the_optimizers(name, options, named):
    net, rows = nn.Linear(7, 3), torch.randn(5, 7)
    optimizer = getattr(torch.optim, name)(net.parameters(), **options)

    def closure():
        optimizer.zero_grad()
        loss = net(rows.cuda()).pow(2).mean()
        loss.backward()
        return loss

    found = record(lambda: optimizer.step(closure=closure) if named else optimizer.step(closure), before=net.cuda)
    assert {row.phase for row in found.rows if row.op == "aten::addmm"} == {"forward"}
    assert {row.phase for row in found.rows if row.op == "aten::mean"} == {"forward"}
    assert "backward" in {row.phase for row in found.rows}
    assert {row.phase for row in found.rows if row.op.startswith(("aten::_foreach", "aten::add_"))} <= {"optimizer"}


def test_backward_is_blamed_on_the_forward_line():
    found = record(lambda: train("cuda", "SGD", {"lr": 0.1}, 1))
    (row,) = [row for row in found.rows if row.op == "aten::tanh_backward"]
    assert row.line == "loss = net(torch.randn(5, 7, device=device)).pow(2).mean()"
    (row,) = [row for row in found.rows if row.op == "aten::ones_like"]
    assert row.line == "loss.backward()"
