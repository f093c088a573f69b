"""A network in one line: what it means, and what is said where it means nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.errors import InputError
from breakeven.models.learnables import count
from breakeven.models.shorthand.read import WORDS, network


@pytest.mark.parametrize(
    ("text", "length", "shape", "learned"),
    [
        ("embed 1→8, rnn 256, linear 1", 1, "1 at 1 time steps", 16 + 256 * (8 + 256 + 2) + 257),
        ("embed 1->8, rnn 256, linear 1", 7, "1 at 7 time steps", 16 + 256 * (8 + 256 + 2) + 257),
        ("embed 10000→64, lstm 128 last, linear 5", 50, "5", 640_000 + 4 * 128 * (64 + 128 + 2) + 129 * 5),
        ("embed 100→16, bilstm 20 2 layers, linear 2", 9, "2 at 9 time steps", 1600 + 8 * 20 * 38 + 8 * 20 * 62 + 82),
        ("gru 20→30, last, linear 1", 9, "1", 3 * 30 * 52 + 31),
        ("linear 784→128, relu, dropout 0.2, linear 10, softmax", None, "10", 785 * 128 + 129 * 10),
        ("image 28x28, conv 8 3x3 p1, batchnorm, relu, maxpool 2, flatten, linear 10", None, "10", 80 + 16 + 15690),
        ("image 32×32×3, 3 x (conv 16 k3 same, relu, maxpool 2), mean, linear 10", None, "10", 448 + 2320 * 2 + 170),
        ("conv1d 1440→2 k5 same, batchnorm, relu, lstm 24 last, linear 1", 28, "1", 14402 + 4 + 4 * 24 * 28 + 25),
        ("conv1d 8→16 k5, attention 4, linear 2", 20, "2 at 16 time steps", 656 + 4 * 17 * 16 + 34),
        ("image 28x28x1, linear 784→10", None, "10", 785 * 10),
        ("input 64, 2 x (attention 8, layernorm), mean, linear 2", 10, "2", 2 * (4 * 65 * 64 + 128) + 130),
    ],
)
def test_sizes_and_learnables_follow_from_the_line(text: str, length: int | None, shape: str, learned: int) -> None:
    net = network(text, length)
    assert str(net.output) == shape
    assert count(net) == learned


@pytest.mark.parametrize(
    ("text", "length", "said"),
    [
        ("", None, "there are no layers"),
        ("rnn 8→16, lineer 1", 1, "no layer is called 'lineer'; did you mean 'linear'?"),
        ("linear 10", None, "nothing says what goes in; begin with `linear 20→256`"),
        ("rnn 8→16, linear 1", None, "say how many with --length"),
        ("rnn 8→16 fast, linear 1", 1, "'fast' says nothing to it"),
        ("rnn 8→, linear 1", 1, "at character 7"),
        ("linear 8→0", None, "whole number from 1 on"),
        ("linear 8→2.5", None, "whole number from 1 on"),
        ("image 8x8x1, conv 4 9x9, linear 1", None, "nothing is left"),
        ("linear 8→4, last", None, "has to follow one"),
        ("linear 8→4, input 3", None, "has to come first"),
        ("linear 8→4, dropout 1.5", None, "a probability of 1.5"),
        ("99999 x (linear 8→8)", None, "more than 2000 layers"),
        ("linear 8→4 (", None, "is not understood"),
        ("image 8x8x1, conv 4", None, "window is missing"),
        ("input 8, embed 4", None, "needs both sizes"),
        ("rnn 8→16 2.5 layers", 4, "2.5 layers cannot be"),
        ("input 20, linear 30→10", None, "linear: takes 30 by its arrow, and 20 goes in"),
        ("rnn 8→16, embed 1→4", 4, "embed: takes 1 by its arrow, and 16 at 4 time steps goes in"),
        ("linear 8→4, relu 4→4", None, "relu: takes no arrow"),
        ("relu", None, "begin with `linear 20→256`"),
        ("image 8x8x1, conv 4 9x9, attention 2", None, "--net: layer 'conv 1'"),
    ],
)
def test_a_line_that_is_wrong_is_told_how_to_be_right(text: str, length: int | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        network(text, length)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(
    st.lists(
        st.sampled_from([*WORDS, "8", "→", "->", ",", "x", "(", ")", "3x3", "k5", "s2", "0", "1.5", "last", "same", "%"]),
        max_size=14,
    )
)
def test_any_words_make_a_network_or_one_line(words: list[str]) -> None:
    try:
        network(" ".join(words), 4)
    except InputError as error:
        assert str(error).startswith("--net: ")  # noqa: PT017  # either is right, and this is what the error has to be
