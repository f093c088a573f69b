"""Autocast and the gradient scaler."""

from __future__ import annotations

import pytest

from .recording import record, torch

nn = torch.nn


def mixed(dtype=torch.float16, scaled=False):
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4))
    kept = []

    def before():
        net.cuda()
        kept.extend((torch.optim.AdamW(net.parameters()), torch.amp.GradScaler("cuda", enabled=scaled)))

    def step():
        optimizer, scaler = kept
        with torch.autocast("cuda", dtype=dtype):
            loss = net(torch.rand(8, 16, device="cuda")).float().square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return record(step, before=before)


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "float16"), (torch.bfloat16, "bfloat16")])
def test_products_are_in_the_lower_precision_and_norms_are_not(dtype, name):
    found = mixed(dtype)
    assert {row.dtype for row in found.rows if row.op in ("aten::addmm", "aten::mm")} == {name}
    assert found.the("aten::relu").dtype == name
    assert found.the("aten::native_layer_norm").dtype == "float32"
    assert {row.dtype for row in found.rows if row.op.startswith("aten::_foreach")} == {"float32"}
    assert found.facts["autocast"][0].values["dtype"] == name


def test_each_weight_is_cast_once_and_its_gradient_cast_back():
    found = mixed()
    casts = [row for row in found.rows if row.op == "aten::_to_copy" and "to" in row.said]
    forward = [row.said["to"] for row in casts if row.phase == "forward" and row.parameters == [True]]
    backward = [row.said["to"] for row in casts if row.phase == "backward" and row.said["to"] == "float32"]
    assert forward == ["float16"] * 4
    assert len(backward) >= 4


def test_outside_of_autocast_nothing_is_half():
    net = nn.Linear(3, 2)

    def step():
        with torch.autocast("cuda", enabled=False):
            net(torch.rand(4, 3, device="cuda")).sum().backward()

    found = record(step, before=net.cuda)
    assert {row.dtype for row in found.rows if row.op.startswith("aten::")} == {"float32"}
    assert "autocast" not in found.facts


def test_values_stay_those_of_float32():
    net = nn.Linear(3, 2)
    data = torch.rand(4, 3)
    plain = net(data)
    found = []

    def step():
        with torch.autocast("cuda"):
            found.append(net(data.cuda()).cpu())

    record(step, before=net.cuda)
    assert torch.equal(found[0], plain)


def test_the_scaler_unscales_in_lists_and_reads_once_whether_it_overflowed():
    found = mixed(scaled=True)
    assert found.the("aten::_amp_foreach_non_finite_check_and_unscale_").phase == "optimizer"
    assert found.waits() == ["copy::d2h", "sync::item"]


def test_half_precision_that_the_script_asks_for_is_real():
    net = nn.Linear(3, 2)
    found = record(lambda: net(torch.rand(4, 3, device="cuda", dtype=torch.bfloat16)), before=lambda: net.cuda().bfloat16())
    assert found.the("aten::addmm").dtype == "bfloat16"
