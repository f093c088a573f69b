"""Jobs of one network layer or a few, forward and backward."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from breakeven.measure.jobs.job import Asked, Job

_STEPS, _BATCH = 100, 32
_PIXELS, _CHANNELS = 64, (3, 16, 32, 32)


def lstm(asked: Asked) -> Job:
    """One LSTM layer: eight products of hidden by hidden for each time step and sample, three times with the backward pass."""
    layer = nn.LSTM(asked.size, asked.size).to(asked.device, asked.torch_dtype())
    x = torch.randn(_STEPS, _BATCH, asked.size, device=asked.device).to(asked.torch_dtype())

    def call() -> None:
        layer.zero_grad()
        torch.autograd.backward(layer(x)[0].sum())

    return Job(call, flops=3 * 2.0 * 8 * asked.size**2 * _STEPS * _BATCH)


def cnn(asked: Asked) -> Job:
    """Three convolutions of 3 x 3 with ReLU, forward and backward."""
    layers: list[nn.Module] = []
    flops = 0.0
    for into, out in pairwise(_CHANNELS):
        layers += [nn.Conv2d(into, out, 3, padding=1), nn.ReLU()]
        flops += 2.0 * 9 * into * out * _PIXELS**2 * asked.size
    net = nn.Sequential(*layers).to(asked.device, asked.torch_dtype())
    x = torch.randn(asked.size, 3, _PIXELS, _PIXELS, device=asked.device).to(asked.torch_dtype())
    if asked.channels_last:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it

    def call() -> None:
        net.zero_grad()
        torch.autograd.backward(net(x).sum())

    return Job(call, flops=3 * flops, images=True)
