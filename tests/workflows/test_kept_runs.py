"""Answers kept as runs: sealed, compared, guarded and settled, and what a settlement teaches `why`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from breakeven import cli, store
from breakeven.errors import InputError, NoAnswer
from breakeven.machine.records import Cpu
from breakeven.results import DeviceResult, Interval, Share, WhyReport
from breakeven.store import cards, seals
from breakeven.timeline import OpStream
from breakeven.timeline.parquet import stream_from_parquet
from breakeven.workflows import why as workflow
from breakeven.workflows.compared_runs import compare_runs, gate
from breakeven.workflows.keeping import keep
from breakeven.workflows.probing import Probed
from breakeven.workflows.runs import runs
from breakeven.workflows.settle import settle, undo
from breakeven.workflows.why import Answered, WhyRequest, answered
from tests.workflows.captured import caught, stream, timed

CPU = Cpu("test", 2, 1, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=8.0)
Ask = Callable[..., Answered]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Answers for a stream that is already recorded, with a user's folder of its own."""
    monkeypatch.setenv(cards.HOME, str(tmp_path / "home"))
    monkeypatch.setattr(workflow, "probed", lambda *_: Probed(CPU))

    def asked(made: OpStream | None = None, *gpus: str, ms: float = 0.6) -> Answered:
        result = caught(timed(*(ms,) * 9), made if made is not None else stream(60))

        def capture(request: object, on_progress: object, meanwhile: Any) -> object:
            meanwhile()
            return result

        monkeypatch.setattr(workflow, "capture", capture)
        return answered(WhyRequest("/somewhere/train.py", gpus=gpus or ("Tesla T4",)))

    return asked


def kept(answer: Answered, path: Path) -> str:
    keep(answer, WhyRequest("/somewhere/train.py"), str(path))
    return str(path)


def on_the_gpu(answer: Answered, factor: float = 1.0, device: str = "Tesla T4") -> Answered:
    """The same job measured on its GPU: so many times the predicted step."""
    told = next(d for d in answer.report.devices if d.name == device)
    assert told.step_ms is not None
    ms = told.step_ms.mid * factor
    measured = DeviceResult(device, "gpu", "measured", Interval(ms * 0.99, ms, ms * 1.01))
    return replace(answer, report=replace(answer.report, devices=(answer.report.devices[0], measured)), priced=())


def gpu_ms(answer: Answered) -> float:
    step = answer.report.devices[1].step_ms
    assert step is not None
    return step.mid


def test_a_kept_answer_can_be_read_with_nothing_but_a_reader_of_parquet_and_priced_again(ask: Ask, tmp_path: Path) -> None:
    import polars as pl

    answer = ask(None, "t4", "h100")
    path = kept(answer, tmp_path / "run")
    devices = pl.read_parquet(tmp_path / "run" / "devices.parquet")
    assert devices["name"].to_list() == ["cpu", "Tesla T4", "H100 SXM (H100 80GB HBM3)"]
    assert devices["step_ms"][1] == gpu_ms(answer)
    account = pl.read_parquet(tmp_path / "run" / "account.parquet")
    assert account.filter(pl.col("device") == "Tesla T4")["ms"].sum() == pytest.approx(gpu_ms(answer))
    again = stream_from_parquet(tmp_path / "run" / "calls.parquet", tmp_path / "run" / "rows.parquet")
    assert answer.stream is not None
    assert again.rows.equals(answer.stream.rows)
    assert json.loads((tmp_path / "run" / "answer.json").read_text())["schema"] == "breakeven/why/1"
    assert "/somewhere" not in (tmp_path / "run" / "run.json").read_text()
    (row,) = runs(str(tmp_path)).runs
    assert (row.path, row.kind, row.title, row.finished) == ("run", "why", "train.py", True)
    assert store.open(path).head.versions["torch"] == "2.13.0"


def test_what_was_learned_before_a_script_failed_is_kept_too(ask: Ask, tmp_path: Path) -> None:
    report = replace(ask().report, verdict=None, verdicts=(), findings=(), failed="script-failed", error="it failed")
    path = kept(Answered(replace(report, devices=report.devices[:1]), None, "this machine"), tmp_path / "run")
    run = store.open(path)
    assert (list(seals.forecasts(run)), [m.device for m in seals.measurements(run)]) == ([], ["cpu"])
    assert runs(str(tmp_path)).runs[0].sentence is None


def test_every_prediction_is_sealed_and_a_change_breaks_the_seal(ask: Ask, tmp_path: Path) -> None:
    path = kept(ask(None, "t4", "h100"), tmp_path / "run")
    made = list(seals.forecasts(store.open(path)))
    assert [m.forecast.device for m in made] == ["Tesla T4", "H100 SXM (H100 80GB HBM3)"]
    assert all(seals.is_whole(m) for m in made)
    assert made[0].forecast.device_part + made[0].forecast.host_part == pytest.approx(1.0, abs=0.2)
    better = replace(made[0], forecast=replace(made[0].forecast, step_ms=Interval(1.0, 1.1, 1.2)))
    assert not seals.is_whole(better)


def test_a_forecast_bettered_after_the_fact_is_not_scored(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    path = kept(answer, tmp_path / "run")
    kept(on_the_gpu(answer, 1.4), tmp_path / "measured")
    file = next((tmp_path / "run" / "parts").glob("*.json"))
    said = json.loads(file.read_text())
    said["parts"]["answer"]["forecasts"][0]["forecast"]["step_ms"]["mid"] *= 1.4
    file.write_text(json.dumps(said))
    with pytest.raises(NoAnswer, match="changed after it was sealed"):
        settle(path)


def test_a_measurement_of_the_same_job_is_found_beside_and_teaches_why(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    path = kept(answer, tmp_path / "run")
    kept(on_the_gpu(answer, 1.2), tmp_path / "measured")
    report = settle(path)
    (score,) = report.scores
    assert (score.device, score.refined, score.inside) == ("Tesla T4", True, True)
    assert score.error == pytest.approx(1 / 1.2 - 1)
    assert Path(score.measured_in).name == "measured"
    after = ask()
    assert gpu_ms(answer) < gpu_ms(after) < 1.2 * gpu_ms(answer)
    assert any("is priced with your card (one settled forecast)" in said for said in after.report.warnings)
    (state,) = report.cards
    assert state.host_factor.mid > 1, "this step is launches"


def test_settling_twice_teaches_once_and_undo_takes_it_back(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    path = kept(answer, tmp_path / "run")
    kept(on_the_gpu(answer, 1.2), tmp_path / "measured")
    settle(path)
    once = gpu_ms(ask())
    (score,) = settle(path).scores
    assert (score.refined, score.why_not) == (False, "it was settled before")
    assert gpu_ms(ask()) == once
    report = undo()
    assert (report.undone, report.cards) == (1, ())
    assert gpu_ms(ask()) == gpu_ms(answer)
    with pytest.raises(InputError, match="nothing was settled yet"):
        undo()


def test_undo_takes_back_the_last_settlement_alone(ask: Ask, tmp_path: Path) -> None:
    for name, made in (("a", stream(60)), ("b", stream(50))):
        answer = ask(made)
        path = kept(answer, tmp_path / name / "run")
        kept(on_the_gpu(answer, 1.2), tmp_path / name / "measured")
        settle(path)
    assert len(cards.read_card("Tesla T4").lessons) == 2
    assert undo().undone == 1
    (left,) = cards.read_card("Tesla T4").lessons
    assert left.fingerprint == next(seals.forecasts(store.open(str(tmp_path / "a" / "run")))).forecast.fingerprint


def test_settling_a_forecast_that_was_made_with_a_card_does_not_count_the_card_twice(ask: Ask, tmp_path: Path) -> None:
    """The second forecast was already moved; its lesson is still about the prices without any card."""
    first = ask()
    path = kept(first, tmp_path / "a" / "run")
    kept(on_the_gpu(first, 1.2), tmp_path / "a" / "measured")
    settle(path)
    second = ask()
    path = kept(second, tmp_path / "b" / "run")
    kept(on_the_gpu(first, 1.2), tmp_path / "b" / "measured")
    settle(path)
    lessons = cards.read_card("Tesla T4").lessons
    assert [lesson.log_ratio for lesson in lessons] == [pytest.approx(math.log(1.2))] * 2


def test_another_job_is_not_taken_for_this_one(ask: Ask, tmp_path: Path) -> None:
    path = kept(ask(), tmp_path / "run")
    kept(on_the_gpu(ask(stream(40))), tmp_path / "measured")
    with pytest.raises(NoAnswer, match="the same job was not measured there since"):
        settle(path)
    (score,) = settle(path, str(tmp_path / "measured")).scores
    assert (score.refined, score.why_not) == (
        False, "the measured job asks for other operations or shapes than the forecast's",
    )  # fmt: skip
    assert not (tmp_path / "home").exists()


def test_a_trace_that_the_user_names_settles_a_forecast(ask: Ask, tmp_path: Path, shared: Path) -> None:
    path = kept(ask(None, "t4", "h100"), tmp_path / "run")
    report = settle(path, str(shared / "traces" / "h100_tiny_transformer.json.gz"))
    ((score,), (left,)) = report.scores, report.unsettled
    assert (score.device, score.refined, score.measured_ms.mid < 0.9) == ("H100 SXM (H100 80GB HBM3)", True, True)
    assert (left.device, left.reason) == ("Tesla T4", "nothing was measured there")
    with pytest.raises(NoAnswer, match="marks no steps"):
        settle(path, str(shared / "traces" / "mi210_gpu_only.json.gz"))
    with pytest.raises(NoAnswer, match="nothing was measured there"):
        settle(path, str(shared / "traces" / "jax_cpu_mlp.trace.json.gz"))
    with pytest.raises(InputError, match="no such run or trace"):
        settle(path, str(tmp_path / "nowhere"))


def test_a_run_without_predictions_and_one_without_measurements_get_no_answer(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    path = kept(on_the_gpu(answer), tmp_path / "measured")
    with pytest.raises(NoAnswer, match="holds no forecasts"):
        settle(path)
    with pytest.raises(NoAnswer, match="nothing was measured there"):
        settle(kept(answer, tmp_path / "elsewhere" / "run"))


def test_a_damaged_card_is_one_line_with_a_way_out(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "home" / "cards").mkdir(parents=True)
    (tmp_path / "home" / "cards" / "tesla-t4.json").write_text("{")
    with pytest.raises(InputError, match="delete it to start over"):
        ask()


def grown(report: WhyReport, device: str, cause: str, ms: float) -> WhyReport:
    """The answer with more of one cause on one device."""
    devices = []
    for d in report.devices:
        if d.name == device and d.step_ms is not None:
            step = Interval(*(end + ms for end in (d.step_ms.low, d.step_ms.mid, d.step_ms.high)))
            before = {part.cause: part.ms for part in d.account}
            parts = {**before, cause: before.get(cause, 0.0) + ms}
            d = replace(d, step_ms=step, account=tuple(Share(c, part, part / step.mid) for c, part in parts.items()))
        devices.append(d)
    return replace(report, devices=tuple(devices))


@pytest.fixture
def two(ask: Ask, tmp_path: Path) -> Callable[[str, float, str], tuple[str, str]]:
    """Two kept answers: one, and the same with more of a cause."""

    def made(cause: str, ms: float, device: str) -> tuple[str, str]:
        answer = ask()
        first = kept(answer, tmp_path / "before")
        return first, kept(replace(answer, report=grown(answer.report, device, cause, ms)), tmp_path / "after")

    return made


@pytest.mark.parametrize("device", ["cpu", "Tesla T4"])
def test_a_cause_that_grew_is_named_and_closes_the_gate(two: Callable[..., tuple[str, str]], device: str) -> None:
    first, second = two("sync", 0.4, device)
    report = compare_runs(first, second, device)
    assert (report.changes[0].cause, report.changes[0].id, report.changes[0].real) == ("sync", "sync_bound", True)
    assert report.changes[0].ms == pytest.approx(0.4)
    assert [change.real for change in report.changes[1:]] == [False] * (len(report.changes) - 1)
    judged = gate(first, second)
    assert judged.worse
    assert [(g.device, [c.cause for c in g.grew]) for g in judged.devices if g.worse] == [(device, ["sync"])]
    assert not gate(second, first).worse, "less is not worse"
    assert not gate(first, second, tolerance=20.0).worse


def test_the_same_answer_twice_keeps_the_gate_open(two: Callable[..., tuple[str, str]]) -> None:
    first, second = two("sync", 0.0, "cpu")
    assert not gate(first, second, tolerance=0.0).worse
    assert not any(change.real for change in compare_runs(first, second).changes)


def test_what_lies_within_the_measurement_s_spread_is_not_real(ask: Ask, tmp_path: Path) -> None:
    """A noisy CPU step: 30 % more is inside, three times as much is not."""
    answer = ask()
    cpu = answer.report.devices[0]
    assert cpu.step_ms is not None
    noisy = replace(cpu, step_ms=Interval(cpu.step_ms.mid * 0.6, cpu.step_ms.mid, cpu.step_ms.mid * 1.6))
    answer = replace(answer, report=replace(answer.report, devices=(noisy, *answer.report.devices[1:])))
    first = kept(answer, tmp_path / "a")
    more = kept(replace(answer, report=grown(answer.report, "cpu", "overhead", 0.3 * cpu.step_ms.mid)), tmp_path / "b")
    much = kept(replace(answer, report=grown(answer.report, "cpu", "overhead", 3 * cpu.step_ms.mid)), tmp_path / "c")
    assert not gate(first, more, "cpu").worse
    assert gate(first, much, "cpu").worse


def test_runs_of_two_machines_and_versions_say_so(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    report = answer.report
    other = replace(report, machine={"cpu": {"model": "another"}}, versions={**report.versions, "torch": "2.9.0"})
    said = compare_runs(kept(answer, tmp_path / "a"), kept(replace(answer, report=other), tmp_path / "b")).warnings
    assert "torch is 2.13.0 in the first and 2.9.0 in the second" in said
    assert "the CPU is a test in the first and a another in the second" in said


def test_a_host_that_was_probed_faster_does_not_close_the_gate(ask: Ask, tmp_path: Path) -> None:
    """10 % on a prediction are real where the probes agree, and not where they differ by as much."""
    answer = ask()
    worse = grown(answer.report, "Tesla T4", "launch", 0.1 * gpu_ms(answer))
    slower = replace(worse, machine={**worse.machine, "cpu": {**worse.machine["cpu"], "dispatch_us": 8.0 * 1.1}})
    first = kept(answer, tmp_path / "a")
    assert gate(first, kept(replace(answer, report=worse), tmp_path / "b"), "t4").worse
    assert not gate(first, kept(replace(answer, report=slower), tmp_path / "c"), "t4").worse


def test_a_card_between_two_runs_is_said(ask: Ask, tmp_path: Path) -> None:
    answer = ask()
    first = kept(answer, tmp_path / "run")
    settle(first, kept(on_the_gpu(answer, 1.2), tmp_path / "elsewhere" / "measured"))
    said = compare_runs(first, kept(ask(), tmp_path / "after")).warnings
    assert any(warning.startswith("not the same card: Tesla T4 is priced with your card") for warning in said)


def test_the_json_of_why_serves_as_a_run(ask: Ask, tmp_path: Path) -> None:
    from breakeven.report.json import why_json

    answer = ask()
    run, file = kept(answer, tmp_path / "run"), tmp_path / "why.json"
    file.write_bytes(why_json(answer.report))
    assert not gate(str(file), run).worse
    with pytest.raises(InputError, match="neither a run"):
        gate(str(tmp_path / "nothing"), run)


def test_verbs_of_the_command_line(
    two: Callable[..., tuple[str, str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = two("sync", 0.4, "Tesla T4")
    assert cli.main(["gate", first, second, "--json", str(tmp_path / "gate.json")]) == 1
    assert cli.main(["gate", second, first]) == 0
    assert cli.main(["gate", first, second, "--tolerance", "-1"]) == 2
    assert cli.main(["compare", first, second, "--device", "t4", "--json", str(tmp_path / "compare.json")]) == 0
    assert cli.main(["compare", first, second, "--device", "a100"]) == 2
    assert cli.main(["runs", str(tmp_path), "--json", str(tmp_path / "runs.json")]) == 0
    assert cli.main(["runs", str(tmp_path / "nowhere")]) == 2
    assert cli.main(["settle"]) == 2
    assert cli.main(["settle", first]) == 4
    assert cli.main(["settle", str(tmp_path)]) == 2
    said = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("gate", "compare", "runs")}
    assert {name: value["schema"] for name, value in said.items()} == {name: f"breakeven/{name}/1" for name in said}
    assert said["gate"]["worse"] is True
    assert said["compare"]["changes"][0]["cause"] == "sync"
    assert {row["path"] for row in said["runs"]["runs"]} == {"before", "after"}
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 6
    assert all(line.startswith("breakeven: ") and len(line) < 400 for line in lines)


def test_a_measured_device_settles_from_the_command_line_and_undo_takes_it_back(
    ask: Ask, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = ask()
    path = kept(answer, tmp_path / "run")
    other = kept(on_the_gpu(answer, 1.3), tmp_path / "elsewhere" / "measured")
    assert cli.main(["settle", path, "--measured", other, "--json", "-"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert (said["schema"], said["scores"][0]["refined"]) == ("breakeven/settle/1", True)
    assert cli.main(["settle", "--undo"]) == 0
    assert "One lesson was taken back." in capfd.readouterr().out
    assert cli.main(["settle", "--undo"]) == 2
    assert cli.main(["settle", path, "--undo"]) == 2


def test_why_keeps_its_answer_where_out_says(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()  # from here on a capture is what was recorded already
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print('trained elsewhere')\n")
    assert cli.main(["why", "train.py", "-q", "--out", "kept/first"]) == 0
    (made,) = seals.forecasts(store.open("kept/first"))
    assert (made.forecast.device, seals.is_whole(made)) == ("Tesla T4", True)
    assert "No --gpu was named" in json.loads(Path("kept/first/answer.json").read_text())["warnings"][0]
    assert "What if the batch were another?" in Path("kept/first/report.html").read_text(encoding="utf-8")
    assert cli.main(["why", "train.py", "-q", "--out", "kept/first"]) == 2
