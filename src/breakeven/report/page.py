"""Pages as HTML: the terminal's page in a document of its own that loads nothing and runs nothing."""

from __future__ import annotations

import io
from html import escape

from rich.console import Console, RenderableType

from breakeven.report.text import clean

_WIDTH = 110

#: Everything inline; the policy forbids scripts, images and connections, whatever a name in a trace may hold.
_FORM = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
body {{ background: #ffffff; color: #222222; margin: 2rem; }}
pre {{ font: 14px/1.35 ui-monospace, "DejaVu Sans Mono", monospace; overflow-x: auto; }}
</style>
</head>
<body>
<main><pre>{code}</pre></main>
</body>
</html>
"""


def page(body: RenderableType, title: str) -> bytes:
    """Any page of the terminal as an HTML document; all text is escaped."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, color_system="truecolor", highlight=False,
        emoji=False, markup=False,
    )  # fmt: skip
    console.print(body)
    safe = escape(clean(title)).replace("{", "&#123;").replace("}", "&#125;")
    return console.export_html(code_format=_FORM.replace("TITLE", safe), inline_styles=True).encode("utf-8", "replace")
