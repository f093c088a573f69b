"""The documentation is complete and true: generated pages are fresh, links lead somewhere, examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pathlib
import re
from types import ModuleType

import pytest

from tests.project.sources import MODULES, PACKAGE, ROOT, dotted, name, tracked

PAGES = tracked("*.md")


def make_docs() -> ModuleType:
    """The tool that writes the generated pages."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(make_docs().PAGES))
def test_a_generated_page_is_fresh(page: str) -> None:
    """`make docs` would change nothing."""
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert written == make_docs().PAGES[page]().rstrip() + "\n", "run make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    """Each relative link of a page names a file that is there."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("path", [p for p in MODULES if p.name != "__main__.py"], ids=name)
def test_examples_in_docstrings_run(path: pathlib.Path) -> None:
    """What a docstring shows is what happens."""
    assert doctest.testmod(importlib.import_module(dotted(path))).failed == 0


def test_every_command_has_its_words() -> None:
    """Each verb is in the documentation with its name as one types it."""
    app = importlib.import_module("breakeven.cli.app")
    text = "\n".join(p.read_text(encoding="utf-8") for p in PAGES)
    assert [c.name for c in app.COMMANDS if f"breakeven {c.name}" not in text] == []


def test_every_page_is_reached_from_the_index() -> None:
    """No page lies where nobody finds it (of the decisions, the template leads to the folder)."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in PAGES if p.is_relative_to(ROOT / "docs")} - {"index.md"}
    assert {p for p in pages if f"]({p})" not in index} == set()


def test_every_finding_and_remedy_that_the_code_names_is_explained() -> None:
    """An id that a report can show is in the documentation."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in PAGES if p.is_relative_to(ROOT / "docs"))
    assert {i for i in ids_in_the_code() if not re.search(rf"\b{i}\b", text)} == set()


def ids_in_the_code() -> set[str]:
    """Finding and remedy ids that rules and checks hand out, read from their sources."""
    found: set[str] = set()
    for path in (*(PACKAGE / "diagnose" / "rules").glob("[!_]*.py"), *(PACKAGE / "lint" / "checks").glob("[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'\bid="([a-z0-9_]+)"', text))
        for group in re.findall(r"\bremedies=\(([^()]*)\)", text):
            found |= set(re.findall(r'"([a-z0-9_]+)"', group))
    return found
