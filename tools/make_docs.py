"""Writes the pages of docs/ that follow from the code: columns, errors, rules, checks. `make docs`; a test holds them equal."""

from __future__ import annotations

import ast
import inspect
import pathlib
import sys
from collections.abc import Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import summary_table

from breakeven import errors
from breakeven.diagnose.imported.ranks import uneven_ranks
from breakeven.diagnose.imported.rules import TRACE_RULES
from breakeven.remedies import REMEDIES
from breakeven.remedies.edits import edits
from breakeven.timeline import schema

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "breakeven"
NOTE = "<!-- Written by `make docs` from {source}; edit that. -->\n"


def tables() -> str:
    """Every column of the tables."""
    parts = [
        "# The tables\n",
        NOTE.format(source="`timeline/schema.py`"),
        "Times are whole nanoseconds. Missing is null, never zero.\n",
    ]
    for title, columns in (
        ("OpStream: calls", schema.CALLS),
        ("OpStream: rows", schema.ROWS),
        ("Timeline: events", schema.EVENTS),
    ):
        parts.append(f"## {title}\n\n| column | type | unit | meaning |\n|---|---|---|---|")
        parts += [f"| `{c.name}` | {_dtype(c)} | {c.unit or '–'} | {c.meaning.replace('|', '¦')} |" for c in columns]
        parts.append("")
    return "\n".join(parts)


def _dtype(column: schema.Column) -> str:
    return str(column.dtype).replace("(", " of ").replace(")", "")


def error_pages() -> str:
    """Every error, by its slug, with its exit code."""
    parts = ["# Errors\n", NOTE.format(source="`errors.py`")]
    parts.append("Each is one line on standard error: what is wrong, where, and the way out.\n")
    for error in _tree(errors.BreakevenError):
        lines = (error.__doc__ or "").strip().splitlines()
        parts.append(
            f"## {error.slug}\n\n`{error.__name__}`, exit code {error.exit_code}. {' '.join(line.strip() for line in lines)}\n"
        )
    return "\n".join(parts)


def _tree(error: type[errors.BreakevenError]) -> Iterator[type[errors.BreakevenError]]:
    yield error
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _tree(child)


def rule_pages() -> str:
    """Rules of recorded streams and of traces; of a trace's rule what its function says, under the name that findings have."""
    parts = [from_docstrings("Rules", "diagnose/rules", RULES, also="diagnose/imported/rules"), TRACE_RULES_OPENING]
    for rule in TRACE_RULES:
        parts.append(f"## {rule.id} of a trace\n\n{_said(rule.check)}\n")
    return "\n".join([*parts, f"## uneven_ranks of a trace\n\n{_said(uneven_ranks)}\n"])


def _said(function: Callable[..., object]) -> str:
    """A rule's docstring: its sentence, then a list of what it sees, why it costs and so on."""
    first, *rest = (inspect.getdoc(function) or "").split("\n\n", 1)
    points: list[str] = []
    for line in "".join(rest).splitlines():
        if line.startswith(" "):
            points[-1] += " " + line.strip()
        else:
            points.append(f"- {line}")
    return "\n".join([first, "", *points])


def from_docstrings(title: str, folder: str, opening: str, also: str | None = None) -> str:
    """One section for each module of a room: the first line of its docstring as the heading's sentence, then the rest."""
    source = f"the docstrings in `{folder}/`" + (f" and `{also}/`" if also else "")
    parts = [f"# {title}\n", NOTE.format(source=source), opening + "\n"]
    for path in sorted((PACKAGE / folder).glob("[!_]*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        parts.append(f"## {path.stem}\n\n{said}\n")
    return "\n".join(parts)


REMEDIES_OPENING = """\
What `why`, `trace` and `lint` advise, and what `breakeven fix` can do by itself. An edit changes only what the file shows to be
safe, keeps comments and formatting, does nothing when repeated, and says why where it leaves code alone. It promises the same
bits, the same numbers within a tolerance, or another mathematics, which only the loss at equal time can judge.
"""

PROMISES = {"bitwise": "the same bits", "changes_mathematics": "another mathematics"}


def remedy_pages() -> str:
    """Every remedy with its words, and its edit where there is one."""
    parts = ["# Remedies\n", NOTE.format(source="`remedies/catalogue.py` and `remedies/edits/acts/`"), REMEDIES_OPENING]
    known = edits()
    for remedy in REMEDIES.values():
        parts.append(f"## {remedy.id}\n\n{remedy.title}. {remedy.text}\n\n**Safe?** {remedy.safe}\n")
        if (edit := known.get(remedy.id)) is not None:
            promise = PROMISES.get(edit.promise, f"the same within {edit.tolerance:g}" if edit.tolerance else "")
            parts.append(
                f"**The edit** promises {promise}.\n\n- It is made when: {edit.safe_when}\n- Not safe: {edit.unsafe_when}\n"
                f"- What changes: {edit.changes}\n"
            )
    return "\n".join(parts)


RULES = "What `why` and `trace` look for. A rule's price in `why` is a simulation: the stream without it, subtracted."

TRACE_RULES_OPENING = """\
# Rules of traces

A trace holds no stream to change: a price here is the cause's part of an average step ([traces](trace.md)).
"""

LINT = """\
`breakeven lint PATH...` looks at scripts, packages and notebooks without running them. It says *may*: a site is no cost,
and `why` says what it costs. It ends with 1 where it finds something, as linters do.

- `--format text|json|sarif|github` chooses the form, `--json F` writes the JSON beside it.
- `# noqa: BE101` on a line says that this is known and wanted; `# noqa` alone excuses every check.
- With [pre-commit](https://pre-commit.com), name this repository and the hook `breakeven-lint`.
- What cannot be followed (a model from another file, a value that a library gives) is not guessed at: no finding is no proof.
"""

PAGES: dict[str, Callable[[], str]] = {
    "tables.md": tables,
    "errors.md": error_pages,
    "remedies.md": remedy_pages,
    "rules.md": rule_pages,
    "whatif.md": lambda: from_docstrings(
        "What-ifs", "whatif", "Rewrites of a recorded stream: the question that a price or a remedy's gain answers."
    ),
    "lint.md": lambda: from_docstrings(
        "Checks of lint",
        "lint/checks",
        LINT,
    ),
}


def rewrite(path: pathlib.Path, change: Callable[[str], str]) -> None:
    """A page made from what it says now."""
    said = path.read_text(encoding="utf-8") if path.is_file() else ""
    path.write_text(change(said).rstrip() + "\n", encoding="utf-8")


def main() -> int:
    """Write the pages."""
    for name, page in PAGES.items():
        (ROOT / "docs" / name).write_text(page().rstrip() + "\n", encoding="utf-8")
    if summary_table.DATA.is_file():
        note = NOTE.format(source="`benchmarks/summary.json`")
        rewrite(ROOT / "docs" / "summary.md", lambda _: summary_table.page(note))
        rewrite(ROOT / "docs" / "index.md", summary_table.in_index)
        rewrite(ROOT / "README.md", summary_table.in_readme)
    return 0


if __name__ == "__main__":
    sys.exit(main())
