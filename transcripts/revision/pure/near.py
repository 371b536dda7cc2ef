"""Sentences that may belong to a code now that it means more: those that use the words of its new definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from transcripts.codebook.pure.keyword_rules import BadRule, compile_rules, find_places, find_words

# Words are compared by so many first letters, so that an ending makes no difference; shorter ones say little.
STEM, MIN_LENGTH = 6, 4
# A word in more than this share of the sentences tells little.
MAX_SHARE = 0.2
# However few sentences there are, a word may be in so many of them.
USUAL_SENTENCES = 3
Found = tuple[int, list[tuple[int, int]]]
"""A sentence by its number, and the places of the words in it, in code points."""


def choose_stems(now: Iterable[str], before: Iterable[str]) -> set[str]:
    """What the words of the texts of a code ``now`` begin with that its texts ``before`` did not use."""
    return _stem_all(now) - _stem_all(before)


def find_near(sentences: Mapping[int, str], stems: set[str], rules: Sequence[str] = ()) -> list[Found]:
    """The sentences with a word that begins so, or that a keyword rule of the code fits; the nearest first.

    A word counts more the fewer sentences have it, one that is in many of them not at all, and a rule as the rarest word.
    """
    stems_in = {pk: stems & _stem_all([text]) for pk, text in sentences.items()} if stems else {}
    counts = Counter(stem for found in stems_in.values() for stem in found)
    limit = max(USUAL_SENTENCES, MAX_SHARE * len(sentences))
    weights = {stem: math.log(1 + len(sentences) / number) for stem, number in counts.items() if number <= limit}
    by_rule = _match_rules(sentences, rules)
    rarest = math.log(1 + len(sentences))
    scores = {
        pk: sum(sorted(weights[stem] for stem in stems_in.get(pk, ()) if stem in weights))
        + (rarest if pk in by_rule else 0.0)
        for pk in sentences
    }
    near = sorted((pk for pk in sentences if scores[pk]), key=lambda pk: (-scores[pk], pk))
    return [
        (pk, sorted({*_place_words(sentences[pk], weights), *([by_rule[pk]] if pk in by_rule else [])})) for pk in near
    ]


def cut_words(text: str, places: Iterable[tuple[int, int]]) -> list[tuple[bool, str]]:
    """The text in pieces, each with whether it is one of the places; those that overlap are one."""
    pieces: list[tuple[bool, str]] = []
    end = 0
    for first, last in _join(places):
        pieces += [(False, text[end:first]), (True, text[first:last])]
        end = last
    return [piece for piece in [*pieces, (False, text[end:])] if piece[1]]


def _join(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(places):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _stem_all(texts: Iterable[str]) -> set[str]:
    return {word[:STEM] for text in texts for word in find_words(text) if len(word) >= MIN_LENGTH}


def _place_words(text: str, stems: Collection[str]) -> list[tuple[int, int]]:
    places = zip(find_words(text), find_places(text), strict=True)
    return [place for word, place in places if len(word) >= MIN_LENGTH and word[:STEM] in stems]


def _match_rules(sentences: Mapping[int, str], rules: Sequence[str]) -> dict[int, tuple[int, int]]:
    try:
        matcher = compile_rules({"code": rules})
    except BadRule:
        return {}
    found = {pk: matcher.find(text) for pk, text in sentences.items()} if rules else {}
    return {pk: (matches[0][2], matches[0][3]) for pk, matches in found.items() if matches}
