"""Each edit turns its written cases into what stands below them, and leaves those alone that say so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.remedies import REMEDIES
from breakeven.remedies.edits import Edited, Refused, edit, edits

CASES = Path(__file__).with_name("cases")


def cases() -> list[tuple[str, str, str, str]]:
    """Remedy, name, text before, and the text after or `stays: reason`."""
    found = []
    for path in sorted(CASES.glob("*.txt")):
        for part in re.split(r"^# === ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            name, rest = part.split("\n", 1)
            before, after = re.split(r"^# --- ", rest, flags=re.M)
            found.append((path.stem, name, before, after.removeprefix("after\n")))
    return found


@pytest.mark.parametrize(("remedy", "name", "before", "after"), cases(), ids=lambda value: value if len(value) < 45 else "")
def test_a_case_becomes_what_stands_below_it(remedy: str, name: str, before: str, after: str) -> None:
    done = edit(remedy, "case.py", before)
    if isinstance(done, Refused):
        assert after == f"stays: {done.reason}\n", name
        return
    assert done.text == after, name
    compile(done.text, "case.py", "exec")
    assert isinstance(edit(remedy, "case.py", done.text), Refused), "a second time changes nothing"


def test_every_edit_has_a_case_that_it_changes() -> None:
    assert {remedy for remedy, _, _, after in cases() if not after.startswith("stays")} == set(edits())


def test_edits_have_the_ids_of_remedies_and_say_what_they_promise() -> None:
    for one in edits().values():
        assert one.id in REMEDIES
        assert (one.tolerance is not None) == (one.promise == "tolerance")
        assert all(words.endswith(".") for words in (one.safe_when, one.unsafe_when, one.changes))


def test_windows_line_ends_and_tabs_are_kept() -> None:
    text = "import torch\r\n\r\nfor i in range(3):\r\n\tstep()\r\n\ttorch.cuda.empty_cache()\r\n"
    done = edit("no_empty_cache", "case.py", text)
    assert isinstance(done, Edited)
    assert done.text == "import torch\r\n\r\nfor i in range(3):\r\n\tstep()\r\n"


def test_what_is_no_python_is_an_error_of_one_line() -> None:
    with pytest.raises(InputError, match=r"bad\.py:1: not Python"):
        edit("threads", "bad.py", "def (:\n")


def test_an_unknown_edit_names_the_known() -> None:
    with pytest.raises(InputError, match="set_to_none"):
        edit("parallel_architecture", "case.py", "")
