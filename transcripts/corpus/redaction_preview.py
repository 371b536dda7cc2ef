"""What a list of redaction entries would change in the study's texts, and names that may be missing from it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from transcripts.corpus.models import Turn
from transcripts.corpus.pure.redacting import Entry, Place, count_inside, find_places, replace, write_lines
from transcripts.projects.models import Project

SAMPLES_PER_ENTRY = 2
AROUND = 60
# Words for a part in a talk, which are no names.
PARTS = {"interviewer", "interviewee", "author", "user", "human", "assistant", "model", "system", "moderator"}
PARTS |= {"ai", "researcher", "question", "q", "i", "me"}


def preview(project: Project, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """What every entry would do to the study's texts: reads them all, in one query.

    ``inside`` counts places inside longer words, which stay as they are. Samples show the text as it would be in the copy.
    """
    places: Counter[int] = Counter()
    inside: Counter[int] = Counter()
    interviews: defaultdict[int, set[int]] = defaultdict(set)
    samples: defaultdict[int, list[dict[str, object]]] = defaultdict(list)
    turns = Turn.objects.filter(interview__project=project).order_by("interview", "position")
    for interview_id, title, text in turns.values_list("interview", "interview__title", "text").iterator():
        inside.update(count_inside(text, entries))
        for place in find_places(text, entries):
            entry = place[2]
            places[entry] += 1
            known = interviews[entry]
            if len(samples[entry]) < SAMPLES_PER_ENTRY and interview_id not in known:
                samples[entry].append(_show(interview_id, title, text, place, entries))
            known.add(interview_id)
    return [
        {
            "entry": entry,
            "places": places[number],
            "interviews": len(interviews[number]),
            "inside": inside[number],
            "samples": samples[number],
        }
        for number, entry in enumerate(entries)
    ]


def _show(interview_id: int, title: str, text: str, place: Place, entries: Sequence[Entry]) -> dict[str, object]:
    """The words around a place, themselves redacted. Cut after redaction, so that no half of a name shows."""
    start, end, entry = place
    before, after = replace(text[:start], entries), replace(text[end:], entries)
    return {
        "interview_id": interview_id,
        "interview": replace(title, entries),
        "before": " ".join(before.split())[-AROUND:],
        "replacement": entries[entry].replacement,
        "after": " ".join(after.split())[:AROUND],
    }


def suggest_entries(project: Project, entries: Sequence[Entry]) -> list[Entry]:
    """Entries for people whose names came in with the interviews and that no entry replaces yet."""
    named = set(project.interviews.exclude(interviewer="").values_list("interviewer", flat=True))
    asking = Turn.objects.filter(interview__project=project, role=Turn.Role.INTERVIEWER).exclude(speaker="")
    named |= set(asking.order_by().values_list("speaker", flat=True).distinct())
    names = sorted({name for each in named for name in re.split(r"\s*(?:,|;|&|\band\b)\s*", each) if _is_name(name)})
    missing = [name for name in names if not find_places(name, entries)]
    taken = write_lines(entries)
    suggested: list[Entry] = []
    number = 0
    for name in missing:
        number += 1
        while f"[INTERVIEWER {number}]" in taken:
            number += 1
        suggested.append(Entry(name, f"[INTERVIEWER {number}]"))
    return suggested


def _is_name(name: str) -> bool:
    return any(map(str.isalpha, name)) and name.casefold() not in PARTS and len(name) <= 100
