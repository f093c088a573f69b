"""The site builds without a complaint, fetches nothing, and leads to each of its pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.shown import PAGES, ROOT


def test_the_site_builds_and_each_page_has_its_place_in_it(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site is built with MkDocs")
    call = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert built.returncode == 0, built.stderr
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f" {page.name}\n" not in config] == []
    text = (tmp_path / "tutorial.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:<script[^>]*src|<link[^>]*rel="stylesheet"[^>]*href|<img[^>]*src)="(https?:[^"]*)"', text) == []
