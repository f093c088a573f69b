"""`breakeven why`: what it refuses at the door, what it hands to the workflow, and what it does with the answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from breakeven import cli
from breakeven.errors import BreakevenError, Interrupted, NoAnswer, ScriptFailed
from breakeven.results import DeviceResult, Interval, Share, Verdict, WhyReport

VERDICT = Verdict("cpu", "Tesla T4", Interval(1.4, 1.9, 2.6), 0.99, False, "Stay on the CPU.")
REPORT = WhyReport(
    script="train.py",
    unit="step",
    steps={"warmup": 1, "measured": 9, "recorded": 2},
    devices=(
        DeviceResult("cpu", "cpu", "measured", Interval(1.3, 1.4, 1.5), (Share("compute", 1.4, 1.0),)),
        DeviceResult("Tesla T4", "gpu", "predicted", Interval(1.9, 2.6, 3.5), (Share("launch", 2.6, 1.0),)),
    ),
    verdict=VERDICT,
    verdicts=(VERDICT,),
    break_even=(),
    findings=(),
)


@dataclass
class Workflow:
    """Stands in for `workflows.why`: keeps the requests, and answers or raises as told."""

    answer: WhyReport = REPORT
    failure: BaseException | None = None
    during: Callable[[Callable[[str], None]], None] = lambda on_progress: on_progress("timing on the CPU: step 1")
    requests: list[Any] = field(default_factory=list)

    def answered(self, request: Any, on_progress: Callable[[str], None]) -> SimpleNamespace:
        self.requests.append(request)
        self.during(on_progress)
        if self.failure is not None:
            raise self.failure
        return SimpleNamespace(report=self.answer)


@dataclass(frozen=True)
class WhyRequest:
    script: str
    args: tuple[str, ...]
    gpus: tuple[str, ...]
    host: str | None
    steps: int | None
    seconds: float | None
    mark: str | None
    quiet: bool
    named: bool


@pytest.fixture
def workflow(monkeypatch: pytest.MonkeyPatch) -> Workflow:
    made = Workflow()
    module = ModuleType("breakeven.workflows.why")
    module.__dict__.update(answered=made.answered, WhyRequest=WhyRequest)
    monkeypatch.setitem(sys.modules, "breakeven.workflows.why", module)
    return made


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "train.py").write_text("print('one')\nprint('two')\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    return "train.py"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nothing.py"], "nothing.py: no such script"),
        (["no_such_module_x"], "no_such_module_x: no such script"),
        (["."], "is a directory"),
        (["broken.py"], "broken.py:1: "),
        (["train.py", "--steps", "0"], "--steps 0: at least 1"),
        (["train.py", "--steps", "-3"], "--steps -3: at least 1"),
        (["train.py", "--steps", "many"], "--steps"),
        (["train.py", "--seconds", "0"], "--seconds 0: give a time above 0"),
        (["train.py", "--seconds", "nan"], "--seconds nan: give a time above 0"),
        (["train.py", "--gpu", "RTX 9999 Ultra"], "'RTX 9999 Ultra'; the nearest are: "),
        (["train.py", "--mark", "train.py"], "give FILE:LINE"),
        (["train.py", "--mark", "train.py:0"], "give FILE:LINE"),
        (["train.py", "--mark", "train.py:3"], "no statement begins on that line"),
        (["train.py", "--mark", "other.py:1"], "no such file"),
        (["train.py", "--json", "nowhere/why.json"], "there is no directory"),
        (["train.py", "--json", "."], "it is a directory"),
        (["train.py", "--json", "train.py"], "that is the file to be read"),
        (["train.py", "--json", "./train.py"], "that is the file to be read"),
        (["train.py", "--epochs", "3"], "the script's own arguments go after --"),
        ([], "Missing argument 'SCRIPT'"),
        (["-m", "train.py"], "-m train.py: give a module's dotted name"),
        (["-m", "lab/train"], "-m lab/train: give a module's dotted name"),
        (["--", "python", "-m", "no_such_module_x"], "no_such_module_x: no such script"),
    ],
)
def test_a_wrong_call_gets_one_line_and_exit_2(
    options: list[str], message: str, script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["why", *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert len(said.err) < 400
    assert message in said.err
    assert workflow.requests == [], "nothing was run"


@pytest.mark.parametrize(
    ("call", "asked", "args"),
    [
        (["-q", "--", "python", "-u", "train.py", "--lr", "1"], "train.py", ("--lr", "1")),
        (["-q", "--", "python3", "-m", "json.tool", "--indent", "1"], "json.tool", ("--indent", "1")),
        (["-q", "-m", "json.tool", "--", "--indent", "1"], "json.tool", ("--indent", "1")),
        (["-q", "train.py", "--", "python", "-m", "x"], "train.py", ("python", "-m", "x")),
    ],
)
def test_python_and_its_m_may_stand_in_front_of_the_script(
    call: list[str], asked: str, args: tuple[str, ...], script: str, workflow: Workflow
) -> None:
    assert cli.main(["why", *call]) == 0
    (request,) = workflow.requests
    assert (request.script, request.args) == (asked, args)


def test_the_request_holds_what_was_asked(script: str, workflow: Workflow) -> None:
    call = [
        "why",
        "train.py",
        "--gpu",
        "t4",
        "--gpu",
        "NVIDIA rtx a4500",
        "--gpu",
        "tesla t4",
        "--steps",
        "5",
        "--seconds",
        "1.5",
    ]
    assert cli.main([*call, "--mark", "train.py:2", "-q", "--", "--gpu", "x", "--", "-h", "a b"]) == 0
    assert workflow.requests == [
        WhyRequest(
            "train.py", ("--gpu", "x", "--", "-h", "a b"), ("Tesla T4", "RTX A4500"), None, 5, 1.5, "train.py:2", True, True
        )
    ]


def test_without_gpu_a_t4_is_predicted_and_said_so(script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "train.py", "--json", "why.json"]) == 0
    assert workflow.requests[0].gpus == ("Tesla T4",)
    assert "No --gpu was named, so a Tesla T4 was predicted" in capsys.readouterr().out
    assert any("Tesla T4 was predicted" in w for w in json.loads(Path("why.json").read_text())["warnings"])


def test_a_module_is_a_target_too(script: str, workflow: Workflow) -> None:
    assert cli.main(["why", "train"]) == 0
    assert cli.main(["why", "json.tool"]) == 0
    assert [r.script for r in workflow.requests] == ["train", "json.tool"]


def test_the_page_and_the_json_are_given(script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "train.py", "--gpu", "t4", "--json", "why.json"]) == 0
    said = capsys.readouterr()
    assert "Stay on the CPU." in said.out
    assert said.err == "", "no progress where nobody looks"
    assert json.loads(Path("why.json").read_text())["verdict"]["device"] == "cpu"


def test_json_to_standard_output_is_alone_there(script: str, workflow: Workflow, capfd: pytest.CaptureFixture[str]) -> None:

    def prints(on_progress: Callable[[str], None]) -> None:
        subprocess.run(["echo", "the script prints"], check=True)
        sys.stdout.write("and so do we\n")

    workflow.during = prints
    assert cli.main(["why", "train.py", "--json", "-"]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["schema"] == "breakeven/why/1"
    assert said.err == "the script prints\nand so do we\n"


PARTIAL = replace(REPORT, verdict=None, verdicts=(), devices=(REPORT.devices[0],))


@pytest.mark.parametrize(
    ("kind", "code"), [(ScriptFailed, 3), (NoAnswer, 4), (Interrupted, 130)], ids=["script-failed", "no-answer", "interrupted"]
)
def test_a_partial_answer_is_shown_and_written(
    kind: type[BreakevenError], code: int, script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow.answer = replace(PARTIAL, error="it stopped at step 7", failed=kind.slug)
    assert cli.main(["why", "train.py", "--json", "why.json"]) == code
    said = capsys.readouterr()
    assert "This answer is not complete: it stopped at step 7" in said.out
    assert said.err == "breakeven: it stopped at step 7\n"
    written = json.loads(Path("why.json").read_text())
    assert written["verdict"] is None
    assert written["devices"][0]["step_ms"]["mid"] == 1.4
    assert (written["error"], written["failed"]) == ("it stopped at step 7", kind.slug)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ScriptFailed("it failed at once"), 3),
        (NoAnswer("nothing ran"), 4),
        (Interrupted("stopped"), 130),
        (KeyboardInterrupt(), 130),
    ],
    ids=["script-failed", "no-answer", "interrupted", "ctrl-c"],
)
def test_where_nothing_was_learned_the_json_says_so(
    failure: BaseException, code: int, script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow.failure = failure
    assert cli.main(["why", "train.py", "--json", "why.json"]) == code
    written = json.loads(Path("why.json").read_text())
    assert (written["schema"], written["script"], written["unit"], written["verdict"]) == (
        "breakeven/why/1",
        "train.py",
        None,
        None,
    )
    assert written["error"]
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_json_that_cannot_be_written_after_all_does_not_cost_the_page(
    script: str, workflow: Workflow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    place.mkdir()
    workflow.during = lambda on_progress: place.rmdir()
    assert cli.main(["why", "train.py", "--json", "out/why.json"]) == 2
    said = capsys.readouterr()
    assert "Stay on the CPU." in said.out
    assert "cannot write" in said.err


def test_a_fault_of_ours_is_one_line_without_a_traceback(
    script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow.failure = ZeroDivisionError("division\nby zero")
    assert cli.main(["why", "train.py"]) == 70
    assert capsys.readouterr().err == (
        "breakeven: a fault of breakeven itself: ZeroDivisionError: division by zero (BREAKEVEN_DEBUG=1 shows where)\n"
    )
    monkeypatch.setenv("BREAKEVEN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["why", "train.py"])


def test_a_message_does_not_steer_the_terminal(script: str, workflow: Workflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "evil\x1b[31m\u202e.py"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said
