"""Cuts MATLAB text into tokens, and settles what depends on the context so that the grammar need not.

That is: `'` is a transpose or begins a text; blanks part the elements of a matrix; a line end closes a statement or a row;
`word word` is a command; `end` closes a block or means the last element; comments and continuation lines vanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from lark import Token

from breakeven.errors import InputError

#: Longest text that is read, and deepest nesting: beyond them it is no script that a person wrote.
MOST_CHARACTERS = 2_000_000
DEEPEST = 60

_BLOCKS = frozenset(["if", "for", "while", "switch", "function", "try", "parfor"])
_KEYWORDS: Final = {
    "if": "IF",
    "elseif": "ELSEIF",
    "else": "ELSE",
    "end": "END",
    "for": "FOR",
    "parfor": "FOR",
    "while": "WHILE",
    "switch": "SWITCH",
    "case": "CASE",
    "otherwise": "OTHERWISE",
    "function": "FUNCTION",
    "try": "TRY",
    "catch": "CATCH",
    "return": "RETURN",
    "break": "BREAK",
    "continue": "CONTINUE",
    "global": "GLOBAL",
    "persistent": "GLOBAL",
}
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d+(?:\.(?![*/\\^'])\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")
_COMMAND = re.compile(r"[A-Za-z]\w*[ \t]+(?:[A-Za-z_-][\w.:/\\*-]*)(?:[ \t]+[\w.:/\\*'\"-]+)*[ \t]*(?=[;,\n%]|$)")
_OPERATORS: Final = (
    ("&&", "ANDAND"), ("||", "OROR"), ("==", "COMPARE"), ("~=", "COMPARE"), ("!=", "COMPARE"), ("<=", "COMPARE"),
    (">=", "COMPARE"), (".*", "TIMES"), ("./", "TIMES"), (".\\", "TIMES"), (".^", "POWER"), (".'", "TRANSPOSE"), ("<", "COMPARE"),
    (">", "COMPARE"), ("=", "EQUALS"), ("&", "AND"), ("|", "OR"), (":", "COLON"), ("+", "PLUSMINUS"), ("-", "PLUSMINUS"),
    ("*", "TIMES"), ("/", "TIMES"), ("\\", "TIMES"), ("^", "POWER"), ("~", "NOT"), ("!", "NOT"), ("@", "AT"), (".", "DOT"),
)  # fmt: skip
_OPEN: Final = {"(": "LPAR", "[": "LSQ", "{": "LBRACE"}
_CLOSE: Final = {")": ("RPAR", "("), "]": ("RSQ", "["), "}": ("RBRACE", "{")}
#: Tokens after which a value is complete.
_ENDS_VALUE = frozenset(["NAME", "NUMBER", "TEXT", "BLANK", "LAST", "RPAR", "RSQ", "RBRACE", "TRANSPOSE"])
#: Tokens that say nothing which the tree does not: the grammar's names for them begin with `_`, and lark leaves them out.
_SILENT = frozenset(
    ["SEP", "IF", "ELSEIF", "ELSE", "END", "FOR", "WHILE", "SWITCH", "CASE", "OTHERWISE", "FUNCTION", "TRY", "CATCH", "GLOBAL",
     "EQUALS", "COLON", "AT", "DOT", "LPAR", "RPAR", "LSQ", "RSQ", "LBRACE", "RBRACE", "COMMA", "ROW", "TRANSPOSE"]
)  # fmt: skip


def tokens(text: str, file: str) -> Iterator[Token]:
    """The tokens of a script.

    Raises:
        InputError: a text or a bracket is not closed, or a sign is not of the language; the message names the line.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{file}: {len(text)} characters are no script")
    cutter = _Cutter(_without_block_comments(text.replace("\r\n", "\n").replace("\r", "\n")), file)
    for token in cutter.cut():
        yield Token(f"_{token.type}", str(token), line=token.line) if token.type in _SILENT else token


def _without_block_comments(text: str) -> str:
    """Lines between `%{` and `%}`, each alone on its line, become empty; they nest."""
    kept, depth = [], 0
    for line in text.split("\n"):
        mark = line.strip()
        if mark in ("%{", "#{"):
            depth += 1
        kept.append("" if depth else line)
        if mark in ("%}", "#}") and depth:
            depth -= 1
    return "\n".join(kept)


@dataclass
class _Cutter:
    text: str
    file: str
    at: int = 0
    line: int = 1
    found: list[Token] = field(default_factory=list)
    open: list[str] = field(default_factory=list)  # brackets
    opened_on: list[int] = field(default_factory=list)  # … and their lines
    blocks: list[str] = field(default_factory=list)  # keywords that an `end` closes
    blank_before: bool = True
    params: list[int] = field(default_factory=list)  # depths at which the parameters of an anonymous function are open
    past_params: bool = False

    def cut(self) -> list[Token]:
        while self.at < len(self.text):
            self._one()
        if self.open:
            raise InputError(f"{self.file}:{self.opened_on[-1]}: a {self.open[-1]!r} is not closed")
        self._add("SEP", "\n")
        while self.blocks and set(self.blocks) == {"function"}:  # a file of functions need not close them
            self.blocks.pop()
            self._add("END", "end")
        return self.found

    def _one(self) -> None:
        blank = _BLANKS.match(self.text, self.at)
        if blank:
            self.at, self.blank_before = blank.end(), True
            return
        sign = self.text[self.at]
        if sign == "%" or (sign == "#" and not self.open):
            self.at = self._line_end()
        elif sign == "\n":
            self._newline()
        elif self.text.startswith("...", self.at):
            self.at = min(len(self.text), self._line_end() + 1)
            self.line += 1
            self.blank_before = True
            return
        elif sign == "'" and self._is_transpose():
            self._add("TRANSPOSE", "'")
            self.at += 1
        elif sign in "'\"":
            self._quoted(sign)
        elif sign in _OPEN:
            self._opened(sign)
        elif sign in _CLOSE:
            self._closed(sign)
        elif sign in ",;":
            self._parted(sign)
        else:
            self._word_or_sign(sign)
        self.blank_before = False

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _newline(self) -> None:
        self.at += 1
        self.line += 1
        if not self.open:
            self._add("SEP", "\n")
        elif self.open[-1] != "(":
            self._row()

    def _row(self) -> None:
        """A new row of a matrix, unless none has begun."""
        if self.found and self.found[-1].type == "COMMA":
            self.found.pop()
        if self.found and self.found[-1].type not in ("ROW", "LSQ", "LBRACE"):
            self._add("ROW", ";")

    def _is_transpose(self) -> bool:
        if not self.found or self.found[-1].type not in _ENDS_VALUE:
            return False
        return not self.blank_before or not (self.open and self.open[-1] != "(")

    def _quoted(self, sign: str) -> None:
        end = self.at + 1
        limit = self._line_end()
        while True:
            end = self.text.find(sign, end, limit)
            if end < 0:
                raise self._wrong("a text is not closed")
            if self.text[end : end + 2] != sign * 2:
                break
            end += 2
        self._element("TEXT", self.text[self.at + 1 : end].replace(sign * 2, sign))
        self.at = end + 1

    def _opened(self, sign: str) -> None:
        if self.open and self.open[-1] != "(" and self.blank_before:
            self._comma()
        if self.found and self.found[-1].type == "AT" and sign == "(":
            self.params.append(len(self.open))
        self._add(_OPEN[sign], sign)
        self.open.append(sign)
        self.opened_on.append(self.line)
        if len(self.open) > DEEPEST:
            raise self._wrong(f"brackets are nested more than {DEEPEST} deep")
        self.at += 1

    def _closed(self, sign: str) -> None:
        kind, opening = _CLOSE[sign]
        if not self.open or self.open[-1] != opening:
            raise self._wrong(f"a {sign!r} closes nothing")
        self.open.pop()
        self.opened_on.pop()
        if sign != ")" and self.found[-1].type in ("COMMA", "ROW"):
            self.found.pop()
        self._add(kind, sign)
        self.past_params = bool(self.params) and self.params[-1] == len(self.open)
        if self.past_params:
            self.params.pop()
        self.at += 1

    def _parted(self, sign: str) -> None:
        self.at += 1
        if not self.open:
            self._add("SEP", sign)
        elif sign == "," or self.open[-1] == "(":
            self._add("COMMA", ",")
        else:
            self._row()

    def _word_or_sign(self, sign: str) -> None:
        number = _NUMBER.match(self.text, self.at)
        name = _NAME.match(self.text, self.at)
        if number and (sign.isdigit() or sign == "."):
            if re.match(r"[ij](?!\w)", self.text[number.end() : number.end() + 2]):
                raise self._wrong("complex numbers are not read")
            self._element("NUMBER", number.group())
            self.at = number.end()
        elif name:
            self._word(name.group())
        else:
            self._operator()

    def _word(self, word: str) -> None:
        after_dot = bool(self.found) and self.found[-1].type == "DOT"
        if word == "end" and self.open and not after_dot:
            self._element("LAST", word)
        elif word in _KEYWORDS and not self.open and not after_dot:
            self._keyword(word)
        elif word == "classdef" and self._begins():
            raise self._wrong("classes are not read")
        elif self._begins() and (command := self._command(word)):
            self._add("COMMAND", command)
            self.at += len(command)
            return
        else:
            self._element("NAME", word)
        self.at += len(word)

    def _keyword(self, word: str) -> None:
        if word == "function" and self.blocks and self.blocks[-1] == "function":
            self.blocks.pop()  # functions of a file that closes none
            self._add("END", "end")
        if word in _BLOCKS:
            self.blocks.append(word)
            if len(self.blocks) > DEEPEST:
                raise self._wrong(f"blocks are nested more than {DEEPEST} deep")
        elif word == "end":
            if not self.blocks:
                raise self._wrong("an `end` closes nothing")
            self.blocks.pop()
        self._add(_KEYWORDS[word], word)

    def _command(self, word: str) -> str:
        found = _COMMAND.match(self.text, self.at)
        return found.group() if found and "=" not in found.group() else ""

    def _begins(self) -> bool:
        """Whether a statement begins here."""
        return not self.open and (not self.found or self.found[-1].type in ("SEP", "ELSE", "TRY", "OTHERWISE"))

    def _operator(self) -> None:
        found = next(((text, kind) for text, kind in _OPERATORS if self.text.startswith(text, self.at)), None)
        if found is None:
            raise self._wrong(f"{self.text[self.at]!r} is no sign of the language")
        text, kind = found
        after = self.text[self.at + len(text) : self.at + len(text) + 1]
        inside = bool(self.open) and self.open[-1] != "("
        if kind == "NOT" and self.open and re.match(r"[ \t]*[,\])]", self.text[self.at + 1 : self.at + 20]):
            self._element("BLANK", text)
        else:
            begins_element = kind in ("AT", "NOT") or (kind == "PLUSMINUS" and not after.isspace())
            if inside and self.blank_before and begins_element:
                self._comma()
            self._add(kind, text)
        self.at += len(text)

    def _element(self, kind: str, text: str) -> None:
        if self.open and self.open[-1] != "(" and self.blank_before:
            self._comma()
        self._add(kind, text)

    def _comma(self) -> None:
        """Blanks part elements where a value is complete; not after the parameters of an anonymous function."""
        if self.found and self.found[-1].type in _ENDS_VALUE and not self.past_params:
            self._add("COMMA", ",")

    def _add(self, kind: str, text: str) -> None:
        self.past_params = False
        self.found.append(Token(kind, text, line=self.line))

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self.file}:{self.line}: {what}")
