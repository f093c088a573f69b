"""Results that print themselves: the page as text where they are printed, HTML where a notebook shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from rich.console import RenderableType


class Printing(ABC):
    """A result that prints itself. Its classes say which page it is, and what HTML; nothing is loaded before it is shown.

    Attributes:
        width: of the page as text.
    """

    width: ClassVar[int] = 100

    @abstractmethod
    def page(self, width: int, ascii_only: bool) -> RenderableType:
        """The page, given a width and whether only ASCII can be shown."""

    @abstractmethod
    def html(self) -> str:
        """The result as a fragment of HTML, without a name of the user's that is not escaped."""

    def __str__(self) -> str:
        from breakeven.report.screen import as_text

        return as_text(self.page, width=self.width).rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html()
