"""The modules below all rooms: whole files, calls into code that is not ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from breakeven import atomic
from breakeven.foreign import attempt


@pytest.mark.parametrize("unnamed", [True, False], ids=["without a name first", "under a temporary name first"])
def test_a_file_is_replaced_whole_and_keeps_its_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool
) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    target = tmp_path / "script.py"
    atomic.write(target, b"one")
    os.chmod(target, 0o640)
    atomic.write(target, b"two")
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"two", 0o640)
    atomic.write(target, b"three", 0o755)
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert os.listdir(tmp_path) == ["script.py"]


@pytest.mark.parametrize("unnamed", [True, False])
def test_what_cannot_be_named_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool
) -> None:
    target = tmp_path / "script.py"
    target.write_bytes(b"one")
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        atomic.write(target, b"two")
    assert target.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["script.py"]


def test_whatever_foreign_code_raises_is_handed_back_and_what_ends_a_program_goes_through() -> None:
    assert attempt(lambda: 3).value == 3
    assert isinstance(attempt(lambda: {}["x"]).error, KeyError)  # type: ignore[misc]  # an empty dict on purpose

    def leave() -> None:
        raise SystemExit(2)

    with pytest.raises(SystemExit):
        attempt(leave)
