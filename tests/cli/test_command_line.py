"""The program as a whole: its commands, its help, its start, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

import breakeven
from breakeven import cli
from breakeven.cli.app import build, load
from breakeven.cli.commands import COMMANDS, Command, overview

HEAVY = ("typer", "torch", "polars", "numpy", "rich", "pandas", "msgspec", "scipy")


def run(*call: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "breakeven", *call],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_each_command_is_a_file_with_a_command_function(command: Command) -> None:
    assert command.module == f"breakeven.cli.{command.name}"
    assert callable(import_module(command.module).command)
    assert load(command.name).name == command.name


@pytest.mark.parametrize("call", [["--help"], ["-h"], [], ["why", "--help"], ["why", "-h"], ["gpus", "--help"]])
def test_help_is_help(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(call) == 0
    assert "Usage: breakeven" in capsys.readouterr().out


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    said = capsys.readouterr().out
    assert [c.name for c in COMMANDS if f"\n  {c.name} " in said] == [c.name for c in COMMANDS]


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"breakeven {breakeven.__version__}\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["whi"], "no command 'whi'; did you mean 'why'?"),
        (["xyzzy"], "no command 'xyzzy'; there are: why, "),
        (["--nope"], "No such option: --nope"),
        (["gpus", "--nope"], "`breakeven gpus --help` says how to call it"),
        (["gpus", "zzzzzzzz"], "no device is called 'zzzzzzzz'"),
    ],
)
def test_a_wrong_call_gets_one_line_and_exit_2(call: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(call) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert message in said.err


def test_help_imports_nothing_heavy() -> None:
    code = f"import sys; from breakeven import cli; cli.main(['--help']); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_takes_less_than_200_ms() -> None:
    """Of the processor's time, which others on this machine do not change; the best of some tries."""

    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-m", "breakeven", "--help"], capture_output=True, timeout=60, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(once() for _ in range(5)) < 0.2


def test_typer_would_give_the_same_help() -> None:
    program = build()
    with program.make_context("breakeven", [], resilient_parsing=True) as context:
        assert program.get_help(context) == overview().rstrip()


def test_the_catalog_can_be_searched_and_read(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gpus", "rtx", "40"]) == 0
    shown = capfd.readouterr().out
    assert "RTX 4090" in shown
    assert "Tesla T4" not in shown
    assert cli.main(["gpus", "--json", "-"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["schema"] == "breakeven/gpus/1"
    assert len(said["gpus"]) >= 40
    assert {"name", "vendor", "memory_gb", "source"} <= set(said["gpus"][0])


def test_the_module_runs_as_a_program() -> None:
    done = run("gpus", "t4", NO_COLOR="1", COLUMNS="80")
    assert done.returncode == 0
    assert "Tesla T4" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_output_encoding_will_do(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "breakeven", "gpus"],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"},
    )
    assert done.returncode == 0
    assert "Tesla T4" in done.stdout.decode(encoding)


def test_a_reader_that_leaves_gets_no_complaint() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([sys.executable, "-m", "breakeven", "gpus"], stdout=write, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(write)
    assert done.stderr == b""
    assert done.returncode == 0


def test_closed_streams_are_no_fault() -> None:
    done = subprocess.run(
        f"{sys.executable} -m breakeven gpus t4 >&- 2>&-; {sys.executable} -m breakeven >&-", shell=True, timeout=60
    )
    assert done.returncode == 0


def test_ctrl_c_at_any_time_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def pressed(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", pressed)
    assert cli.main(["gpus"]) == 130
    assert capsys.readouterr().err == "breakeven: interrupted\n"
