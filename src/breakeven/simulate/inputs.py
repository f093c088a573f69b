"""What the simulator needs to know of prices: the shape of `costs`' records, so that tests can build their own."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class CallPrices(Protocol):
    """Prices per distinct call of a stream; `costs.calls.CallCosts` is one."""

    @property
    def kernels(self) -> NDArray[np.int64]:
        """Kernels that it runs on the device, shape (n,)."""

    @property
    def device_ns(self) -> Floats:
        """Low, mid and high time on the device, shape (3, n)."""

    @property
    def limited_by(self) -> NDArray[np.str_]:
        """compute, bandwidth, small_kernel or empty, shape (n,)."""

    @property
    def engine(self) -> NDArray[np.str_]:
        """stream, copy_h2d, copy_d2h or empty, shape (n,)."""

    @property
    def family(self) -> NDArray[np.str_]:
        """Pricing family; errors within one are correlated, shape (n,)."""


class HostSide(Protocol):
    """The host's times per row of a stream; `costs.host.HostTimes` is one."""

    @property
    def before_ns(self) -> Floats:
        """Python and user time before each row, shape (rows,)."""

    @property
    def issue_ns(self) -> Floats:
        """Framework and launches of each row, shape (rows,)."""

    @property
    def log_sigma(self) -> float:
        """Uncertainty (log scale, shared by all rows) of the framework part."""
