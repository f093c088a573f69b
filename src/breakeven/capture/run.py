"""Runs a user's script in child processes, pass by pass, and gathers what they learned. The parent imports no torch."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from breakeven.capture import outcome, processes, target
from breakeven.capture.request import CPU, DEVICE, VIRTUAL, CaptureRequest, ChildSpec, Plan, ScriptEnd, TimedPass
from breakeven.capture.result import CaptureResult, VirtualPass
from breakeven.capture.starting import Fresh, Starter
from breakeven.capture.stdin import Stdin, take
from breakeven.capture.stored import load_virtual
from breakeven.errors import MissingExtra, NoAnswer
from breakeven.units import NS_PER_S

#: Seconds for which a child may run without one step having ended, and altogether.
FIRST_STEP_S: Final = 90.0
ALTOGETHER_S: Final = 105.0
#: Time that a recorded step may take on top, in steps of the timing pass (a loop of 50,000 small cells takes twice as long).
RECORDED: Final = 2.0
#: Seconds that the child's start and PyTorch's import may take on top of `--seconds`.
START_S: Final = 15.0
POLL_S: Final = 0.05


@dataclass(frozen=True)
class Progress:
    """What is going on: which pass, for how long, and how many steps it has measured so far."""

    which: str
    seconds: float
    steps: int
    done: bool = False


def capture(
    request: CaptureRequest,
    on_progress: Callable[[Progress], None] | None = None,
    after_timing: Callable[[], str | None] | None = None,
    timed: TimedPass | None = None,
    starter: Starter | None = None,
) -> CaptureResult:
    """Run the script of a request under each of its passes.

    A script that fails, is interrupted or never trains is no exception here: the result holds what was learned before, and
    `CaptureResult.error()` says what to tell the user.

    Args:
        request: what to run, and how much of it.
        on_progress: told a few times a second what is going on.
        after_timing: called once, right after the first timing pass: what else is to be measured at the same moment. What it
            returns is the backend's `synchronise` (as in the request) of an accelerator that is here: a script that names one is
            then timed on it as well.
        timed: an earlier timing pass of the same request, where only the recording is asked for now.
        starter: how children are started; None: each as a new process.

    Raises:
        InputError: there is no such script, or it cannot be run as asked.
        MissingExtra: PyTorch is not installed beside the script.
        NoAnswer: a child ended before the script began.
    """
    found = target.resolve(request)
    request = replace(request, target=found.name, cwd=request.cwd or os.getcwd())
    with processes.scratch_folder() as folder:
        stdin = take(folder)
        runner = _Runner(folder, stdin, found, on_progress or (lambda progress: None), starter or Fresh())
        return replace(_passes(runner, request, after_timing, timed), beside_s=runner.beside_s)


def _passes(
    runner: _Runner, request: CaptureRequest, after_timing: Callable[[], str | None] | None, timed_before: TimedPass | None
) -> CaptureResult:
    result, left = CaptureResult(cpu=timed_before), list(request.passes)
    while left:
        which = left.pop(0)
        shown = which == request.passes[0] and request.show_output
        if which == VIRTUAL:
            virtual = runner.virtual(request, _plan(result), shown)
            result = replace(result, virtual=virtual, cpu=_on_device(result.cpu, virtual), warnings=_cut_short(virtual))
        else:
            timed = runner.timed(request, which, shown)
            result = replace(result, cpu=timed) if which == CPU else replace(result, device=timed)
            if which == CPU and _is_hopeless(timed):  # what fails on a real accelerator may still be recorded, and explained
                break
            if after_timing is not None and not runner.interrupted:
                synchronise, after_timing = after_timing(), None
                if synchronise is not None and timed.named_devices and DEVICE not in request.passes:
                    request, left = replace(request, synchronise=synchronise), [DEVICE, *left]
        if runner.interrupted:
            break
    return result


def _is_hopeless(timed: TimedPass) -> bool:
    """Whether another pass would find nothing either: it would wait as long, for no step."""
    if timed.principal is None:
        return timed.end.how != "ok"
    return timed.unit == "run" and timed.end.how == "timeout" and not timed.named_devices


def _plan(result: CaptureResult) -> Plan | None:
    timed = result.cpu or result.device
    if timed is None or timed.principal is None or timed.unit is None:
        return None
    group = timed.principal
    step_ns = min(group.measured_ns, default=0)
    return Plan(
        timed.unit, group.place, group.device, group.loop_line, len(group.samples_ns), timed.named_devices, timed.batch, step_ns
    )


def _cut_short(virtual: VirtualPass) -> tuple[str, ...]:
    if virtual.end.how in ("ok", "budget", "exit", "interrupted"):
        return ()
    what = "recorded nothing" if virtual.stream is None else "recorded less than it should have"
    return (f"the virtual GPU {what}: {virtual.end.text}",)


def _on_device(timed: TimedPass | None, virtual: VirtualPass) -> TimedPass | None:
    """Where the unit is the run: its time in the segments that the virtual GPU works in, as the stream holds no others."""
    if timed is None or timed.principal is None or not timed.segments or not virtual.segments:
        return timed
    time_ns = sum(timed.segments[at][1] for at in virtual.segments if at < len(timed.segments))
    principal = replace(timed.principal, samples_ns=(time_ns,), device="cuda")
    return replace(timed, principal=principal, groups=(principal, *timed.groups[1:]))


@dataclass
class _Runner:
    folder: Path
    stdin: Stdin
    found: target.Target
    on_progress: Callable[[Progress], None]
    starter: Starter
    interrupted: bool = False
    beside_s: float = 0.0

    def timed(self, request: CaptureRequest, which: str, shown: bool) -> TimedPass:
        place = self._place(which)
        killed = self._run(request, which, place, None, shown)
        timed = outcome.read(place, outcome.RESULT, TimedPass)
        if timed is None:
            self._check_began(place, killed)
            return TimedPass(None, None, (), killed or ScriptEnd("killed", "it ended without a word"))
        return replace(timed, end=killed) if killed is not None else timed

    def virtual(self, request: CaptureRequest, plan: Plan | None, shown: bool) -> VirtualPass:
        place = self._place(VIRTUAL)
        killed = self._run(request, VIRTUAL, place, plan, shown)
        virtual = load_virtual(place)
        if virtual is None:
            return VirtualPass(None, killed or ScriptEnd("killed", _last_line(place) or "it ended without a word"))
        return replace(virtual, end=killed) if killed is not None else virtual

    def _place(self, which: str) -> Path:
        place = self.folder / which
        place.mkdir()
        return place

    def _run(self, request: CaptureRequest, which: str, place: Path, plan: Plan | None, shown: bool) -> ScriptEnd | None:
        """Run one child to its end; returns how it ended where it did not say so itself."""
        outcome.write(
            str(place),
            outcome.SPEC,
            ChildSpec(request, which, str(place), self.found.module, plan, installed=self.found.installed),
        )
        stdin = self.stdin.open()
        with (place / "stderr").open("wb") as hidden, open(os.devnull, "wb") as nowhere:
            child = self.starter.start(
                place, request.cwd, stdin, 2 if shown else nowhere.fileno(), 2 if shown else hidden.fileno()
            )
        if stdin is not None:
            os.close(stdin)
        try:
            stopped = self._wait(child, request, which, place, RECORDED * plan.step_ns / NS_PER_S if plan is not None else 0.0)
        except KeyboardInterrupt:
            self.interrupted = True
            stopped = ScriptEnd("interrupted", "interrupted")
            processes.end(child)
        finally:
            self.beside_s += processes.sweep(child)
            self.stdin.close()
        if stopped is None and child.returncode < 0:
            return ScriptEnd("killed", f"killed by {_signal_name(-child.returncode)}", 128 - child.returncode)
        return stopped

    def _wait(self, child: processes.Child, request: CaptureRequest, which: str, place: Path, extra: float) -> ScriptEnd | None:
        began = time.monotonic()
        steps = 0
        while True:
            try:
                child.wait(POLL_S)
                self.on_progress(Progress(which, time.monotonic() - began, steps, done=True))
                return None
            except subprocess.TimeoutExpired:
                spent = time.monotonic() - began
                self.on_progress(Progress(which, spent, steps))
            any_step = (place / outcome.RESULT).exists()
            limit = (ALTOGETHER_S if any_step else FIRST_STEP_S) + extra
            if request.seconds is not None and not request.patient:
                limit = min(limit, START_S + 3 * request.seconds)
            if spent > limit:
                processes.end(child)
                return ScriptEnd(
                    "timeout", f"no step ended within {limit:.0f} s" if not any_step else f"stopped after {limit:.0f} s"
                )

    def _check_began(self, place: Path, killed: ScriptEnd | None) -> None:
        if (place / outcome.BEGAN).exists() or killed is not None:
            return
        said = _last_line(place)
        if "torch" in said and "ModuleNotFoundError" in said:
            raise MissingExtra("PyTorch is not installed for this Python: pip install 'breakeven[torch]'")
        raise NoAnswer(f"the script could not be started: {said or 'see above'}")


def _last_line(place: Path) -> str:
    try:
        lines = (place / "stderr").read_bytes().decode("utf-8", "replace").strip().splitlines()
    except FileNotFoundError:
        return ""
    return lines[-1][:300] if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


__all__ = ["CPU", "DEVICE", "VIRTUAL", "Progress", "capture"]
