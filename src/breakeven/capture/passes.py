"""What happens in a child, pass by pass: patches, hooks, the script, and how its end is written down."""

from __future__ import annotations

import atexit
import builtins
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from breakeven.capture import guard, launching, marks, outcome, program, redirect
from breakeven.capture.request import CPU, PROOF, VIRTUAL, ChildSpec, ScriptEnd
from breakeven.capture.scratch import FREE, Overlay
from breakeven.capture.steps import Listener, Steps, StopAtEdge
from breakeven.capture.timing import Timing
from breakeven.children import die_with_parent
from breakeven.fallbacks import Fallback, listen

#: PyTorch's profiler tells of its starts and stops on standard error, which is the script's, unless this says otherwise.
_PROFILER_LOG: Final = "KINETO_LOG_LEVEL"
_SILENT: Final = "99"


class Pass(Protocol):
    """What both kinds of pass do."""

    pid: int
    warnings: list[str]  # what is to be told of how the script was run

    def finish(self, end: ScriptEnd) -> None:
        """The script has ended: write down what was learned."""


def run_child(path: str) -> None:
    """Run the script under the pass that the spec at `path` names, then end this process."""
    spec = msgspec.json.decode(Path(path).read_bytes(), type=ChildSpec)
    request = spec.request
    die_with_parent()
    overlay = _protect(spec)
    book = marks.Book()
    root = os.getcwd() if spec.module or spec.installed else os.path.dirname(request.target)
    finder = marks.MarkingFinder(root, book, _split_mark(request.mark), request.substitutions)
    running = _prepare(spec, book, overlay, lambda file: file == request.target or finder.owns(file))
    _on_terminate(running)
    end, error = ScriptEnd("ok"), None
    outcome.write(spec.folder, outcome.BEGAN, None)
    try:
        _run(spec, finder, running)
        threading._shutdown()  # type: ignore[attr-defined]  # what Python does next: it waits for the script's threads
    except StopAtEdge:
        end = ScriptEnd("budget")
    except BaseException as raised:  # noqa: BLE001  # the user's code: whatever it raises
        error, end = raised, outcome.ended_by(raised)
    _tell(error, end)
    _finish(running, end)


def _run(spec: ChildSpec, finder: marks.MarkingFinder, running: Pass) -> None:
    """The script; where that is a launcher, the script that it starts."""
    loaded = program.load(spec.request.target, spec.module, spec.request.args, finder)
    beside = sys.path[0]
    if not spec.installed:
        program.run(loaded)
        return
    try:
        with launching.following():
            program.run(loaded)
        return
    except launching.StartedPython as found:
        started = found.with_traceback(None)  # what the launcher held, such as its ports, goes with its frames
    running.warnings.append(launching.take_place(started))
    _on_terminate(running)  # launchers catch signals for their processes
    sys.path.remove(beside)
    call = started.call
    finder.follow(os.getcwd() if call.module else os.path.dirname(os.path.abspath(call.target)))
    target = call.target if call.module else os.path.abspath(call.target)
    program.run(program.load(target, call.module, call.args, finder))


def _protect(spec: ChildSpec) -> Overlay:
    """From here on nothing of the user's can be changed."""
    overlay = Overlay(os.path.join(spec.folder, "scratch"))
    temporary = os.path.join(overlay.folder, "tmp")
    for folder in (overlay.layer, temporary):
        os.makedirs(folder, exist_ok=True)
    os.environ["TMPDIR"] = temporary
    sys.dont_write_bytecode = True
    guard.close((spec.folder, *FREE), lambda path: path.startswith(spec.folder + os.sep) or overlay.is_free(path))
    redirect.install(overlay)
    if spec.order is not None and spec.order.text is not None:  # from here on the script reads so, in this process only
        with open(spec.order.file, "w", encoding="utf-8", newline="") as changed:
            changed.write(spec.order.text)
    return overlay


def _prepare(spec: ChildSpec, book: marks.Book, overlay: Overlay, is_user: Callable[[str], bool]) -> Pass:
    """Everything up to the script's first line."""
    if spec.which == CPU:
        os.environ.setdefault(_PROFILER_LOG, _SILENT)
    import torch

    redirect.redirect_libraries(overlay)
    if spec.which == VIRTUAL:
        if spec.request.threads is not None:
            torch.set_num_threads(spec.request.threads)
        return _prepare_recording(spec, book, is_user)
    if spec.which == PROOF:
        return _prepare_proof(spec, book, is_user)
    return _prepare_timing(spec, book, is_user, str(torch.__version__))


def _prepare_timing(spec: ChildSpec, book: marks.Book, is_user: Callable[[str], bool], torch_version: str) -> Pass:
    from breakeven.capture import cpu_pass, hooks

    asked = cpu_pass.install(is_user) if spec.which == CPU else cpu_pass.Asked(last="cuda")
    synchronise = _load(spec.request.synchronise)
    clock = time.perf_counter_ns if synchronise is None else _after(synchronise)
    timing = Timing(spec, clock, torch_version)
    steps = Steps(book, Listener(clock, is_user, asked.device_of, timing.on_edge, hooks.count_operations))
    timing.steps, timing.named, timing.batch = steps, asked.named, hooks.listen(steps, clock)
    timing.look_at_batch = lambda: hooks.catch_batch(timing.batch)
    setattr(builtins, marks.STEP_NAME, steps.on_mark)
    listen(is_user, lambda found: timing.warnings.append(_at_line(found)))  # for as long as the process lasts
    return timing


def _at_line(found: Fallback) -> str:
    return f"Line {found.line}: {found.sentence}" if found.line is not None else found.sentence


def _prepare_proof(spec: ChildSpec, book: marks.Book, is_user: Callable[[str], bool]) -> Pass:
    import torch

    from breakeven.capture import cpu_pass, hooks
    from breakeven.capture.proof.proving import Proving

    assert spec.order is not None
    compiled = torch.compile, torch.nn.Module.compile
    asked = cpu_pass.install() if spec.order.on_cpu else cpu_pass.Asked(last="cuda")
    torch.compile, torch.nn.Module.compile = compiled  # type: ignore[method-assign]  # an arm runs what its source says
    synchronise = _load(spec.request.synchronise)
    clock = time.perf_counter_ns if synchronise is None else _after(synchronise)
    proving = Proving(spec, spec.order, clock)
    proving.watch.hear_compiled()
    listener = Listener(clock, is_user, asked.device_of, proving.on_edge, _uncounted)  # loops are no steps of a proof
    steps = Steps(book, listener)
    proving.words = book.words
    proving.batch = hooks.listen(steps, clock)
    proving.look_at_batch = lambda: hooks.catch_batch(proving.batch)
    setattr(builtins, marks.STEP_NAME, steps.on_mark)
    proving.begin()
    return proving


def _prepare_recording(spec: ChildSpec, book: marks.Book, is_user: Callable[[str], bool]) -> Pass:
    from breakeven.capture import hooks
    from breakeven.capture.recording import Recording
    from breakeven.capture.virtual import install

    session = install(lift=spec.plan is not None and not spec.plan.named_devices)
    recording = Recording(spec, session, lambda: session.facts)

    def device_of(optimizer: Any) -> str:  # a torch optimizer
        return next((p.device.type for g in optimizer.param_groups for p in g["params"]), "") if optimizer is not None else ""

    clock = time.perf_counter_ns  # which loop it is says the plan
    steps = Steps(
        book, Listener(clock, is_user, device_of, recording.on_edge, _uncounted, recording.on_head, recording.on_statement)
    )
    hooks.listen(steps, clock)
    setattr(builtins, marks.STEP_NAME, steps.on_mark)
    return recording


def _uncounted() -> Callable[[], int]:
    """Instead of counting operations, which puts a mode over all of them."""
    return lambda: 1


def _tell(error: BaseException | None, end: ScriptEnd) -> None:
    if error is not None and end.how == "exception":
        program.show_traceback(error, _is_ours)
    elif end.how == "exit" and end.code and not end.text.startswith("sys.exit("):
        print(end.text, file=sys.stderr)  # noqa: T201  # what Python does with `sys.exit("text")`


def _finish(running: Pass, end: ScriptEnd) -> None:
    if os.getpid() == running.pid:  # else a fork of the script came back to its end: it is not the one that is measured
        running.finish(end)
    if end.how in ("ok", "exit"):
        atexit._run_exitfuncs()
    _flush()
    os._exit(end.code)


def _on_terminate(running: Pass) -> None:
    def ended(_signal: int, _frame: object) -> None:
        if os.getpid() == running.pid:
            running.finish(ScriptEnd("timeout", "the time was up"))
        os._exit(124)

    signal.signal(signal.SIGTERM, ended)
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed by the script, or its reader is gone
            continue


def _after(synchronise: Callable[[], None]) -> Callable[[], int]:
    def now() -> int:
        synchronise()
        return time.perf_counter_ns()

    return now


def _load(name: str | None) -> Callable[[], None] | None:
    if name is None:
        return None
    module, _, function = name.partition(":")
    loaded: Callable[[], None] = getattr(importlib.import_module(module), function)
    return loaded


def _split_mark(mark: str | None) -> tuple[str, int] | None:
    if mark is None:
        return None
    file, _, line = mark.rpartition(":")
    return os.path.realpath(file), int(line)


def _is_ours(file: str) -> bool:
    return os.path.dirname(file) == os.path.dirname(__file__)
