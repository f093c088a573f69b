"""The copy-on-write layer, against the plain file system as its model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.capture.scratch import Overlay


class Plain:
    """What the calls do on a file system of one's own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str, keep: bool) -> None:
        with open(self.root / name, "a" if keep else "w") as handle:
            handle.write(text)

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def mkdir(self, name: str) -> None:
        os.mkdir(self.root / name)

    def rmdir(self, name: str) -> None:
        os.rmdir(self.root / name)

    def unlink(self, name: str) -> None:
        os.unlink(self.root / name)

    def rename(self, old: str, new: str) -> None:
        os.replace(self.root / old, self.root / new)

    def listdir(self, name: str) -> list[str]:
        return sorted(os.listdir(self.root / name))


class Layered(Plain):
    """The same through the layer."""

    def __init__(self, root: Path, overlay: Overlay) -> None:
        super().__init__(root)
        self.overlay = overlay

    def write(self, name: str, text: str, keep: bool) -> None:
        with open(self.overlay.to_write(str(self.root / name), keep), "a" if keep else "w") as handle:
            handle.write(text)

    def read(self, name: str) -> str:
        with open(self.overlay.to_read(str(self.root / name))) as handle:
            return handle.read()

    def mkdir(self, name: str) -> None:
        self.overlay.mkdir(str(self.root / name))

    def rmdir(self, name: str) -> None:
        self.overlay.rmdir(str(self.root / name))

    def unlink(self, name: str) -> None:
        self.overlay.unlink(str(self.root / name))

    def rename(self, old: str, new: str) -> None:
        self.overlay.rename(str(self.root / old), str(self.root / new))

    def listdir(self, name: str) -> list[str]:
        return sorted(self.overlay.listdir(str(self.root / name)))


def fill(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "a").write_text("old a")
    (root / "d" / "b").write_text("old b")
    (root / "d" / "e" / "c").write_text("old c")


NAMES = st.sampled_from(["a", "new", "d/b", "d/new", "d/e/c", "f/x"])
FOLDERS = st.sampled_from(["d", "d/e", "f", "f/g"])
ANY = st.one_of(NAMES, FOLDERS)
ACTIONS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(["1", "22"]), st.booleans()),
    st.tuples(st.just("read"), NAMES),
    st.tuples(st.sampled_from(["mkdir", "rmdir", "listdir"]), FOLDERS),
    st.tuples(st.just("unlink"), NAMES),
    st.tuples(st.just("rename"), NAMES, NAMES),
)


def tried(call: Callable[..., object], *args: object) -> object:
    try:
        return call(*args)
    except OSError as error:
        return type(error)


@settings(max_examples=150)
@given(st.lists(ACTIONS, max_size=14))
def test_the_layer_behaves_as_a_file_system_of_ones_own_and_the_original_stays(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, ...]]
) -> None:
    base = tmp_path_factory.mktemp("layer")
    for part in ("mine", "users", "scratch/files"):
        (base / part).mkdir(parents=True)
    fill(base / "mine")
    fill(base / "users")
    plain, layered = Plain(base / "mine"), Layered(base / "users", Overlay(str(base / "scratch")))
    for action, *args in actions:
        assert tried(getattr(plain, action), *args) == tried(getattr(layered, action), *args), (action, args)
    for folder in ("", "d", "d/e", "f"):
        assert tried(plain.listdir, folder) == tried(layered.listdir, folder)
    assert sorted(str(p.relative_to(base / "users")) for p in (base / "users").rglob("*")) == ["a", "d", "d/b", "d/e", "d/e/c"]
    assert [(base / "users" / n).read_text() for n in ("a", "d/b", "d/e/c")] == ["old a", "old b", "old c"]


def test_a_directory_is_renamed_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "scratch" / "files").mkdir(parents=True)
    (tmp_path / "users").mkdir()
    fill(tmp_path / "users")
    layered = Layered(tmp_path / "users", Overlay(str(tmp_path / "scratch")))
    layered.write("d/e/c", "new c", False)
    layered.unlink("d/b")
    layered.rename("d", "moved")
    assert layered.listdir("") == ["a", "moved"]
    assert layered.listdir("moved") == ["e"]
    assert layered.read("moved/e/c") == "new c"


def test_a_link_that_leads_to_a_users_file_is_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "scratch" / "files").mkdir(parents=True)
    (tmp_path / "best").write_text("a week's work")
    overlay = Overlay(str(tmp_path / "scratch"))
    overlay.symlink("best", str(tmp_path / "latest"))
    with open(overlay.to_write(str(tmp_path / "latest"), keep=False), "w") as handle:
        handle.write("half a second's")
    assert (tmp_path / "best").read_text() == "a week's work"


def test_devices_and_the_scratch_folder_are_free(tmp_path: Path) -> None:
    overlay = Overlay(str(tmp_path))
    assert overlay.to_write("/dev/null", keep=False) == "/dev/null"
    assert overlay.to_write(str(tmp_path / "tmp" / "x"), keep=False) == str(tmp_path / "tmp" / "x")
    assert not overlay.is_free("/developer")
