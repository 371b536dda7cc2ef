"""Queries about texts, and the writes that have to be fast.

The list of interviews: the work that it shows, its search, filters and order.

Rooms above this one know the progress of the work; the event ``interviews_listed`` lets one of them add it.
"""

from __future__ import annotations

import datetime
import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Model, Q, QuerySet

from transcripts.accounts.models import User
from transcripts.corpus.models import (
    RUN_FACTS,
    BoundaryEdit,
    Consent,
    ImportedFile,
    Interview,
    InterviewChange,
    InterviewQuerySet,
    Kind,
    MaskedFacts,
    RedactionList,
    Sentence,
    Turn,
)
from transcripts.corpus.pure.segmenting import is_answer
from transcripts.formats.interviews.base import ReadTurn
from transcripts.hooks import interviews_listed, send
from transcripts.statistics.figures import round_percent
from transcripts.studies.models import Study

IDS_AT_A_TIME = 500
# A filter with more values than this is not offered.
MAX_FACTS = 50
TURN_COLUMNS = ("role", "channel", "speaker", "prompt_kind", "text")
# The columns that show whether the words of a known conversation changed. Names of tools were not read in earlier versions.
COMPARED_COLUMNS = ("role", "channel", "prompt_kind", "text")
TurnRow = tuple[Any, ...]
SENTENCE_COLUMNS = ("turn_id", "position", "start", "end", "kind", "text_hash")
COUNTED = ("questions", "author_words", "model_words")
# One encoder for all rows: ``json.dumps`` makes one each time, which takes longer than writing the few keys of a turn.
_write_json = json.JSONEncoder(ensure_ascii=False).encode
# The kind of job that imports interviews.
IMPORT = "interviews"
STANDS = "SELECT retired_by_id IS NULL FROM corpus_sentence WHERE id = %s"


def find_imported_file(study: Study, sha256: str) -> ImportedFile | None:
    """The file with exactly these bytes that the study has imported, if any."""
    return study.imported_files.filter(sha256=sha256, state=ImportedFile.State.STORED).first()


def list_interviews(interviews: InterviewQuerySet) -> list[Interview]:
    """These interviews with the data of their list, in the order of import: one query."""
    columns = ("study", "external_id", "title", "model_label", "period", "kind", "turn_count", "sentence_count")
    return list(interviews.order_by("pk").only(*columns, *COUNTED, "mask_label", "unmasked_at"))


def list_run_facts(study: Study) -> dict[str, list[str]]:
    """The facts that files give about the runs of a study, by the keys of ``RUN_FACTS``; not keys with very many values."""
    found: dict[str, set[str]] = {key: set() for key in RUN_FACTS}
    for run in study.interviews.exclude(run={}).values_list("run", flat=True).iterator():
        for key, values in found.items():
            if run.get(key) not in (None, "") and len(values) <= MAX_FACTS:
                values.add(str(run[key]))
    return {key: sorted(values) for key, values in found.items() if 0 < len(values) <= MAX_FACTS}


def list_left_out(study: Study) -> list[Interview]:
    """The archived and excluded interviews of the study, each with ``latest``, the last change of its standing, if it is on
    record: two queries."""
    rows = list(study.every_interview.left_out().order_by("standing", "pk").defer("metadata", "opening_prompt"))
    changes = InterviewChange.objects.filter(interview__in=rows, field="standing").select_related("changed_by")
    latest = {change.interview_id: change for change in changes.order_by("pk")}
    for row in rows:
        row.latest = latest.get(row.pk)  # type: ignore[attr-defined]
    return rows


def count_left_out(study: Study) -> dict[str, int]:
    """The numbers of archived and of excluded interviews of the study."""
    rows = study.every_interview.left_out().order_by().values_list("standing")
    return dict(rows.annotate(count=Count("pk")))


def find_left_out(study: Study, *, interview_id: int | None, sentence_id: int | None) -> Interview | None:
    """The archived or excluded interview of the study with this id, or with this sentence."""
    rows = study.every_interview.left_out()
    if interview_id is None and sentence_id is None:
        return None
    return rows.filter(
        **({"pk": interview_id} if interview_id is not None else {"turns__sentences": sentence_id})
    ).first()


def list_files(study: Study) -> QuerySet[ImportedFile]:
    """The files that were imported, newest first, each with the number of its interviews that count and of all of them."""
    states = (ImportedFile.State.STORED, ImportedFile.State.UNDONE)
    return (
        study.imported_files.filter(state__in=states)
        .annotate(counted=Count("interviews", filter=Q(interviews__study__isnull=False)), brought=Count("interviews"))
        .order_by("-pk")
    )


def count_contents(imported: ImportedFile) -> tuple[list[int], int, int]:
    """The ids of the interviews of a file, in their order, and how many turns and sentences they have."""
    rows = list(imported.interviews.order_by("pk").values_list("pk", "turn_count", "sentence_count"))
    return [pk for pk, _, _ in rows], sum(turns for _, turns, _ in rows), sum(count for *_, count in rows)


def read_stored_turns(study: Study, external_ids: Sequence[str]) -> dict[str, list[tuple[str, ...]]]:
    """The ``COMPARED_COLUMNS`` of the turns of those interviews of the study that have one of these ids, by id. Archived and
    excluded ones are included, so that they are not imported again. A masked interview has two ids: the one in its file, with the
    original texts and kinds of prompts, and its label, with these as they are shown."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for first in range(0, len(external_ids), IDS_AT_A_TIME):
        some = external_ids[first : first + IDS_AT_A_TIME]
        interviews = study.every_interview.kept()
        id_of = dict(interviews.filter(external_id__in=some).values_list("pk", "external_id"))
        sealed = MaskedFacts.objects.filter(interview__in=interviews.masked(), external_id__in=some)
        sealed_of = {facts.interview_id: facts for facts in sealed}
        found.update({external_id: [] for external_id in id_of.values()})
        found.update({facts.external_id: [] for facts in sealed_of.values()})
        turns = Turn.objects.filter(interview__in=[*id_of, *sealed_of]).order_by("interview", "position")
        columns = ("interview_id", "position", *COMPARED_COLUMNS)
        for interview_id, position, *content in turns.values_list(*columns).iterator():
            if interview_id in id_of:
                found[id_of[interview_id]].append(tuple(content))
            if facts := sealed_of.get(interview_id):
                sealed_turn = facts.turns.get(str(position), {})
                own = (sealed_turn.get(name, shown) for name, shown in zip(COMPARED_COLUMNS, content, strict=True))
                found[facts.external_id].append(tuple(own))
    return found


def find_threads(interviews: InterviewQuerySet, external_ids: Sequence[str]) -> dict[str, int]:
    """The database ids of the interviews, masked or not, that have one of these ids in their file, by that id."""
    plain = interviews.exclude(pk__in=interviews.masked().values("pk")).filter(external_id__in=external_ids)
    sealed = MaskedFacts.objects.filter(interview__in=interviews.masked(), external_id__in=external_ids)
    return {
        **dict(plain.values_list("external_id", "pk")),
        **dict(sealed.values_list("external_id", "interview_id")),
    }


def read_questions(turns: Iterable[Turn]) -> dict[int, str]:
    """The interviewer's last words before each of these turns, by turn: two queries.

    Turns of the interviewer, and turns without a question before them, are left out.
    """
    answers = [turn for turn in turns if turn.role != Turn.Role.INTERVIEWER]
    asked = Turn.objects.filter(
        interview__in={turn.interview_id for turn in answers},
        role=Turn.Role.INTERVIEWER,
        channel=Turn.Channel.UTTERANCE,
    )
    places: dict[int, list[tuple[int, int]]] = {}
    for interview_id, position, pk in asked.order_by("interview", "position").values_list(
        "interview", "position", "pk"
    ):
        places.setdefault(interview_id, []).append((position, pk))
    last: dict[int, int] = {}
    for turn in answers:
        earlier = places.get(turn.interview_id, [])
        if before := bisect_left(earlier, (turn.position, 0)):
            last[turn.pk] = earlier[before - 1][1]
    texts = dict(Turn.objects.filter(pk__in=set(last.values())).values_list("pk", "text"))
    return {turn_id: texts[question] for turn_id, question in last.items()}


def list_contents(turns: Iterable[ReadTurn]) -> list[tuple[str, ...]]:
    """The ``COMPARED_COLUMNS`` of turns that were read from a file."""
    return [(turn.role, turn.channel, turn.prompt_kind, turn.text) for turn in turns]


def list_turn_rows(interview_id: int, turns: Iterable[ReadTurn], *, kind: str, after: int = 0) -> Iterator[TurnRow]:
    """The turns of a thread of this ``kind`` in the form for ``insert_turns``, counted from ``after`` on."""
    for position, turn in enumerate(turns, after + 1):
        details = _write_json(turn.details) if turn.details else "{}"
        told = (turn.role, turn.channel, turn.speaker, turn.prompt_kind, turn.text)
        yield (interview_id, position, turn.call_id, details, is_answer(turn, kind=kind), *told)


def insert_turns(rows: Iterable[TurnRow]) -> None:
    """Store turns."""
    _insert(Turn, ("interview_id", "position", "call_id", "details", "is_answer", *TURN_COLUMNS), rows)


def read_turn_ids(interview_ids: Sequence[int]) -> dict[tuple[int, int], int]:
    """The id of each turn of these interviews, by interview and position."""
    stored = Turn.objects.filter(interview__in=interview_ids).order_by()
    return {(interview, position): pk for pk, interview, position in stored.values_list("pk", "interview", "position")}


def insert_sentences(rows: Iterable[tuple[object, ...]]) -> None:
    """Store sentences. A row is the turn and the values of ``segmenting.SentenceRow``."""
    _insert(Sentence, SENTENCE_COLUMNS, rows)


def _insert(model: type[Model], names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Store plain rows: by a copy stream on PostgreSQL, otherwise by one prepared statement.

    ``bulk_create`` needs an object for every row, and making these takes longer than dividing the text into sentences.
    """
    table = connection.ops.quote_name(model._meta.db_table)
    columns = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            places = ", ".join(["%s"] * len(names))
            # Names come from the models, values go in as parameters. The type knows lists only; an iterator does too.
            statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608
            cursor.executemany(statement, rows)  # type: ignore[arg-type]


def update_rows(model: type[Model], names: Collection[str], rows: Iterable[Model]) -> None:
    """Update the columns ``names`` of existing rows, by one prepared statement.

    ``bulk_update`` writes a condition for every row and column, which takes several times as long as storing them.
    """
    quote = connection.ops.quote_name
    fields = [field for field in model._meta.concrete_fields if field.name in names]
    columns = ", ".join(f"{quote(field.attname)} = %s" for field in fields)
    statement = f"UPDATE {quote(model._meta.db_table)} SET {columns} WHERE id = %s"  # noqa: S608 - names of the models
    values = [
        (*(field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields), row.pk) for row in rows
    ]
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


def find_next_in_turn(sentence: Sentence) -> int | None:
    """The current sentence after this one in the same turn, if any."""
    later = Sentence.objects.current().filter(turn_id=sentence.turn_id, start__gt=sentence.start)
    return later.order_by("start").values_list("pk", flat=True).first()


def hold_sentence(sentence_id: int) -> bool:
    """Whether a sentence is current; nobody can retire it until the end of the transaction."""
    # On the path of every code: plain SQL. SQLite lets one writer in at a time and needs no lock.
    lock = " FOR KEY SHARE" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(STANDS + lock, [sentence_id])
        row = cursor.fetchone()
    return bool(row and row[0])


def explain_retired(sentence_id: int) -> str:
    """What happened to a retired sentence, for a person who still sees it; empty if it is current."""
    found = Sentence.objects.filter(pk=sentence_id, retired_by__isnull=False).select_related("retired_by").first()
    if found is None or found.retired_by is None:
        return ""
    became = "split" if found.retired_by.kind == BoundaryEdit.Kind.SPLIT else "merged with another"
    return f"Sentence {found.label} has since been {became}. Reload the page."


def list_boundary_edits(interview: Interview) -> list[tuple[BoundaryEdit, list[Sentence], list[Sentence]]]:
    """Every boundary edit in an interview, newest first, with the sentences before and after it: four queries."""
    edits = BoundaryEdit.objects.filter(turn__interview=interview).select_related("turn", "edited_by").order_by("-pk")
    found = list(edits.prefetch_related("retired", "made"))
    return [(edit, _sort(edit, edit.retired.all()), _sort(edit, edit.made.all())) for edit in found]


def _sort(edit: BoundaryEdit, sentences: Iterable[Sentence]) -> list[Sentence]:
    """Sort in the order of the text, each with its turn, so that its text is read without a query."""
    ordered = sorted(sentences, key=lambda each: each.start)
    for sentence in ordered:
        sentence.turn = edit.turn
    return ordered


def list_consenting(interview_ids: Iterable[int], scope: str) -> set[int]:
    """The interviews with consent to this scope now: the latest record counts.

    Without a record a use is not allowed; coding by members of the study is forbidden only by an explicit "no".
    """
    asked = sorted(set(interview_ids))
    latest = dict.fromkeys(asked, scope == Consent.Scope.CODING)
    for first in range(0, len(asked), IDS_AT_A_TIME):
        records = Consent.objects.filter(interview__in=asked[first : first + IDS_AT_A_TIME], scope=scope)
        latest.update(records.order_by("pk").values_list("interview_id", "is_given"))
    return {interview_id for interview_id, is_given in latest.items() if is_given}


def list_not_learnt_from(interview_ids: Iterable[int]) -> set[int]:
    """The interviews that refuse coding, or reuse and training, so that classifiers must not be trained on them.

    Classifiers here serve only their own study and support its coding, so a missing record does not forbid it.
    """
    asked = sorted(set(interview_ids))
    latest: dict[tuple[int, str], bool] = {}
    for first in range(0, len(asked), IDS_AT_A_TIME):
        records = Consent.objects.filter(
            interview__in=asked[first : first + IDS_AT_A_TIME],
            scope__in=[Consent.Scope.CODING, Consent.Scope.REUSE],
        )
        for interview_id, scope, is_given in records.order_by("pk").values_list("interview_id", "scope", "is_given"):
            latest[interview_id, scope] = is_given
    return {interview_id for (interview_id, _), is_given in latest.items() if not is_given}


def find_redaction(study: Study) -> RedactionList | None:
    """The current list for copies of the study's texts that leave the site, if there is one."""
    return study.redaction_lists.order_by("-number").first()


GIVEN, REFUSED, UNKNOWN = "given", "refused", "unknown"
STATES = {GIVEN: "given", REFUSED: "not given", UNKNOWN: "nothing on record"}


def list_consents(study: Study) -> list[dict[str, Any]]:
    """Every interview of the study with its consent in each scope: two queries."""
    records = Consent.objects.filter(interview__study=study).order_by("pk")
    held: dict[int, dict[str, bool]] = {}
    for interview_id, scope, is_given in records.values_list("interview_id", "scope", "is_given"):
        held.setdefault(interview_id, {})[scope] = is_given
    rows = study.interviews.order_by("pk").values("pk", "title", "model_label")
    return [{**row, "scopes": _list_scopes(held.get(row["pk"], {}))} for row in rows]


def list_scopes(interview: Interview) -> list[dict[str, str]]:
    """The consents of one interview, by scope: one query."""
    return _list_scopes(dict(interview.consents.order_by("pk").values_list("scope", "is_given")))


def holds(line: dict[str, Any], scope: str, state: str) -> bool:
    """Whether the interview of a line has this state in a scope."""
    return any(each["scope"] == scope and each["state"] == state for each in line["scopes"])


def count_states(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The number of these interviews in each state, by scope."""
    return [
        {
            "scope": scope.value,
            "label": scope.label,
            **{state: sum(holds(line, scope.value, state) for line in lines) for state in STATES},
        }
        for scope in Consent.Scope
    ]


def _list_scopes(held: Mapping[str, bool]) -> list[dict[str, str]]:
    """Each scope with its state; ``held`` lacks scopes without a record."""
    states = {scope: GIVEN if held[scope] else REFUSED for scope in held}
    return [
        {"scope": scope.value, "label": str(scope.label), "state": state, "words": STATES[state]}
        for scope in Consent.Scope
        for state in [states.get(scope.value, UNKNOWN)]
    ]


SORTS = {
    "": "the order of import",
    "title": "title",
    "model": "model",
    "period": "date",
    "sentences": "sentences, most first",
    "progress": "progress, least first",
    "activity": "last activity, latest first",
}
STAGES = {"none": "Nobody has begun", "begun": "Begun", "complete": "Somebody is through"}


class Person(NamedTuple):
    """A person who has begun an interview or is assigned to code it."""

    name: str
    decided: int
    total: int
    is_assigned: bool
    is_signed: bool

    @property
    def percent(self) -> int:
        """Whole per cent; 100 means all."""
        return round_percent(self.decided, self.total, of_nothing=100)


class Work(NamedTuple):
    """The work on an interview."""

    people: Sequence[Person] = ()
    last: datetime.datetime | None = None

    @property
    def percent(self) -> int:
        """The per cent of the person who has got furthest."""
        return max((person.percent for person in self.people), default=0)

    @property
    def stage(self) -> str:
        if not any(person.decided for person in self.people):
            return "none"
        return "complete" if self.percent == 100 else "begun"


NOTHING = Work()


class Wanted(NamedTuple):
    """The person's request; see ``SORTS`` and ``STAGES``. ``run`` is a fact about a run, such as ``task=files``."""

    q: str = ""
    model: str = ""
    coder: str = ""
    stage: str = ""
    kind: str = ""
    run: str = ""
    sort: str = ""

    @property
    def needs_work(self) -> bool:
        """Whether the order or a filter depends on the work on every interview."""
        return bool(self.coder or self.stage or self.sort in {"progress", "activity"})


def read_wanted(asked: Mapping[str, str]) -> Wanted:
    """Read the request from a query string or a form; unknown values do not filter."""
    wanted = Wanted(**{name: asked.get(name, "").strip() for name in Wanted._fields})
    return wanted._replace(
        stage=wanted.stage if wanted.stage in STAGES else "",
        kind=wanted.kind if wanted.kind in Kind.values else "",
        run=wanted.run if is_fact(wanted.run) else "",
        sort=wanted.sort if wanted.sort in SORTS else "",
    )


def is_fact(text: str) -> bool:
    """Whether this is a fact of a run, as ``task=files``."""
    return "=" in text and text.split("=", maxsplit=1)[0] in RUN_FACTS


def read_fact(text: str) -> dict[str, str]:
    """A fact of a run as ``InterviewQuerySet.of_run`` takes it."""
    key, _, value = text.partition("=")
    return {key: value}


def list_matching(study: Study, wanted: Wanted, only: User | None) -> list[Interview]:
    """The interviews of the study that match, in the wanted order; with ``work`` where that was needed."""
    found = study.interviews.filter(kind=wanted.kind) if wanted.kind else study.interviews.all()
    rows = list_interviews(found.of_run(read_fact(wanted.run)) if wanted.run else found)
    words = wanted.q.casefold().split()
    rows = [
        row
        for row in rows
        if (not wanted.model or row.model_label == wanted.model)
        and all(word in f"{row.title} {row.external_id}".casefold() for word in words)
    ]
    if wanted.needs_work:
        add_work(rows, only)
    return sorted(
        (row for row in rows if not wanted.needs_work or _is_wanted(row.work, wanted)),  # type: ignore[attr-defined]
        key=lambda row: _rank(row, wanted.sort),
    )


def add_work(rows: Sequence[Interview], only: User | None) -> None:
    """Give each of these interviews its ``work``."""
    [found] = send(interviews_listed, interviews=[row.pk for row in rows], coder=only) if rows else [{}]
    for row in rows:
        row.work = found.get(row.pk, NOTHING)  # type: ignore[attr-defined]


def _is_wanted(work: Work, wanted: Wanted) -> bool:
    is_hers = not wanted.coder or any(person.name == wanted.coder for person in work.people)
    return is_hers and (not wanted.stage or work.stage == wanted.stage)


def _rank(row: Interview, sort: str) -> tuple[object, ...]:
    if sort == "sentences":
        return (-row.sentence_count, row.pk)
    if sort == "progress":
        return (row.work.percent, row.pk)  # type: ignore[attr-defined]
    if sort == "activity":
        last = row.work.last  # type: ignore[attr-defined]
        return (-last.timestamp() if last else 0, row.pk)
    if sort in {"title", "model", "period"}:
        value = {"title": row.title, "model": row.model_label, "period": row.period}[sort]
        return (not value, value.casefold(), row.pk)
    return (row.pk,)
