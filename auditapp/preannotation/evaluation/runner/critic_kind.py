"""The critic's part in the batch engine: a cell is one suggestion, under the arm of its code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from auditapp.batches.kinds import Answered
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.llm.locality import is_external
from auditapp.llm.pure.own_words import Judged
from auditapp.preannotation.annotators.pure.prompts import Said
from auditapp.preannotation.annotators.pure.sent_copy import make_copy
from auditapp.preannotation.annotators.queries.prompt_codebook import goes_by_a_list
from auditapp.preannotation.annotators.runner.render_prompts import read_earlier
from auditapp.preannotation.evaluation.pure.critic_answers import read_critic_answer
from auditapp.preannotation.evaluation.pure.critic_prompts import CRITIC_SCHEMA, EARLIER, REVERSE, write_critic_message
from auditapp.preannotation.models import CRITIC_KIND, CriticReading, Suggestion
from transcripts.corpus.models import Consent, RedactionList, Turn
from transcripts.corpus.pure.redacting import Entry, read_stored
from transcripts.corpus.queries import list_consenting, read_questions

INVALID = "invalid"


class CriticKind:
    """Inputs are keys of ``Suggestion``."""

    name = CRITIC_KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        found = list(Suggestion.objects.filter(pk__in=list(input_ids)).select_related("sentence__turn__interview"))
        allowed = _keep_allowed(arm, found)
        turns = {each.sentence.turn_id: each.sentence.turn for each in allowed}
        questions = read_questions(turns.values())
        entries = _read_entries(arm, allowed)
        said = read_earlier(turns.values(), entries) if EARLIER in arm.system_prompt else {}
        return {
            each.pk: _write_message(
                each, questions.get(each.sentence.turn_id, ""), entries, said.get(each.sentence.turn_id)
            )
            for each in allowed
        }

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        outcomes: dict[int, str] = {}
        judged = _read_judged({each.input_id for each in answers})
        rows = []
        for each in answers:
            if each.answer is None:
                outcomes[each.cell_id] = PROVIDER_ERROR
                continue
            said, rationale, problem = read_critic_answer(each.answer, each.finish_reason, judged[each.input_id])
            verdict = ""
            if not problem:
                verdict = CriticReading.Verdict.REVERSED if said == REVERSE else CriticReading.Verdict.UPHELD
            rows.append(
                CriticReading(
                    cell_id=each.cell_id,
                    suggestion_id=each.input_id,
                    verdict=verdict,
                    rationale=rationale,
                    problem=problem,
                )
            )
            outcomes[each.cell_id] = str(verdict) or INVALID
        CriticReading.objects.bulk_create(rows)
        return outcomes

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""


def _read_judged(suggestions: Collection[int]) -> dict[int, Judged]:
    """Of each suggestion the texts in which the critic may have met an object: the turns of its interview, and the reasons that
    it judges. Two queries."""
    found = Suggestion.objects.filter(pk__in=suggestions)
    rows = list(found.values_list("pk", "sentence__turn__interview_id", "rationale"))
    texts: dict[int, list[str]] = {interview: [] for _, interview, _ in rows}
    turns = Turn.objects.filter(interview__in=texts, text__contains="{")
    for interview, text in turns.values_list("interview_id", "text"):
        texts[interview].append(text)
    read = {interview: Judged(own) for interview, own in texts.items()}
    return {
        suggestion: Judged([*texts[interview], rationale]) if "{" in rationale else read[interview]
        for suggestion, interview, rationale in rows
    }


def write_critic_schema(arm: Arm, prompt: str) -> dict[str, Any]:
    """The schema of every answer."""
    return CRITIC_SCHEMA


def _keep_allowed(arm: Arm, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Those whose interview counts in its study and may be sent to the critic, by the consent on record now. Reads
    arm.variant.account and arm.batch."""
    suggestions = [each for each in suggestions if each.sentence.turn.interview.project_id is not None]
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
    return read_stored(RedactionList.objects.get(project__every_interview=interview, number=number).entries)


def _write_message(
    suggestion: Suggestion, question: str, entries: Sequence[Entry], earlier: Sequence[Said] | None
) -> str:
    """The sentence in the copy of its turn, after the copy of the question, and the claims, of which copies go too.
    ``earlier`` are copies."""
    sentence, turn = suggestion.sentence, suggestion.sentence.turn
    copy = make_copy(turn.text, entries)
    start, end = copy.find_copy(sentence.start, sentence.end)
    quote = ""
    if suggestion.quote_start is not None and suggestion.quote_end is not None:
        quote = turn.text[suggestion.quote_start : suggestion.quote_end]
    return write_critic_message(
        question=make_copy(question, entries).text,
        before=copy.text[:start],
        sentence=copy.text[start:end],
        after=copy.text[end:],
        rationale=make_copy(suggestion.rationale, entries).text,
        quote=make_copy(quote, entries).text,
        level=suggestion.level,
        earlier=earlier,
    )
