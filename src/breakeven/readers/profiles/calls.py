"""What the names of host events mean: calls of the CUDA and HIP runtimes, annotations of PyTorch.

Names are looked at once per distinct name. What it does not know: why a call took long; `diagnose.first_calls` does.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from breakeven.timeline.schema import Kind, Phase

#: What profilers of PyTorch call the mark of a step; its number follows.
STEP_MARK: Final = "ProfilerStep"

#: What PyTorch calls a step of an optimizer.
OPTIMIZER_MARK: Final = re.compile(r"^Optimizer\.step#|^Optimizer\.step$")

_LOADER: Final = re.compile(
    r"^enumerate\(DataLoader\)|^DataLoader|_(?:Single|Multi)ProcessDataLoaderIter|^dataloader\b", re.IGNORECASE
)
_PINNING: Final = re.compile(r"aten::pin_memory$|aten::_pin_memory$")
_HOST_COLLECTIVE: Final = re.compile(r"^(?:gloo|mpi|ucc):", re.IGNORECASE)

_WAITS: Final = re.compile(
    r"Synchronize(?:_ptsz|_v\d+)?$|^(?:cuda|cu|hip)Memcpy(?:2D|3D|HtoD|DtoH|DtoD|Peer)?(?:_v\d+|_ptsz|_ptds)*$|^hsa_signal_wait"
)
_LAUNCHES: Final = re.compile(r"(?:Launch|Memcpy\w*Async|Memset\w*Async|GraphLaunch|^(?:cuda|cu|hip)Memset)", re.IGNORECASE)
_ALLOCATES: Final = re.compile(
    r"^(?:cuda|hip)(?:Malloc|Free|HostAlloc|HostMalloc|HostFree|HostRegister|HostUnregister|ExtMalloc)"
    r"|^(?:cu|hip)Mem(?:Alloc|Free|Create|Map|Unmap|Release|SetAccess|AddressReserve|AddressFree|HostAlloc|HostRegister)"
)
_SETS_UP: Final = re.compile(
    r"^(?:cu|hip|cuda)(?:Module|Library|Kernel)(?:Load|Get|Unload|Enumerate)|^cuInit|^hipInit|^(?:cuda|hip|cu)(?:SetDevice|DevicePrimaryCtx|CtxCreate|"
    r"DeviceReset|GetDeviceProperties|DeviceGet\w*Count|GetDeviceCount)|^nvrtc|^cuLink|^hiprtc|^(?:cuda|hip)RegisterFat|^cuGetProcAddress|"
    r"^(?:cuda|hip)Graph(?:Instantiate|ExecUpdate)|^(?:cuda|hip)StreamCreate|^(?:cuda|hip)EventCreate(?!WithFlags)"
)


class Meaning(NamedTuple):
    """Kind, cause and phase of a host event; None: not known."""

    kind: str
    cause: str | None = None
    phase: str | None = None


def of_call(name: str) -> Meaning:
    """Meaning of a call of the runtime or the driver.

    >>> of_call("cudaLaunchKernel").kind, of_call("hipMalloc").kind, of_call("cudaStreamSynchronize").kind
    ('launch', 'alloc', 'sync')
    """
    if _SETS_UP.search(name):
        return Meaning(Kind.HOST, "warmup")
    if _WAITS.search(name):
        return Meaning(Kind.SYNC)
    if _ALLOCATES.search(name):
        return Meaning(Kind.ALLOC)
    if _LAUNCHES.search(name):
        return Meaning(Kind.LAUNCH)
    return Meaning(Kind.HOST)


def of_annotation(name: str) -> Meaning:
    """Meaning of an operation or an annotation on the host."""
    if name.startswith("aten::"):  # most of them
        return Meaning(Kind.HOST)
    if name.startswith(STEP_MARK):
        return Meaning(Kind.STEP)
    if _LOADER.search(name):
        return Meaning(Kind.HOST, "input", Phase.INPUT)
    if _HOST_COLLECTIVE.search(name):
        return Meaning(Kind.COMMUNICATION)
    if OPTIMIZER_MARK.search(name):
        return Meaning(Kind.HOST, None, Phase.OPTIMIZER)
    if name.startswith("autograd::engine"):
        return Meaning(Kind.HOST, None, Phase.BACKWARD)
    return Meaning(Kind.HOST)
