"""Bounds on a text, checked before Python's parser sees it.

An upload is hostile until proven otherwise, and `ast.parse` itself can be brought down: thousands of nested operators
raise RecursionError or MemoryError, long digits take quadratic time. So one pass over the characters, linear and
without recursion, refuses what the language does not have: every character outside strings and comments is plain
ASCII (no homoglyphs, nothing that NFKC would turn into another name), every keyword but a few is unknown, and size,
lines, tokens and nesting are counted.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from rlx_base.errors import TextError
from rlx_base.span import Span

__all__ = ["DEFAULT_LIMITS", "Limits", "check", "decode"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a text may be. Weights belong into a safetensors file, so even large networks are far below."""

    bytes: int = 4 << 20
    lines: int = 50_000
    tokens: int = 100_000
    nesting: int = 100
    characters_per_name: int = 128
    characters_per_number: int = 40
    characters_per_string: int = 4096


DEFAULT_LIMITS: Final = Limits()

_KEYWORDS: Final = frozenset({"def", "return", "None", "True", "False"})
_LATER: Final = {"with": "`with` (pipelines)"}
_PYTHON_ONLY: Final = frozenset(keyword.kwlist) - _KEYWORDS - frozenset(_LATER)

_TOKEN: Final = re.compile(
    r"""
    (?P<space>   [ \t]+ )
  | (?P<comment> \#[^\n]* )
  | (?P<newline> \n )
  | (?P<name>    [A-Za-z_][A-Za-z0-9_]* )
  | (?P<number>  0[xX][0-9a-fA-F_]+ | (?: [0-9][0-9_]* (?: \.[0-9_]* )? | \.[0-9][0-9_]* ) (?: [eE][+-]?[0-9_]+ )? )
  | (?P<quote>   \"\"\" | ''' | \" | ' )
  | (?P<open>    [(\[{] )
  | (?P<close>   [)\]}] )
  | (?P<ellipsis> \.\.\. )
  | (?P<separator> , )
  | (?P<colon>   : )
  | (?P<operator> \*\* | // | == | != | <= | >= | -> | [-+*/%@<>=.] )
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(?:[\\\"'nt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")
_PLAIN: Final = re.compile(r"[ !#-&(-\[\]-~]+")  # printable ASCII without quotes and backslashes
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


def decode(data: bytes, file: str) -> str:
    """The text of a file's bytes. Raises E004 where they are not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise TextError(
            "E004", at=Span(file, line, 1, 2), what="the text is not UTF-8", fix="save it as UTF-8"
        ) from None


class _Scanner:
    """One pass over the text; counts and refuses."""

    def __init__(self, text: str, file: str, limits: Limits) -> None:
        self.text, self.file, self.limits = text, file, limits
        self.line, self.line_start = 1, 0
        self.tokens = 0
        # One entry per open bracket: the bracket, where it stands, and the operators since its last comma. The deepest
        # tree that Python's parser can build is bounded by their sum, since each operator nests at most one level.
        self.open: list[tuple[str, Span | None]] = [("", None)]
        self.chain: list[int] = [0]
        self.depth = 0

    def span(self, start: int, end: int) -> Span:
        column = start - self.line_start + 1
        return Span(self.file, self.line, column, max(column + 1, end - self.line_start + 1))

    def deeper(self, start: int, end: int) -> None:
        self.chain[-1] += 1
        self.depth += 1
        if self.depth > self.limits.nesting:
            raise TextError("E002", at=self.span(start, end), limit=self.limits.nesting)

    def reset(self) -> None:
        """After a separator at this level, what came before no longer nests what follows."""
        self.depth -= self.chain[-1]
        self.chain[-1] = 0

    def too_many(self, what: str, limit: int, start: int, end: int) -> TextError:
        return TextError("E001", at=self.span(start, end), what=what, limit=limit)

    def malformed(self, start: int, end: int, what: str, fix: str) -> TextError:
        return TextError("E004", at=self.span(start, end), what=what, fix=fix)

    def new_line(self, position: int) -> None:
        self.line += 1
        self.line_start = position
        if self.line > self.limits.lines:
            raise self.too_many("lines", self.limits.lines, position, position)

    def run(self) -> None:
        text, position, end = self.text, 0, len(self.text)
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.unexpected(position)
            kind, start, position = match.lastgroup, position, match.end()
            if kind == "newline":
                if len(self.open) == 1:
                    self.reset()
                self.new_line(position)
                continue
            if kind in ("space", "comment"):
                self.visible(start, position)
                continue
            self.tokens += 1
            if self.tokens > self.limits.tokens:
                raise self.too_many("tokens", self.limits.tokens, start, position)
            match kind:
                case "name":
                    self.name(start, position)
                case "number":
                    self.number(start, position)
                case "quote":
                    position = self.string(start, match.group())
                case "open":
                    self.deeper(start, position)
                    self.open.append((match.group(), self.span(start, position)))
                    self.chain.append(0)
                case "close":
                    self.close(start, position, match.group())
                case "separator":
                    self.reset()
                case "operator":
                    self.deeper(start, position)
        if len(self.open) > 1:
            bracket, at = self.open[-1]
            raise TextError("E004", at=at, what=f"{bracket!r} is never closed", fix="close it")

    def name(self, start: int, end: int) -> None:
        word = self.text[start:end]
        at = self.span(start, end)
        if word in _LATER:
            raise TextError("E011", at=at, what=_LATER[word])
        if word in _PYTHON_ONLY:
            raise TextError("E005", at=at, what=f"`{word}`")
        if word.startswith("__"):
            raise TextError("E007", at=at, name=word, why="names that begin with two underscores are reserved")
        if end - start > self.limits.characters_per_name:
            raise self.too_many("characters in one name", self.limits.characters_per_name, start, end)
        if end < len(self.text) and self.text[end] in "\"'":
            raise self.malformed(
                start, end + 1, f"text with the prefix {word!r}", "write plain texts, without a prefix"
            )

    def number(self, start: int, end: int) -> None:
        if end - start > self.limits.characters_per_number:
            raise self.too_many("characters in one number", self.limits.characters_per_number, start, end)
        if end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "_."):
            raise self.malformed(start, end + 1, "a number with letters", "write numbers like 3, 0.5, 1e-5 or 0xff")

    def string(self, start: int, quote: str) -> int:
        """Past the closing quote of the string that begins at `start`."""
        text, position, long = self.text, start + len(quote), len(quote) == 3
        at = self.span(start, start + len(quote))
        while True:
            if position - start > self.limits.characters_per_string:
                raise self.too_many("characters in one text", self.limits.characters_per_string, start, start + 1)
            if position >= len(text) or (text[position] == "\n" and not long):
                raise TextError("E004", at=at, what="a text is never closed", fix=f"close it with {quote}")
            if text.startswith(quote, position):
                break
            if text[position] == "\\":
                escape = _ESCAPE.match(text, position)
                if escape is None:
                    raise self.malformed(
                        position, position + 2, "an unknown escape in a text", r"write a backslash as \\"
                    )
                position = escape.end()
            elif text[position] == "\n":
                position += 1
                self.new_line(position)
            else:
                plain = _PLAIN.match(text, position)
                end = plain.end() if plain else position + 1
                self.visible(position, end)
                position = end
        return position + len(quote)

    def close(self, start: int, end: int, bracket: str) -> None:
        if self.open[-1][0] != _PAIRS[bracket]:
            raise self.malformed(start, end, f"{bracket!r} closes nothing", "pair the brackets")
        self.reset()
        self.open.pop()
        self.chain.pop()

    def visible(self, start: int, end: int) -> None:
        """Comments and texts may hold any script, but nothing that hides or reorders what a reader sees."""
        part = self.text[start:end]
        if part.isascii() and part.isprintable():
            return
        for offset, character in enumerate(part):
            if character != "\t" and not character.isprintable():
                raise self.forbidden(start + offset)

    def forbidden(self, position: int) -> TextError:
        character = self.text[position]
        name = unicodedata.name(character, "a control character")
        return TextError("E003", at=self.span(position, position + 1), character=f"U+{ord(character):04X}", name=name)

    def unexpected(self, position: int) -> TextError:
        character = self.text[position]
        if character.isascii() and character.isprintable():
            at = self.span(position, position + 1)
            return TextError("E005", at=at, what=f"{character!r}")
        return self.forbidden(position)


def check(text: str, file: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """The text with its line ends made `\\n`, if it is within the bounds. Raises TextError (E001 … E007)."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.bytes:
        raise TextError("E001", at=Span(file, 1, 1, 2), what="bytes", limit=limits.bytes)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    _Scanner(text, file, limits).run()
    return text
