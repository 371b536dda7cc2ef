"""Write LaTeX tables. Words of models and of people are printed, never run.

Every character that LaTeX reads as more than itself is written as a command that prints it. A character that the usual
fonts lack is printed by its number, as U+4E2D, unless the engine and its font have it: nothing vanishes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

DASH = "--"
# From white to a blue on which black still has a contrast of eight to one.
_LIGHT, _DARK = (255, 255, 255), (133, 178, 222)
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
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "−": "$-$",
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


def show_value(text: str, max_length: int = MAX_VALUE_LENGTH) -> str:
    """As ``escape_latex``, cut to the width of ``max_length`` characters. One that is printed by its number is six wide."""
    line = " ".join(text.split())
    room = max_length
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


def shade(share: float) -> str:
    """A cell's colour: the share, 0 to 1, of the way from light to dark."""
    part = min(max(share, 0.0), 1.0)
    mixed = (round(light + (dark - light) * part) for light, dark in zip(_LIGHT, _DARK, strict=True))
    return r"\cellcolor[HTML]{" + "".join(f"{channel:02X}" for channel in mixed) + "}"


def span(columns: int, words: str, alignment: str = "c") -> str:
    """A cell over several columns; the words are LaTeX."""
    return rf"\multicolumn{{{columns}}}{{{alignment}}}{{{words}}}"


def write_table(
    columns: str, rows: Iterable[Sequence[str] | str], *, caption: str, label: str, fit: bool = True
) -> str:
    """A floating table with rules above and below; with ``fit`` it is scaled to the line.

    A row is its cells as LaTeX; text alone is a command between rows. ``caption`` is plain text.
    """
    body = [row if isinstance(row, str) else " & ".join(row) + r" \\" for row in rows]
    table = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    if fit:
        table = [r"\resizebox{\linewidth}{!}{%", *table, "}"]
    head = [r"\begin{table}[p]", r"\centering", rf"\caption{{{escape_latex(caption)}}}", rf"\label{{tab:{label}}}"]
    return "\n".join([*head, *table, r"\end{table}"])


def write_plain_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, label: str, columns: str = ""
) -> str:
    """A file with one table of plain texts, with the commands that it needs as a comment above.

    ``columns`` says how each is aligned, such as "lrr"; without it the first stands to the left, the others to the right.
    """
    needs = "\n".join(f"% {line}" for line in PREAMBLE.splitlines())
    head = " & ".join(map(escape_latex, heads)) + r" \\ \midrule"
    body = [[escape_latex(cell) for cell in row] for row in rows]
    aligned = columns or "l" + "r" * (len(heads) - 1)
    table = write_table(aligned, [head, *body], caption=caption, label=label)
    return f"% Needs in the preamble:\n{needs}\n{table}\n"
