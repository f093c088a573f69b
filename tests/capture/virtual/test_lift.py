"""A script that never names cuda is lifted."""

from __future__ import annotations

from .recording import record, torch

nn = torch.nn


def training(own_index=True):
    features, targets = torch.rand(64, 5), torch.rand(64, 1)
    kept = []

    def before():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        kept.extend((net, torch.optim.Adam(net.parameters())))

    def step():
        net, optimizer = kept
        loss = nn.functional.mse_loss(net(features[:16]), targets[:16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return before, step


def test_without_lifting_nothing_runs_on_the_device():
    before, step = training()
    found = record(step, before=before)
    assert {row.device for row in found.rows} == {"cpu"}


def test_modules_optimizer_state_and_batches_are_moved():
    before, step = training()
    found = record(step, before=before, lift=True, steps=2)
    assert "lifted" in found.facts
    second = [row for row in found.rows if row.step == 1]
    assert [row.op for row in second if row.op.startswith(("copy::", "sync::"))] == [
        "copy::h2d",
        "copy::h2d",
        "copy::d2h",
        "sync::item",
    ]
    assert all(row.device == "cuda:0" for row in second if row.phase in ("forward", "backward"))
    assert any(row.op.startswith("aten::_foreach_addcdiv_") and row.device == "cuda:0" for row in second)


def test_values_are_those_of_the_plain_script():
    def losses(**options):
        torch.manual_seed(1)
        found = []
        before, step = training()
        record(lambda: found.append(step()), before=before, steps=3, **options)
        return found

    assert losses(lift=True) == losses(lift=False)


def test_a_host_device_that_the_script_names_is_where_it_runs():
    net = nn.Linear(3, 2)

    def step():
        device = torch.device("cpu")
        out = net.to(device)(torch.rand(4, 3).to(device))
        return out.detach().cpu().numpy()

    found = record(step, lift=True)
    assert found.the("aten::addmm").device == "cuda:0"
    assert found.waits() == ["copy::h2d", "copy::d2h"]
