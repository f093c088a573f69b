"""MATLAB text to a syntax tree, by the grammar in `data/matlab.lark`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree, UnexpectedInput
from lark.lexer import Lexer

from breakeven.errors import InputError
from breakeven.models.matlab.lexer import tokens

Node = Tree[Token] | Token


def parse(text: str, file: str) -> Tree[Token]:
    """The tree of a script.

    Raises:
        InputError: it is not MATLAB; the message names the line.
    """
    try:
        return _parser().parse(_Source(text, file))
    except UnexpectedInput as error:
        line = getattr(error, "line", None)
        token = getattr(error, "token", None)
        shown = "the end of the file" if token is None or token.type == "$END" else repr(str(token))
        where = f"{file}:{line}" if isinstance(line, int) and line > 0 else file
        raise InputError(f"{where}: {shown.strip()} is not expected here") from None


class _Source(str):
    """The text with the name of its file, as the lexer needs it."""

    file: str

    def __new__(cls, text: str, file: str) -> _Source:
        made = super().__new__(cls, text)
        made.file = file
        return made


class _Tokens(Lexer):
    def __init__(self, conf: Any) -> None:  # Any: lark calls it with its own settings, which are of no use here
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]  # Any: what `parse` was given
        return tokens(str(data), data.file)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = (files("breakeven.models.matlab") / "data" / "matlab.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer=_Tokens, propagate_positions=True, maybe_placeholders=False)
