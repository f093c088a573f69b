"""Recurrent layers are one cuDNN call each way, cells are two products and a fused kernel."""

from __future__ import annotations

import pytest

from .recording import record, torch

nn = torch.nn


def backward_of(make, *shape, **options):
    """Records forward and backward of a module on cuda."""
    module = make()

    def step():
        data = torch.rand(shape, device="cuda")
        out = module(data)
        while not isinstance(out, torch.Tensor):
            out = out[0]
        out.sum().backward()

    return record(step, before=module.cuda, **options)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    ("make", "op", "said"),
    [
        (lambda: nn.RNN(3, 5), "cudnn::rnn", {"hidden": 5, "input": 3, "layers": 1, "batch": 2, "timesteps": 7}),
        (lambda: nn.RNN(3, 5, nonlinearity="relu"), "cudnn::rnn", {"hidden": 5}),
        (
            lambda: nn.LSTM(3, 5, 2, dropout=0.5),
            "cudnn::lstm",
            {"hidden": 5, "layers": 2, "dropout": 0.5, "bidirectional": False},
        ),
        (lambda: nn.LSTM(3, 5, bidirectional=True), "cudnn::lstm", {"bidirectional": True, "train": True}),
        (lambda: nn.LSTM(3, 5, batch_first=True), "cudnn::lstm", {"batch": 7, "timesteps": 2}),
        (lambda: nn.LSTM(3, 5, proj_size=2), "cudnn::lstm", {"hidden": 5, "projection": 2}),
        (lambda: nn.GRU(3, 5).eval(), "cudnn::gru", {"hidden": 5, "train": False}),
        (lambda: nn.GRU(3, 5, bias=False), "cudnn::gru", {"hidden": 5}),
        (lambda: nn.LSTM(3, 5).double(), None, {}),
    ],
)
def test_a_layer_is_one_call_forward_and_one_backward(make, op, said):
    if op is None:
        module = make()
        found = record(
            lambda: module(torch.rand(7, 2, 3, device="cuda", dtype=torch.float64))[0].sum().backward(), before=module.cuda
        )
        assert found.the("cudnn::lstm").dtype == "float64"
        return
    found = backward_of(make, 7, 2, 3, steps=2)
    first = [row for row in found.rows if row.step == 1]
    forward = next(row for row in first if row.op == op)
    backward = next(row for row in first if row.op == f"{op}_backward")
    assert [row.op for row in first].count(op) == [row.op for row in first].count(f"{op}_backward") == 1
    assert said.items() <= forward.said.items()
    assert said.items() <= backward.said.items()
    assert (forward.phase, backward.phase) == ("forward", "backward")
    assert forward.said["cpu_ops"] > 1
    assert forward.cpu_ns > 0
    assert backward.cpu_ns > 0
    assert forward.line == backward.line == "out = module(data)"
    assert not {"aten::addmm", "aten::tanh", "aten::sigmoid", "aten::mm"} & {row.op for row in first}
    assert forward.parameters[:2] == [False, False]
    assert all(forward.parameters[-2:])


def test_a_packed_layer_says_how_many_steps_and_tokens_it_has():
    layer = nn.LSTM(3, 5)
    packed = []

    def before():
        layer.cuda()
        packed.append(nn.utils.rnn.pack_padded_sequence(torch.rand(4, 2, 3, device="cuda"), torch.tensor([4, 2])))

    row = record(lambda: layer(packed[0]), before=before).the("cudnn::lstm")
    assert (row.said["batch"], row.said["timesteps"], row.said["tokens"], row.said["packed"]) == (2, 4, 6, True)


def test_without_cudnn_a_layer_runs_in_parts_and_it_is_said():
    layer = nn.RNN(3, 5)
    with torch.backends.cudnn.flags(enabled=False):
        found = backward_of(lambda: layer, 7, 2, 3)
    assert "cudnn::rnn" not in found.names
    assert found.names.count("aten::tanh") == 7
    assert found.facts["unfused_rnn"][0].values["why"] == "torch.backends.cudnn.enabled is False"


@pytest.mark.parametrize(("make", "fused"), [(lambda: nn.LSTMCell(3, 5), "lstm"), (lambda: nn.GRUCell(3, 5), "gru")])
def test_a_cell_is_two_products_and_a_fused_kernel(make, fused):
    found = backward_of(make, 2, 3, steps=2)
    forward = [row.op for row in found.rows if row.phase == "forward" and row.step == 1]
    assert forward[-7:-1] == [
        "aten::zeros" if fused == "lstm" else forward[-7],
        "aten::t",
        "aten::mm",
        "aten::t",
        "aten::mm",
        f"aten::_thnn_fused_{fused}_cell",
    ]
    backward = [row for row in found.rows if row.phase == "backward" and row.step == 1]
    names = [row.op for row in backward]
    assert sum("_thnn_fused" in name for name in names) == 1
    assert names.count("aten::mm") == 2  # the gradients of both weights; neither input wants one


def test_gradients_of_a_cells_weights_are_summed_once_per_time_step():
    cell = nn.LSTMCell(3, 5)

    def step():
        state = None
        for _ in range(4):
            state = cell(torch.rand(2, 3, device="cuda"), state)
        state[0].sum().backward()

    found = record(step, before=cell.cuda)
    sums = [row for row in found.rows if row.phase == "backward" and row.op in ("aten::add", "aten::add_")]
    assert len(sums) == 4 * 3  # four weights, summed over four uses


def test_a_layer_computes_what_it_computes_on_the_cpu():
    def run(device):
        torch.manual_seed(0)
        layer = nn.LSTM(3, 5, 2).to(device)
        losses = []
        for _ in range(3):
            loss = layer(torch.rand(6, 2, 3, device=device))[0].square().mean()
            loss.backward()
            losses += [loss.item(), *(p.grad.sum().item() for p in layer.parameters())]
        return losses

    plain = run("cpu")
    found = []
    record(lambda: found.append(run("cuda")))
    assert found == [plain]


def test_double_backward_through_ordinary_operations_is_recorded():
    def step():
        leaf = torch.rand(3, device="cuda", requires_grad=True)
        (first,) = torch.autograd.grad(leaf.pow(3).sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), leaf)
        assert second.is_cuda

    found = record(step)
    assert sum(row.phase == "backward" for row in found.rows) > 3


def test_dropout_is_one_fused_kernel_each_way():
    found = backward_of(lambda: nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), 2, 3)
    assert found.the("aten::native_dropout").phase == "forward"
    assert found.the("aten::native_dropout_backward").phase == "backward"
    assert "aten::bernoulli_" not in found.names


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_one_fused_kernel_each_way(dropout, causal):
    def step():
        query = torch.rand(2, 2, 5, 8, device="cuda", requires_grad=True)
        nn.functional.scaled_dot_product_attention(query, query, query, dropout_p=dropout, is_causal=causal).sum().backward()

    found = record(step)
    forward = found.the("aten::_scaled_dot_product_efficient_attention")
    assert forward.said["is_causal"] is causal
    assert found.the("aten::_scaled_dot_product_efficient_attention_backward").phase == "backward"
    assert not {"aten::bmm", "aten::_softmax"} & set(found.names)


def test_convolution_and_norms_are_single_calls():
    net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 1, 3), nn.GroupNorm(1, 1))
    found = record(lambda: net(torch.rand(2, 1, 8, 8, device="cuda")).sum().backward(), before=net.cuda)
    assert found.names.count("aten::convolution") == found.names.count("aten::convolution_backward") == 2
    assert found.the("aten::native_batch_norm").said["training"] is True
    assert found.names.count("aten::native_batch_norm_backward") == 1
    assert next(row for row in found.rows if row.op == "aten::convolution").said["padding"] == [1, 1]


def test_embedding_and_loss_are_recorded_with_their_shapes():
    net = nn.Embedding(10, 4)
    found = record(lambda: net(torch.zeros(3, dtype=torch.long, device="cuda")).sum().backward(), before=net.cuda)
    row = found.the("aten::embedding")
    assert (row.inputs, row.outputs, row.parameters) == ([[10, 4], [3]], [[3, 4]], [True, False])
    assert found.the("aten::embedding_dense_backward").phase == "backward"


def test_in_inference_mode_composite_operations_are_taken_apart():
    net = nn.Linear(3, 2)

    def step():
        with torch.inference_mode():
            nn.functional.cross_entropy(net(torch.rand(4, 3, device="cuda")), torch.zeros(4, dtype=torch.long, device="cuda"))

    found = record(step, before=net.cuda)
    assert "aten::addmm" in found.names
    assert "aten::_log_softmax" in found.names
    assert "aten::linear" not in found.names
