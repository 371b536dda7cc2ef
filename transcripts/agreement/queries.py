"""Queries for the pages of agreement: the compared readings, their units, and the decisions about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import name_letter, order_readings
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Blinding, Coding, Decision, Memo
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.queries import read_questions
from transcripts.rounds.models import Round
from transcripts.studies.models import Membership, Study
from transcripts.studies.roles import ROLES, Permission

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable

JUDGING_ROLES = [role.key for role in ROLES.values() if Permission.ADJUDICATE in role.permissions]
SHORT_QUESTION = 280
# The part of the turn that is shown on either side of a sentence; the rest can be opened.
NEAR_CHARACTERS = 320
Place = tuple[int, dict[int, tuple[str, ...]]]
"""A unit by its sentence, and each coder's reading of it: the codes by the coder's id."""


class Selection(NamedTuple):
    """A family of the current codebook and the filters; ``None`` and empty values do not filter.

    ``model`` "" is the label of interviews whose model is not known.
    """

    family: CodeFamily
    round: Round | None = None
    model: str | None = None
    coders: frozenset[int] = frozenset()
    first_version: int | None = None
    last_version: int | None = None

    @property
    def is_narrowed(self) -> bool:
        return self.round is not None or self.model is not None or bool(self.coders) or self.has_span

    @property
    def has_span(self) -> bool:
        return self.first_version is not None or self.last_version is not None


def find_interviews(study: Study, selection: Selection) -> list[int] | None:
    """The ids of the selected interviews; ``None`` for all of the study."""
    interviews = study.interviews.order_by("pk")
    if selection.model is None and selection.round is None:
        return None
    if selection.model is not None:
        interviews = interviews.filter(model_label=selection.model)
    if selection.round is not None:
        interviews = interviews.filter(
            pk__in=selection.round.assignments.filter(withdrawn_at__isnull=True).values("interview")
        )
    return list(interviews.values_list("pk", flat=True))


def list_families(study: Study) -> list[CodeFamily]:
    """The families of the version people code with, in order."""
    version = current_version(study)
    if version is None:
        return []
    return list(version.families.select_related("version").order_by("position"))


def find_active(study: Study, family: str) -> dict[int, Adjudication]:
    """The active decisions about a family, by the number of the sentence."""
    rows = Adjudication.objects.filter(
        sentence__turn__interview__study=study,
        family_identifier=family,
        withdrawn_at__isnull=True,
        sentence__retired_by__isnull=True,
    )
    return {row.sentence_id: row for row in rows.select_related("adjudicator", "chosen_coder")}


def list_versions(sentence: Sentence, family: str) -> list[Adjudication]:
    """Every decision about a sentence and family, newest first."""
    rows = Adjudication.objects.filter(sentence=sentence, family_identifier=family)
    return list(rows.select_related("adjudicator", "chosen_coder").order_by("-revision"))


def find_other_judges(study: Study, coders: Collection[int]) -> list[User]:
    """Members who may adjudicate and are not among these coders, by name."""
    members = Membership.objects.filter(study=study, user__is_active=True)
    memberships = members.filter(role__in=JUDGING_ROLES).exclude(user__in=coders)
    return [each.user for each in memberships.select_related("user").order_by("user__username")]


@dataclass
class Item:
    """A unit for display. ``before`` and ``after`` are the rest of the turn around the sentence.

    ``readings`` have the coder, her letter, her codes, and whether the reading is the viewer's own.
    """

    sentence: Sentence
    unit: str
    question: str
    before: str
    text: str
    after: str
    readings: list[dict[str, Any]]
    memo: str

    @property
    def is_question_short(self) -> bool:
        """Whether the question is short enough to be shown before the words."""
        return len(self.question) <= SHORT_QUESTION

    @property
    def interview(self) -> Interview:
        return self.sentence.turn.interview

    @property
    def near_before(self) -> str:
        """The end of what comes before the words, from the beginning of a word."""
        if len(self.before) <= NEAR_CHARACTERS:
            return self.before
        return "… " + self.before[-NEAR_CHARACTERS:].partition(" ")[2]

    @property
    def near_after(self) -> str:
        """The beginning of what comes after the words, to the end of a word."""
        if len(self.after) <= NEAR_CHARACTERS:
            return self.after
        return self.after[:NEAR_CHARACTERS].rpartition(" ")[0] + " …"

    @property
    def is_turn_cut(self) -> bool:
        """Whether ``near_before`` and ``near_after`` leave out a part of the turn."""
        return max(len(self.before), len(self.after)) > NEAR_CHARACTERS

    @property
    def lettered_readings(self) -> list[dict[str, Any]]:
        """Distinct readings, each with the letters of its coders."""
        return _group_readings(self.readings, name=lambda reading: reading["letter"])

    @property
    def named_readings(self) -> list[dict[str, Any]]:
        """Distinct readings, each with the names of its coders."""
        ordered = sorted(self.readings, key=lambda reading: reading["coder"].username)
        return _group_readings(ordered, name=lambda reading: reading["coder"].username)


def _group_readings(
    readings: Sequence[dict[str, Any]], *, name: Callable[[dict[str, Any]], str]
) -> list[dict[str, Any]]:
    """Readings with the same codes together, in the order of the first of each.

    A code has its ``forms`` (level and enactment) and ``notes``, each with the names of those who gave it.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for reading in readings:
        groups.setdefault(tuple(put["identifier"] for put in reading["codes"]), []).append(reading)
    found = []
    for members in groups.values():
        codes = []
        for alike in zip(*(reading["codes"] for reading in members), strict=True):
            forms: dict[tuple[str, str], list[str]] = {}
            notes: dict[str, list[str]] = {}
            for reading, put in zip(members, alike, strict=True):
                forms.setdefault((put["level"], put["enactment"]), []).append(name(reading))
                if put["note"]:
                    notes.setdefault(put["note"], []).append(name(reading))
            codes.append({**alike[0], "forms": list(forms.items()), "notes": list(notes.items())})
        found.append(
            {
                "coder": members[0]["coder"],
                "names": [(name(reading), reading["is_own"]) for reading in members],
                "is_shared": len(members) > 1,
                "codes": codes,
            }
        )
    return found


def list_places(table: BlindTable, places: Iterable[int]) -> list[Place]:
    """The units at these places of a table, with their readings."""
    return [(int(table.sentence_ids[place]), table.list_readings(place)) for place in places]


def read_items(family: CodeFamily, places: Sequence[Place], *, viewer: User) -> list[Item]:
    """The displayed data of these units, in their order: six queries for any number of units."""
    rows = Sentence.objects.select_related("turn__interview").in_bulk([sentence_id for sentence_id, _ in places])
    sentences = [rows[sentence_id] for sentence_id, _ in places]
    coders = User.objects.in_bulk({coder for _, readings in places for coder in readings})
    codes = {code.identifier: code for code in family.codes.select_related("family").order_by("position")}
    questions = read_questions({sentence.turn_id: sentence.turn for sentence in sentences}.values())
    details = _read_codings(family, places, sentences)
    memos = dict(Memo.objects.active().filter(sentence__in=rows, author=viewer).values_list("sentence", "text"))
    items = []
    for (_, readings), sentence in zip(places, sentences, strict=True):
        before, text, after = _cut(sentence, family.unit)
        shown = [
            {
                "coder": coders[coder],
                "letter": name_letter(number),
                "codes": [
                    _show_code(codes.get(code), code, details.get((sentence.pk, coder, code), ("", "", "")))
                    for code in applied
                ],
                "is_own": coder == viewer.pk,
            }
            for number, (coder, applied) in enumerate(order_readings(sentence.pk, readings).items())
        ]
        question = questions.get(sentence.turn_id, "")
        items.append(Item(sentence, family.unit, question, before, text, after, shown, memos.get(sentence.pk, "")))
    return items


def _show_code(code: Code | None, identifier: str, given: tuple[str, str, str]) -> dict[str, object]:
    """A code as a coder applied it to a unit, with its level, its enactment and her note."""
    level, enactment, note = given
    name = code.name if code else identifier
    return {"code": code, "identifier": identifier, "name": name, "level": level, "enactment": enactment, "note": note}


def _cut(sentence: Sentence, unit: str) -> tuple[str, str, str]:
    """The turn divided into the part before, the unit's own words, and the part after. An interview shows no text."""
    text = sentence.turn.text
    if unit == CodeFamily.Unit.SENTENCE:
        return text[: sentence.start], text[sentence.start : sentence.end], text[sentence.end :]
    return "", text if unit == CodeFamily.Unit.TURN else "", ""


def _read_codings(
    family: CodeFamily, places: Sequence[Place], sentences: Sequence[Sentence]
) -> dict[tuple[int, int, str], tuple[str, str, str]]:
    """Level, enactment and note of the blind codings, by sentence, coder and code: the active one, or the last."""
    coders = {coder for _, readings in places for coder in readings}
    rows = Coding.objects.filter(coder__in=coders, blinding=Blinding.BLIND)
    if family.unit == CodeFamily.Unit.SENTENCE:
        rows, keys = rows.filter(sentence__in=sentences), {each.pk: each.pk for each in sentences}
        key = "sentence"
    elif family.unit == CodeFamily.Unit.TURN:
        keys, key = {each.turn_id: each.pk for each in sentences}, "sentence__turn"
        rows = rows.filter(sentence__turn__in=keys, code__family__unit=family.unit)
    else:
        keys, key = {each.turn.interview_id: each.pk for each in sentences}, "sentence__turn__interview"
        rows = rows.filter(sentence__turn__interview__in=keys, code__family__unit=family.unit)
    found: dict[tuple[int, int, str], tuple[str, str, str]] = {}
    columns = ("coder", "code__identifier", "level", "enactment", "note", "withdrawn_at", key)
    for coder, code, level, enactment, note, withdrawn, where in rows.order_by("pk").values_list(*columns):
        place = (keys[where], coder, code)
        if withdrawn is None or place not in found:
            found[place] = (level, enactment, note)
    return found


def has_two_coders(study: Study) -> bool:
    """Whether at least two people could be compared: people who may code, or have coded even if they have left since."""
    may = study.memberships.filter(
        role__in=[role.key for role in ROLES.values() if Permission.CODE in role.permissions]
    )
    coders = set(may.values_list("user", flat=True))
    return len(coders) > 1 or len(coders.union(_find_coders(study))) > 1


def _find_coders(study: Study) -> Iterator[int]:
    """People who have coded or decided something, two at most."""
    for model in (Coding, Decision):
        found = model.objects.filter(sentence__turn__interview__study=study, withdrawn_at=None).order_by()
        yield from found.values_list("coder", flat=True).distinct()[:2]
