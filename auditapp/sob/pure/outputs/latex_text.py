"""Words of models and of people inside LaTeX: printed, never run.

Every character that LaTeX reads as more than itself is written as a command that prints it. A character that the usual
fonts lack is printed by its number, as U+4E2D, unless the engine and the font at hand have it: nothing vanishes.
"""

from __future__ import annotations

import re
import unicodedata

MAX_VALUE_LENGTH = 60
"""Characters of a value that a table shows; models answer with paragraphs at times."""

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    # After the end of a row these two are arguments of the command that ends it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Two of a kind would become another sign.
    "-": "-{}",
    "'": "'{}",
    ",": ",{}",
    "!": "!{}",
    "?": "?{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "…": r"\textellipsis{}",
    "\N{NO-BREAK SPACE}": " ",
}
# The letters that every engine prints with the encoding of our preamble.
_PRINTED = frozenset(chr(code) for code in range(0xC0, 0x100)) - {"×", "÷"}
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_TO_ESCAPE = re.compile(r"[^A-Za-z0-9 .:;/()+=@]")

PREAMBLE = "\n".join(
    [
        r"\usepackage{iftex}",
        r"\ifPDFTeX\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{textcomp}\fi",
        r"\usepackage{booktabs}",
        r"\usepackage{graphicx}",
        r"\usepackage[table]{xcolor}",
        r"\providecommand{\sobchar}[1]{\texttt{U+#1}}",
        r"\ifPDFTeX\else\renewcommand{\sobchar}[1]{\iffontchar\font" + '"#1 ' + r'\char"#1 \else\texttt{U+#1}\fi}\fi',
    ]
)
"""What the tables need; it loads under pdfLaTeX, XeLaTeX and LuaLaTeX."""


def escape_latex(text: str) -> str:
    """The text as LaTeX that prints it on one line; control and direction characters are dropped."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return _TO_ESCAPE.sub(_escape_character, line)


def show_value(text: str, most: int = MAX_VALUE_LENGTH) -> str:
    """As ``escape_latex``, cut to the width of ``most`` characters; one printed by its number is as wide as its number."""
    line = " ".join(text.split())
    room = most
    for place, character in enumerate(line):
        room -= 6 if ord(character) > 0xFF and character not in _COMMANDS else 1
        if room < 0:
            return escape_latex(line[:place] + "…")
    return escape_latex(line)


def _escape_character(found: re.Match[str]) -> str:
    character = found[0]
    if character in _COMMANDS:
        return _COMMANDS[character]
    if character in _PRINTED:
        return character
    if unicodedata.category(character) in _DROPPED:
        return ""
    return rf"\sobchar{{{ord(character):04X}}}"
