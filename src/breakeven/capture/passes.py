"""What happens in a child, pass by pass: patches, hooks, the script, and how its end is written down."""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from breakeven.capture import marks, outcome, program
from breakeven.capture.request import CPU, ChildSpec, ScriptEnd
from breakeven.capture.steps import Listener, Steps, StopAtEdge
from breakeven.capture.timing import Timing, versions


def run_child(path: str) -> None:
    """Run the script under the pass that the spec at `path` names, then end this process."""
    spec = msgspec.json.decode(Path(path).read_bytes(), type=ChildSpec)
    request = spec.request
    book = marks.Book()
    timing = Timing(spec)
    book, finish = _prepare(spec, timing, book)
    mark = _split_mark(request.mark)
    end = ScriptEnd("ok")
    error: BaseException | None = None
    outcome.write(spec.folder, outcome.BEGAN, None)
    try:
        code = program.load(request.target, spec.module, request.args, book, mark)
        program.run(code)
        threading._shutdown()  # type: ignore[attr-defined]  # what Python does next: it waits for the script's threads
    except StopAtEdge:
        end = ScriptEnd("budget")
    except BaseException as raised:  # noqa: BLE001  # the user's code: whatever it raises
        error, end = raised, outcome.ended_by(raised)
    if error is not None and end.how == "exception":
        program.show_traceback(error, _is_ours)
    elif end.how == "exit" and end.code and not end.text.startswith("sys.exit("):
        print(end.text, file=sys.stderr)  # noqa: T201  # what Python does with `sys.exit("text")`
    finish(end)


def _prepare(spec: ChildSpec, timing: Timing, book: marks.Book) -> tuple[marks.Book, Callable[[ScriptEnd], None]]:
    """Everything up to the script's first line; returns what ends the process."""
    import torch

    clock = timing.clock
    device_of: Callable[[Any], str] = lambda optimizer: "cuda"  # noqa: E731  # the device pass: real devices, not told apart
    asked = None
    if spec.which == CPU:
        from breakeven.capture import cpu_pass

        asked = cpu_pass.install()
        device_of = asked.device_of
    synchronise = _load(spec.request.synchronise)
    if synchronise is not None:
        clock = _after(synchronise, timing.clock)
        timing.clock = clock
    root = os.getcwd() if spec.module else os.path.dirname(os.path.abspath(spec.request.target))
    finder = marks.MarkingFinder(root, book)
    target = spec.request.target
    from breakeven.capture import hooks

    steps = Steps(book, Listener(clock, lambda f: f == target or finder.owns(f), device_of, timing.on_edge, hooks.count_operations))
    timing.steps = steps
    batch = hooks.listen(steps, clock)
    timing.after_first_edge = lambda: hooks.catch_batch(batch)  # type: ignore[method-assign]  # told late: torch is not there earlier
    timing.versions = versions(torch.__version__)
    timing.threads = torch.get_num_threads()
    _set_marks(timing, steps)
    save = timing.save

    def save_all(end: ScriptEnd) -> None:
        timing.batch_size = batch.size
        timing.named = tuple(asked.named) if asked is not None else ()
        timing.threads = torch.get_num_threads()
        save(end)

    timing.save = save_all  # type: ignore[method-assign]  # with what only this pass knows
    _on_terminate(timing)
    return book, _finisher(timing)


def _set_marks(timing: Timing, steps: Steps) -> None:
    import builtins

    setattr(builtins, marks.STEP_NAME, steps.on_mark)
    setattr(builtins, marks.BEGIN_NAME, timing.begin)


def _finisher(timing: Timing) -> Callable[[ScriptEnd], None]:
    def finish(end: ScriptEnd) -> None:
        if os.getpid() != timing.pid:  # a fork of the script came back to its end: it is not the one that is measured
            _flush()
            os._exit(end.code)
        timing.save(end)
        if end.how in ("ok", "exit"):
            atexit._run_exitfuncs()
        _flush()
        os._exit(end.code)

    return finish


def _on_terminate(timing: Timing) -> None:
    def ended(_signal: int, _frame: object) -> None:
        if os.getpid() == timing.pid:
            timing.save(ScriptEnd("timeout", "the time was up"))
        os._exit(124)

    signal.signal(signal.SIGTERM, ended)
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed by the script, or its reader is gone
            continue


def _after(synchronise: Callable[[], None], clock: Callable[[], int]) -> Callable[[], int]:
    def now() -> int:
        synchronise()
        return clock()

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
    return os.path.join("", os.path.basename(file)), int(line)


def _is_ours(file: str) -> bool:
    return os.path.dirname(file) == os.path.dirname(__file__)
