"""A CPU tensor meets a cuda one."""

from __future__ import annotations

import pytest

from .recording import record, torch

nn = torch.nn


def there(*shape):
    return torch.ones(shape, device="cuda")


here = torch.ones

ERRORS = {
    "add": (
        lambda: there(3) + here(3),
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    ),
    "matmul": (
        lambda: there(3, 3) @ here(3, 3),
        "Expected all tensors to be on the same device, but got mat2 is on cpu, different",
    ),
    "linear": (
        lambda: nn.Linear(3, 2).cuda()(here(2, 3)),
        r"but got mat1 is on cpu, different from other tensors on cuda:0 \(when",
    ),
    "cat": (lambda: torch.cat([there(3), here(3)]), "Expected all tensors to be on the same device"),
    "stack of scalars": (lambda: torch.stack([there(), here(())]), "Expected all tensors to be on the same device"),
    "embedding": (lambda: nn.Embedding(3, 2).cuda()(torch.tensor([0])), "but got index is on cpu|Expected all tensors"),
    "convolution": (
        lambda: nn.Conv1d(1, 1, 1).cuda()(here(1, 1, 3)),
        r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) should be the same",
    ),
    "hidden state": (
        lambda: nn.LSTM(3, 2).cuda()(there(4, 1, 3), (here(1, 1, 2), here(1, 1, 2))),
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    ),
    "host layer": (
        lambda: nn.GRU(3, 2)(there(4, 1, 3), there(1, 1, 2)),
        "Input and parameter tensors are not at the same device, found input tensor at cuda:0 and parameter tensor at cpu",
    ),
    "loss": (lambda: nn.functional.mse_loss(there(3), here(3)), "Expected all tensors to be on the same device"),
    "device index into host": (
        lambda: here(3)[torch.zeros(1, dtype=torch.long, device="cuda")],
        "indices should be|Expected all",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_it_raises_what_cuda_raises(name):
    run, message = ERRORS[name]
    with pytest.raises(RuntimeError, match=message):
        record(run, repair=False)


@pytest.mark.parametrize("name", ERRORS)
def test_repaired_it_goes_on_with_a_copy_and_a_fact_that_has_the_line(name):
    run, _ = ERRORS[name]
    found = record(run)
    (fact,) = found.facts["device_mismatch"]
    assert fact.sites[0].file == __file__
    assert "lambda" in fact.sites[0].text
    assert any(row.op in ("copy::h2d", "copy::d2h") for row in found.rows)


def test_a_number_in_a_tensor_may_come_from_the_host():
    found = record(
        lambda: (there(3) * torch.tensor(2.0), torch.where(there(3) > 0, torch.tensor(1.0), there(3)), there(3) + 1), repair=False
    )
    assert "device_mismatch" not in found.facts


def test_a_device_number_may_not_meet_a_host_vector():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        record(lambda: there() + here(3), repair=False)


def test_a_loop_notes_one_line_once_and_counts():
    def step():
        for _ in range(5):
            there(3) + here(3)

    (fact,) = record(step).facts["device_mismatch"]
    assert fact.values["count"] == 5


def test_healthy_training_has_no_mismatch():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = []

    def step():
        loss = nn.functional.cross_entropy(net(there(5, 3)), torch.zeros(5, dtype=torch.long, device="cuda"))
        optimizer[0].zero_grad()
        loss.backward()
        optimizer[0].step()

    def before():
        net.cuda()
        optimizer.append(torch.optim.Adam(net.parameters()))

    assert "device_mismatch" not in record(step, before=before, steps=2, repair=False).facts


@pytest.mark.parametrize(
    "reduce",
    [
        lambda t: t.max(1).values,
        lambda t: t.sort(1).values,
        lambda t: t.gather(1, t.argmax(1, keepdim=True)),
        lambda t: t.cumsum(1),
        lambda t: t.index_select(1, torch.zeros(1, dtype=torch.long, device="cuda")),
        lambda t: nn.functional.pad(t, (1, 1)),
        lambda t: nn.functional.max_pool1d(t[None], 2),
        lambda t: t[:, ::2],
        lambda t: torch.nn.functional.normalize(t),
        lambda t: t.topk(2).values,
        lambda t: t.median(1).values,
        lambda t: t.cummax(1).values,
        lambda t: t.unfold(1, 2, 1),
        lambda t: t.prod(1),
        lambda t: t.std(1),
    ],
)
def test_gradients_that_formulas_make_from_nothing_are_on_cuda(reduce):
    def step():
        leaf = torch.rand(4, 6, device="cuda", requires_grad=True)
        reduce(leaf).sum().backward()
        assert leaf.grad.is_cuda

    assert record(step, repair=False).waits() == []


def test_the_names_on_the_line_are_told_with_the_lines_that_made_them():
    """As the user reads it: which of them is where, and the line to change."""

    def script():
        weights = there(3, 3)
        state = here(3, 3)
        return weights @ state

    (fact,) = record(script).facts["device_mismatch"]
    first = script.__code__.co_firstlineno
    assert fact.values["operands"] == f"weights (line {first + 1}) on cuda:0, state (line {first + 2}) on cpu"
    assert [(line, text) for _, line, text in fact.values["made"]] == [(first + 2, "state = here(3, 3)")]


def test_a_hidden_state_that_a_module_keeps_is_named_with_the_line_that_made_it():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 2)
            self.start = here(1, 1, 2)

        def forward(self, x):
            return self.rnn(x, (self.start, self.start))

    (fact,) = record(lambda: Net().cuda()(there(4, 1, 3))).facts["device_mismatch"]
    assert ", self.start (line " in fact.values["operands"]
    assert fact.values["operands"].endswith(") on cpu")
    assert [text for _, _, text in fact.values["made"]] == ["self.start = here(1, 1, 2)"]
