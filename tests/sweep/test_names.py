"""Names lead to the one value that a person means, in scripts that are only read; else the error lists what there is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from breakeven.capture.request import CaptureRequest, Substitution
from breakeven.capture.substitution import substitute
from breakeven.errors import InputError
from breakeven.sweep.job import Job
from breakeven.sweep.names import Found, bind

ARGPARSE = """
import argparse
HIDDEN = 32
parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default=64)
parser.add_argument("--hidden", type=int, default=HIDDEN)
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
"""
CLICK = """
import click
@click.command()
@click.option("--hidden-size", "-h", default=128)
@click.option("--verbose", is_flag=True)
def main(hidden_size, verbose): ...
"""
TYPER = """
import typer
from typing import Annotated
def main(hidden: int = 64, batch: int = typer.Option(32, "--bs"), width: Annotated[int, typer.Option("--model-width")] = 5): ...
typer.run(main)
"""
ABSL = """
from absl import flags
flags.DEFINE_integer("hidden", 256, "width")
"""
HYDRA = """
import hydra
@hydra.main(config_path="conf", config_name="config")
def main(cfg): ...
"""
OMEGA = """
from omegaconf import OmegaConf
base = OmegaConf.create({"model": {"hidden": 128, "layers": 2}, "batch": 32})
cfg = OmegaConf.merge(base, OmegaConf.from_cli())
"""
FIELDS = """
from dataclasses import dataclass, field
@dataclass
class Config:
    hidden: int = 128
    batch: int = field(default=16)
"""
LOADER = """
from torch.utils.data import DataLoader
train = DataLoader(data, batch_size=32, shuffle=True)
test = DataLoader(other, batch_size=32)
"""
DEFAULT = """
class Net:
    def __init__(self, width=64, *, hidden=128): ...
net = Net(16)
"""
CONSTANTS = """
BATCH_SIZE = 2 ** 6
if True:
    HIDDEN_DIM: int = 100
EPOCHS, SEQ_LEN = 3, 35
def train(): x = torch.zeros(BATCH_SIZE)
"""
LAYER = """
class Net(nn.Module):
    def __init__(self):
        self.rnn = nn.LSTM(10, 24, 2, bidirectional=True)
        self.head = nn.Linear(2 * 24, 1)
"""
POSITIONAL = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("n", type=int, nargs="?", default=100)
"""
ATTRIBUTE = """
class Net(nn.Module):
    def __init__(self, terms):
        self.hidden = nn.Linear(terms, 64)
        self.out = nn.Linear(64, 1)
"""
MAIN = """
def main():
    hidden = 48
    net = Net(hidden)
"""


def found(tmp_path: Path, source: str, name: str) -> Found:
    script = tmp_path / "train.py"
    script.write_text(source)
    (tmp_path / "conf").mkdir(exist_ok=True)
    (tmp_path / "conf" / "config.yaml").write_text("model:\n  hidden: 96  # width\n  layers: 2\nbatch: 8\n")
    return bind(name, script)


@pytest.mark.parametrize(
    ("source", "name", "kind", "spelled", "today"),
    [
        (ARGPARSE, "batch", "option", "--batch-size", 64),
        (ARGPARSE, "batch_size", "option", "--batch-size", 64),
        (ARGPARSE, "--batch-size", "option", "--batch-size", 64),
        (ARGPARSE, "hidden", "option", "--hidden", None),
        (CLICK, "hidden", "option", "--hidden-size", 128),
        (TYPER, "hidden", "option", "--hidden", 64),
        (TYPER, "bs", "option", "--bs", 32),
        (TYPER, "model_width", "option", "--model-width", 5),
        (ABSL, "hidden", "option", "--hidden", 256),
        (HYDRA, "hidden", "key", "model.hidden", 96),
        (HYDRA, "model.layers", "key", "model.layers", 2),
        (HYDRA, "batch", "key", "batch", 8),
        (OMEGA, "hidden", "key", "model.hidden", 128),
        (FIELDS, "hidden", "field", "hidden", 128),
        (FIELDS, "batch", "field", "batch", 16),
        (LOADER, "batch_size", "argument", "batch_size", 32),
        (LOADER, "batch", "argument", "batch_size", 32),
        (DEFAULT, "hidden", "default", "hidden", 128),
        (DEFAULT, "width", "argument", "width", 16),  # every call gives it, by its place
        (CONSTANTS, "batch", "constant", "BATCH_SIZE", 64),
        (CONSTANTS, "hidden", "constant", "HIDDEN_DIM", 100),
        (CONSTANTS, "seq", "constant", "SEQ_LEN", 35),
        (LAYER, "hidden", "layer", "hidden_size", 24),
        (POSITIONAL, "n", "default", "n", 100),
        (ATTRIBUTE, "hidden", "layer", "out_features", 64),
        (MAIN, "hidden", "constant", "hidden", 48),
    ],
)
def test_a_name_leads_to_its_place(tmp_path: Path, source: str, name: str, kind: str, spelled: str, today: int | None) -> None:
    one = found(tmp_path, source, name)
    assert (one.kind, one.name, one.today) == (kind, spelled, today)


@pytest.mark.parametrize(
    ("source", "name", "says"),
    [
        (ARGPARSE, "layers", "it has --batch-size, --hidden"),
        (ARGPARSE, "cuda", "no parameter of that name"),
        ("A = 1\n", "hidden", "it has A"),
        ("print(1)\n", "hidden", "nothing in it could be varied"),
        (FIELDS + "\n@dataclass\nclass Other:\n    hidden: int = 3\n", "hidden", "hidden@"),
        ("x = DataLoader(d, batch_size=32)\ny = DataLoader(e, batch_size=8)\n", "batch_size", "line 2"),
    ],
)
def test_an_unknown_or_ambiguous_name_lists_what_could_be_meant(tmp_path: Path, source: str, name: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        found(tmp_path, source, name)
    assert says in str(error.value)
    assert len(str(error.value)) < 380


def test_a_line_chooses_among_several(tmp_path: Path) -> None:
    source = "x = DataLoader(d, batch_size=32)\ny = DataLoader(e, batch_size=8)\n"
    assert found(tmp_path, source, "batch_size@2").today == 8


def test_what_only_hands_a_constant_on_is_the_constant(tmp_path: Path) -> None:
    source = "BATCH = 32\na = DataLoader(d, batch_size=BATCH)\nb = DataLoader(e, batch_size=BATCH)\n"
    assert found(tmp_path, source, "batch_size").name == "BATCH"


def test_a_module_beside_the_script_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("HIDDEN = 77\n")
    one = found(tmp_path, "from settings import HIDDEN\nprint(HIDDEN)\n", "hidden")
    assert one.today == 77
    assert one.file.endswith("settings.py")


def test_a_layers_size_changes_wherever_it_stands(tmp_path: Path) -> None:
    one = found(tmp_path, LAYER, "hidden")
    job = Job(CaptureRequest("train.py"), (one,))
    tree = substitute(ast.parse(LAYER), job.of_cell((64,), ("cpu",)).substitutions)
    assert "nn.LSTM(10, 64, 2" in ast.unparse(tree)
    assert "nn.Linear(2 * 64, 1)" in ast.unparse(tree)


def test_options_and_keys_go_behind_the_users_own_arguments(tmp_path: Path) -> None:
    option, key = found(tmp_path, ARGPARSE, "batch"), found(tmp_path, HYDRA, "hidden")
    job = Job(CaptureRequest("train.py", args=("--hidden", "8", "model.hidden=3")), (option, key))
    assert job.of_cell((16, 32), ("cpu",)).args == ("--hidden", "8", "--batch-size=16", "model.hidden=32")


def test_a_file_that_has_changed_is_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="not what it was"):
        substitute(ast.parse("A = 10\nB = 3\n"), (Substitution("train.py", 1, 4, 1, 5, 3),))


def test_values_and_lines_of_the_tree_stay_but_for_the_value() -> None:
    tree = substitute(ast.parse("A = 10\nB = A + 3\n"), (Substitution("train.py", 1, 4, 1, 6, 256),))
    assert ast.unparse(tree) == "A = 256\nB = A + 3"
    assert [n.lineno for n in tree.body] == [1, 2]
