"""Which line of the user's files is running: the innermost frame that is not of Python, of a package or of breakeven."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import CodeType, FrameType

from breakeven.timeline import Site

#: No line of the user's is on the stack.
NOWHERE = -1


class Sites:
    """Numbers for source lines; looking one up costs a walk up the stack and two dictionary look-ups."""

    def __init__(self, *, own: tuple[str, ...] | None = None) -> None:
        self.sites: list[Site] = []
        self._numbers: dict[Site, int] = {}
        # Code objects hash by content, slowly; by identity it is fast, and the object is kept so that the identity stays its own.
        self._codes: dict[int, tuple[CodeType, dict[int, int] | None]] = {}
        self.spot = (0, 0)  # code and instruction that the last look-up found
        self._foreign = _foreign_roots() if own is None else own

    def here(self, depth: int = 2) -> int:
        """Number of the user's line that is running, seen from `depth` frames up; `NOWHERE` without one."""
        frame: FrameType | None = sys._getframe(depth)
        codes = self._codes
        while frame is not None:
            code = frame.f_code
            known = codes.get(id(code))
            if known is None:
                known = codes[id(code)] = (code, {} if self.is_users(code) else None)
            lines = known[1]
            if lines is not None:
                self.spot = (id(code), frame.f_lasti)
                number = lines.get(frame.f_lasti)
                return self._enter(frame, lines) if number is None else number
            frame = frame.f_back
        return NOWHERE

    def is_users(self, code: CodeType) -> bool:
        """Whether this code was written by the user."""
        return self.is_users_file(code.co_filename)

    def is_users_file(self, file: str) -> bool:
        """Whether a file is the user's."""
        return not (file.startswith("<") or os.path.abspath(file).startswith(self._foreign))

    def at(self, number: int) -> Site | None:
        """The line that has this number."""
        return None if number == NOWHERE else self.sites[number]

    def _enter(self, frame: FrameType, lines: dict[int, int]) -> int:
        file, line = frame.f_code.co_filename, frame.f_lineno
        site = Site(file, line, linecache.getline(file, line).strip(), frame.f_code.co_name)
        number = self._numbers.setdefault(site, len(self.sites))
        if number == len(self.sites):
            self.sites.append(site)
        lines[frame.f_lasti] = number
        return number


def _foreign_roots() -> tuple[str, ...]:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # …/breakeven
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    roots = {os.path.join(os.path.abspath(sysconfig.get_path(name)), "") for name in names}
    roots |= {os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""), os.path.join(package, "")}
    roots |= {os.path.join(path, "") for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    return tuple(sorted(roots))
