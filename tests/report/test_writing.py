"""Files are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from breakeven.errors import InputError
from breakeven.report import writing
from breakeven.report.writing import check_target, write_whole


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "why.json"
    write_whole(target, b"one")
    write_whole(target, b"two")
    assert target.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    target = tmp_path / "why.json"
    plain = tmp_path / "plain"
    plain.touch()
    write_whole(target, b"x")
    assert target.stat().st_mode == plain.stat().st_mode
    target.chmod(0o640)
    write_whole(target, b"y")
    assert target.stat().st_mode & 0o777 == 0o640


def test_what_fails_half_way_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "why.json"
    target.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(InputError, match="no space left on device"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"through")
    reader.join(timeout=10)
    assert got == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere/x.json", "there is no directory"), ("", "it is a directory"), ("file/x.json", "is not a directory")],
)
def test_a_target_that_cannot_be_written_is_refused_at_the_door(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        check_target(tmp_path / name, "--json")


def test_a_read_only_directory_is_refused_at_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing.os, "access", lambda path, mode: False)  # root may write anywhere, so it is not asked
    with pytest.raises(InputError, match="read-only"):
        check_target(tmp_path / "x.json", "--json")
