"""`.to`, `.cuda`, `.device` and their like on tensors, modules, packed sequences and batches."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

from breakeven.capture.virtual import install

from .recording import record, torch

nn = torch.nn


@pytest.mark.parametrize(
    "move",
    [
        lambda t: t.cuda(),
        lambda t: t.to("cuda"),
        lambda t: t.to("cuda:0"),
        lambda t: t.to(torch.device("cuda")),
        lambda t: t.to(0),
        lambda t: t.to(device="cuda", dtype=torch.float64),
        lambda t: t.to(torch.zeros(1, device="cuda")),
        lambda t: t.type(torch.cuda.FloatTensor),
        lambda t: t.type("torch.cuda.FloatTensor"),
        lambda t: t.cuda(non_blocking=True),
        lambda t: t.pin_memory().to("cuda", non_blocking=True),
        lambda t: t.to("cuda", torch.float16),
    ],
)
def test_a_moved_tensor_says_that_it_is_on_cuda(move):
    with install():
        here = torch.ones(2, 3)
        there = move(here)
        assert (there.device, there.is_cuda, there.get_device(), there.is_cpu) == (torch.device("cuda", 0), True, 0, False)
        assert (here.device.type, here.is_cuda, here.get_device()) == ("cpu", False, -1)
        assert there.type().startswith("torch.cuda.")
        assert there.cpu().device.type == "cpu"


def test_a_move_is_one_copy_of_the_bytes_in_the_dtype_asked_for():
    found = record(lambda: torch.ones(4, 8).to("cuda", torch.float64))
    row = found.the("copy::h2d")
    assert row.said == {"bytes": 4 * 8 * 8, "pinned": False, "non_blocking": False}
    assert row.waits_for == found.rows.index(row)


def test_a_pinned_copy_that_does_not_block_waits_for_nothing():
    found = record(lambda: torch.ones(4).pin_memory().to("cuda", non_blocking=True))
    row = found.the("copy::h2d")
    assert (row.said["pinned"], row.said["non_blocking"], row.waits_for) == (True, True, -1)


def test_a_pageable_copy_waits_even_where_it_was_asked_not_to_block():
    found = record(lambda: torch.ones(4).to("cuda", non_blocking=True))
    assert found.the("copy::h2d").waits_for >= 0


def test_a_second_move_to_the_same_device_copies_nothing():
    def step():
        there = torch.ones(4, device="cuda")
        assert there.to("cuda") is there
        assert there.cuda() is there

    assert record(step).waits() == []


def test_modules_move_with_parameters_buffers_and_gradients():
    with install():
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        net(torch.ones(2, 3)).sum().backward()
        net.to("cuda")
        assert {t.device.type for t in (*net.parameters(), *net.buffers())} == {"cuda"}
        assert net[0].weight.grad.device.type == "cuda"
        assert all(isinstance(p, nn.Parameter) for p in net.parameters())
        net.cpu()
        assert {t.device.type for t in net.parameters()} == {"cpu"}


def test_packed_sequences_and_nested_batches_move():
    with install():
        packed = nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2, 3), torch.tensor([4, 2])).to("cuda")
        assert packed.is_cuda
        assert packed.data.is_cuda
        assert not packed.batch_sizes.is_cuda
        padded, lengths = nn.utils.rnn.pad_packed_sequence(packed)
        assert padded.is_cuda
        assert not lengths.is_cuda


def test_a_view_is_where_its_base_is():
    with install():
        there = torch.arange(12, device="cuda").view(3, 4)
        assert all(t.is_cuda for t in (there[1], there.t(), there[:, 1:], there.unbind()[0], there.detach(), there.data))


def test_results_of_cuda_tensors_are_on_cuda_and_others_are_not():
    with install():
        there, here = torch.ones(3, device="cuda"), torch.ones(3)
        assert (there + 1).is_cuda
        assert (there * torch.tensor(2.0)).is_cuda
        assert torch.stack([there, there]).is_cuda
        assert all(t.is_cuda for t in there.max(0))
        assert not (here + 1).is_cuda


def test_a_mark_does_not_outlive_its_storage():
    """A storage's address is used again as soon as it is free; what is made there is on the CPU."""
    with install() as session:
        for _ in range(3000):
            torch.ones(16, device="cuda")
            assert not torch.ones(16).is_cuda
        session.recorder.marks.purge()
        assert len(session.recorder.marks.flags) < 50


def test_gradients_flow_back_through_a_move_to_where_the_leaf_is():
    def step():
        leaf = torch.ones(3, requires_grad=True)
        (leaf.to("cuda") * 2).sum().backward()
        assert leaf.grad.device.type == "cpu"
        assert leaf.grad.tolist() == [2, 2, 2]

    assert record(step).waits() == ["copy::h2d", "copy::d2h"]


def test_numpy_of_a_cuda_tensor_raises_what_cuda_raises():
    with install():
        there = torch.ones(3, device="cuda")
        for read in (lambda: there.numpy(), lambda: np.asarray(there), lambda: there.__array__()):
            with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
                read()
        assert there.cpu().numpy().tolist() == [1, 1, 1]


def test_a_printed_tensor_names_its_device():
    with install():
        assert repr(torch.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"
        assert repr(torch.ones(2)) == "tensor([1., 1.])"


def test_copies_and_pickles_of_a_cuda_tensor_are_on_cuda():
    with install():
        net = nn.Linear(2, 2).cuda()
        there = torch.ones(3, device="cuda")
        assert all(p.is_cuda for p in copy.deepcopy(net).parameters())
        assert copy.deepcopy(there).is_cuda
        assert pickle.loads(pickle.dumps(there)).is_cuda
        assert there.clone().is_cuda


def test_a_device_that_is_not_there_raises():
    with install(), pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2).to("cuda:1")


def test_copy_between_devices_is_a_copy_row():
    def step():
        there, here = torch.zeros(4, device="cuda"), torch.ones(4)
        there.copy_(here)
        here.copy_(there)
        assert there.is_cuda
        assert not here.is_cuda

    assert record(step).waits() == ["copy::h2d", "copy::d2h"]


def test_saved_and_loaded_tensors_keep_or_change_their_device():
    with install():
        file = io.BytesIO()
        torch.save({"w": torch.ones(3, device="cuda"), "b": torch.ones(2)}, file)

        def load(**options):
            file.seek(0)
            found = torch.load(file, **options)
            return found["w"].device.type, found["b"].device.type

        assert load() == ("cuda", "cpu")
        assert load(map_location="cuda") == ("cuda", "cuda")
        assert load(map_location=torch.device("cuda:0")) == ("cuda", "cuda")
        assert load(map_location="cpu") == ("cpu", "cpu")
        assert load(map_location=lambda storage, where: storage) == ("cpu", "cpu")
        assert load(map_location={"cuda:0": "cpu"}) == ("cpu", "cpu")


def test_saving_is_host_work_and_a_copy_of_each_device_storage():
    net = nn.Linear(4, 4)
    found = record(lambda: torch.save(net.state_dict(), io.BytesIO()), before=net.cuda)
    assert found.names.count("copy::d2h") == 2
    assert found.the("host::save").host_ns > 0


def test_everything_is_put_back():
    names = ("zeros", "tensor", "Generator", "compile", "save", "lstm")
    before = [getattr(torch, n) for n in names]
    tensor = {n: torch.Tensor.__dict__.get(n) for n in ("to", "cuda", "device", "numpy", "__bool__")}
    cuda = {n: getattr(torch.cuda, n) for n in dir(torch.cuda)}
    with install():
        pass
    assert [getattr(torch, n) for n in names] == before
    assert {n: torch.Tensor.__dict__.get(n) for n in tensor} == tensor
    assert {n: getattr(torch.cuda, n) for n in cuda} == cuda
    assert not torch.cuda.is_available()
    assert torch.ones(2).device.type == "cpu"
