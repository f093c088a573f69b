"""`breakeven why`, whole: a small script through both passes, the prices, the verdict and the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from breakeven import cli
from breakeven.capture.request import ScriptEnd
from breakeven.capture.result import CaptureResult
from breakeven.machine.records import Cpu
from breakeven.report.json import why_json
from breakeven.workflows import why as workflow
from breakeven.workflows.probing import Probed
from breakeven.workflows.why import WhyRequest, why
from tests.workflows.captured import caught, stream, timed

CPU = Cpu("test", 2, 1, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=8.0)
TRAIN = """\
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(8, 4).to(device)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(30):
    if step == FAILS:
        raise ValueError("no more data")
    loss = net(torch.randn(16, 8, device=device)).square().mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    print(loss.item())
"""


def answered(monkeypatch: pytest.MonkeyPatch, captured: CaptureResult, *gpus: str, cpu: Cpu = CPU) -> dict[str, Any]:
    """The JSON of an answer to a capture that is already there."""

    def capture(request: object, on_progress: object, meanwhile: Any) -> CaptureResult:
        meanwhile()
        return captured

    monkeypatch.setattr(workflow, "capture", capture)
    monkeypatch.setattr(workflow, "probed", lambda *_: Probed(cpu))
    found: dict[str, Any] = json.loads(why_json(why(WhyRequest("train.py", gpus=gpus or ("Tesla T4",)))))
    return found


def check(answer: dict[str, Any], gpus: tuple[str, ...]) -> None:
    """What holds of every whole answer."""
    assert (answer["schema"], answer["script"]) == ("breakeven/why/1", "train.py")
    assert [(d["name"], d["kind"], d["source"]) for d in answer["devices"]] == [
        ("cpu", "cpu", "measured"), *((gpu, "gpu", "predicted") for gpu in gpus),
    ]  # fmt: skip
    for device in answer["devices"]:
        step = device["step_ms"]
        assert 0 < step["low"] <= step["mid"] <= step["high"]
        assert sum(part["ms"] for part in device["account"]) == pytest.approx(step["mid"])
        assert sum(part["share"] for part in device["account"]) == pytest.approx(1.0)
    assert answer["verdict"] == answer["verdicts"][0]
    assert len(answer["verdicts"]) == len(gpus)
    for verdict, gpu in zip(answer["verdicts"], gpus, strict=True):
        factor = verdict["factor"]
        assert {verdict["device"], verdict["over"]} == {"cpu", gpu}
        assert factor["low"] <= factor["mid"] <= factor["high"]
        assert factor["mid"] >= 1
        assert 0 <= verdict["probability"] <= 1
        assert verdict["tie"] == (factor["low"] <= 1 <= factor["high"])
        assert verdict["sentence"].endswith(".")


def test_two_gpus_get_a_device_and_a_verdict_each_and_the_first_one_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answered(monkeypatch, caught(timed(*(3.0,) * 9), stream(300)), "t4", "h100")
    check(answer, ("Tesla T4", "H100 SXM (H100 80GB HBM3)"))
    assert answer["steps"] == {"warmup": 0, "measured": 9, "recorded": 3}
    first = next(f for f in answer["findings"] if f["device"] == "Tesla T4")
    assert (first["id"], first["cause"]) == ("launch_bound", "launch")
    assert first["sites"][0]["line"] == 7
    assert {f["device"] for f in answer["findings"]} >= {"Tesla T4", "H100 SXM (H100 80GB HBM3)"}
    assert answer["machine"]["cpu"]["model"] == "test"
    assert answer["versions"]["torch"] == "2.13.0"
    assert (answer["error"], answer["failed"]) == (None, None)


def test_small_work_that_a_cpu_does_in_no_time_stays_there_and_slow_work_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = answered(monkeypatch, caught(timed(*(0.05,) * 9), stream(300)))
    slow = answered(monkeypatch, caught(timed(*(500.0,) * 9), stream(300)))
    assert (quick["verdict"]["device"], quick["verdict"]["tie"]) == ("cpu", False)
    assert (slow["verdict"]["device"], slow["verdict"]["tie"]) == ("Tesla T4", False)


def test_what_was_timed_before_the_script_failed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = ScriptEnd("exception", "ValueError: no more data", 1)
    answer = answered(monkeypatch, CaptureResult(timed(*(2.0,) * 9, end=failed)))
    assert (answer["failed"], answer["verdict"], answer["findings"]) == ("script-failed", None, [])
    assert "no more data" in answer["error"]
    (cpu,) = answer["devices"]
    assert (cpu["step_ms"]["mid"], cpu["account"]) == (2.0, [])


def test_where_nothing_could_be_timed_there_is_no_answer_and_nothing_is_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answered(monkeypatch, CaptureResult(timed(end=ScriptEnd("ok"))))
    assert (answer["failed"], answer["unit"], answer["verdict"], answer["devices"]) == ("no-answer", None, None, [])


def test_without_a_probe_the_answer_is_less_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    captured = caught(timed(*(3.0,) * 9), stream(300))
    width = [
        answered(monkeypatch, captured, cpu=cpu)["devices"][1]["step_ms"] for cpu in (CPU, Cpu("unknown", 2, 2))
    ]  # fmt: skip
    known, unknown = (step["high"] / step["low"] for step in width)
    assert unknown > known


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of the command itself, in an empty folder."""
    monkeypatch.chdir(folder)
    Path("train.py").write_text(source)
    code = cli.main(["why", "train.py", "--gpu", "t4", "--json", "why.json", "--steps", "5", "-q", *options])
    return code, json.loads(Path("why.json").read_text())


@pytest.mark.slow
def test_a_training_for_cuda_is_answered_on_a_machine_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    code, answer = run(tmp_path, monkeypatch, TRAIN.replace("FAILS", "-1"))
    assert code == 0
    check(answer, ("Tesla T4",))
    assert answer["unit"] == "step"
    assert answer["steps"]["measured"] >= 5
    assert answer["steps"]["recorded"] >= 1
    found = {f["id"]: f for f in answer["findings"]}
    lines = {site["line"] for finding in found.values() for site in finding["sites"]}
    assert lines, "some finding names a line"
    assert lines <= set(range(2, 13)), "lines of the training"
    if "sync_bound" in found:  # what the wait costs depends on how fast this machine is just now
        assert found["sync_bound"]["sites"][0]["line"] == 12, "the line that reads the loss"
    assert all(f["price_ms"] is None or f["price_ms"]["low"] <= f["price_ms"]["high"] for f in answer["findings"])


@pytest.mark.slow
def test_a_script_that_fails_ends_with_3_and_keeps_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    code, answer = run(tmp_path, monkeypatch, TRAIN.replace("FAILS", "4"), "--steps", "20")
    assert (code, answer["failed"]) == (3, "script-failed")
    assert "no more data" in answer["error"]
    assert answer["devices"][0]["step_ms"]["mid"] > 0


@pytest.mark.slow
def test_a_script_that_trains_nothing_ends_with_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, answer = run(tmp_path, monkeypatch, "print(sum(range(10)))\n")
    assert (code, answer["failed"], answer["verdict"]) == (4, "no-answer", None)


def test_a_script_that_is_not_there_ends_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["why", "nothing.py", "--gpu", "t4", "--json", "why.json"]) == 2
    assert not Path("why.json").exists()
