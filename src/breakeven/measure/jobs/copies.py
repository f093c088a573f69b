"""Copies between the host and a device. On the CPU itself, pageable copies are copies in main memory."""

from __future__ import annotations

import torch

from breakeven.errors import InputError
from breakeven.measure.jobs.job import Asked, Job

_MIB = 1 << 20


def copy_h2d(asked: Asked) -> Job:
    """Pageable memory to the device."""
    return _copy(asked, to_device=True, pinned=False)


def copy_h2d_pinned(asked: Asked) -> Job:
    """Page-locked memory to the device, without waiting."""
    return _copy(asked, to_device=True, pinned=True)


def copy_d2h(asked: Asked) -> Job:
    """Device to pageable memory."""
    return _copy(asked, to_device=False, pinned=False)


def copy_d2h_pinned(asked: Asked) -> Job:
    """Device to page-locked memory, without waiting."""
    return _copy(asked, to_device=False, pinned=True)


def _copy(asked: Asked, *, to_device: bool, pinned: bool) -> Job:
    if pinned and asked.device == "cpu":
        raise InputError("a pinned copy needs an accelerator: name one with --device")
    host = torch.ones(asked.size * _MIB, dtype=torch.uint8, pin_memory=pinned)
    there = torch.ones(asked.size * _MIB, dtype=torch.uint8, device=asked.device)
    source, target = (host, there) if to_device else (there, host)
    return Job(lambda: target.copy_(source, non_blocking=pinned), moved=float(asked.size * _MIB))
