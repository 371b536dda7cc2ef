"""The probe's part in the batch engine: the review is sent, and the answer is read by rules. Nobody may see its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.batches.kinds import Answered, BatchKind, Visibility
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.gender_cues.models import Review, Trial
from auditapp.benchmarks.gender_cues.pure.parsing import INVALID, MAY_ABSTAIN, NO_ANSWER, PARSER_VERSION, parse_answer
from auditapp.benchmarks.gender_cues.queries import KIND, ProbeIsOff, require_purpose
from transcripts.blinding.viewers import Viewer
from transcripts.refusals import Refused

FOR_EVERYBODY = (
    "A call of the probe is about one review, and its answer a guess about one person. Single calls are not shown to anybody; the "
    "report has the figures of groups."
)
FOR_CODERS = (
    "What a call of the probe cost and how it ended could reveal what a model wrote about a review. You see the state of the "
    "batch and the share of calls that have ended."
)


class ProbeKind(BatchKind):
    """Inputs are keys of ``Review``; the prompt is the system message, the review the user message."""

    name = KIND
    unreadable = (INVALID, NO_ANSWER)

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(Review.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        tasks = dict(Arm.objects.filter(batch=batch).values_list("pk", "task"))
        reviews = dict(Review.objects.filter(pk__in={each.input_id for each in answers}).values_list("pk", "text"))
        read = [
            (
                each,
                parse_answer(
                    each.answer,
                    may_abstain=tasks[each.arm_id] == MAY_ABSTAIN,
                    finish_reason=each.finish_reason,
                    review=reviews[each.input_id],
                ),
            )
            for each in answers
        ]
        Trial.objects.bulk_create(
            Trial(
                cell_id=each.cell_id,
                review_id=each.input_id,
                status=parsed.status,
                predicted=parsed.predicted or "",
                codes=list(parsed.codes),
                rationales=dict(parsed.rationales),
                parser=PARSER_VERSION,
            )
            for each, parsed in read
        )
        return {each.cell_id: parsed.status for each, parsed in read}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        # Asking again sends reviews, as a launch does.
        cell = Cell.objects.select_related("batch__study").get(pk=cell_ids[0])
        try:
            require_purpose(cell.batch.study)
        except ProbeIsOff as error:
            raise Refused(str(error)) from error
        # No evidence goes: such a row only says that no answer came, and the tries stay in the ledger.
        Trial.objects.filter(cell__in=cell_ids, status=NO_ANSWER).delete()

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        """Sums are shown to people who see others' labels and have nothing left to code; single calls are shown to nobody."""
        if not viewer.sees_all:
            return Visibility(is_whole=False, sentence=FOR_CODERS)
        return Visibility(is_whole=True, hides_calls=True, sentence=FOR_EVERYBODY)
