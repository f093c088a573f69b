"""The built wheel, installed into a clean environment, is a program that starts at once and brings no torch along."""

from __future__ import annotations

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest

from tests.project.sources import PACKAGE, ROOT

HELP_MS = 200
RUNS = 9


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The wheel, built from a copy so that the checkout stays as it is."""
    copy = tmp_path_factory.mktemp("source")
    shutil.copytree(PACKAGE.parent, copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy / file)
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)], cwd=copy)
    (built,) = (copy / "dist").glob("breakeven-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The `bin` of a clean environment that has the wheel, and sees this one's packages for its dependencies."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(home)])
    python = home / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    run([sys.executable, "-m", "pip", "--python", str(python), "install", *quiet, "--no-deps", "--no-index", str(wheel)])
    site = next((home / "lib").glob("python*/site-packages"))
    # A path in a .pth file lends the packages; the .pth files that lie there (an editable breakeven) are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home / "bin"


def run(command: list[str], cwd: pathlib.Path | None = None) -> str:
    """The standard output of a command that has to succeed; nothing of this checkout on its path."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_whole_package(wheel: pathlib.Path) -> None:
    """Each module and each data file of the checkout is in it, the marker for type checkers and the licence too."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = [p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {p.relative_to(PACKAGE.parent).as_posix() for p in files} - inside == set()
    assert any(n.endswith("licenses/LICENSE") for n in inside)


def test_the_wheel_asks_for_no_torch(wheel: pathlib.Path) -> None:
    """A user's script brings its own; it is an extra here."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(archive.read(n).decode() for n in archive.namelist() if n.endswith("/METADATA"))
    asked = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: torch")]
    assert asked, "the extra breakeven[torch] is gone"
    assert all("extra ==" in line for line in asked)


@pytest.mark.slow
def test_help_comes_from_the_wheel_and_fast(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """`breakeven --help` takes less than 200 ms of processor time; the best of several, for other load can only add to it."""
    command = [str(installed / "breakeven"), "--help"]
    assert "why" in run(command, cwd=tmp_path)
    where = run([str(installed / "python"), "-c", "import breakeven; print(breakeven.__file__)"], cwd=tmp_path)
    assert pathlib.Path(where.strip()).is_relative_to(installed.parent)
    assert least_ms(command, tmp_path) < HELP_MS


def least_ms(command: list[str], cwd: pathlib.Path) -> float:
    """The least processor time: starting is one thread's work, and what else runs on the machine is not counted."""
    taken = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command, cwd=cwd)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3)
    return min(taken)


def test_help_imports_no_torch(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Nor anything else that is heavy: each command is loaded when it is called."""
    code = "import sys; from breakeven.cli import main; code = main(['--help']); print(*sys.modules); sys.exit(code)"
    loaded = run([str(installed / "python"), "-c", code], cwd=tmp_path).split()
    assert {"torch", "polars", "numpy", "scipy", "libcst"} & set(loaded) == set()
