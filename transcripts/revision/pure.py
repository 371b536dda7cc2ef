"""How meaning changes between codebook versions: readings of a fixed set of sentences, and sentences that may belong to a code
that has become wider.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from transcripts.charts import figures as charts
from transcripts.charts.figures import STEADY_RULE, judge_steadiness, summarise
from transcripts.codebook.pure.keyword_rules import BadRule, compile_rules, find_places, find_words

Reading = tuple[int, int, int, frozenset[str]]
"""The number of a version, a sentence, a coder, and the identifiers of the codes she applied to it under that version."""
# Words are compared by this number of first letters, so that endings make no difference; shorter words say little.
STEM, MIN_LENGTH = 6, 4
# A word in more than this share of the sentences says little.
MAX_SHARE = 0.2
# A word may be in this number of sentences, however few there are.
USUAL_SENTENCES = 3
Found = tuple[int, list[tuple[int, int]]]
"""A sentence by its id, and the places of the words in it, in code points."""


class Point(NamedTuple):
    """One code under one version. ``rate`` is ``applied`` of ``read``.

    ``same`` of ``compared`` counts the readings that agree about the code with the same coder's reading of the same sentence
    under the previous version; nothing is compared in the first version, or if nobody read twice.
    """

    version: int
    read: int
    applied: int
    compared: int
    same: int

    @property
    def rate(self) -> float | None:
        """Share of readings with the code; ``None`` without readings."""
        return self.applied / self.read if self.read else None

    @property
    def agreement(self) -> float | None:
        """Share of readings that are as before; ``None`` if nothing can be compared."""
        return self.same / self.compared if self.compared else None


def measure_drift(readings: Iterable[Reading], codes: Sequence[str]) -> dict[str, list[Point]]:
    """The points of each code, by version. Versions without readings are left out.

    People need criteria to judge by, and judging changes the criteria (Shankar et al. 2024, "criteria drift"). So a set of
    sentences is coded again after each change of meaning: changes there are due to the codebook: the texts are the same.
    """
    by_version: dict[int, dict[tuple[int, int], frozenset[str]]] = defaultdict(dict)
    for version, sentence, coder, applied_codes in readings:
        by_version[version][sentence, coder] = applied_codes
    versions = sorted(by_version)
    points: dict[str, list[Point]] = {code: [] for code in codes}
    for place, version in enumerate(versions):
        here = by_version[version]
        before = by_version[versions[place - 1]] if place else {}
        again = here.keys() & before.keys()
        for code in codes:
            same = sum((code in here[unit]) == (code in before[unit]) for unit in again)
            applied = sum(code in found for found in here.values())
            points[code].append(Point(version, len(here), applied, len(again), same))
    return points


def draw_drift(named: Sequence[tuple[str, Sequence[Point]]]) -> charts.PanelChart:
    """The rates of each code, one small chart for each, judged by its readings under the last version."""
    panels = [
        charts.Panel(
            name,
            [charts.Point(f"v{each.version}", each.rate, f"{each.applied} of {each.read}") for each in points],
            verdict=judge_steadiness(points[-1].same, points[-1].compared),
        )
        for name, points in named
        if points
    ]
    return charts.PanelChart(
        key="drift",
        title="Share of readings with the code, by codebook version",
        panels=panels,
        summary=summarise((panel.verdict for panel in panels), "codes"),
        note=STEADY_RULE,
    )


def choose_stems(now: Iterable[str], before: Iterable[str]) -> set[str]:
    """The beginnings of words that the texts of a code use ``now`` and did not use ``before``."""
    return _stem_all(now) - _stem_all(before)


def find_near(sentences: Mapping[int, str], stems: set[str], rules: Sequence[str] = ()) -> list[Found]:
    """The sentences that contain a word with such a beginning, or match a keyword rule of the code; the nearest first.

    A word counts more the fewer sentences have it, a word in many of them not at all, and a rule counts as the rarest word.
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
    """The text in pieces, each with whether it is one of the places; overlapping places are joined."""
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
