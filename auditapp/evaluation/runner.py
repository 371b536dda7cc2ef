"""The critic's part in the batch engine: a cell is one suggestion, under the arm of its code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from auditapp.annotators.models import CRITIC_KIND, CriticAnswer, Suggestion
from auditapp.annotators.pure.answers import list_critic_alarms
from auditapp.annotators.pure.sent_copy import make_copy
from auditapp.annotators.queries.annotators import goes_by_a_list
from auditapp.annotators.runner import read_earlier
from auditapp.annotators.withholding import find_critic_visibility, list_read_interviews
from auditapp.batches.kinds import Answered, ArmOutcomes, BatchKind, Visibility, alarm_by_model
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.evaluation.pure.positives import CRITIC_SCHEMA, EARLIER, REVERSE, read_critic_answer, write_critic_message
from auditapp.llm.credentials import is_external
from auditapp.llm.pure.json_answers import Judged
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Consent, RedactionList
from transcripts.corpus.pure.redacting import Entry, read_stored
from transcripts.corpus.queries import list_consenting, read_questions

INVALID = "invalid"


class CriticKind(BatchKind):
    """Inputs are keys of ``Suggestion``."""

    name = CRITIC_KIND
    unreadable = (INVALID,)

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        shown = _read_shown(arm, _keep_allowed(arm, _read_suggestions(input_ids)))
        return {suggestion: write_critic_message(**each) for suggestion, each in shown.items()}

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        outcomes: dict[int, str] = {}
        judged = _read_judged(batch, answers)
        rows = []
        for each in answers:
            if each.answer is None:
                outcomes[each.cell_id] = PROVIDER_ERROR
                continue
            said, rationale, problem = read_critic_answer(each.answer, each.finish_reason, judged[each.cell_id])
            verdict = ""
            if not problem:
                verdict = CriticAnswer.Verdict.REJECTED if said == REVERSE else CriticAnswer.Verdict.UPHELD
            rows.append(
                CriticAnswer(
                    cell_id=each.cell_id,
                    suggestion_id=each.input_id,
                    verdict=verdict,
                    rationale=rationale,
                    problem=problem,
                )
            )
            outcomes[each.cell_id] = str(verdict) or INVALID
        CriticAnswer.objects.bulk_create(rows)
        return outcomes

    def write_schema(self, arm: Arm, prompt: str) -> dict[str, Any]:
        return CRITIC_SCHEMA

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        return find_critic_visibility(batch, viewer)

    def list_interviews(self, batch: Batch, *, input_id: int | None = None) -> set[int]:
        return list_read_interviews(batch, input_id=input_id)

    def find_alarms(self, outcomes: ArmOutcomes) -> list[str]:
        return alarm_by_model(outcomes, list_critic_alarms)


def _read_judged(batch: Batch, answers: Iterable[Answered]) -> dict[int, Judged]:
    """By cell the texts in which the critic may have met an object: copies, as it was shown them."""
    by_arm: dict[int, list[Answered]] = defaultdict(list)
    for each in answers:
        if each.answer is not None:
            by_arm[each.arm_id].append(each)
    judged: dict[int, Judged] = {}
    for arm in batch.arms.filter(pk__in=by_arm):
        own = by_arm[arm.pk]
        shown = _read_shown(arm, _read_suggestions({each.input_id for each in own}))
        read = {suggestion: Judged(_list_texts(texts)) for suggestion, texts in shown.items()}
        judged.update({each.cell_id: read[each.input_id] for each in own})
    return judged


def _list_texts(shown: Mapping[str, Any]) -> list[str]:
    turn = "".join(shown[name] for name in ("before", "sentence", "after"))
    return [*(text for _, text in shown["earlier"] or ()), shown["question"], turn, shown["rationale"], shown["quote"]]


def _keep_allowed(arm: Arm, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Those whose interview counts in its study and may be sent to the critic, by the consent on record now. Reads
    arm.variant.account and arm.batch."""
    suggestions = [each for each in suggestions if each.sentence.turn.interview.study_id is not None]
    if not is_external(arm.variant):
        return suggestions
    if not goes_by_a_list(arm):
        return []
    interviews = {each.sentence.turn.interview_id for each in suggestions}
    consenting = list_consenting(interviews, Consent.Scope.EXTERNAL)
    return [each for each in suggestions if each.sentence.turn.interview_id in consenting]


def _read_entries(arm: Arm, suggestions: Sequence[Suggestion]) -> list[Entry]:
    """The redaction list that the batch was launched with. Raises where it is gone: nothing goes out unredacted."""
    number = arm.settings.get("redaction") or 0
    if not number or not suggestions:
        return []
    interview = suggestions[0].sentence.turn.interview_id
    return read_stored(RedactionList.objects.get(study__every_interview=interview, number=number).entries)


def _read_suggestions(keys: Collection[int]) -> list[Suggestion]:
    return list(Suggestion.objects.filter(pk__in=keys).select_related("sentence__turn__interview"))


def _read_shown(arm: Arm, suggestions: Sequence[Suggestion]) -> dict[int, dict[str, Any]]:
    """Of each suggestion what the critic is shown, all of it copies: the sentence in its turn, after the question, the claims,
    and what was said earlier where the arm's instructions speak of it."""
    turns = {each.sentence.turn_id: each.sentence.turn for each in suggestions}
    entries = _read_entries(arm, suggestions)
    questions = {turn: make_copy(text, entries).text for turn, text in read_questions(turns.values()).items()}
    said = read_earlier(turns.values(), entries) if EARLIER in arm.system_prompt else {}
    copies = {key: make_copy(turn.text, entries) for key, turn in turns.items()}
    shown: dict[int, dict[str, Any]] = {}
    for each in suggestions:
        sentence, turn = each.sentence, each.sentence.turn
        copy = copies[turn.pk]
        start, end = copy.find_copy(sentence.start, sentence.end)
        quote = ""
        if each.quote_start is not None and each.quote_end is not None:
            quote = turn.text[each.quote_start : each.quote_end]
        shown[each.pk] = {
            "question": questions.get(turn.pk, ""),
            "before": copy.text[:start],
            "sentence": copy.text[start:end],
            "after": copy.text[end:],
            "rationale": make_copy(each.rationale, entries).text,
            "quote": make_copy(quote, entries).text,
            "level": each.level,
            "earlier": said.get(turn.pk),
        }
    return shown
