"""Which way a copy goes, from its name: as CUPTI, ROCm, Nsight and XLA write it."""

from __future__ import annotations

import re
from typing import Final

_TO: Final = "HtoD|HostToDevice|H2D|host-to-device"
_FROM: Final = "DtoH|DeviceToHost|D2H|device-to-host"
TO_DEVICE: Final = re.compile(_TO, re.IGNORECASE)
FROM_DEVICE: Final = re.compile(_FROM, re.IGNORECASE)
CROSSING: Final = re.compile(f"{_TO}|{_FROM}", re.IGNORECASE)
