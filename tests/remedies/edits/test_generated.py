"""Edited scripts run and compute the same: over scripts drawn at random, good ones and traps."""

from __future__ import annotations

import difflib
import math
import random
from collections.abc import Mapping, Sequence

import pytest

from breakeven.remedies.edits import Edited, Refused, edit, edits
from tests.remedies.edits.generators import GENERATORS
from tests.remedies.edits.running import Ran, run

PER_REMEDY = 6
PER_REMEDY_NIGHTLY = 200
#: At least this share of the scripts of each remedy must be edited, so that the test does not pass on refusals alone.
EDITED_SHARE = 0.12

Pair = tuple[str, str]


def drawn(remedy: str, count: int, seed: int) -> list[str]:
    rng = random.Random(f"{remedy} {seed}")
    return [GENERATORS[remedy](rng) for _ in range(count)]


def edited(remedy: str, texts: Sequence[str]) -> list[Pair]:
    """The pairs of those that the edit changes; each must stay as it is when edited again."""
    pairs = []
    for text in texts:
        done = edit(remedy, "script.py", text)
        if isinstance(done, Refused):
            assert done.reason
            continue
        assert done.text != text
        assert done.lines
        again = edit(remedy, "script.py", done.text)
        assert isinstance(again, Refused), difference(done.text, again.text)
        pairs.append((text, done.text))
    return pairs


def difference(before: str, after: str) -> str:
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), n=100))


def check(remedy: str, pair: Pair, before: Ran, after: Ran) -> None:
    """The promise of the edit holds for one script."""
    one, shown = edits()[remedy], difference(*pair)
    assert before.error is None, f"{before.error}\n{pair[0]}"
    assert after.error is None, f"{after.error}\n{shown}"
    if one.promise == "changes_mathematics":
        assert all(map(math.isfinite, after.numbers)), shown
        return
    assert len(before.numbers) == len(after.numbers), shown
    if one.promise == "bitwise":
        assert before.numbers == after.numbers, shown
        return
    assert one.tolerance is not None
    for old, new in zip(before.numbers, after.numbers, strict=True):
        assert old == pytest.approx(new, rel=one.tolerance, abs=one.tolerance * 0.1), f"{old} {new}\n{shown}"


def ran(pairs: Mapping[str, Sequence[Pair]], eager: bool) -> dict[str, list[tuple[Ran, Ran]]]:
    """Run all pairs in one child."""
    texts = [text for these in pairs.values() for pair in these for text in pair]
    answers = iter(run(texts, eager))
    return {remedy: [(next(answers), next(answers)) for _ in these] for remedy, these in pairs.items()}


@pytest.fixture(scope="module")
def all_pairs() -> dict[str, list[Pair]]:
    return {remedy: _some(remedy) for remedy in sorted(GENERATORS)}


def _some(remedy: str) -> list[Pair]:
    """Of a few scripts those that it edits; of more where it edits few."""
    share = edited(remedy, drawn(remedy, PER_REMEDY, 1))
    return share if len(share) >= EDITED_SHARE * PER_REMEDY else edited(remedy, drawn(remedy, 8 * PER_REMEDY, 1))[:PER_REMEDY]


@pytest.fixture(scope="module")
def all_runs(all_pairs: dict[str, list[Pair]]) -> dict[str, list[tuple[Ran, Ran]]]:
    return ran(all_pairs, eager=True)


def test_every_edit_has_scripts() -> None:
    assert set(edits()) == set(GENERATORS)


@pytest.mark.parametrize("remedy", sorted(GENERATORS))
def test_an_edited_script_runs_and_keeps_its_promise(
    remedy: str, all_pairs: dict[str, list[Pair]], all_runs: dict[str, list[tuple[Ran, Ran]]]
) -> None:
    """Over a few scripts drawn at random; also: edited twice is edited once."""
    pairs = all_pairs[remedy]
    assert len(pairs) >= EDITED_SHARE * PER_REMEDY
    for pair, (before, after) in zip(pairs, all_runs[remedy], strict=True):
        check(remedy, pair, before, after)


@pytest.mark.nightly
@pytest.mark.parametrize("remedy", sorted(GENERATORS))
def test_an_edited_script_keeps_its_promise_over_many(remedy: str) -> None:
    """Over two hundred scripts."""
    pairs = edited(remedy, drawn(remedy, PER_REMEDY_NIGHTLY, 2))
    for pair, (before, after) in zip(pairs, ran({remedy: pairs}, eager=True)[remedy], strict=True):
        check(remedy, pair, before, after)
    assert len(pairs) >= 8


@pytest.mark.parametrize("remedy", sorted(GENERATORS))
def test_an_edit_of_one_place_changes_lines_that_were_asked_about(remedy: str) -> None:
    """With the lines of its own answer, the edit gives the same answer; with one past the end, none."""
    for text in drawn(remedy, 1, 3):
        done = edit(remedy, "script.py", text)
        if isinstance(done, Edited):
            assert edit(remedy, "script.py", text, done.lines) == done
            assert isinstance(edit(remedy, "script.py", text, (10_000,)), Edited | Refused)
