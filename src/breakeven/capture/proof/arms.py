"""Two arms of a proof as seen from the parent: started together, told in turn what to run, ended together."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from breakeven.capture import outcome, processes
from breakeven.capture.proof.messages import Command, Report
from breakeven.capture.request import PROOF, CaptureRequest, ChildSpec, Order

#: Bytes of numbers that one compared step of an arm may write; some models fit, of larger ones every n-th number is kept.
BYTES_PER_STEP: Final = 64 << 20
#: Where the random generators of both arms start.
SEED: Final = 20_251
_CHUNK: Final = 1 << 16


@dataclass(frozen=True)
class Version:
    """One version of the script.

    Attributes:
        request: how it is called; `target` is resolved.
        module: `target` is a module's name.
        file: the script's file.
        text: its text in this version; None: as it is on the disk.
        on_cpu: it runs on the CPU whatever it names; False: it runs where it says.
    """

    request: CaptureRequest
    module: bool
    file: str
    text: str | None
    on_cpu: bool = True


@dataclass
class Arm:
    """One running child."""

    folder: Path
    process: subprocess.Popen[bytes]
    commands: int
    reports: int
    ended: Report | None = None
    _held: bytes = field(default=b"", repr=False)

    def tell(self, command: Command) -> None:
        """Let it run; `hear` gives what came of it."""
        if self.ended is None:
            with suppress(BrokenPipeError):  # it is gone; `hear` finds its last word
                os.write(self.commands, msgspec.json.encode(command) + b"\n")

    def hear(self, patience_s: float) -> Report:
        """Wait for its report. One with `end` is the last: it is given again to whoever asks later."""
        if self.ended is not None:
            return self.ended
        until = time.monotonic() + patience_s
        while b"\n" not in self._held:
            left = until - time.monotonic()
            ready, _, _ = select.select([self.reports], [], [], max(0.0, min(left, 0.5)))
            if ready:
                chunk = os.read(self.reports, _CHUNK)
                if not chunk:
                    return self._gone()
                self._held += chunk
            elif self.process.poll() is not None and not select.select([self.reports], [], [], 0)[0]:
                return self._gone()
            elif left <= 0:
                self.ended = Report(0, end="timeout", text=f"no step ended within {patience_s:.0f} s")
                return self.ended
        line, self._held = self._held.split(b"\n", 1)
        report = msgspec.json.decode(line, type=Report)
        if report.end is not None:
            self.ended = report
        return report

    def _gone(self) -> Report:
        code = self.process.wait()
        said = (self.folder / "stderr").read_bytes().decode("utf-8", "replace").strip().splitlines()
        self.ended = Report(0, end="killed", text=said[-1][:300] if said else f"it ended with code {code}")
        return self.ended


@contextmanager
def running(versions: tuple[Version, ...]) -> Iterator[tuple[Arm, ...]]:
    """Start one child for each version; all are ended, and their folders gone, afterwards."""
    arms: list[Arm] = []
    with processes.scratch_folder() as folder:
        try:
            for number, version in enumerate(versions):
                place = folder / str(number)
                place.mkdir()
                arms.append(_start(place, version))
            yield tuple(arms)
        finally:
            for arm in arms:
                os.close(arm.commands)  # it ends by itself where it waits for a command
            for arm in arms:
                processes.end(arm.process)
                processes.sweep(arm.process)
                os.close(arm.reports)


def _start(place: Path, version: Version) -> Arm:
    commands, ours = os.pipe()
    theirs, reports = os.pipe()[::-1]
    order = Order(version.file, version.text, commands, theirs, SEED, BYTES_PER_STEP, version.on_cpu)
    request = version.request
    outcome.write(str(place), outcome.SPEC, ChildSpec(request, PROOF, str(place), version.module, None, order))
    with (place / "stderr").open("wb") as hidden:
        child = subprocess.Popen(
            processes.command(place), cwd=request.cwd, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=hidden, pass_fds=(commands, theirs), env=os.environ | {"PYTHONHASHSEED": "0"},
        )  # fmt: skip
    os.close(commands)
    os.close(theirs)
    return Arm(place, child, ours, reports)
