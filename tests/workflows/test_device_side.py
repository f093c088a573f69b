"""A machine with an accelerator of its own: what was measured there leads, and what could not be measured is said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from breakeven.capture.request import ScriptEnd, TimedPass
from breakeven.capture.result import CaptureResult
from breakeven.capture.virtual.facts import Fact
from breakeven.machine.records import Cpu
from breakeven.report.json import why_json
from breakeven.workflows import why as workflow
from breakeven.workflows.probing import Probed
from breakeven.workflows.why import WhyRequest, answered
from tests.workflows.captured import LINE, caught, stream, timed

CPU = Cpu("test", 2, 1, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=8.0)
UNKNOWN = "Imaginary 9000"
FAILED = timed(end=ScriptEnd("exception", "RuntimeError: CUDA out of memory", 1))


def here(
    monkeypatch: pytest.MonkeyPatch, on_device: TimedPass | None, accelerator: str | None, *, named: bool = False
) -> dict[str, Any]:
    """The answer where this accelerator is here and left this timing pass; the script asked whether there is one."""
    both = caught(timed(*(3.0,) * 9), stream(300))
    assert both.virtual is not None
    asked = {"is_available": (Fact("is_available", "it asks", (LINE,)),)}
    captured = CaptureResult(both.cpu, replace(both.virtual, facts=asked), on_device)
    told: list[str | None] = []

    def capture(request: object, on_progress: object, look: Any) -> CaptureResult:
        told.append(look())
        return captured

    monkeypatch.setattr(workflow, "capture", capture)
    monkeypatch.setattr(workflow, "probed", lambda *_: Probed(CPU, accelerator))
    found = answered(WhyRequest("train.py", gpus=("Tesla T4",), named=named))
    assert (told[0] is not None) == (accelerator is not None), "the capture is told to wait for an accelerator that is here"
    assert {one.device.source for one in found.priced} <= {"predicted"}, "what was measured is no forecast"
    answer: dict[str, Any] = json.loads(why_json(found.report))
    return answer


def devices(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(device["name"], device["source"]) for device in answer["devices"]]


def about(answer: dict[str, Any], name: str) -> list[str]:
    return [warning for warning in answer["warnings"] if name in warning]


def blind(answer: dict[str, Any]) -> bool:
    """Whether it says that PyTorch sees no GPU."""
    return "no_gpu_visible" in {finding["id"] for finding in answer["findings"]}


def test_a_gpu_of_the_catalog_is_measured_and_its_simulated_account_is_held_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = here(monkeypatch, timed(*(1.5,) * 9), "NVIDIA A100-SXM4-40GB")
    (name,) = (name for name, _source in devices(answer) if name != "cpu")
    assert devices(answer) == [("cpu", "measured"), (name, "measured")], "no default GPU is predicted beside a real one"
    assert "A100" in name
    device = answer["devices"][1]
    assert device["step_ms"]["mid"] == pytest.approx(1.5)
    assert sum(part["ms"] for part in device["account"]) == pytest.approx(1.5)
    verdict = answer["verdict"]
    assert (verdict["device"], verdict["over"]) == (name, "cpu")
    assert verdict["factor"]["mid"] == pytest.approx(2.0, rel=0.05)
    assert about(answer, name) == [f"The step on the {name} was measured; where its time goes is simulated and scaled to that."]
    assert name in {finding["device"] for finding in answer["findings"]}
    assert not blind(answer)


def test_gpus_that_are_asked_for_are_predicted_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = here(monkeypatch, timed(*(1.5,) * 9), "NVIDIA A100-SXM4-40GB", named=True)
    assert [source for _name, source in devices(answer)] == ["measured", "measured", "predicted"]
    same = here(monkeypatch, timed(*(1.5,) * 9), "Tesla T4", named=True)
    assert devices(same) == [("cpu", "measured"), ("Tesla T4", "measured")], "never measured and predicted at once"


def test_one_that_the_catalog_does_not_know_has_a_time_and_a_verdict_and_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = here(monkeypatch, timed(*(6.0,) * 9), UNKNOWN)
    assert devices(answer) == [("cpu", "measured"), (UNKNOWN, "measured")]
    device = answer["devices"][1]
    assert (device["step_ms"]["mid"], device["account"]) == (6.0, [])
    assert (answer["verdict"]["device"], answer["verdict"]["over"]) == ("cpu", UNKNOWN)
    assert answer["verdict"]["factor"]["mid"] == pytest.approx(2.0, rel=0.05)
    assert about(answer, UNKNOWN) == [
        f"{UNKNOWN} is not in the catalog: its step was measured, and where the time goes is not known."
    ]
    assert UNKNOWN not in {finding["device"] for finding in answer["findings"]}
    assert not blind(answer)


def test_a_failure_on_it_is_the_scripts_own_and_the_rest_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = here(monkeypatch, FAILED, "NVIDIA A100-SXM4-40GB")
    assert devices(answer) == [("cpu", "measured"), ("Tesla T4", "predicted")]
    assert answer["verdict"]["over"] in ("cpu", "Tesla T4")
    assert about(answer, "A100") == [
        "The step on the NVIDIA A100-SXM4-40GB could not be timed: RuntimeError: CUDA out of memory."
    ]  # fmt: skip
    assert answer["failed"] == "script-failed"
    assert "on the accelerator before its first step ended" in answer["error"]
    assert not blind(answer), "there is a GPU, whatever happened on it"


def test_no_step_in_time_on_it_is_a_warning_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    late = timed(end=ScriptEnd("timeout", "no step ended within 90 s"))
    answer = here(monkeypatch, late, UNKNOWN)
    assert answer["failed"] is None
    assert about(answer, UNKNOWN) == [f"The step on the {UNKNOWN} could not be timed: no step ended within 90 s."]


@pytest.mark.parametrize("accelerator", [None, UNKNOWN])
def test_a_gpu_is_visible_where_there_is_one_even_if_the_script_never_goes_there(
    monkeypatch: pytest.MonkeyPatch, accelerator: str | None
) -> None:
    answer = here(monkeypatch, None, accelerator)
    assert devices(answer) == [("cpu", "measured"), ("Tesla T4", "predicted")]
    assert blind(answer) == (accelerator is None)
