"""Everything that makes a tensor where it is told, and the default device."""

from __future__ import annotations

import pytest

from breakeven.capture.virtual import install

from .recording import record, torch

nn = torch.nn

MADE = {
    "zeros": lambda **o: torch.zeros(2, 3, **o),
    "ones": lambda **o: torch.ones(2, **o),
    "empty": lambda **o: torch.empty(2, **o),
    "full": lambda **o: torch.full((2,), 1.0, **o),
    "rand": lambda **o: torch.rand(2, **o),
    "randn": lambda **o: torch.randn(2, **o),
    "randint": lambda **o: torch.randint(0, 5, (2,), **o),
    "randperm": lambda **o: torch.randperm(4, **o),
    "arange": lambda **o: torch.arange(4, **o),
    "linspace": lambda **o: torch.linspace(0, 1, 4, **o),
    "logspace": lambda **o: torch.logspace(0, 1, 4, **o),
    "eye": lambda **o: torch.eye(3, **o),
    "tensor": lambda **o: torch.tensor([1.0, 2.0], **o),
    "as_tensor": lambda **o: torch.as_tensor([1.0], **o),
    "asarray": lambda **o: torch.asarray([1.0], **o),
    "scalar_tensor": lambda **o: torch.scalar_tensor(1.0, **o),
    "tril_indices": lambda **o: torch.tril_indices(3, 3, **o),
    "hann_window": lambda **o: torch.hann_window(4, **o),
    "fftfreq": lambda **o: torch.fft.fftfreq(4, **o),
    "empty_strided": lambda **o: torch.empty_strided((2,), (1,), **o),
    "sparse_coo_tensor": lambda **o: torch.sparse_coo_tensor([[0]], [1.0], (2,), check_invariants=True, **o),
    "Linear": lambda **o: nn.Linear(2, 2, **o).weight,
    "Embedding": lambda **o: nn.Embedding(3, 2, **o).weight,
    "LSTM": lambda **o: nn.LSTM(2, 2, **o).weight_hh_l0,
    "Parameter": lambda **o: nn.Parameter(torch.zeros(2, **o)),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_on_cuda_is_there(name):
    make = MADE[name]
    with install():
        assert make(device="cuda").device == torch.device("cuda", 0)
        assert make(device=torch.device("cuda:0")).is_cuda
        assert make().device.type == "cpu"
        assert make(device="cpu").device.type == "cpu"


@pytest.mark.parametrize("name", MADE)
def test_the_default_device_makes_it_there(name):
    make = MADE[name]
    with install():
        torch.set_default_device("cuda")
        assert torch.get_default_device().type == "cuda"
        assert make().is_cuda
        assert not make(device="cpu").is_cuda
        torch.set_default_device(None)
        assert not make().is_cuda
        with torch.device("cuda"):
            assert make().is_cuda
        assert not make().is_cuda


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "rand_like", "randn_like", "empty_like"])
def test_a_likeness_is_where_its_model_is_or_where_it_is_told(name):
    with install():
        make = getattr(torch, name)
        there, here = torch.zeros(2, device="cuda"), torch.zeros(2)
        assert make(there).is_cuda
        assert not make(here).is_cuda
        assert make(here, device="cuda").is_cuda
        assert not make(there, device="cpu").is_cuda


def test_new_tensors_are_where_the_old_one_is_or_where_told():
    with install():
        there, here = torch.zeros(2, device="cuda"), torch.zeros(2)
        for make in ("new_zeros", "new_ones", "new_empty"):
            assert getattr(there, make)(3).is_cuda
            assert getattr(here, make)(3, device="cuda").is_cuda
            assert not getattr(there, make)(3, device="cpu").is_cuda
        assert there.new_full((2,), 1.0).is_cuda
        assert there.new_tensor([1.0]).is_cuda
        assert there.new_tensor([1]).dtype is torch.float32


def test_data_from_python_is_copied_and_values_made_on_the_device_are_not():
    found = record(lambda: (torch.tensor([1.0, 2.0], device="cuda"), torch.zeros(4, device="cuda"), torch.rand(4, device="cuda")))
    assert found.waits() == ["copy::h2d"]
    assert found.the("copy::h2d").said["bytes"] == 8
    assert found.the("aten::zeros").device == found.the("aten::rand").device == "cuda:0"


def test_as_tensor_of_an_array_does_not_share_its_memory_with_the_device():
    import numpy as np

    with install():
        array = np.zeros(3, np.float32)
        there = torch.as_tensor(array, device="cuda")
        array[0] = 1
        assert there.cpu().tolist() == [0, 0, 0]


def test_draws_on_cuda_are_those_of_the_plain_script():
    torch.manual_seed(3)
    plain = [torch.rand(3).tolist(), torch.randn(3).tolist(), torch.nn.functional.dropout(torch.ones(9), 0.5).tolist()]
    with install():
        torch.manual_seed(3)
        torch.cuda.manual_seed_all(99)
        dropped = torch.nn.functional.dropout
        virtual = [
            torch.rand(3, device="cuda").cpu(),
            torch.randn(3, device="cuda").cpu(),
            dropped(torch.ones(9).cuda(), 0.5).cpu(),
        ]
        assert [t.tolist() for t in virtual] == plain


def test_a_generator_belongs_to_its_device():
    with install() as session:
        there = torch.Generator(device="cuda").manual_seed(1)
        here = torch.Generator().manual_seed(1)
        assert (there.device.type, here.device.type) == ("cuda", "cpu")
        assert isinstance(there, torch.Generator)
        assert isinstance(torch.default_generator, torch.Generator)
        assert torch.rand(2, device="cuda", generator=there).cpu().tolist() == torch.rand(2, generator=here).tolist()
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
            torch.rand(2, generator=there)
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            torch.rand(2, device="cuda", generator=here)
        assert "generator" in session.facts
