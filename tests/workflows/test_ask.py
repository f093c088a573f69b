"""`ask`: what a reported time is compared with, what is said of it, and the whole answer from shapes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from breakeven import cli
from breakeven.cli.ask import rate
from breakeven.diagnose.evidence import CpuSide
from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Host
from breakeven.results import DeviceResult, Interval, Share
from breakeven.workflows.ask import AskRequest, described
from breakeven.workflows.plausible import elsewhere, host_of_claim, judged, regime

HERE = Host("this machine", 1.0, 1.35, 1.7, "a test", own_scale=1.0)
SIDE = CpuSide(Interval(1.9, 2.0, 2.1), (Share("overhead", 1.5, 0.75), Share("compute", 0.5, 0.25)))
BUSY = CpuSide(Interval(1.9, 2.0, 2.1), (Share("overhead", 0.2, 0.1), Share("compute", 1.8, 0.9)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("650it/s", 1000 / 650), ("650 it/s", 1000 / 650), ("650/s", 1000 / 650), ("15,223 iterations in 5 min", 300_000 / 15223),
        ("15223it/5min", 300_000 / 15223), ("5min/15223it", 300_000 / 15223), ("2.5ms", 2.5), ("2.5 ms/it", 2.5), ("40us", 0.04),
        ("0.5s", 500.0), ("1.2 steps per s", 1000 / 1.2),
    ],
)  # fmt: skip
def test_a_speed_is_read_as_people_write_it(text: str, expected: float) -> None:
    assert rate(text, "--cpu") == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "fast", "650", "0it/s", "650it", "it/s", "650it/0s", "-3ms", "nan ms", "1e3ms", "ms", "3 ms extra"]
)
def test_a_speed_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--cpu"):
        rate(text, "--cpu")


def test_another_host_makes_python_slower_and_the_rest_at_most_as_much() -> None:
    slow = Host("slow", 2.0, 3.0, 4.0, "a test")
    expected = elsewhere(SIDE, HERE, slow)
    assert expected.mid == pytest.approx(1.5 * 3 + 0.5)
    assert expected.low == pytest.approx(1.5 * 2 + 0.5 / 16)
    assert expected.high == pytest.approx(2.0 * 4)
    assert elsewhere(SIDE, HERE, HERE) == SIDE.step_ms


def test_any_host_is_wider_than_a_named_one() -> None:
    named, free = elsewhere(SIDE, HERE, Host("one", 1.0, 1.2, 1.5, "a test")), elsewhere(SIDE, HERE, None)
    assert free.low < named.low
    assert free.high > named.high


def test_a_reported_cpu_time_tells_the_hosts_speed_where_the_step_is_python() -> None:
    host = host_of_claim(4.0, SIDE, HERE)
    assert host.own_scale == pytest.approx(2.0)
    assert host.scale_low < host.scale_mid < host.scale_high
    unknown = host_of_claim(4.0, BUSY, HERE)
    assert unknown.name == "not known"
    assert unknown.scale_high / unknown.scale_low > host.scale_high / host.scale_low


@pytest.mark.parametrize(
    ("claimed", "plausible", "word"), [(2.0, True, "plausible"), (0.1, False, "too fast"), (90.0, False, "slower than")]
)
def test_a_claim_is_judged_against_the_range(claimed: float, plausible: bool, word: str) -> None:
    claim = judged("Tesla T4", claimed, Interval(1.0, 2.0, 3.0))
    assert claim.plausible is plausible
    assert word in claim.sentence


def test_the_regime_says_how_little_of_a_reported_time_is_arithmetic() -> None:
    device = DeviceResult(
        "Tesla T4", "gpu", "predicted", Interval(1, 2, 3), (Share("launch", 1.5, 0.75), Share("compute", 0.5, 0.25))
    )
    model = described(AskRequest("linear 784→128, relu, linear 10", batch=100))
    cause, said = regime(device, model, find_gpu("t4"), 3.0)
    assert cause == "launch"
    assert "Of the reported 3 ms the arithmetic (61 million operations) needs 7.5 µs" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Missing option '--net'"),
        (["--net", "rnn"], "nothing says what goes in"),
        (["--net", "rnn 1→8, linear 1"], "--length"),
        (["--net", "linear 1→8", "--cpu", "fast"], "--cpu fast: give a speed such as"),
        (["--net", "linear 1→8", "--batch", "0"], "--batch 0"),
        (["--net", "linear 1→8", "--optimizer", "lion"], "--optimizer lion: understood are adam"),
        (["--net", "linear 1→8", "--gpu", "RTX 9999 Ultra"], "the nearest are"),
        (["--net", "linear 1→8", "--host", "moon"], "no host is called 'moon'"),
        (["--net", "linear 1→8", "--json", "nowhere/x.json"], "there is no directory"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ask", *options]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_forum_post_is_answered_from_its_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ask.json"
    call = [
        "ask",
        "--net",
        "embed 1->8, rnn 256, linear 1",
        "--batch",
        "100",
        "--length",
        "1",
        "--optimizer",
        "adam",
        "--gpu",
        "t4",
    ]
    assert cli.main([*call, "--cpu", "650it/s", "--gpu-rate", "340it/s", "--host", "colab", "--json", str(out)]) == 0
    answer = json.loads(out.read_text())
    assert answer["schema"] == "breakeven/ask/1"
    assert (answer["parameters"], answer["batch"], answer["length"]) == (68369, 100, 1)
    assert [c["device"] for c in answer["claims"]] == ["cpu", "Tesla T4"]
    assert answer["claims"][1]["plausible"] is True
    assert answer["cause"] == "launch"
    assert [p["batch"] for p in answer["curve"]] == sorted(p["batch"] for p in answer["curve"])
    assert all(p["gpu_ms"]["low"] <= p["gpu_ms"]["mid"] <= p["gpu_ms"]["high"] for p in answer["curve"])
    assert 1 <= len(answer["remedies"]) <= 3  # those that pay: what a step is made of here decides
    assert [(d["name"], d["source"]) for d in answer["devices"]] == [
        ("cpu here", "measured"), ("cpu", "reported"), ("Tesla T4", "reported"),
    ]  # fmt: skip
    assert (answer["verdict"]["device"], round(answer["verdict"]["factor"]["mid"], 2)) == ("cpu", 1.91)
    page = capsys.readouterr().out
    assert "GPU usage of 80-100 %" in " ".join(page.split())
    assert "hanges that pay" in page
