"""A run is a folder of whole files: what is finished stays, what is not is not there, and any reader of Parquet can read it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import polars as pl
import pytest

from breakeven import store
from breakeven.errors import InputError
from breakeven.store.run import Whole
from breakeven.store.search import runs_in

FRAME = pl.DataFrame({"batch": [16, 32], "ms": [1.5, 2.5]})
OLD = Path(__file__).parent / "old"


@pytest.fixture(params=["path", "file://", "memory://"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a run, of each kind."""
    return {
        "path": str(tmp_path / "deep" / "run"), "file://": f"file://{tmp_path}/run", "memory://": f"memory://{uuid.uuid4()}/run",
    }[request.param]  # fmt: skip


def test_what_was_put_comes_back_after_reopening(place: str) -> None:
    with store.create(place, "sweep", title="train.py", settings={"vary": {"batch": (16, 32)}}) as run:
        run.put("batch=16", {"ms": 1.5}, {"draws": FRAME})
        run.put_many({"batch=32": {"ms": 2.5}, "batch=64": None})
        run.put_table("cells", FRAME)
        run.finish()
    again = store.open(place)
    assert again.keys() == ("batch=16", "batch=32", "batch=64")
    assert (again.get("batch=16"), again.get("batch=64")) == ({"ms": 1.5}, None)
    assert not again.has("batch=128")
    assert again.tables("batch=16")["draws"].equals(FRAME)
    table = again.table("cells")
    assert table is not None
    assert table.equals(FRAME)
    assert (again.table_names(), again.table("others"), again.head.finished) == (("cells",), None, True)


def test_a_run_is_resumed_with_the_same_settings_only(place: str) -> None:
    store.create(place, "sweep", settings={"gpu": ["t4"], "steps": None}).close()
    with store.create(place, "sweep", settings={"gpu": ("t4",), "steps": None}, resume=True) as run:
        run.put("a", 1)
    with pytest.raises(InputError, match="was begun with gpu"):
        store.create(place, "sweep", settings={"gpu": ["a100"]}, resume=True)
    with pytest.raises(InputError, match="is a run of `sweep`"):
        store.create(place, "race", resume=True)
    with pytest.raises(InputError, match="--resume goes on with it"):
        store.create(place, "sweep", settings={"gpu": ["t4"]})
    assert store.open(place).keys() == ("a",)


def test_resuming_what_is_not_there_begins_it(place: str) -> None:
    with store.create(place, "sweep", resume=True) as run:
        assert run.keys() == ()


def test_a_part_that_is_put_again_is_replaced_also_where_it_came_with_many(place: str) -> None:
    with store.create(place, "sweep") as run:
        run.put_many({"a": 1, "zzz": 2})
        run.put("a", 3)
        run.put("zzz", 4)
    again = store.open(place)
    assert (again.get("a"), again.get("zzz")) == (3, 4)


def test_two_writers_do_not_share_a_run(place: str) -> None:
    with store.create(place, "sweep") as run:
        with pytest.raises(InputError, match="is being written by") as said:
            store.create(place, "sweep", resume=True)
        assert "\n" not in str(said.value)
        run.put("a", 1)
        assert store.open(place).has("a")  # reading is free
    store.create(place, "sweep", resume=True).close()


def test_a_lease_of_a_writer_that_is_gone_holds_nobody_back() -> None:
    from breakeven.store.remote import Remote

    url = f"memory://{uuid.uuid4()}/run"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    store.create(url, "sweep").close()
    import socket
    import time

    lease = {"token": "x", "host": socket.gethostname(), "pid": gone.pid, "at": time.time()}
    Remote.at(url).write(".writer.json", json.dumps(lease).encode())
    store.create(url, "sweep", resume=True).close()


def test_a_writer_whose_lease_was_taken_over_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    from breakeven.store import remote

    monkeypatch.setattr(remote, "_RENEW_S", 0.0)
    url = f"memory://{uuid.uuid4()}/run"
    with store.create(url, "sweep") as run:
        run.put("a", 1)
        other = {"token": "another", "host": "elsewhere", "pid": 7, "at": 0.0}
        remote.Remote.at(url).write(".writer.json", json.dumps(other).encode())
        with pytest.raises(InputError, match="process 7 on elsewhere has taken this run over"):
            run.put("b", 2)
    assert store.open(url).keys() == ("a",)


def test_any_reader_of_parquet_understands_a_run(tmp_path: Path) -> None:
    with store.create(str(tmp_path / "run"), "sweep") as run:
        run.put_table("cells", FRAME)
    pyarrow = pytest.importorskip("pyarrow.parquet")
    assert pyarrow.read_table(tmp_path / "run" / "cells.parquet").to_pydict() == FRAME.to_dict(as_series=False)
    assert pl.read_parquet(tmp_path / "run" / "*.parquet").equals(FRAME)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["schema"] == "breakeven/run/1"


def test_a_folder_copied_from_elsewhere_opens_and_names_no_path_of_there(tmp_path: Path) -> None:
    source = tmp_path / "there" / "run"
    with store.create(str(source), "sweep", title="train.py") as run:
        run.put("a", {"x": 1}, {"t": FRAME})
    copied = Path(shutil.copytree(source, tmp_path / "here"))
    shutil.rmtree(source)
    assert store.open(str(copied)).tables("a")["t"].equals(FRAME)
    assert not [f for f in copied.rglob("*") if f.is_file() and str(tmp_path).encode() in f.read_bytes()]


@pytest.mark.parametrize("folder", sorted(OLD.iterdir()), ids=lambda p: p.name)
def test_runs_of_every_schema_number_keep_opening(folder: Path) -> None:
    run = store.open(str(folder))
    assert (run.head.kind, run.head.title, run.head.finished) == ("sweep", "train.py", True)
    assert run.get("batch=16") == {"ms": 1.5}
    assert run.tables("batch=16")["draws"].equals(FRAME)
    table = run.table("cells")
    assert table is not None
    assert table.equals(FRAME)
    assert run.warnings == []


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (None, "holds no run"),
        ("{", "is damaged"),
        ("[1]", "not one of breakeven"),
        ('{"schema": "breakeven/run/99", "kind": "x"}', "newer breakeven"),
        ('{"schema": "breakeven/run/1", "kind": 3}', "is damaged"),
        ("\udcff", "damaged"),
    ],
)
def test_what_is_no_run_gets_one_clear_line(tmp_path: Path, head: str | None, said: str) -> None:
    if head is not None:
        (tmp_path / "run.json").write_bytes(head.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=said) as error:
        store.open(str(tmp_path))
    assert "\n" not in str(error.value)


def test_a_damaged_part_counts_as_not_done_and_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "run")
    with store.create(path, "sweep") as run:
        run.put("a", 1)
        run.put("b", 2)
    file = next((tmp_path / "run" / "parts").glob("a-*.json"))
    file.write_bytes(file.read_bytes()[:-3])
    again = store.open(path)
    assert again.keys() == ("b",)
    assert "counts as not done" in again.warnings[0]


def test_a_table_that_was_changed_after_it_was_written_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "run")
    with store.create(path, "sweep") as run:
        run.put("a", 1, {"t": FRAME})
    FRAME.reverse().write_parquet(next((tmp_path / "run" / "parts").glob("*.parquet")))
    with pytest.raises(InputError, match="was changed after it was written"):
        store.open(path).tables("a")


def test_a_run_never_lands_on_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for name in ("notes", "file"):
        with pytest.raises(InputError, match="is there already and holds no run"):
            store.create(str(tmp_path / name), "sweep")
    with pytest.raises(InputError):
        store.create(str(tmp_path / "file" / "below"), "sweep")
    (tmp_path / "empty").mkdir()
    store.create(str(tmp_path / "empty"), "sweep").close()


def test_a_run_written_at_once_is_there_whole(place: str) -> None:
    store.write_run(place, "why", Whole({"answer": {"x": 1}}, {"devices": FRAME}, {"answer.json": b"{}"}), title="t")
    run = store.open(place)
    assert (run.get("answer"), run.file("answer.json"), run.head.finished) == ({"x": 1}, b"{}", True)
    with pytest.raises(InputError, match="holds a run already"):
        store.write_run(place, "why", Whole({}))


def test_what_killed_makers_left_is_removed_and_what_living_ones_make_is_not(tmp_path: Path) -> None:
    import os

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead, alive = tmp_path / f".run.{gone.pid}.ab.part", tmp_path / f".run.{os.getpid()}.ab.part"
    for folder in (dead, alive):
        folder.mkdir()
    store.write_run(str(tmp_path / "run"), "why", Whole({}))
    assert (dead.exists(), alive.exists()) == (False, True)


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("a", "project/b", ".hidden/c", "one/two/three/four/five"):
        store.write_run(str(tmp_path / name), "why", Whole({}), title=name)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    warnings: list[str] = []
    assert sorted(run.head.title for run in runs_in(str(tmp_path), warnings)) == ["a", "project/b"]
    assert len(warnings) == 1


def test_a_url_of_an_unknown_kind_is_one_line() -> None:
    with pytest.raises(InputError, match="nowhere://"):
        store.open("nowhere://bucket/run")


NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
WRITER = """
import sys
from breakeven import store
from breakeven.errors import InputError
path = sys.argv[1]
try:
    with store.create(path, "sweep", resume=True) as run:
        for i in range(int(sys.argv[2])):
            run.put(f"cell {i}", {"text": "x" * 3000})
            print(i, flush=True)
except InputError as error:
    print("refused:", error, flush=True)
"""


def in_a_small_disk(folder: Path, script: str) -> list[str]:
    """What a script of the shell prints where `folder` is a disk of 64 kB of its own."""
    probe = subprocess.run([*NAMESPACE, f"mount -t tmpfs -o size=64k none {folder}"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this system does not let a user mount a small disk in a namespace")
    done = subprocess.run(
        [*NAMESPACE, f"mount -t tmpfs -o size=64k none {folder} && {script}"], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_full_disk_gets_one_line_and_keeps_what_was_finished(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "write.py").write_text(WRITER)
    run = tmp_path / "disk" / "run"
    count = "import sys; from breakeven import store; print('kept', len(store.open(sys.argv[1]).keys()))"
    lines = in_a_small_disk(
        tmp_path / "disk",
        f"{sys.executable} {tmp_path}/write.py {run} 100; {sys.executable} -c \"{count}\" {run}; find {run} -name '.*part*'",
    )
    *finished, refused, kept = lines
    assert 0 < len(finished) < 100
    assert refused.startswith("refused: cannot write")
    assert "the disk is full; what was finished is kept: make room and go on with --resume" in refused
    assert kept == f"kept {len(finished)}"


def test_a_run_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "write.py").write_text(
        "import sys\nfrom breakeven import store\nfrom breakeven.errors import InputError\ntry:\n"
        "    store.write_run(sys.argv[1], 'why', store.Whole({}, {}, {'answer.json': b'x' * 200_000}))\n"
        "except InputError as error:\n    print(error)\n"
    )
    disk = tmp_path / "disk"
    lines = in_a_small_disk(disk, f"{sys.executable} {tmp_path}/write.py {disk}/run; ls -A {disk}")
    assert lines == [f"cannot write {disk}/run: the disk is full; make room, or choose another place"]


def test_a_read_only_store_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "write.py").write_text(WRITER)
    run = tmp_path / "disk" / "run"
    write = f"{sys.executable} {tmp_path}/write.py"
    lines = in_a_small_disk(
        tmp_path / "disk", f"{write} {run} 1 && mount -o remount,ro {tmp_path}/disk && {write} {run} 1 && {write} {run}2 1"
    )
    assert lines == ["0", *(f"refused: cannot write {name}: the folder is read-only; choose another place" for name in
                            (run, f"{run}2"))]  # fmt: skip


def test_the_page_s_own_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    import re

    (example,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "runs.md").read_text(encoding="utf-8"), re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/runs.md", "exec"), {})
    assert pl.read_parquet("runs/mine/cells.parquet")["ms"].to_list() == [pytest.approx(1.6), 3.2, 6.4]
