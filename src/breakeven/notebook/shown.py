"""Answers as a notebook shows them: HTML where it can, the page as text where it cannot; progress in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from breakeven.report.printing import Printing
from breakeven.results import WhyReport

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, repr=False)
class WhyShown(Printing):
    """The answer of `%%why`.

    Attributes:
        report: the record.
    """

    report: WhyReport

    def page(self, width: int, ascii_only: bool) -> RenderableType:
        """As `breakeven why` shows it."""
        from breakeven.report.terminal import render

        return render(self.report, width, ascii_only)

    def html(self) -> str:
        """A part of the page that `--html` writes."""
        from breakeven.report.html.why import why_fragment

        return why_fragment(self.report)


class Line:
    """One line of progress that is rewritten, and empty at the end."""

    def __init__(self) -> None:
        self._handle: Any = None  # IPython's display handle

    def __call__(self, text: str) -> None:
        """Show what is being done."""
        from IPython.display import display

        shown = _Quiet(text)
        if self._handle is None:
            self._handle = display(shown, display_id=True)  # type: ignore[no-untyped-call]  # IPython's own
        else:
            self._handle.update(shown)

    def __enter__(self) -> Callable[[str], None]:
        return self

    def __exit__(self, *error: object) -> None:
        if self._handle is not None:
            self._handle.update(_Quiet(""))


@dataclass(frozen=True)
class _Quiet:
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<small>{escape(self.text)}</small>"
