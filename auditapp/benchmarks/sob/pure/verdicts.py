"""Read a model's answer to the base task by fixed rules: acceptable, non-acceptable or uncertain.

The Base prompt asks for one of three words and a short reasoning. Real answers put marks, labels, fences and objects
around the word. The first verdict where an answer belongs counts: at the beginning of a line, or under the
key of an object. A verdict with a qualification is none, nor is a list of the three words.

Every step takes time linear in the length of the answer.
"""

from __future__ import annotations

import re

from auditapp.benchmarks.sob.pure.parsing import (
    MAX_REPAIRED,
    OBJECT_START,
    Outcome,
    Parsed,
    drop_repeated,
    drop_thinking,
    judge_unclosed,
    judge_unread,
    normalize_key,
    read_object,
)
from auditapp.llm.pure.json_answers import NOTHING, Judged, takes_back

ACCEPTABLE = "acceptable"
NON_ACCEPTABLE = "non_acceptable"
UNCERTAIN = "uncertain"
VERDICTS = (ACCEPTABLE, NON_ACCEPTABLE, UNCERTAIN)

_KEYS = ("answer", "verdict", "acceptability", "assessment", "decision", "judgment", "judgement", "response", "result")
_WORDS = r"(?P<non>non[^\w\n]{0,3}acceptable|not\s{1,3}acceptable|unacceptable)|(?P<yes>acceptable)|(?P<open>uncertain)"
_SUBJECT = r"(?:(?:the )?(?:text|statement|p)(?: p)? is\W{1,4})?"
_VERDICT = re.compile(
    # A word that is broken over two lines is no word of the second.
    r"(?<!non-\n)(?<!non\n)(?<!not\n)^(?:[^\w\n]|[\d_]){0,40}"
    rf"(?:(?:final |my |the )?(?:{'|'.join(_KEYS)}|output|part|step)(?: is)?[^\w\n]{{1,10}}(?:\d\W{{1,5}})?)?"
    rf"{_SUBJECT}(?:{_WORDS})"
    # What may come after it: the line's end, a full stop, the end of a string, or the beginning of the reasons.
    r"""(?=["”]\s{0,5},(?!\W{0,5}(?:non|not|un)?\W?(?:acceptable|certain))|["'”’*_`)\]}]{0,10}\s*(?:[.;(–—}<\n]|:(?!\s*(?:no|yes|false|true|\d))|-\s|\d[.)]|\Z|"""
    r",?\s*(?:as|because|since|due|given|reason|reasons|reasoning)\b))",
    re.IGNORECASE | re.MULTILINE,
)


def parse_verdict(raw: str | None, *, finish_reason: str | None = None, judged: Judged = NOTHING) -> Parsed:
    """Read one answer to the base task; ``finish_reason`` and ``judged`` as in ``parse_answer``."""
    answer, cut_off = drop_thinking(raw or "")
    answer = drop_repeated(answer, judged)
    found = _VERDICT.search(answer)
    if found:
        if _is_listed(found):
            return judge_unread(answer, cut_off=cut_off, finish_reason=finish_reason)
        if takes_back(answer, found.end()):
            return Parsed(Outcome.OFF_FORMAT)
        return Parsed(Outcome.VERDICT, verdict=_name(found))
    start = OBJECT_START.search(answer)
    if start is None:
        return judge_unread(answer, cut_off=cut_off, finish_reason=finish_reason)
    read = read_object(answer, start.start(), MAX_REPAIRED)
    if read is None:
        return judge_unclosed(finish_reason)
    content, end, repaired = read
    for key, value in (content or {}).items():
        if normalize_key(key) in _KEYS and isinstance(value, str) and (named := _VERDICT.match(value)):
            if takes_back(answer, end):
                return Parsed(Outcome.OFF_FORMAT)
            return Parsed(Outcome.VERDICT, verdict=_name(named), repaired=repaired)
    return judge_unread(answer, cut_off=cut_off, finish_reason=finish_reason)


def _is_listed(found: re.Match[str]) -> bool:
    """Whether another verdict is on the very next line, as in a list of what could be answered."""
    line_end = found.string.find("\n", found.end())
    if line_end < 0:
        return False
    following = _VERDICT.match(found.string, line_end + 1)
    return following is not None and _name(following) != _name(found)


def _name(found: re.Match[str]) -> str:
    if found["non"]:
        return NON_ACCEPTABLE
    return ACCEPTABLE if found["yes"] else UNCERTAIN
