"""What the review of a launch says: who would annotate what, with which instructions, and what to consider before the launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from auditapp.annotators.actions.launching import list_reasked
from auditapp.annotators.models import KIND, Annotator, TurnAnswer
from auditapp.annotators.pure.checking import REASK
from auditapp.annotators.pure.prompts import MAX_EARLIER, sends_earlier
from auditapp.annotators.pure.sent_copy import find_instructions
from auditapp.annotators.queries.annotators import (
    Warnings,
    find_control_sentences,
    has_control_sentences,
    list_judge_results,
    list_possible_controls,
    warn_of_family,
)
from auditapp.annotators.queries.turn_answers import find_latest_check
from auditapp.batches.launching import LaunchPlan, count_cells
from auditapp.batches.models import Batch
from auditapp.llm.credentials import is_external
from transcripts.corpus.models import Turn
from transcripts.corpus.queries import find_redaction
from transcripts.studies.models import Study

BY = {Annotator.Mode.FAMILY: "by family", Annotator.Mode.CODE: "by code"}
READ_AT_ONCE = 500
MAX_PATTERNS = 5
# About half a millisecond each.
MAX_EXAMINED = 1_000


def add_review(plan: LaunchPlan, annotator: Annotator) -> LaunchPlan:
    """The plan, with the content of its review. Reads annotator.version, annotator.study and annotator.variant.account."""
    return replace(
        plan,
        warnings=list_warnings(annotator.study, plan, annotator),
        warning_template="annotators/_warning.html",
        facts=read_facts(plan, annotator),
        facts_template="annotators/_launch_facts.html",
        names=dict(annotator.version.codes.values_list("identifier", "name")),
    )


def read_facts(plan: LaunchPlan, annotator: Annotator) -> dict[str, object]:
    """The values that ``annotators/_launch_facts.html`` shows. Reads annotator.version, annotator.study and
    annotator.variant.account."""
    study, variant = annotator.study, annotator.variant
    redactions = {arm.settings.get("redaction") for arm in plan.arms} - {0, None}
    is_first_set = not has_control_sentences(study)
    return {
        "annotator": annotator,
        "interviews": len(plan.interview_ids),
        "left_out": plan.parameters["left_out"],
        "turns": len(_list_turns(plan)),
        "redaction": redactions.pop() if redactions else 0,
        "is_local": variant is not None and not is_external(variant) and find_redaction(study) is not None,
        "earlier": MAX_EARLIER if any(sends_earlier(arm.system_prompt) for arm in plan.arms) else 0,
        "again": list_reasked(plan.arms),
        "is_first_set": is_first_set,
        "controls": len(list_possible_controls(study)) if is_first_set else find_control_sentences(study).count(),
        "check": find_latest_check(annotator),
    }


def list_warnings(study: Study, plan: LaunchPlan, annotator: Annotator) -> Warnings:
    """What a person should consider before the launch, for ``annotators/_warning.html``. Reads annotator.variant.account."""
    variant = annotator.variant
    if variant is None:
        return []
    turns = _list_turns(plan)
    warnings = [*warn_of_family(study, variant, plan.interview_ids), *list_judge_results(study, variant)]
    if plan.parameters["left_out"]:
        warnings.append({"code": "no_consent", "count": plan.parameters["left_out"]})
    if annotator.mode == Annotator.Mode.CODE:
        arms = [arm for arm in plan.arms if arm.settings.get("condition") != REASK]
        calls = sum(count_cells(arms, plan.input_ids, repeats=1))
        families = {arm.settings["family"]: len(arm.list_inputs(plan.input_ids)) for arm in arms}
        values = {"codes": len(arms), "turns": len(turns), "calls": calls, "by_family": sum(families.values())}
        warnings.append({"code": "calls_by_code", **values})
    if annotated := _count_annotated(turns, annotator):
        warnings.append({"code": "annotated_before", "annotator": annotator, "count": annotated, "turns": len(turns)})
    warnings += warn_of_instructions(turns)
    if annotator.reads_latent:
        warnings.append({"code": "latent"})
    if left_out := annotator.recipe.get("examples_left_out"):
        warnings.append({"code": "examples_left_out", "count": left_out})
    return warnings


def _list_turns(plan: LaunchPlan) -> list[int]:
    """The turns that any arm asks about: the model's, then the interviewer's."""
    return list(dict.fromkeys(turn for arm in plan.arms for turn in arm.list_inputs(plan.input_ids)))


def _count_annotated(turns: Sequence[int], annotator: Annotator) -> int:
    """For how many of the turns the same annotator has already given answers."""
    if not annotator.pk:
        return 0
    turn_answers = TurnAnswer.objects.filter(annotator=annotator).order_by().values_list("cell__input_id", flat=True)
    return len(set(turn_answers) & set(turns))


def warn_of_instructions(turn_ids: Sequence[int]) -> Warnings:
    """How many of the turns look as if they address a machine; the text itself is never returned.

    If there are very many turns, an evenly spaced part is examined, so that the page stays fast. Each turn is examined again when
    its answer is stored.
    """
    count = min(len(turn_ids), MAX_EXAMINED)
    examined = [turn_ids[place * len(turn_ids) // count] for place in range(count)]
    patterns: Counter[str] = Counter()
    flagged = 0
    for first in range(0, len(examined), READ_AT_ONCE):
        texts = Turn.objects.filter(pk__in=examined[first : first + READ_AT_ONCE]).order_by("pk")
        for text in texts.values_list("text", flat=True):
            found = find_instructions(text)
            flagged += bool(found)
            patterns.update(found)
    if not flagged:
        return []
    names = [name for name, _ in patterns.most_common(MAX_PATTERNS)]
    values = {"count": flagged, "examined": len(examined), "turns": len(turn_ids), "patterns": names}
    return [{"code": "instructions", **values}]


def summarise_launch(batch: Batch) -> str:
    """The summary for a command: the annotator with its number and mode, the number of cells and of pilot cells, what is asked
    again, and whether the annotator was checked. (A check itself asks nothing again.)"""
    annotator = Annotator.objects.select_related("study").get(pk=batch.parameters["annotators"][0])
    cells = batch.cells.count()
    levels = "semantic and latent meaning" if annotator.reads_latent else "semantic meaning only"
    summary = (
        f"Batch {batch.pk}: {annotator.name} number {annotator.number}, asked {BY[Annotator.Mode(annotator.mode)]}, annotates "
        f"{levels}: {cells:,} cell{'' if cells == 1 else 's'}."
    )
    if batch.pilot_cells:
        summary += f" {batch.pilot_cells:,} of them are sent first, as a pilot; then the batch waits for approval."
    if batch.kind != KIND:
        return summary
    turns, controls = batch.parameters["asked_again"], find_control_sentences(batch.study).count()
    again = "No turn is asked a second time"
    if turns:
        again = f"To check the annotator, {turns:,} turn{' is' if turns == 1 else 's are'} asked a second time"
    check = find_latest_check(annotator)
    checked = (
        f"Its latest check, batch {check['batch'].pk}: {check['verdicts']}."
        if check
        else f"{annotator} has never been checked. Check it with manage.py annotator check."
    )
    return (
        f"{summary} {again}; {controls or 'no'} control sentence{'' if controls == 1 else 's'} in the study. {checked}"
    )
