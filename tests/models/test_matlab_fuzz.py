"""Whatever a MATLAB script holds, reading it ends in a description or in one line that says what is wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.models.matlab.read import read_text
from breakeven.models.matlab.values import Sized
from breakeven.models.torch_script import write
from tests.models.test_matlab_language import BRANCHES, FOLDED

EXAMPLE = (Path(__file__).resolve().parents[2] / "examples" / "cnn_lstm.m").read_text(encoding="utf-8")
MIXED = """
function run()
n = 3; a = {1, 'x'; @(x) x' , "y"}; s.b(2).c = a{1, end}'; m = [1 -2, n - 1; 4:6]; %{ no block
%{
block
%}
for k = m(:, 1)', if k > 2 && ~isempty(a), break; elseif true, continue, end, end
while n < 9, n = n + 1; end; switch 'a', case {'a' 'b'}, z = 1; otherwise, z = 2; end
try, q = f(2); catch, q = 1; end
layers = [sequenceInputLayer(4); gruLayer(2^n/64, 'OutputMode', 'last'); fullyConnectedLayer(q); regressionLayer];
layers(3) = fullyConnectedLayer(size(zeros(5, 2), 2));
o = trainingOptions("sgdm", MaxEpochs=2, LearnRateSchedule="piecewise", GradientThreshold=inf);
net = trainNetwork(X, Y, layers, o);
end
function y = f(x)
y = x * 2;
end
"""
CORPUS = (EXAMPLE, BRANCHES, FOLDED, MIXED)
GIVEN = {"X": Sized((4, 9, 50)), "XTrain": Sized((1440, 28, 256))}
PIECES = (
    "'",
    '"',
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "...",
    "%",
    "%{\n",
    "\n%}\n",
    ";",
    ",",
    "=",
    "==",
    "@",
    "~",
    ":",
    ".",
    "end",
    "for",
    "if",
    "function",
    "1e999",
    "-1",
    "0",
    "NaN",
    "Inf",
    "1:1e9",
    "zeros(1e6)",
    "cell(1e7,1)",
    "rand",
    "2^9999",
    "\x00",
    "é",
    "𝒳",
    "\r",
    "\t",
    " ",
    "while true",
    "'same'",
    "[]",
    "{}",
    "end+1",
    "X",
    "layers",
    "net.Layers",
    "@(x) x",
    "0x",
    "1e",
    "1.",
    ".5",
    "1..2",
    "%s",
    "sprintf('%d', 9)",
    "sprintf('%999999999d', 9)",
    "0x" + "f" * 99,
)


def _erased(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + text[at + dice.randrange(1, 12) :]


def _inserted(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(PIECES) + text[at:]


def _copied(text: str, dice: random.Random) -> str:
    at, start = dice.randrange(len(text) + 1), dice.randrange(len(text) + 1)
    return text[:at] + text[start : start + dice.randrange(60)] + text[at:]


def _cut(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _renumbered(text: str, dice: random.Random) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    one = dice.choice(numbers)
    return (
        text[: one.start()]
        + dice.choice(("0", "-3", "1e308", "2147483647", "0.5", "99999999999999999999", "NaN"))
        + text[one.end() :]
    )


def _reordered(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _renamed(text: str, dice: random.Random) -> str:
    words = re.findall(r"[A-Za-z]\w+", text)
    return text.replace(dice.choice(words), dice.choice(words), 1) if words else text


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _erased,
    _inserted,
    _copied,
    _cut,
    _renumbered,
    _reordered,
    _renamed,
)


def mutated(seed: int) -> str:
    """A script of the corpus after one to six mutations."""
    dice = random.Random(seed)
    text = dice.choice(CORPUS)
    for _ in range(dice.randint(1, 6)):
        text = dice.choice(MUTATIONS)(text, dice)
    return text


def check(seeds: range) -> int:
    """How many of these scripts are still read; the rest has to be refused in one line."""
    read = 0
    for seed in seeds:
        text = mutated(seed)
        try:
            written = write(read_text(text, "train.m", GIVEN)).text
        except InputError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text!r}") from error
        compile(written, "written.py", "exec")
        read += 1
    return read


def test_a_corpus_is_read_as_it_is() -> None:
    for text in CORPUS:
        given = {FOLDED: {"X": Sized((28, 28, 1, 15, 50))}, MIXED: {"X": Sized((4, 9, 50))}}.get(text, {})
        assert read_text(text, "train.m", given).network.layers


def test_two_hundred_mutated_scripts_end_in_a_network_or_in_one_line() -> None:
    assert 0 < check(range(200)) < 200


@pytest.mark.nightly
def test_five_thousand_mutated_scripts_end_in_a_network_or_in_one_line() -> None:
    assert check(range(1000, 6000)) > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "%",
        "x = " + "(" * 5000,
        "x = " + "[" * 50 + "]" * 50,
        "x = " + "-" * 20000 + "1;",
        "x = 1" + "+1" * 20000 + ";",
        "\x00" * 100,
        "if 1\n" * 500,
        "x" + "'" * 20000,
        "a.b" + ".c" * 20000 + " = 1;",
        "x = " + "~" * 3000 + "0;",
        "f = @() f(); f();",
        "x = @(x) x(x); x(x);",
        "function f()\nf()\nend\nf()",
        "x = 'a" * 9999,
        "é = 1",
        "layers = []; o = trainingOptions('adam');",
        "net = trainNetwork()",
        "net = trainNetwork(1, 2)",
        "net = trainnet(1)",
        "x = 1:1e12; y = x(end);",
        "for k = 1:1e12, end",
        "x = 2^99999 * 0; y = zeros(x);",
        "x{1e9} = 3;",
        "a = 3; b = a(Name=1); c = [1 Name=2];",
        "layers = [additionLayer(2147483647); reluLayer]; net = trainNetwork(1, layers, trainingOptions('adam'));",
        "x = cell(3e5, 1); x{3e5} = 2;",
    ],
)
def test_a_hostile_script_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(text, "train.m")
    assert "\n" not in str(caught.value)
