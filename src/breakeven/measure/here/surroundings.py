"""Where facts on a machine are read: a root for `/proc`, `/sys` and `/dev`, an environment, a Python. Tests bring their own."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

#: Seconds for which a tool of a driver is waited for: a healthy one takes one or two.
_PATIENCE_S: Final = 30.0


@dataclass(frozen=True)
class Said:
    """What a program said; `code` None: it is not there, or was given up."""

    code: int | None
    text: str


@dataclass(frozen=True)
class Surroundings:
    """What a process finds around it.

    Attributes:
        root: where `/proc`, `/sys` and `/dev` begin.
        environment: its variables; `PATH` says where tools are looked for.
        python: the interpreter whose PyTorch is meant.
        system: as `platform.system()` has it.
        architecture: as `platform.machine()` has it.
        folder: whose disk is asked for.
    """

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable
    system: str = field(default_factory=platform.system)
    architecture: str = field(default_factory=platform.machine)
    folder: Path = field(default_factory=Path.cwd)

    def read(self, path: str) -> str | None:
        """Text of a file below the root; None: it is not there, or not to be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def has(self, path: str) -> bool:
        """Whether something is there."""
        return (self.root / path).exists()

    def may_use(self, path: str) -> bool:
        """Whether a device's file can be read and written."""
        return os.access(self.root / path, os.R_OK | os.W_OK)

    def find(self, pattern: str) -> list[Path]:
        """What matches below the root, in order."""
        return sorted(self.root.glob(pattern))

    def ask(self, *call: str) -> Said:
        """Run a tool of the path, or the Python by its own name."""
        tool = call[0] if Path(call[0]).is_absolute() else shutil.which(call[0], path=self.environment.get("PATH", ""))
        if tool is None:
            return Said(None, "")
        try:
            done = subprocess.run(
                [tool, *call[1:]], env=dict(self.environment), capture_output=True, timeout=_PATIENCE_S, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Said(None, str(error))
        return Said(done.returncode, (done.stdout + (done.stderr if done.returncode else b"")).decode("utf-8", "replace"))
