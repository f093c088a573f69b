"""What the pages tell people to type runs as it stands: every call, every snippet; what cannot run here says why.

What takes longer than a moment is left to `make nightly`; `make check` looks at its words, and runs the rest.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from breakeven import cli
from breakeven.cli.app import load
from breakeven.cli.commands import COMMANDS
from tests.docs import world
from tests.docs.shown import ROOT, Shown, calls, is_synopsis, snippets

VERBS = {command.name for command in COMMANDS}

#: What words of a page stand for.
STANDS_FOR = {
    "SCRIPT": "train.py", "FILE": "trace.json.gz", "RUN": "runs/monday", "A": "runs/monday", "B": "runs/tuesday",
    "OPS.csv": "ops.csv", "NAME": "t4",
}  # fmt: skip
#: What is not run, and why.
NOT_HERE = {
    "breakeven time matmul --device cpu --device cuda": "needs a CUDA device",
    "breakeven time train.py:step --device gpu": "needs an accelerator",
    "breakeven race train.py --seconds 60 --device cpu --device cuda": "needs a CUDA device",
    "breakeven ui runs": "serves until it is interrupted; tests/workflows/test_ui.py has it",
    "breakeven settle --undo": "there is nothing to take back; tests/workflows/test_kept_runs.py has it",
}
#: Verbs that name a question and run as they stand.
BARE = frozenset({"breakeven devices", "breakeven gpus", "breakeven runs"})
#: Verbs that are answered at once, from what lies there.
AT_ONCE = frozenset({"lint", "gpus", "predict", "trace"})
#: Verbs that ask of answers that were kept.
OF_ANSWERS = frozenset({"compare", "gate", "runs", "settle"})
#: Exit codes beside 0 that are answers: findings of lint; no accelerator; a job that nobody has measured yet.
ANSWERS = {"lint": 1, "devices": 4, "settle": 4}


def verb(call: str) -> str:
    return call.split()[1]


def typed(call: str) -> list[str]:
    """The words after the program's name, with what stands for something replaced."""
    return [STANDS_FOR.get(word, word) for word in shlex.split(call)[1:]]


RUN = sorted({one.text for one in calls() if (not is_synopsis(one.text) or one.text in BARE) and one.text not in NOT_HERE})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world that the pages speak of, as working directory, and a home of its own."""
    world.lay(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `why` that was kept."""
    folder = tmp_path_factory.mktemp("kept")
    world.lay(folder)
    asked(folder, ["why", "train.py", "--gpu", "t4", "--out", "run", "--steps", "20", "--seconds", "1", "-q"])
    return folder / "run"


def asked(folder: Path, words: list[str], limit: int = 900) -> str:
    """What a call in a process of its own says; that it ends with an answer is checked."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HOME": str(folder / "home"), "COLUMNS": "100"}
    call = [sys.executable, "-m", "breakeven", *words]
    done = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=limit)
    assert done.returncode in (0, ANSWERS.get(words[0], 0)), f"{words}: {done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("shown", [one for one in calls() if "…" not in one.text], ids=lambda one: f"{one.page}: {one.text}")
def test_a_call_has_a_verb_and_options_that_there_are(shown: Shown) -> None:
    words = shown.text.replace("|", " ").replace("[", " ").replace("]", " ")
    try:
        split = shlex.split(words)
    except ValueError:
        pytest.skip("a fragment, not a call")
    assert split[1] in VERBS
    known = {option for param in load(split[1]).params for option in (*param.opts, *param.secondary_opts)} | {"--help", "-h"}
    own = split[2 : split.index("--")] if "--" in split else split[2:]
    assert {word.partition("=")[0] for word in own if word.startswith("-") and len(word) > 1} <= known


def test_what_is_not_run_is_shown_somewhere() -> None:
    """A reason for a call that no page shows any more is left over."""
    assert set(NOT_HERE) | BARE <= {one.text for one in calls()}


@pytest.mark.parametrize("call", [call for call in RUN if verb(call) in AT_ONCE])
def test_a_call_that_is_answered_at_once_runs(call: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = cli.main(typed(call)), capsys.readouterr()
    assert code in (0, ANSWERS.get(verb(call), 0)), said.err
    assert said.out or said.err or (here / "PRICED.csv").exists()


@pytest.mark.slow
def test_each_call_that_asks_of_kept_answers_runs(here: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one test: the answers take a while to come by."""
    world.with_answers(here, kept)
    for call in (call for call in RUN if verb(call) in OF_ANSWERS):
        code, said = cli.main(typed(call)), capsys.readouterr()
        assert code in (0, ANSWERS.get(verb(call), 0)), (call, said.err)
        assert said.out or code, call
    (snippet,) = (one for one in snippets() if one.page == "json.md")
    assert ran(here, snippet, "assert step['cpu'] > 0 and step['Tesla T4'] > 0")


@pytest.mark.nightly
@pytest.mark.parametrize("call", [call for call in RUN if verb(call) not in AT_ONCE | OF_ANSWERS])
def test_a_call_runs(call: str, here: Path) -> None:
    if "model." in call:
        world.with_models(here)
    assert asked(here, typed(call))


@dataclass(frozen=True)
class Given:
    """What stands around a snippet.

    Attributes:
        before: code that makes the names which the snippet takes for granted.
        after: what is then checked.
        instead: words of it that need what is not here, and what stands in for them.
    """

    before: str = ""
    after: str = ""
    instead: tuple[str, str] = ("", "")
    slow: bool = False


LOOP = """\
import torch, breakeven
model = torch.nn.Linear(4, 1)
batch = torch.ones(8, 4)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(80, 4)), batch_size=4)
def train():
    sgd = torch.optim.SGD(model.parameters(), 0.1)
    for (x,) in loader:
        model(x).sum().backward()
        sgd.step()
"""
LIGHTNING = """\
import torch, lightning
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.net(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
model = Net()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(80, 4)), batch_size=4)
"""
TRANSFORMERS = """\
import torch, transformers
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def forward(self, x):
        return {"loss": self.net(x).square().mean()}
model, rows = Net(), [{"x": torch.ones(4)} for _ in range(80)]
arguments = transformers.TrainingArguments("out", num_train_epochs=1, report_to=[], use_cpu=True, save_strategy="no")
"""
KERAS = """\
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = numpy.ones((80, 4)), numpy.ones((80, 1))
"""
TIMED = """\
import torch
def make(device):
    return torch.nn.Linear(4, 1).to(device), torch.ones(8, 4, device=device)
def train(model, batch):
    model(batch).sum().backward()
"""
STEP = """\
def make_step(batch, hidden):
    import torch
    net, x = torch.nn.Linear(hidden, hidden), torch.ones(batch, hidden)
    sgd = torch.optim.SGD(net.parameters(), 0.1)
    def step():
        net(x.cuda()).sum().backward()
        sgd.step()
    return step
"""
#: By page, in the order of its snippets.
GIVEN: dict[str, tuple[Given, ...]] = {
    "json.md": (Given(),),  # run where the answers are
    "loops.md": (
        Given(LOOP, "assert device.type in ('cpu', 'cuda', 'mps', 'xpu')"),
        Given(LOOP, "assert seen.report.steps == 20"),
        Given(LIGHTNING, "assert watching.watch.report.steps >= 19", slow=True),
        Given(TRANSFORMERS, "assert watching.watch.report.steps >= 9", slow=True),
        Given(KERAS, "assert watching.watch.report.steps >= 1", slow=True),
    ),
    "runs.md": (Given(),),
    "sweep.md": (Given(slow=True),),
    "timing.md": (Given(TIMED, instead=('["cpu", "cuda"]', '["cpu"]'), slow=True),),
}


def ran(folder: Path, shown: Shown, after: str = "", given: Given | None = None) -> bool:
    """Run a snippet as a script in a folder; that it ends well is checked."""
    around = given or Given()
    assert around.instead[0] in shown.text
    text = shown.text.replace(*around.instead) if around.instead[0] else shown.text
    (folder / "snippet.py").write_text(f"{around.before}\n{text}\n{after or around.after}\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1"}
    call = [sys.executable, "snippet.py"]
    done = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return True


def with_given(slow: bool) -> list[tuple[Shown, Given]]:
    found = []
    for page, around in GIVEN.items():
        own = [one for one in snippets() if one.page == page]
        found += [(one, given) for one, given in zip(own, around, strict=True) if given.slow == slow and page != "json.md"]
    return found


def test_each_snippet_is_run() -> None:
    pages = [one.page for one in snippets()]
    assert {page: pages.count(page) for page in pages} == {page: len(around) for page, around in GIVEN.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("shown", "given"), with_given(slow=False), ids=lambda one: getattr(one, "page", ""))
def test_a_snippet_runs(shown: Shown, given: Given, here: Path) -> None:
    assert ran(here, shown, given=given)


@pytest.mark.nightly
@pytest.mark.parametrize(("shown", "given"), with_given(slow=True), ids=lambda one: getattr(one, "page", ""))
def test_a_snippet_that_takes_longer_runs(shown: Shown, given: Given, here: Path) -> None:
    pytest.importorskip("torch")
    assert ran(here, shown, given=given)
