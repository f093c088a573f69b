"""What makes the host wait for the device, and what does not."""

from __future__ import annotations

import pytest

from .recording import record, torch

functional = torch.nn.functional


def on_cuda(*shape):
    return torch.ones(shape, device="cuda")


WAITS = {
    "item": (lambda: on_cuda().item(), ["copy::d2h", "sync::item"]),
    "bool": (lambda: bool(on_cuda() > 0), ["copy::d2h", "sync::bool"]),
    "if": (lambda: 1 if on_cuda() > 0 else 2, ["copy::d2h", "sync::bool"]),
    "float": (lambda: float(on_cuda()), ["copy::d2h", "sync::float"]),
    "int": (lambda: int(on_cuda()), ["copy::d2h", "sync::int"]),
    "format": (lambda: f"{on_cuda():.3f}", ["copy::d2h", "sync::print"]),
    "tolist": (lambda: on_cuda(3).tolist(), ["copy::d2h", "sync::tolist"]),
    "cpu": (lambda: on_cuda(3).cpu(), ["copy::d2h"]),
    "numpy": (lambda: on_cuda(3).cpu().numpy(), ["copy::d2h"]),
    "nonzero": (lambda: on_cuda(3).nonzero(), ["copy::d2h", "sync::nonzero"]),
    "where": (lambda: torch.where(on_cuda(3) > 0), ["copy::d2h", "sync::nonzero"]),
    "mask as an index": (lambda: on_cuda(3)[on_cuda(3) > 0], ["copy::d2h", "sync::nonzero"]),
    "masked_select": (lambda: on_cuda(3).masked_select(on_cuda(3) > 0), ["copy::d2h", "sync::nonzero"]),
    "unique": (lambda: torch.unique(on_cuda(3)), ["copy::d2h", "sync::unique"]),
    "equal": (lambda: torch.equal(on_cuda(3), on_cuda(3)), ["copy::d2h", "sync::equal"]),
    "repeat_interleave": (
        lambda: torch.repeat_interleave(on_cuda(2), torch.tensor([1, 2], device="cuda")),
        ["copy::h2d", "copy::d2h", "sync::repeat_interleave"],
    ),
    "repeat_interleave of known size": (
        lambda: torch.repeat_interleave(on_cuda(2), torch.tensor([1, 2], device="cuda"), output_size=3),
        ["copy::h2d"],
    ),
    "one_hot": (lambda: functional.one_hot(torch.zeros(3, dtype=torch.long, device="cuda")), ["copy::d2h", "sync::item"]),
    "one_hot of known width": (lambda: functional.one_hot(torch.zeros(3, dtype=torch.long, device="cuda"), 4), []),
    "mask assigned a number": (lambda: on_cuda(3).__setitem__(on_cuda(3) > 0, 0.0), []),
    "host index": (lambda: on_cuda(3)[torch.tensor([0, 1])], ["copy::h2d"]),
    "device index": (lambda: on_cuda(3)[torch.zeros(2, dtype=torch.long, device="cuda")], []),
    "arithmetic": (lambda: (on_cuda(3) * 2 + on_cuda(3).sum()).mean(), []),
    "detach": (lambda: on_cuda(3).detach(), []),
    "inverse": (lambda: torch.linalg.inv(torch.eye(3, device="cuda")), ["copy::d2h", "sync::check"]),
    "nothing on cuda": (lambda: torch.ones(3).sum().item(), []),
}


@pytest.mark.parametrize("name", WAITS)
def test_the_host_waits_exactly_where_cuda_does(name):
    run, expected = WAITS[name]
    assert record(run).waits() == expected


def test_a_wait_names_the_row_that_it_waits_for():
    found = record(lambda: (on_cuda(4) * 2).sum().item())
    copy, wait = found.names.index("copy::d2h"), found.names.index("sync::item")
    assert found.rows[wait].waits_for == copy
    assert found.rows[copy].said["bytes"] == 4


def test_printing_a_tensor_waits_for_what_it_shows():
    assert record(lambda: repr(on_cuda(3))).waits() == ["copy::d2h", "sync::print"]
    assert record(lambda: repr(torch.ones(3))).waits() == []


def test_lengths_on_the_device_are_refused_as_cuda_refuses_them():
    pack = torch.nn.utils.rnn.pack_padded_sequence
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"):
        record(lambda: pack(on_cuda(4, 2, 3), torch.tensor([4, 2], device="cuda")), repair=False)
    found = record(lambda: pack(on_cuda(4, 2, 3), torch.tensor([4, 2], device="cuda")))
    assert "copy::d2h" in found.waits()
