"""Scripts that end early, misbehave or do nothing: each gets its one clear end, and what was learned before is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from breakeven.errors import InputError, NoAnswer, ScriptFailed
from tests.capture.sources import training

Run = Callable[..., CaptureResult]


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("missing.py", None, "no such script"),
        ("broken.py", "x = 1\nfor i in range(3)\n    pass\n", r"broken\.py:2: expected ':'"),
        ("nulls.py", "x = 1\0\n", "null bytes"),
        ("folder.py", "", ""),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line_before_a_child_is_started(
    tmp_path: Path, name: str, source: str | None, says: str
) -> None:
    if name == "folder.py":
        (tmp_path / name).mkdir()
        says = "is a directory"
    elif source is not None:
        (tmp_path / name).write_text(source)
    with pytest.raises(InputError, match=says) as raised:
        capture(CaptureRequest(str(tmp_path / name)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"steps": 0}, "--steps 0"),
        ({"seconds": -1.0}, "--seconds -1"),
        ({"mark": "train.py"}, "FILE:LINE"),
        ({"mark": "train.py:2"}, "line 1"),
    ],
)
def test_numbers_and_marks_that_cannot_be_are_refused_with_the_way_out(
    tmp_path: Path, asked: dict[str, object], says: str
) -> None:
    (tmp_path / "train.py").write_text("x = 1\n\n")
    with pytest.raises(InputError, match=says):
        capture(CaptureRequest("train.py", cwd=str(tmp_path), **asked))  # type: ignore[arg-type]  # the table's own words


ENDS = {
    "an exception at step 7 keeps the six steps before it": (
        training("if step == 7: raise ValueError('boom')"), "exception", "ValueError: boom", 8,
    ),
    "sys.exit(3) half way is a failure": (training("import sys\nif step == 9: sys.exit(3)"), "exit", "sys.exit(3)", 10),
    "a KeyboardInterrupt of its own": (training("if step == 9: raise KeyboardInterrupt"), "exception", "KeyboardInterrupt", 10),
    "memory that it cannot get": (
        training("if step == 9:\n    torch.empty(2**60)"), "exception", "RuntimeError: ", 10,
    ),
    "killed by a signal": (
        training("import os, signal\nif step == 9: os.kill(os.getpid(), signal.SIGKILL)"), "killed", "SIGKILL", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_a_script_that_fails_keeps_what_was_learned_before(run_script: Run, capfd: pytest.CaptureFixture[str], case: str) -> None:
    source, how, text, least = ENDS[case]
    result = run_script(source, steps=1000)
    assert result.cpu is not None
    assert result.cpu.end.how == how
    assert text in result.cpu.end.text
    assert result.cpu.principal is not None
    assert len(result.cpu.principal.samples_ns) >= least
    assert isinstance(result.error(), ScriptFailed)
    shown = capfd.readouterr()
    assert shown.out == ""
    if how == "exception":
        assert "train.py" in shown.err
        assert "breakeven" not in shown.err.replace("breakeven-", "")


def test_sys_exit_without_a_code_half_way_is_no_failure(run_script: Run) -> None:
    result = run_script(training("import sys\nif step == 9: sys.exit()"), steps=1000)
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.end.how == "exit"
    assert result.cpu.unit == "step"


def test_an_endless_training_ends_at_a_steps_edge_and_bare_excepts_do_not_keep_it(run_script: Run) -> None:
    source = training(steps=10**9).replace("    sgd.step()", "    try:\n        sgd.step()\n    except:\n        pass")
    result = run_script(source)
    assert result.cpu is not None
    assert result.cpu.end.how == "budget"
    assert result.error() is None


def test_a_finally_and_a_context_manager_run_when_the_budget_ends_a_script(
    run_script: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    source = "try:\n" + textwrap.indent(training(steps=10**9), "    ") + "finally:\n    print('put away', flush=True)\n"
    assert run_script(source).error() is None
    assert "put away" in capfd.readouterr().err


def test_an_endless_loop_without_a_step_is_ended_by_the_clock(run_script: Run) -> None:
    result = run_script("import torch\nwhile True:\n    pass\n", steps=None, seconds=0.2)
    assert result.cpu is not None
    assert result.cpu.end.how == "timeout"
    assert isinstance(result.error(), NoAnswer)


def test_a_script_that_trains_nothing_is_one_run(run_script: Run) -> None:
    result = run_script("print('hello')\nfor i in range(1000):\n    x = i * i\n")
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.unit == "run"


def test_forks_and_threads_of_the_script_do_not_confuse_the_count(run_script: Run) -> None:
    source = (
        textwrap.dedent("""\
        import os, threading
        threading.Thread(target=sum, args=(range(10**6),)).start()
        if os.fork() == 0:
            import torch
        """)
        + training("if step == 5 and os.fork() == 0:\n    os._exit(0)", steps=30)
        + "os.wait()\n"
    )
    result = run_script(source, steps=1000)
    assert result.cpu is not None
    assert result.cpu.principal is not None
    assert len(result.cpu.principal.samples_ns) == 30
    assert result.cpu.end.how == "ok"


def test_a_training_in_a_thread_is_found(run_script: Run) -> None:
    source = (
        "def work():\n"
        + textwrap.indent(training(steps=500), "    ")
        + "import threading\nthreading.Thread(target=work).start()\n"
    )
    result = run_script(source)
    assert result.cpu is not None
    assert result.cpu.unit == "step"
    assert result.error() is None


def test_output_that_is_not_utf8_passes_through_as_it_is(run_script: Run, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = training("import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\n')\nsys.stdout.flush()")
    assert run_script(source).error() is None
    shown = capfdbinary.readouterr()
    assert shown.out == b""
    assert b"\xff\xfe\n" in shown.err


def test_a_source_in_latin_1_is_read_as_python_reads_it(run_script: Run) -> None:
    source = b"# -*- coding: latin-1 -*-\nname = '\xe9'\nassert len(name) == 1\n" + training().encode()
    assert run_script(source).error() is None


def test_ten_gigabytes_that_are_never_touched_do_no_harm(run_script: Run) -> None:
    result = run_script(training("big = torch.empty(10 * 2**30, dtype=torch.uint8)"))
    assert result.error() is None
    assert result.cpu is not None
    assert (result.cpu.peak_rss_bytes or 0) < 2 * 2**30


def test_a_script_in_a_read_only_directory_runs_and_may_write(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    (folder / "train.py").write_text(training("torch.save(net.state_dict(), 'model.pt')"))
    folder.chmod(0o555)
    try:
        result = capture(CaptureRequest("train.py", cwd=str(folder), passes=("cpu",), steps=5))
    finally:
        folder.chmod(0o755)
    assert result.error() is None
    assert [p.name for p in folder.iterdir()] == ["train.py"]


def test_standard_input_and_arguments_are_the_scripts_own_in_every_pass(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import sys\nassert sys.argv[1:] == ['--lr', '0.1'], sys.argv\nassert sys.stdin.read() == 'words\\n'\n" + training()
    )
    ask = (
        "from breakeven.capture.run import capture\nfrom breakeven.capture.request import CaptureRequest\n"
        "r = capture(CaptureRequest('train.py', ('--lr', '0.1'), steps=5))\n"
        "assert r.error() is None, r.error()\nassert r.virtual.stream is not None, r.virtual.end\n"
    )
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, input=b"words\n", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_ctrl_c_ends_the_child_and_keeps_what_it_had_measured(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        training("print('pid', os.getpid(), flush=True)", steps=10**9).replace("import torch", "import os, torch")
    )
    ask = (
        "from breakeven.capture.run import capture\nfrom breakeven.capture.request import CaptureRequest\n"
        "r = capture(CaptureRequest('train.py', seconds=300.0))\n"
        "print(type(r.error()).__name__, len(r.cpu.principal.samples_ns) > 0, r.virtual)\n"
    )
    asker = subprocess.Popen([sys.executable, "-c", ask], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert asker.stderr is not None
    line = next(line for line in asker.stderr if line.startswith("pid"))
    for _ in range(50):
        asker.stderr.readline()
    asker.send_signal(signal.SIGINT)
    out, _ = asker.communicate()
    assert out.split() == ["Interrupted", "True", "None"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(line.split()[1]), 0)


@pytest.mark.parametrize("steps", [12, 500])  # it ends by itself before it is stopped; it is stopped
def test_a_training_in_a_thread_of_its_own_is_no_answer_and_says_why(tmp_path: Path, steps: int) -> None:
    (tmp_path / "train.py").write_text(
        "def work():\n"
        + textwrap.indent(training(steps=steps), "    ")
        + "import threading\nthreading.Thread(target=work).start()\n"
    )
    result = capture(CaptureRequest("train.py", cwd=str(tmp_path), steps=5))
    error = result.error()
    assert isinstance(error, NoAnswer)
    assert "in a thread" in str(error)
    assert result.cpu is not None
    assert result.cpu.unit == "step"


def test_a_script_that_fails_on_the_virtual_gpu_alone_is_no_answer_and_says_why(tmp_path: Path) -> None:
    body = "import sys\nif 'breakeven.capture.virtual.session' in sys.modules: raise ValueError('only there')"
    (tmp_path / "train.py").write_text(training(body))
    error = capture(CaptureRequest("train.py", cwd=str(tmp_path), steps=5)).error()
    assert isinstance(error, NoAnswer)
    assert "recorded nothing: ValueError: only there" in str(error)


def test_one_step_is_not_called_steps(run_script: Run) -> None:
    result = run_script(training("if step == 0: raise ValueError('boom')"))
    assert str(result.error()) == "the script failed after 1 step: ValueError: boom"
