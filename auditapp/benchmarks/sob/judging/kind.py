"""The kinds of batches of this room. For judgments: how prompts are written and answers stored. For the formatter: which answers
it gets, and how its output is read. An answer is interpreted by rules first, then by a formatter, then by people; all
interpretations are kept, and the last one counts. The alarms are about the answers as the rules read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length
from django.urls import reverse
from django.utils import timezone

from auditapp.batches.kinds import NO_ROOM, NOT_STORABLE, Answered, ArmOutcomes, BatchKind, Link, sum_by_model
from auditapp.batches.models import Arm, Batch, Cell, Result
from auditapp.batches.pure.estimates import describe_unreadable
from auditapp.benchmarks.sob.models import Interpretation, Judgment, Text
from auditapp.benchmarks.sob.pure.answer_words import Outcome, Parsed, count_in_every_way
from auditapp.benchmarks.sob.pure.cautions import describe_alarm, find_alarm
from auditapp.benchmarks.sob.pure.figures import in_words
from auditapp.benchmarks.sob.pure.formatter_answers import (
    MAX_ANSWER_LENGTH,
    REJECTED,
    FormatterEnd,
    load_prompt,
    read_formatter_answer,
    read_refused_answer,
    write_answer_schema,
    write_message,
)
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TASKS
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION, parse_answer, parse_verdict
from auditapp.benchmarks.sob.queries import KIND, find_schema
from auditapp.llm.pure.json_answers import NOTHING, Judged

# An answer of a megabyte may list more items than a small integer can count.
MAX_COUNTED = 32_000
FORMATTER_KIND = "sob_format"
READABLE_OUTCOMES = (Outcome.OFF_FORMAT, Outcome.REFUSAL)
"""The answers that can be sent to a formatter: answers in words that no rule can read, and those that a rule of thumb takes
for refusals."""

DEFAULT_OUTCOMES = (Outcome.OFF_FORMAT,)
"""The answers that are sent to it by default: a refusal that the rules recognised is not sent."""

NOTES = {FormatterEnd.INVENTED: "invented value", FormatterEnd.NO_EVIDENCE: "no evidence"}
STOPPED_BY_PROVIDER = ("content_filter", "refusal")
SCORED_TASKS = tuple(key for key, _ in TASKS)


class SobKind(BatchKind):
    """Inputs are keys of ``Text``; the text is the user message, and the instrument is the system message."""

    name = KIND
    unreadable = (Outcome.OFF_FORMAT, Outcome.TRUNCATED, Outcome.EMPTY)

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(Text.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        arms = {arm.pk: arm for arm in Arm.objects.filter(batch=batch).only("task", "settings")}
        schemas = {key: find_schema(arm) for key, arm in arms.items()}
        texts = _read_texts_with_objects({each.input_id for each in answers})
        read = [
            (each, read_answer(each, arms[each.arm_id].task, schemas[each.arm_id], texts.get(each.input_id, NOTHING)))
            for each in answers
        ]
        repeats = dict(Cell.objects.filter(pk__in=[each.cell_id for each in answers]).values_list("pk", "repeat"))
        Judgment.objects.bulk_create(
            Judgment(
                cell_id=each.cell_id,
                arm_id=each.arm_id,
                text_id=each.input_id,
                repeat=repeats[each.cell_id],
                **write_interpretation(parsed, schemas[each.arm_id]),
                parser=PARSER_VERSION,
            )
            for each, parsed in read
        )
        return {each.cell_id: str(parsed.outcome) for each, parsed in read}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        # This deletes no evidence: such a row only says that no answer came, and the attempts stay in the ledger.
        Judgment.objects.filter(cell__in=cell_ids, outcome=Outcome.PROVIDER_ERROR).delete()

    def read_links(self, cell: Cell) -> Sequence[Link]:
        """Links to the text with every model's answers, and to the interpretations of this answer."""
        place = (cell.batch.study.slug, cell.batch_id)
        links = [("The text and all answers to it", reverse("sob:text", args=[*place, cell.input_id]))]
        if Judgment.objects.filter(pk=cell.pk, cell__result__isnull=False).exists():
            links.append(("How this answer was read", reverse("sob:interpretation_history", args=[*place, cell.pk])))
        return links

    def find_alarms(self, outcomes: ArmOutcomes) -> list[str]:
        """A sentence for every model and task whose answers, as they arrived, are not evidence."""
        found = ((arm, _describe(arm, counts)) for arm, counts in outcomes)
        return [f"{arm.variant.label}, {in_words(arm.task)}: {said}" for arm, said in found if said]


def write_interpretation(parsed: Parsed, schema: Sequence[str]) -> dict[str, Any]:
    """The fields of ``ReadAnswer`` for one interpretation, except ``parser``."""
    counts = count_in_every_way(parsed.attributes, schema)
    return {
        "outcome": parsed.outcome,
        "verdict": parsed.verdict,
        "attributes": parsed.attributes,
        "n_attributes": counts.paper,
        "n_named": counts.named,
        "n_on_schema": counts.on_schema,
        "n_strict": counts.strict,
        "n_items": min(counts.items, MAX_COUNTED),
        "is_object": parsed.is_object,
        "has_list": any(isinstance(value, list) for value in parsed.attributes.values()),
        "repaired": parsed.repaired,
    }


def _read_texts_with_objects(input_ids: Collection[int]) -> dict[int, Judged]:
    """Those of the texts that contain a brace, so that an answer could repeat an object from them; there are very few."""
    texts = Text.objects.filter(pk__in=input_ids, text__contains="{").values_list("pk", "text")
    return {key: Judged([text]) for key, text in texts}


def read_answer(each: Answered, task: str, schema: Sequence[str], judged: Judged = NOTHING) -> Parsed:
    """The interpretation of one answer by the rules. A call without an answer is a provider error, never "Unknown"."""
    if each.answer is None:
        return Parsed(outcome=Outcome.PROVIDER_ERROR)
    if task == BASE_TASK:
        return parse_verdict(each.answer, finish_reason=each.finish_reason, judged=judged)
    return parse_answer(each.answer, finish_reason=each.finish_reason, schema=schema, judged=judged)


def lock_judgments(ids: Iterable[int]) -> dict[int, Judgment]:
    """The judgments with their arms, locked until the transaction ends, so that interpretations of an answer are stored one
    after another."""
    found = Judgment.objects.select_related("arm").filter(pk__in=list(ids)).order_by("pk")
    return {each.pk: each for each in found.select_for_update(of=("self",), no_key=True)}


def find_current_interpretations(ids: Iterable[int]) -> dict[int, Interpretation]:
    """The current interpretation of each of these judgments, by its key, unless it is the one by the rules."""
    return {
        each.judgment_id: each
        for each in Interpretation.objects.filter(judgment__in=list(ids), superseded_by__isnull=True)
    }


def make_interpretation(
    judgment: Judgment, current: Interpretation | None, parsed: Parsed, **who: Any
) -> Interpretation:
    """The next interpretation of an answer, not stored yet. Reads judgment.arm."""
    return Interpretation(
        judgment=judgment,
        number=current.number + 1 if current else 1,
        made_at=timezone.now(),
        **write_interpretation(parsed, find_schema(judgment.arm)),
        **who,
    )


def add_interpretations(rows: Sequence[Interpretation], current: dict[int, Interpretation]) -> None:
    """Store interpretations, at most one for each answer; each replaces the previous one. Reads interpretation.judgment."""
    Interpretation.objects.bulk_create(rows)
    first: list[Judgment] = []
    former: list[Interpretation] = []
    for row in rows:
        before = current.get(row.judgment_id)
        if before is None:
            row.judgment.superseded_by = row
            first.append(row.judgment)
        else:
            before.superseded_by = row
            former.append(before)
    Judgment.objects.bulk_update(first, ["superseded_by"], batch_size=200)
    Interpretation.objects.bulk_update(former, ["superseded_by"], batch_size=200)


def _describe(arm: Arm, counts: Mapping[str, int]) -> str:
    count = Counter({str(outcome): counts.get(outcome, 0) for outcome in Outcome})
    # If reasoning used up the limit, the outcome comes from the engine, not from the rules; an answer that could not be stored
    # did arrive.
    count[str(Outcome.TRUNCATED)] += counts.get(NO_ROOM, 0)
    count[str(Outcome.OFF_FORMAT)] += counts.get(NOT_STORABLE, 0)
    answered = count[Outcome.ATTRIBUTED] + count[Outcome.UNKNOWN] + count[Outcome.VERDICT]
    refused, cut_off = count[Outcome.REFUSAL], count[Outcome.TRUNCATED]
    alarm = find_alarm(
        answered=answered,
        unknown=count[Outcome.UNKNOWN],
        came=count.total() - count[Outcome.PROVIDER_ERROR],
        read_by_rules=answered + refused,
        refused=refused,
        cut_off=cut_off,
    )
    if alarm is None:
        return ""
    cell = {
        "alarm": alarm,
        "n_responses": count.total(),
        "n_nonrefused": answered,
        "n_refused": refused,
        "outcomes": count,
        "output_limit": arm.variant.max_tokens,
    }
    return describe_alarm(cell, as_came=True)


class FormatterKind(BatchKind):
    """Inputs are keys of ``Judgment``; the user message is the raw answer, between marks."""

    name = FORMATTER_KIND
    # Ends of a call to the formatter that leave no interpretation of the answer.
    unreadable = frozenset({FormatterEnd.UNREADABLE, *REJECTED})

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        rows = Result.objects.filter(cell__in=list(input_ids)).values_list("cell_id", "answer")
        return {cell_id: write_message(answer) for cell_id, answer in rows}

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        ids = sorted({each.input_id for each in answers})
        sources = dict(Result.objects.filter(cell__in=ids).values_list("cell_id", "answer"))
        judgments = lock_judgments(ids)
        found = {
            each.cell_id: _read(judgments[each.input_id], each, sources.get(each.input_id, "")) for each in answers
        }
        current = find_current_interpretations(ids)
        ends: dict[int, str] = {}
        rows: dict[int, Interpretation] = {}
        for each in answers:
            end, parsed = found[each.cell_id]
            before = current.get(each.input_id)
            ends[each.cell_id] = end
            if parsed is None:
                continue
            if before is not None and before.reader == Interpretation.Reader.PERSON:
                ends[each.cell_id] = FormatterEnd.PERSON_FIRST
            # An earlier formatter's interpretation is not replaced by that of a formatter that could read nothing.
            elif before is None or parsed.outcome != Outcome.OFF_FORMAT:
                rows[each.input_id] = make_interpretation(
                    judgments[each.input_id],
                    before,
                    parsed,
                    reader=Interpretation.Reader.FORMATTER,
                    formatter_cell_id=each.cell_id,
                    parser=load_prompt().version,
                    note=NOTES.get(end, ""),
                )
        add_interpretations(list(rows.values()), current)
        return ends

    def write_schema(self, arm: Arm, prompt: str) -> dict[str, Any]:
        """The schema of every answer of an arm: it names the characteristics that the instrument asked for. Judgments have no
        schema, because it would determine their score."""
        return write_answer_schema(arm.settings["schema"])

    def read_links(self, cell: Cell) -> Sequence[Link]:
        """Links to the answer that the formatter was shown, and to that answer's interpretations."""
        shown = (
            Judgment.objects.filter(pk=cell.input_id, arm__batch__study=cell.batch.study_id, cell__result__isnull=False)
            .values_list("arm__batch", "cell__result__attempt")
            .first()
        )
        if shown is None:
            return []
        batch, attempt = shown
        slug = cell.batch.study.slug
        return [
            ("The answer it was shown", reverse("batches:attempt", args=[slug, batch, attempt])),
            ("How that answer was read", reverse("sob:interpretation_history", args=[slug, batch, cell.input_id])),
        ]

    def find_alarms(self, outcomes: ArmOutcomes) -> list[str]:
        """A sentence for every formatter that could read nothing."""
        alarms = []
        for label, counts in sum_by_model(outcomes).items():
            no_room = counts[NO_ROOM]
            unread = sum(counts[end] for end in self.unreadable) + counts[NOT_STORABLE] + no_room
            readable = sum(counts[end] for end in {*FormatterEnd} - self.unreadable - {FormatterEnd.NO_ANSWER})
            said = describe_unreadable(unread + readable, readable, no_room)
            alarms += [f"{label}: {said}"] if said else []
        return alarms


def _read(judgment: Judgment, said: Answered, answer: str) -> tuple[FormatterEnd, Parsed | None]:
    is_refused = judgment.outcome == Outcome.REFUSAL
    schema = find_schema(judgment.arm)
    read = read_refused_answer if is_refused else read_formatter_answer
    return read(said.answer, answer, schema, finish_reason=said.finish_reason)


def find_unread(batch: Batch, outcomes: Sequence[str]) -> QuerySet[Judgment]:
    """The answers of a sob batch to the two scored tasks that no rule could read and nobody has read since.

    A refusal is included only if a rule of thumb recognised it in words; one that the provider stopped has nothing to read.
    """
    return (
        Judgment.objects.filter(
            arm__batch=batch, arm__task__in=SCORED_TASKS, outcome__in=list(outcomes), superseded_by__isnull=True
        )
        .exclude(outcome=Outcome.REFUSAL, cell__result__attempt__finish_reason__in=STOPPED_BY_PROVIDER)
        .exclude(cell__result__answer="")
        .filter(cell__result__isnull=False)
    )


def list_for_formatter(batch: Batch, outcomes: Sequence[str]) -> list[int]:
    """The keys of the answers that a formatter would be shown, in order."""
    short = find_unread(batch, outcomes).alias(size=Length("cell__result__answer")).filter(size__lte=MAX_ANSWER_LENGTH)
    return list(short.order_by("pk").values_list("pk", flat=True))
