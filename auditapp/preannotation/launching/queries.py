"""What is said of a reading before it is launched: who would read what, told what, and what to think of first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from auditapp.batches.models import Batch
from auditapp.llm.locality import is_external
from auditapp.preannotation.annotators.actions.launching import PlannedReading
from auditapp.preannotation.annotators.actions.planning import MIN_TURNS, list_reasked
from auditapp.preannotation.annotators.pure.injection import find_instructions
from auditapp.preannotation.annotators.queries.model_warnings import tell_of_judge, warn_of_kin
from auditapp.preannotation.annotators.queries.planted import find_planted, has_planted, list_plantable
from auditapp.preannotation.batch_kinds import KIND
from auditapp.preannotation.evaluation.queries.check_state import tell_checked, tell_checked_in_words
from auditapp.preannotation.models import Annotator, Reading
from transcripts.corpus.models import Turn
from transcripts.corpus.queries import find_redaction
from transcripts.projects.models import Project

BY = {Annotator.Mode.FAMILY: "by family", Annotator.Mode.CODE: "by code"}
READ_AT_ONCE = 500
MAX_PATTERNS = 5
# About half a millisecond each.
MAX_LOOKED_AT = 1_000


def list_facts(plan: PlannedReading, annotator: Annotator) -> list[tuple[str, str]]:
    """What is asked, by name, and what is known of the annotator. Reads annotator.version and annotator.project."""
    again = list_reasked(plan.arms)
    redactions = {arm.settings.get("redaction") for arm in plan.arms} - {0, None}
    left_out = f"; {_count(plan.left_out, 'interview')} left out, without consent" if plan.left_out else ""
    return [
        ("Annotator", f"{annotator}, codebook {annotator.version}" if annotator.pk else f"{annotator.name}, a new one"),
        ("Codebook", f"{annotator.version}"),
        ("One call per", "turn and code" if annotator.mode == Annotator.Mode.CODE else "turn and code family"),
        ("Annotates", "semantic and latent meaning" if annotator.reads_latent else "semantic meaning only"),
        ("Interviews", f"{len(plan.interview_ids):,}{left_out}"),
        ("Turns", f"{len(plan.turn_ids):,}"),
        ("Redaction list", f"number {redactions.pop()}" if redactions else _tell_unredacted(annotator)),
        ("Asked again", _tell_again(again, plan, annotator)),
        ("Planted sentences", tell_planted(annotator.project)),
        ("Checks", tell_checked(annotator)),
        ("Hash of all this", annotator.hash[:12]),
    ]


def _tell_unredacted(annotator: Annotator) -> str:
    """A list that holds is for what leaves the site, and nothing does. Reads annotator.variant.account."""
    variant = annotator.variant
    if variant is None or is_external(variant) or find_redaction(annotator.project) is None:
        return "none is applied"
    return f"none is applied, because {variant.label} runs on this site"


def _tell_again(again: Mapping[str, int], plan: PlannedReading, annotator: Annotator) -> str:
    turns, calls, planted = again["turns"], again["calls"], again["planted"]
    if turns:
        with_planted = f", with up to {_count(planted, 'planted sentence')}" if planted else ""
        order = " in another order of the codes" if annotator.mode != Annotator.Mode.CODE else ""
        return f"{_count(turns, 'turn')}{order}{with_planted}: {_count(calls, 'call')} of those below"
    if len(plan.turn_ids) < MIN_TURNS:
        return "nothing: there is one turn alone"
    if annotator.mode == Annotator.Mode.CODE:
        return "nothing: with one code a call and no planted sentence it would be the same question"
    return "nothing: the instructions could not be written as they are any more, or ask for one code alone"


def tell_planted(project: Project) -> str:
    """How many invented sentences with known codes there are to be put among a turn's own."""
    if not has_planted(project):
        return f"{len(list_plantable(project)):,}, those that come with the program: this launch plants them"
    standing = find_planted(project).count()
    return f"{standing:,}" if standing else "none: who obeys a text both times is not found out by what is asked again"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def list_warnings(project: Project, plan: PlannedReading, annotator: Annotator) -> list[str]:
    """What a person should think of first. Reads annotator.variant.account."""
    variant = annotator.variant
    if variant is None:
        return []
    warnings = [
        *warn_of_kin(project, variant, plan.interview_ids),
        *tell_of_judge(project, variant),
        *_warn_of_consent(plan),
        *_warn_of_calls(plan, annotator),
        *_warn_of_read(plan, annotator),
        *warn_of_instructions(plan.turn_ids),
    ]
    if annotator.reads_latent:
        warnings.append("Latent meaning is interpretation: one model's labels for it are drafts, not evidence.")
    if left_out := annotator.recipe.get("examples_left_out"):
        warnings.append(
            f"{_count(left_out, 'pinned example')} of the codebook may not leave the site and would be left out of the "
            "instructions."
        )
    return warnings


def _warn_of_consent(plan: PlannedReading) -> list[str]:
    if not plan.left_out:
        return []
    verb = "has" if plan.left_out == 1 else "have"
    return [
        (
            f"{_count(plan.left_out, 'interview')} {verb} no consent to processing by external models on record and would be "
            "left out."
        )
    ]


def _warn_of_calls(plan: PlannedReading, annotator: Annotator) -> list[str]:
    if annotator.mode != Annotator.Mode.CODE:
        return []
    arms = [arm for arm in plan.arms if arm.input_ids is None]
    families = {arm.settings["family"] for arm in arms}
    turns = len(plan.turn_ids)
    return [
        (
            f"One call per code: {len(arms):,} codes and {_count(turns, 'turn')} make {len(arms) * turns:,} calls. By family "
            f"they would be {len(families) * turns:,}."
        )
    ]


def _warn_of_read(plan: PlannedReading, annotator: Annotator) -> list[str]:
    """The same annotator asked the same again: what it says last is what counts."""
    if not annotator.pk:
        return []
    readings = Reading.objects.filter(annotator=annotator).order_by().values_list("cell__input_id", flat=True)
    read = len(set(readings) & set(plan.turn_ids))
    if not read:
        return []
    return [
        f"{annotator} has annotated {read:,} of these {_count(len(plan.turn_ids), 'turn')} already. Its latest answer counts."
    ]


def warn_of_instructions(turn_ids: Sequence[int]) -> list[str]:
    """How many of the turns hold what looks as if it were written to a machine; never the text itself.

    Of many turns so many are looked at, spread evenly, that the page does not keep anybody waiting; each is looked at
    again when its answer is stored.
    """
    count = min(len(turn_ids), MAX_LOOKED_AT)
    looked_at = [turn_ids[place * len(turn_ids) // count] for place in range(count)]
    patterns: Counter[str] = Counter()
    flagged = 0
    for first in range(0, len(looked_at), READ_AT_ONCE):
        texts = Turn.objects.filter(pk__in=looked_at[first : first + READ_AT_ONCE]).order_by("pk")
        for text in texts.values_list("text", flat=True):
            found = find_instructions(text)
            flagged += bool(found)
            patterns.update(found)
    if not flagged:
        return []
    kinds = ", ".join(name for name, _ in patterns.most_common(MAX_PATTERNS))
    verb = "looks" if flagged == 1 else "look"
    basis = "" if len(looked_at) == len(turn_ids) else f" of {len(looked_at):,} looked at, of {len(turn_ids):,},"
    return [
        (
            f"{_count(flagged, 'turn')}{basis} {verb} as if written to a machine ({kinds}). Such turns are asked about like "
            "the others; what is proposed for them is flagged."
        )
    ]


def tell_launch(batch: Batch) -> str:
    """Who is asked, under which number, how, how many cells there are, what is asked again, and whether it was checked
    (a check asks nothing again and is one)."""
    annotator = Annotator.objects.select_related("project").get(pk=batch.parameters["annotators"][0])
    cells = batch.cells.count()
    levels = "semantic and latent meaning" if annotator.reads_latent else "semantic meaning only"
    told = (
        f"Batch {batch.pk}: {annotator.name} number {annotator.number}, asked {BY[Annotator.Mode(annotator.mode)]}, annotates "
        f"{levels}: {cells:,} cell{'' if cells == 1 else 's'}."
    )
    if batch.kind != KIND:
        return told
    return f"{told} {_tell_again_in_words(batch)} {tell_checked_in_words(annotator)}"


def _tell_again_in_words(batch: Batch) -> str:
    turns, planted = batch.parameters["asked_again"], find_planted(batch.project).count()
    again = f"{turns:,} turn{'' if turns == 1 else 's'} of them asked again" if turns else "nothing is asked again"
    return (
        f"{again[:1].upper()}{again[1:]}; {planted or 'no'} planted sentence{'' if planted == 1 else 's'} in the study."
    )
