"""A proof tells changes that compute the same from those that do not, and faster from slower, by running both."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from breakeven.capture.proof.prove import Claim, prove, versions
from breakeven.capture.request import CaptureRequest
from breakeven.errors import NoAnswer, ScriptFailed
from breakeven.results.proof import Proof

pytest.importorskip("torch", reason="proofs run PyTorch scripts")

TRAINING = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout(0.5), torch.nn.Linear(32, 1)).to("cuda")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(64, 16, device="cuda")
for step in range({steps}):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    {body}
open("written.txt", "w").write("done")
"""


def training(body: str = "pass", steps: int = 100000) -> str:
    return TRAINING.format(body=body, steps=steps)


@pytest.fixture
def proven(tmp_path: pathlib.Path) -> Callable[..., Proof]:
    def run(before: str, after: str, promise: str = "bitwise", tolerance: float | None = None, **asked: object) -> Proof:
        script = tmp_path / "train.py"
        script.write_text(before)
        options: dict[str, object] = {"seconds": 1.5} | asked
        claim = Claim(CaptureRequest(str(script), cwd=str(tmp_path)), None, after, promise, tolerance, **options)  # type: ignore[arg-type]
        return prove(claim)

    return run


WASTE = "sum(range(400000))"


def test_work_that_is_dropped_is_proven_to_be_faster_and_bitwise_the_same(
    proven: Callable[..., Proof], tmp_path: pathlib.Path
) -> None:
    proof = proven(training(WASTE), training())
    assert proof.kept, proof
    assert proof.speedup is not None
    assert proof.speedup.low > 1.5
    assert proof.equality is not None
    assert [d.what for d in proof.equality.differences] == ["losses", "gradients", "parameters"]
    assert all(d.bitwise and d.largest == 0 and d.last == 0 for d in proof.equality.differences)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["train.py"]  # nothing of the user's is touched
    assert (tmp_path / "train.py").read_text() == training(WASTE)


@pytest.mark.nightly
def test_work_that_is_added_is_not_kept_though_it_computes_the_same(proven: Callable[..., Proof]) -> None:
    proof = proven(training(), training(WASTE))
    assert proof.equality is not None
    assert proof.equality.holds
    assert proof.speedup is not None
    assert proof.speedup.high < 1
    assert (proof.kept, proof.reason) == (False, "it is slower")


def test_another_learning_rate_breaks_a_bitwise_promise_from_the_second_step_on(proven: Callable[..., Proof]) -> None:
    proof = proven(training(), training().replace("lr=0.01", "lr=0.02"))
    assert not proof.kept
    assert proof.reason == "it does not compute the same"
    assert proof.equality is not None
    assert proof.equality.repeatable is True
    first = {d.what: d.first_step for d in proof.equality.differences}
    assert first == {"losses": 2, "gradients": 2, "parameters": 1}


@pytest.mark.nightly
@pytest.mark.parametrize(("tolerance", "holds"), [(1e-4, True), (1e-12, False)])
def test_a_tolerance_is_held_against_the_first_steps(proven: Callable[..., Proof], tolerance: float, holds: bool) -> None:
    after = training().replace("lr=0.01", "lr=0.010000001")
    proof = proven(training(), after, "tolerance", tolerance, faster=False)
    assert proof.equality is not None
    assert proof.equality.holds is holds
    assert proof.kept is holds


def test_a_change_that_fails_is_not_kept_and_says_why(proven: Callable[..., Proof]) -> None:
    proof = proven(training(), training("raise ValueError('planted')"))
    assert not proof.kept
    assert "ValueError: planted" in proof.reason


@pytest.mark.nightly
def test_a_script_that_fails_itself_is_the_users_own_fault(proven: Callable[..., Proof]) -> None:
    with pytest.raises(ScriptFailed, match="ZeroDivisionError"):
        proven(training("1 / 0").replace("for step", "1 / 0\nfor step"), training())


@pytest.mark.nightly
def test_a_script_without_steps_gives_no_answer(proven: Callable[..., Proof]) -> None:
    with pytest.raises(NoAnswer, match="no training step"):
        proven("print('nothing')\n", "print('nothing at all')\n")


@pytest.mark.nightly
def test_a_short_script_is_started_again_until_there_are_pairs_enough(proven: Callable[..., Proof]) -> None:
    proof = proven(training(WASTE, steps=60), training(steps=60))
    assert proof.equality is not None
    assert proof.equality.holds
    assert proof.equality.steps == 20


@pytest.mark.nightly
def test_where_the_mathematics_changes_a_race_decides(proven: Callable[..., Proof]) -> None:
    plain = training().replace("torch.nn.Dropout(0.5), ", "").replace("lr=0.01", "lr=1e-6")
    proof = proven(plain, plain.replace("lr=1e-6", "lr=0.01"), "changes_mathematics")
    assert proof.kept
    assert proof.race is not None
    assert proof.race.after.mid < proof.race.before.mid
    worse = proven(plain.replace("lr=1e-6", "lr=0.01"), plain, "changes_mathematics")
    assert not worse.kept


@pytest.mark.nightly
def test_the_changed_text_is_what_runs_and_what_the_script_can_read_of_itself(proven: Callable[..., Proof]) -> None:
    before = training("assert 'before' in open(__file__).read()  # before")
    after = training("assert 'af' + 'ter' in open(__file__).read()  # after")
    assert proven(before, after, faster=False).kept


def test_versions_name_the_same_file(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(training())
    one, other = versions(Claim(CaptureRequest(str(script)), None, "x = 1\n"))
    assert (one.file, one.text, other.text) == (str(script), None, "x = 1\n")
    assert one.file == other.file
