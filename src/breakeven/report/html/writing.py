"""Templates to documents: what comes from outside is text, and the policy names the one script and style by their hash."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from breakeven.report.html.saying import SAYINGS
from breakeven.report.json import to_plain
from breakeven.report.text import clean, without_steering

_TEMPLATES = (
    "page.html.j2", "parts.html.j2", "why.html.j2", "trace.html.j2", "sweep.html.j2", "fix.html.j2", "race.html.j2",
    "watch.html.j2", "compare.html.j2", "fragment.html.j2",
)  # fmt: skip
_SCRIPTS = ("numbers.js", "chart.js", "sizes.js", "race.js", "timeline.js", "start.js")
_STYLE = "style.css"

#: What would end the data block, or begin markup, inside of a script element.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class Link:
    """A link to another page, for those who serve pages beside each other; a file on disk has none."""

    href: str
    text: str


def document(template: str, data: object = None, links: Sequence[Link] = (), **values: object) -> bytes:
    """A whole page, UTF-8.

    Args:
        template: its file under `data/`.
        data: what the page's script computes with, any records; None: nothing.
        links: to other pages.
        values: what the template shows.
    """
    script = '(() => {\n"use strict";\n' + "\n".join(_data(name) for name in _SCRIPTS) + "})();"
    style = _data(_STYLE)
    page = _environment().get_template(template)
    text = page.render(
        **values,
        links=links,
        data=Markup(as_data(data)),
        script=Markup(script),
        style=Markup(style),
        policy=_policy(script, style),
    )  # our own files, and JSON that `as_data` has made harmless
    return text.encode("utf-8", "replace")


def part(template: str, **values: object) -> str:
    """A piece of a page, for those who have a page of their own; it needs no script."""
    return _environment().get_template(template).render(**values)


def as_data(data: object) -> str:
    """Any records as JSON that can stand in a script element whatever the texts in it hold.

    >>> as_data({"name": "</script><b>"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"}'
    """
    text = json.dumps(to_plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text if text.isascii() else without_steering(text)
    for sign, escaped in _IN_SCRIPT.items():
        text = text.replace(sign, escaped)
    return text


def code(text: str) -> Markup:
    """A line of source: its spaces stay, whatever would steer the page or turn its direction does not."""
    return escape(without_steering(text.expandtabs(4)))


def _shown(value: object) -> object:
    """Every value that a template shows passes here: text on one line, without what steers."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _policy(script: str, style: str) -> str:
    """Nothing from anywhere, no script and no style but these two, and no way for a script to write markup."""
    return (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _data(name: str) -> str:
    return (files("breakeven.report.html") / "data" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=DictLoader({name: _data(name) for name in _TEMPLATES}), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, finalize=_shown,
    )  # fmt: skip
    environment.globals.update(SAYINGS, code=code)
    return environment
