"""The site builds without a complaint and fetches nothing; what its pages tell people to type exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from breakeven.cli.app import load
from breakeven.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
VERBS = {command.name for command in COMMANDS}


def test_the_site_builds_and_each_page_has_its_place_in_it(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site is built with MkDocs")
    call = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert built.returncode == 0, built.stderr
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f" {page.name}\n" not in config] == []
    text = (tmp_path / "tutorial.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:<script[^>]*src|<link[^>]*rel="stylesheet"[^>]*href|<img[^>]*src)="(https?:[^"]*)"', text) == []


def commands() -> list[tuple[str, str]]:
    """Each call of breakeven that a page shows on a line of its own, or as code in a table."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"^ {4,}(?:\$ |\.venv/bin/)?(breakeven [a-z].*?)(?: {2,}#.*)?$", text, re.M)
        shown += re.findall(r"`(breakeven [a-z][^`]*)`", text)
        found += [(page.name, call) for call in shown if "…" not in call and "·" not in call]
    return sorted(set(found))


@pytest.mark.parametrize(("page", "call"), commands())
def test_what_a_page_tells_to_type_is_a_verb_with_these_options(page: str, call: str) -> None:
    try:
        words = shlex.split(re.split(r" [|>] ", call)[0])
    except ValueError:
        pytest.skip("a fragment, not a call")
    assert words[1] in VERBS, f"{page}: {call}"
    known = {option for param in load(words[1]).params for option in (*param.opts, *param.secondary_opts)} | {"--help", "-h"}
    own = words[2 : words.index("--")] if "--" in words else words[2:]
    asked = {word.partition("=")[0] for word in own if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", word)}
    assert asked <= known, f"{page}: {call}"
