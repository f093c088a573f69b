"""Operations that a Mac's GPU hands to the CPU, heard in PyTorch's own warning while it is listened to.

With `PYTORCH_ENABLE_MPS_FALLBACK=1` an operation that Metal lacks runs on the CPU, with a copy there and one back. PyTorch
warns of it once a process (ATen/mps/MPSFallback.mm), so the first such operation is known, and others are not.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

_SAID: Final = re.compile(
    r"operator '(?P<op>[^']+)' is not currently supported on the MPS backend and will fall back to run on the CPU"
)


@dataclass(frozen=True)
class Fallback:
    """An operation that ran on the CPU.

    Attributes:
        operation: such as `aten::_cdist_forward`.
        file: of the user's line that asked for it; None: none was on the stack.
        line: from 1.
    """

    operation: str
    file: str | None
    line: int | None

    @property
    def sentence(self) -> str:
        """What it means."""
        return (
            f"{self.operation} is not there for Apple's GPU and runs on the CPU, with a copy there and one back. "
            "PyTorch names only the first such operation."
        )


def listen(is_users: Callable[[str], bool], tell: Callable[[Fallback], object]) -> Callable[[], None]:
    """Listen; warnings are shown as they would be otherwise.

    Args:
        is_users: whether a file is the user's own.
        tell: is given each fallback.

    Returns:
        What ends it.
    """
    before = warnings.showwarning

    def show(message: Any, *args: Any, **kwargs: Any) -> None:  # a warning or a text; passed on as it is
        said = _SAID.search(str(message))
        if said is not None:
            tell(Fallback(said["op"], *_users_line(sys._getframe(1), is_users)))
        before(message, *args, **kwargs)

    def end() -> None:
        if warnings.showwarning is show:  # else somebody put theirs on top
            warnings.showwarning = before

    warnings.showwarning = show
    return end


def _users_line(frame: FrameType | None, is_users: Callable[[str], bool]) -> tuple[str | None, int | None]:
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None, None
