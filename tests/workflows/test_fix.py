"""`fix` keeps what is proven, writes nothing else, and says what it left alone."""

from __future__ import annotations

import pathlib

import pytest

from breakeven.cli import main
from breakeven.results import Interval
from breakeven.results.proof import Equality, Proof
from breakeven.workflows import fix as room
from breakeven.workflows.fix import FixRequest, fix, promise_of
from breakeven.workflows.fix_gains import Gains

SCRIPT = """\
import torch
net = torch.nn.Linear(4, 1).to("cuda")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, foreach=False)
x = torch.ones(8, 4, device="cuda")
for step in range(1000):
    optimizer.zero_grad(set_to_none=False)
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
"""


def proof(kept: bool, speedup: float = 1.5) -> Proof:
    equal = Equality("bitwise", None, 20, (), None, kept, "The same.")
    step = Interval(1.0, 1.0, 1.0)
    times = Interval(speedup, speedup, speedup)
    return Proof("cpu", times, step, step, 41, 10, equal, None, kept, "it computes the same" if kept else "it is slower")


@pytest.fixture
def script(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A script, gains that prefer `fused_optimizer`, and proofs that are given by `PROVEN`."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    said = {"fused_optimizer": 0.3, "set_to_none": 0.1, "flush_denormals": 0.001}
    gains = Gains(
        "cpu", Interval(1.0, 1.0, 1.0), lambda name, kept: (lambda g: Interval(g, g, g))(said[name]) if name in said else None
    )
    monkeypatch.setattr(room, "gains_for", lambda *args: gains)
    return path


def proving(monkeypatch: pytest.MonkeyPatch, **verdicts: bool) -> None:
    def prove(claim: object) -> Proof:
        text = claim.after  # type: ignore[attr-defined]  # a Claim
        failing = [name for name, sign in SIGNS.items() if sign in text and not verdicts.get(name, True)]
        return proof(not failing)

    monkeypatch.setattr(room, "prove", prove)


SIGNS = {"fused_optimizer": "fused=True", "set_to_none": "zero_grad()"}
BOTH = ("set_to_none", "fused_optimizer")


def test_without_a_proof_the_change_is_shown_and_the_file_stays(script: pathlib.Path) -> None:
    report = fix(FixRequest(str(script), remedies=BOTH))
    assert [(r.id, r.kept) for r in report.remedies] == [("fused_optimizer", None), ("set_to_none", None)]  # by gain
    assert "+optimizer = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)" in report.diff
    assert "+    optimizer.zero_grad()" in report.diff
    assert script.read_text() == SCRIPT


def test_what_is_not_proven_is_taken_back(script: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proving(monkeypatch, fused_optimizer=False)
    report = fix(FixRequest(str(script), remedies=BOTH, prove=True))
    assert {r.id: r.kept for r in report.remedies} == {"fused_optimizer": False, "set_to_none": True}
    assert "fused" not in report.diff
    assert report.predicted is not None
    assert report.predicted.mid == pytest.approx(1 / 0.9)
    assert report.error == pytest.approx((0.1 - 1 / 3) / (1 / 3))


def test_only_what_is_proven_is_written(script: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proving(monkeypatch, set_to_none=False)
    report = fix(FixRequest(str(script), remedies=BOTH, prove=True, write=True))
    assert report.written
    assert "fused=True" in script.read_text()
    assert "set_to_none=False" in script.read_text()
    assert pathlib.Path(report.backup or "").read_text() == SCRIPT


def test_nothing_is_written_where_nothing_is_proven(script: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proving(monkeypatch, set_to_none=False, fused_optimizer=False)
    report = fix(FixRequest(str(script), remedies=BOTH, prove=True, write=True))
    assert (report.written, report.diff, report.proof) == (False, "", None)
    assert script.read_text() == SCRIPT
    assert any("Nothing was written" in w for w in report.warnings)


def test_a_remedy_that_is_advice_says_so(script: pathlib.Path) -> None:
    report = fix(FixRequest(str(script), remedies=("parallel_architecture",)))
    assert "advice" in report.remedies[0].reason


def test_next_to_nothing_is_not_tried_unless_it_is_asked_for(script: pathlib.Path) -> None:
    assert {r.id: r.kept for r in fix(FixRequest(str(script))).remedies}["flush_denormals"] is False
    assert fix(FixRequest(str(script), remedies=("flush_denormals",))).remedies[0].kept is None


def test_the_promise_of_several_is_the_weakest_and_their_tolerances_add() -> None:
    assert promise_of(["set_to_none"]) == ("bitwise", None)
    promise, tolerance = promise_of(["set_to_none", "fused_optimizer", "flush_denormals"])
    assert promise == "tolerance"
    assert tolerance == pytest.approx(1e-4 + 1e-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["--remedy", "magic"], "no remedy is called 'magic'"),
        (["--diff", "--write"], "choose one"),
        (["--seconds", "0"], "above 0"),
        (["--gpu", "abacus"], "abacus"),
    ],
)
def test_a_wrong_call_gets_a_line(script: pathlib.Path, call: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(script), *call]) == 2
    assert said in capsys.readouterr().err


def test_the_diff_alone_is_a_patch(script: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(script), "--remedy", "set_to_none", "--diff"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("--- a/")
    assert out.endswith("     optimizer.step()\n")


def test_what_was_looked_for_and_not_seen_is_not_offered(script: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is asked for by name."""
    gains = Gains("cpu", None, lambda name, kept: None, unseen={"flush_denormals": "no denormal numbers were seen"})
    monkeypatch.setattr(room, "gains_for", lambda *args: gains)
    told = {r.id: r for r in fix(FixRequest(str(script))).remedies}
    assert (told["flush_denormals"].kept, told["flush_denormals"].reason) == (False, "no denormal numbers were seen")
    assert fix(FixRequest(str(script), remedies=("flush_denormals",))).remedies[0].kept is None
