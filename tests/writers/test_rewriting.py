"""A script is rewritten whole or not at all, whatever ends the process that does it."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from breakeven.errors import InputError
from breakeven.writers.rewriting import BACKUP, rewrite

OLD, NEW = b"old = 1\n" * 40_000, b"new = 2\n" * 50_000

#: Rewrites back and forth until it is killed.
WRITER = """\
import pathlib, sys
from breakeven.writers.rewriting import rewrite
script, old, new = pathlib.Path(sys.argv[1]), b"old = 1\\n" * 40_000, b"new = 2\\n" * 50_000
print("ready", flush=True)
while True:
    rewrite(script, old, new)
    rewrite(script, new, old)
"""


def test_the_new_text_is_there_and_the_old_one_beside_it(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(OLD)
    script.chmod(0o750)
    backup = rewrite(script, OLD, NEW)
    assert script.read_bytes() == NEW
    assert script.stat().st_mode & 0o777 == 0o750
    assert backup.read_bytes() == OLD
    assert sorted(p.name for p in tmp_path.iterdir()) == ["train.py", "train.py" + BACKUP]


def test_a_second_change_keeps_both_older_texts(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(b"a = 1\n")
    rewrite(script, b"a = 1\n", b"a = 2\n")
    rewrite(script, b"a = 2\n", b"a = 3\n")
    assert {p.read_bytes() for p in tmp_path.iterdir()} == {b"a = 1\n", b"a = 2\n", b"a = 3\n"}


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(b"somebody = 'else'\n")
    with pytest.raises(InputError, match="was changed"):
        rewrite(script, OLD, NEW)
    assert [p.name for p in tmp_path.iterdir()] == ["train.py"]
    assert script.read_bytes() == b"somebody = 'else'\n"


def test_a_link_is_followed_and_stays_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    script, link = tmp_path / "real" / "train.py", tmp_path / "link.py"
    script.write_bytes(OLD)
    link.symlink_to(script)
    rewrite(link, OLD, NEW)
    assert link.is_symlink()
    assert script.read_bytes() == NEW


def killed(folder: pathlib.Path, times: int) -> None:
    """Kill a writer at a random moment, many times; after each the file holds the old text or the new one."""
    script = folder / "train.py"
    script.write_bytes(OLD)
    moments = random.Random(0)
    for _ in range(times):
        script.write_bytes(OLD)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(script)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert script.read_bytes() in (OLD, NEW)
        backup = script.with_name(script.name + BACKUP)
        assert not backup.exists() or backup.read_bytes() in (OLD, NEW)


def test_a_kill_at_any_moment_leaves_the_old_text_or_the_new_one(tmp_path: pathlib.Path) -> None:
    killed(tmp_path, 10)


@pytest.mark.nightly
def test_two_hundred_kills_leave_the_old_text_or_the_new_one(tmp_path: pathlib.Path) -> None:
    killed(tmp_path, 200)
