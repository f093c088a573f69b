"""Fitted constants of the host model (`data/host.json`, made by `tools/fit_host.py`) and what one call costs the host by them.

All times are those of the reference host that the file names, without a profiler. A host that is not the reference multiplies
them by its scale. Python's own time between operations is a mean over real training loops, not this script's: `host_times`
corrects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import msgspec

from breakeven.costs.host_classes import ALLOCATION, FOREACH, QUESTION, UNKNOWN, VIEW, host_class
from breakeven.units import NS_PER_US


class HostModel(msgspec.Struct, frozen=True):
    """Constants in microseconds on the reference host.

    Attributes:
        reference: trace whose host has scale 1.
        classes_us: time inside an operation of a class when it runs on a GPU, its runtime calls left out.
        gap_us: Python and framework between two operations from the user's thread; `gaps_us`: before one of a class.
        node_us: autograd engine's bookkeeping per operation that it issues on a GPU; `nodes_us`: before one of a class.
        cpu_node_us: the same on a CPU.
        launch_us, copy_call_us, sync_call_us: one runtime call.
        foreach_tensor_us: a list operation, per tensor of its list.
        optimizer_call_us: an optimizer's `step` and `zero_grad` beside the operations that they issue.
        backward_call_us: starting and ending one backward pass.
        dispatch_us: what the dispatch probe would say on the reference host.
        gap_log_sd: log spread of traces' mean gap about `gap_us` times their scale: how scripts differ in their Python.
        step_log_sd: log error of a whole trace's issuing time, its own scale known.
    """

    reference: str
    classes_us: dict[str, float]
    gap_us: float
    gaps_us: dict[str, float]
    gap_log_sd: float
    node_us: float
    nodes_us: dict[str, float]
    cpu_node_us: float
    launch_us: float
    copy_call_us: float
    sync_call_us: float
    foreach_tensor_us: float
    backward_call_us: float
    optimizer_call_us: float
    dispatch_us: float
    step_log_sd: float
    scales: dict[str, float]


class HostCost(msgspec.Struct, frozen=True):
    """One call's host time, ns on the reference host: issued from Python, from the engine, and its framework part on a CPU."""

    forward_ns: float
    backward_ns: float
    cpu_forward_ns: float
    cpu_backward_ns: float


@lru_cache(maxsize=1)
def host_model() -> HostModel:
    """The fitted constants."""
    data = files("breakeven.costs").joinpath("data/host.json").read_bytes()
    return msgspec.json.decode(data, type=HostModel)


def host_cost(name: str, kernels: int, tensors: int, device: str, model: HostModel) -> HostCost:
    """Host time of one call.

    Args:
        name: operation of a stream (ARCHITECTURE.md).
        kernels: launches that it makes on the device.
        tensors: tensors of its lists, for list operations.
        device: logical device that it runs on.
        model: fitted constants.
    """
    prefix = name.partition("::")[0]
    if prefix == "host":
        return HostCost(0.0, 0.0, 0.0, 0.0)  # its length is its row's `host_ns`
    label = host_class(name)
    cpu = model.classes_us[VIEW]
    if prefix == "sync":
        inside = model.sync_call_us
    elif prefix == "copy":
        inside = model.classes_us["copy"] + model.copy_call_us
    elif device == "cpu":
        inside = cpu
    else:
        inside = _class_us(label, tensors, model) + kernels * model.launch_us
    on_cpu = UNKNOWN if label == FOREACH else label  # the CPU's optimizers loop over tensors, one plain operation each
    cpu_gap, cpu_node = model.gaps_us.get(on_cpu, model.gap_us), model.nodes_us.get(on_cpu, model.node_us)
    gap, node = model.gaps_us.get(label, model.gap_us), model.nodes_us.get(label, model.node_us)
    return HostCost(
        forward_ns=(gap + inside) * NS_PER_US,
        backward_ns=(node + inside) * NS_PER_US,
        cpu_forward_ns=(cpu_gap + cpu) * NS_PER_US,
        cpu_backward_ns=(cpu_node * model.cpu_node_us / model.node_us + cpu) * NS_PER_US,
    )


def _class_us(label: str, tensors: int, model: HostModel) -> float:
    classes: Mapping[str, float] = model.classes_us
    if label == FOREACH:
        return classes[UNKNOWN] + tensors * model.foreach_tensor_us
    if label == QUESTION:
        return classes[ALLOCATION]
    if label in classes:
        return classes[label]
    return classes[_LIKE.get(label, UNKNOWN)]


#: Classes that no trace shows, taken for the nearest one that some do.
_LIKE = {
    "recurrent": "convolution",  # one cuDNN call with descriptors and a workspace, as a convolution is
    "cell": "index",
    "algebra": "convolution",
}
