"""Plans the codings of a project file as rows of the study; the action stores them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.actions.checks import check_answer, fits_side
from transcripts.coding.models import Coding
from transcripts.corpus.consent import HOW_TO_RECORD
from transcripts.exchange import pure
from transcripts.exchange.pure import PlacedText, Touch
from transcripts.exchange.refi.details import (
    Guids,
    StudyReport,
    guids_of_codings,
    is_link_note,
    read_details,
    read_parts,
)
from transcripts.formats.qdpx_content import QdpxCoding, QdpxNote, QdpxSelection, QdpxSource
from transcripts.formats.refi import make_guid
from transcripts.refusals import WrongInput
from transcripts.studies.models import Study

MAX_NAMED = 20
REFUSED = (
    "the consent on record for the interview does not allow coding by people. Codings that the study already has remain. "
    f"{HOW_TO_RECORD}"
)

# At most one is active: a code of one person on one sentence with one blinding.
Place = tuple[int, str, int, str]


class KnownNames:
    """A person's idempotency keys in a study (``here``, with the GUIDs made from them) and in all studies, each usable once."""

    def __init__(self, slug: str, here: QuerySet[Any], everywhere: QuerySet[Any], *, guids: Guids, person: str) -> None:
        self._rows = here
        self._count = self._count_rows()
        keys = set(here.values_list("idempotency_key", flat=True))
        self.here: set[UUID] = keys | guids.list_made(keys, person=person)
        self._everywhere: set[UUID] = set(everywhere.values_list("idempotency_key", flat=True))
        self._slug = slug

    def find_free(self, guid: str) -> str | None:
        """The key under which a thing in a file is stored; ``None`` if it is in the study already.

        The same file may be imported into two studies; in the second, things get separate keys.
        """
        own = make_guid("in study", self._slug, guid)
        if UUID(guid) in self.here or UUID(own) in self.here:
            return None
        return own if UUID(guid) in self._everywhere else guid

    def is_current(self) -> bool:
        """Whether the person has stored and withdrawn nothing in the study since this was read."""
        return self._count == self._count_rows()

    def _count_rows(self) -> tuple[int, int]:
        # Rows are never deleted, and withdrawn rows stay withdrawn.
        found = self._rows.order_by().aggregate(stored=Count("pk"), withdrawn=Count("withdrawn_at"))
        return found["stored"], found["withdrawn"]


class CodingPlan:
    """Puts codings on every sentence that their selection touches; codings that were imported before are left as they are."""

    def __init__(
        self,
        study: Study,
        codes: Mapping[str, Code],
        notes: Mapping[str, QdpxNote],
        find_account: Callable[[str], User],
    ) -> None:
        self.used_notes: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._study = study
        self._codes = codes
        self._notes = notes
        self._find_account = find_account
        self._now = timezone.now()
        self._guids = guids_of_codings(study)
        self._names: dict[int, KnownNames] = {}
        # Keys of this file's codings, by person, so that none is stored twice.
        self._used: defaultdict[int, set[UUID]] = defaultdict(set)
        self._active: dict[int, set[Place]] = {}
        # By person, turn and code: the sentence that has the code, for families coded once per answer.
        self._first_of: dict[tuple[int, int, str], int] = {}
        self._seconds: list[str] = []
        # Required questions, with the number of codings without an answer.
        self._unanswered: Counter[str] = Counter()
        self._wrong_answers: Counter[str] = Counter()
        self._text_name = ""

    def copy(self) -> CodingPlan:
        """A copy of the plan so far, which reads people's codings in the study again."""
        other = CodingPlan(self._study, self._codes, self._notes, self._find_account)
        other.used_notes, other.counts = set(self.used_notes), Counter(self.counts)
        other._used.update({person: set(names) for person, names in self._used.items()})
        other._seconds, other._wrong_answers = list(self._seconds), Counter(self._wrong_answers)
        other._unanswered = Counter(self._unanswered)
        return other

    def is_current(self) -> bool:
        """Whether none of the codings' authors has coded in the study since her codings were read."""
        return all(names.is_current() for names in self._names.values())

    def add(self, source: QdpxSource, text: PlacedText) -> list[Coding]:
        """Add everything applied to one text; returns the rows to store."""
        rows: dict[Place, Coding] = {}
        self._text_name = source.name
        for selection in source.selections:
            touched = text.touch(selection.start, selection.end)
            for coding in selection.codings:
                coder = coding.user or selection.user or source.user
                places = self._find_places(coding, text, touched)
                if places or not touched:
                    self._put(rows, coding, coder, selection, places)
        for coding in source.codings:
            code = self._codes.get(coding.code)
            if code is not None and code.family.unit == CodeFamily.Unit.INTERVIEW and text.first is not None:
                self._put(rows, coding, coding.user or source.user, None, [(text.first, None)])
            else:
                self.counts["on whole texts"] += 1
        for row in rows.values():
            self._active[row.coder_id].add(_place(row))
        self.counts["sentences"] += len(rows)
        return list(rows.values())

    def leave_out(self, source: QdpxSource) -> None:
        """Count the codings of a text whose interview does not count in the study."""
        self._leave_out(source, "without interview")

    def refuse(self, source: QdpxSource) -> None:
        """Count the codings of a text that people may not code, and drop the notes on it."""
        self._leave_out(source, "without consent")
        notes = {*source.notes, *(guid for each in source.selections for guid in each.notes)} - self.used_notes
        self.counts["memos without consent"] += len(notes)
        self.used_notes |= notes

    def _leave_out(self, source: QdpxSource, why: str) -> None:
        applied = [*source.codings, *(coding for each in source.selections for coding in each.codings)]
        self.counts[why] += len(applied)
        self.used_notes.update(guid for coding in applied for guid in coding.notes)

    def add_counts(self, report: StudyReport) -> None:
        """Add the counts to a report."""
        report.new["codings"], report.known["codings"] = self.counts["new"], self.counts["known"]
        report.add_note(
            self.counts["sentences"] - self.counts["new"] + self.counts["joined"],
            "further sentence",
            "their selections cover more than one; each sentence gets the code.",
        )
        report.add_note(
            self.counts["joined"],
            "coding",
            "the same code was applied twice to the same sentence; the quotes were combined.",
        )
        report.leave_out(
            self.counts["on whole texts"], "coding of a whole text", "codes here are applied to sentences."
        )
        report.leave_out(
            self.counts["without interview"],
            "coding",
            "the interview is archived or excluded in this study. Restore it, then import the file again.",
        )
        report.leave_out(self.counts["without consent"], "coding", REFUSED)
        report.leave_out(self.counts["memos without consent"], "memo", REFUSED)
        report.leave_out(self.counts["without code"], "coding", "with a category that cannot be used for coding here.")
        report.leave_out(self.counts["without words"], "coding", "no word of a sentence is selected.")
        report.leave_out(self.counts["other side"], "coding", "its code is for the turns of the other side.")
        report.leave_out(self.counts["second in an answer"], "coding", self._explain_seconds())
        report.add_note(
            self.counts["without enactment"],
            "coding of a move",
            "imported as undecided (enactment not stated), because the file does not say whether the move is enacted. Its coder "
            "can state it at the desk.",
        )
        for question, count in self._unanswered.items():
            report.add_note(count, "coding", f"imported without an answer to {question}, which is not in the file.")
        for sentence, count in self._wrong_answers.items():
            report.leave_out(
                count, "answer to a code’s own question", f"{sentence} Its coding was imported without it."
            )

    def _explain_seconds(self) -> str:
        """The codings that were left out because their code is applied once per answer, named only by their id in the file,
        because the person who imports it may not have coded these sentences yet."""
        more = self.counts["second in an answer"] - len(self._seconds)
        named = "; ".join([*self._seconds, *([f"and {more:,} more"] if more else [])])
        return (
            "the code is applied at most once per answer, and its coder has it on another sentence of the answer. To import "
            f"such a coding, its coder removes the other one; then import the file again. Left out: {named}."
        )

    def _find_places(self, coding: QdpxCoding, text: PlacedText, touched: list[Touch]) -> list[Touch]:
        code = self._codes.get(coding.code)
        if code is None:
            return touched
        fitting = [touch for touch in touched if fits_side(code.family, touch[0].role)]
        self.counts["other side"] += bool(touched) and not fitting
        if code.family.unit == CodeFamily.Unit.TURN:
            return list(text.find_firsts(fitting))
        return fitting

    def _put(
        self,
        rows: dict[Place, Coding],
        coding: QdpxCoding,
        coder: str,
        selection: QdpxSelection | None,
        places: Sequence[Touch],
    ) -> None:
        """Apply one coding of the file to its places, unless it is already active there."""
        self.used_notes.update(coding.notes)
        code = self._codes.get(coding.code)
        if code is None or not places:
            self.counts["without code" if code is None else "without words"] += 1
            return
        account = self._find_account(coder)
        self._load(account)
        name = self._names[account.pk].find_free(coding.guid)
        if name is None:
            self.counts["known"] += 1
            return
        details = self._read_details(coding, code)
        selected = selection.created if selection else None
        made = min(coding.created or selected or self._now, self._now)
        known = [self._notes[guid] for guid in coding.notes if guid in self._notes]
        told = [each.text for each in known if not is_link_note(each)]
        # Other programs keep remarks about a coding here.
        about = told or ([selection.description] if selection else [])
        note = " ".join(" ".join(about).split())
        before = len(rows), self.counts["joined"]
        has_second = False
        turns = {sentence.id: sentence.turn for sentence, _ in places}
        for row in self._make_rows(
            coding, places, details, name=name, code=code, account=account, made=made, note=note
        ):
            place = _place(row)
            if place in self._active[account.pk]:
                continue
            if self._is_second(row, turns[row.sentence_id]):
                has_second = True
                continue
            if (first := rows.setdefault(place, row)) is not row:
                _join(first, row)
                self.counts["joined"] += 1
        self._names[account.pk].here.add(UUID(name))
        self._used[account.pk].add(UUID(name))
        if (len(rows), self.counts["joined"]) != before:
            self.counts["new"] += 1
        elif not has_second:
            self.counts["known"] += 1
        if has_second:
            self.counts["second in an answer"] += 1
            if len(self._seconds) < MAX_NAMED:
                self._seconds.append(f"coding {coding.guid} in {self._text_name}")

    def _is_second(self, row: Coding, turn_id: int) -> bool:
        """Whether the person has the code on another sentence of the answer, if it is applied once per answer."""
        family = row.code.family
        if not family.once_per_answer or family.unit != CodeFamily.Unit.SENTENCE:
            return False
        key = row.coder_id, turn_id, row.code.identifier
        return self._first_of.setdefault(key, row.sentence_id) != row.sentence_id

    def _read_details(self, coding: QdpxCoding, code: Code) -> dict[str, Any]:
        """The columns of a coding, without answers that its code does not offer. Missing values that the codebook requires stay
        open, so that codings from programs without these values are not lost."""
        details = read_details(coding.details, code.family)
        answers = {}
        for key, answer in details["attributes"].items():
            try:
                check_answer(code, key, answer)
            except WrongInput as error:
                self._wrong_answers[str(error)] += 1
            else:
                answers[key] = answer
        self.counts["without enactment"] += code.family.carries_enactment and not details.get("enactment")
        self._unanswered.update(
            f"“{question['label']}” of {code.name}"
            for question in code.attributes
            if question.get("required") and not answers.get(question["key"])
        )
        return {**details, "attributes": answers}

    def _make_rows(
        self,
        coding: QdpxCoding,
        places: Sequence[Touch],
        details: dict[str, Any],
        *,
        name: str,
        code: Code,
        account: User,
        made: datetime,
        note: str,
    ) -> Iterator[Coding]:
        if len(places) > 1 and details["range_id"] is None:
            details["range_id"] = UUID(make_guid("range of coding", coding.guid))
        parts = self._name_parts(coding, len(places), name=name, made=made, coder_id=account.pk)
        for (sentence, quote), (part, at) in zip(places, parts, strict=True):
            self._used[account.pk].add(UUID(part))
            yield Coding(
                sentence_id=sentence.id,
                code=code,
                coder=account,
                note=note,
                quote_start=quote[0] if quote else None,
                quote_end=quote[1] if quote else None,
                idempotency_key=UUID(part),
                created_at=at,
                **details,
            )

    def _name_parts(
        self, coding: QdpxCoding, count: int, *, name: str, made: datetime, coder_id: int
    ) -> list[tuple[str, datetime]]:
        """Keys and times of the codings that result from one: the original ones, if the file has them and they are free."""
        named = [pure.name_part(name, number) for number in range(count)]
        told = read_parts(coding.details)
        if len(told) != count - 1:
            return [(part, made) for part in named]
        had = [name, *(part for part, _ in told)]
        known, used = self._names[coder_id], self._used[coder_id]
        is_free = name == coding.guid and all(known.find_free(part) == part and UUID(part) not in used for part in had)
        times = [made, *(min(at, self._now) for _, at in told)]
        return list(zip(had if is_free and len(set(had)) == count else named, times, strict=True))

    def _load(self, coder: User) -> None:
        """A person's codings, read at her first coding."""
        coder_id = coder.pk
        if coder_id not in self._names:
            own = Coding.objects.filter(coder=coder_id)
            here = own.filter(sentence__turn__interview__study=self._study)
            self._names[coder_id] = KnownNames(self._study.slug, here, own, guids=self._guids, person=coder.username)
            self._names[coder_id].here |= self._used[coder_id]
            active = here.filter(withdrawn_at__isnull=True)
            columns = ("sentence_id", "code__identifier", "coder_id", "blinding", "sentence__turn_id")
            places = list(active.order_by("sentence__start").values_list(*columns))
            self._active[coder_id] = {place[:4] for place in places}
            for sentence_id, identifier, _, _, turn_id in places:
                self._first_of.setdefault((coder_id, turn_id, identifier), sentence_id)


def _place(row: Coding) -> Place:
    return row.sentence_id, row.code.identifier, row.coder_id, row.blinding


def _join(first: Coding, other: Coding) -> None:
    """One coding over the words of two; a whole sentence covers all its words."""
    if first.quote_start is None or other.quote_start is None:
        first.quote_start = first.quote_end = None
    else:
        first.quote_start = min(first.quote_start, other.quote_start)
        first.quote_end = max(first.quote_end or 0, other.quote_end or 0)
    first.note = " ".join(dict.fromkeys(filter(None, [first.note, other.note])))
