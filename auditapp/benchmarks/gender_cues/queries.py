"""Whether a study may use the probe, and whether its figures may be read."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from django.db.models import Count
from django.utils import timezone

from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.gender_cues.models import Purpose, RationaleTurn, ReviewSet
from auditapp.benchmarks.gender_cues.models import Trial as TrialRow
from auditapp.benchmarks.gender_cues.pure.outputs import TESTS, make_report
from auditapp.benchmarks.gender_cues.pure.parsing import CATEGORIES, PARSER_VERSION
from auditapp.benchmarks.gender_cues.pure.tables import AXES, Trial
from transcripts.accounts.models import User
from transcripts.analysis.search.pure.words import NOT_STATED
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Coding, Enactment
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Study

HOW_TO_ALLOW = "An owner of the study can allow it, on the page Gender-cue probe, by writing what it is for."
IS_OFF = f"The gender-cue probe is off in this study. {HOW_TO_ALLOW}"


class ProbeIsOff(Refused):
    """No owner has written a purpose for the probe, or an owner has withdrawn it."""

    def __init__(self, withdrawn: Purpose | None = None) -> None:
        said = f"{describe_withdrawal(withdrawn)} {HOW_TO_ALLOW}" if withdrawn else IS_OFF
        super().__init__(said)


def find_latest(study: Study) -> Purpose | None:
    """The latest number of the study's purpose, whether withdrawn or not; ``None`` if there has never been one."""
    return Purpose.objects.filter(study=study).order_by("-number").first()


def require_purpose(study: Study, *, locks: bool = False) -> Purpose:
    """The purpose in force, which is needed for loading, asking and storing. With ``locks``, nobody can withdraw it before the
    transaction ends. Raises ``ProbeIsOff``."""
    purposes = Purpose.objects.filter(study=study)
    latest = (purposes.select_for_update(of=("self",)) if locks else purposes).order_by("-number").first()
    if latest is None or latest.is_withdrawn:
        raise ProbeIsOff(latest)
    return latest


def require_figures(study: Study) -> Purpose:
    """The latest purpose, even if it was withdrawn, because earlier figures can still be read. Raises ``ProbeIsOff``."""
    latest = find_latest(study)
    if latest is None:
        raise ProbeIsOff
    return latest


def describe_withdrawal(purpose: Purpose) -> str:
    """Who withdrew the purpose, when and why, as sentences for those who read earlier figures; "" while it is in force."""
    if purpose.withdrawn_at is None:
        return ""
    reason = purpose.withdrawal_reason
    return (
        f"The purpose of the probe was withdrawn on {timezone.localdate(purpose.withdrawn_at)} by {purpose.withdrawn_by_name}: "
        f"{reason}{'' if reason.endswith(('.', '!', '?')) else '.'} The probe is off; earlier figures can still be read."
    )


KIND = "probe"


class Coded(NamedTuple):
    """The themes of a batch's rationales as one person coded them.

    ``study`` is the study in which they are coded, ``coder`` who did, ``themes`` names of codes by trial; ``counts`` says how
    many rationales each of the people has coded whose codings may be seen. ``turns`` counts rationales, ``codes`` has what a
    search asks for to find each theme, by its name. A move that is not enacted is a theme apart.
    """

    study: Study
    coder: str
    themes: dict[int, list[str]]
    counts: dict[str, int]
    turns: int
    codes: dict[str, dict[str, str]]


def read_trials(batch: Batch) -> list[Trial]:
    """Every answer of a probe, as the rules read it. One query."""
    rows = (
        TrialRow.objects.filter(cell__batch=batch)
        .order_by("cell_id")
        .values_list(
            "cell_id",
            "cell__arm__variant__label",
            "cell__arm__task",
            "review_id",
            "review__category",
            "status",
            "predicted",
            "codes",
        )
    )
    return [
        Trial(cell, model, condition, review, category, status, predicted or None, codes)
        for cell, model, condition, review, category, status, predicted, codes in rows
    ]


def read_parsers(batch: Batch) -> str:
    """The versions of the rules that read the answers of a batch when they came, oldest first, or those of today where none did."""
    versions = TrialRow.objects.filter(cell__batch=batch).order_by("parser").values_list("parser", flat=True).distinct()
    return ", ".join(versions) or PARSER_VERSION


def find_rationale_study(batch: Batch) -> Study | None:
    """The study that has the rationales of a batch, if they were stored."""
    turn = (
        RationaleTurn.objects.filter(trial__cell__batch=batch).select_related("turn__interview__owning_study").first()
    )
    return turn.turn.interview.owning_study if turn else None


def read_coded(batch: Batch, *, user: User | None, coder: str = "") -> Coded | None:
    """The themes that one person gave to the rationales of a batch; ``None`` where there are no rationales, or ``user`` is no
    member of their study.

    ``user`` sees what her role and her blindness allow there; ``None`` is the command line, which sees everything. Without
    ``coder`` it is whoever coded most. Raises ``Refused`` for a coder without codings.
    """
    study = find_rationale_study(batch)
    if study is None:
        return None
    turns = dict(RationaleTurn.objects.filter(trial__cell__batch=batch).values_list("turn_id", "trial_id"))
    codings = Coding.objects.active().filter(sentence__turn__in=list(turns), sentence__turn__interview__study=study)
    if user is not None:
        role = find_role(user, study)
        if role is None:
            return None
        codings = codings.visible_to(Viewer(study, user, role))
    of: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    codes: dict[str, dict[str, str]] = {}
    columns = ("code__name", "coder__username", "code__identifier", "code__family__carries_enactment", "enactment")
    for turn, name, who, code, is_move, enactment in codings.values_list("sentence__turn", *columns):
        # What is only described or shown is a row of its own, never counted with what is done.
        is_apart = is_move and enactment != Enactment.ENACTED
        theme = f"{name} ({enactment or 'enactment not stated'})" if is_apart else name
        of[who][turns[turn]].append(theme)
        codes[theme] = {"code": code, "enactment": enactment or NOT_STATED} if is_move else {"code": code}
    counts = {who: len(themes) for who, themes in sorted(of.items(), key=lambda each: (-len(each[1]), each[0]))}
    if coder and coder not in counts:
        there_are = ", ".join(counts) or "nobody"
        raise Refused(f"{coder} has coded none of the rationales that may be shown. Coders who have: {there_are}.")
    chosen = coder or next(iter(counts), "")
    return Coded(study, chosen, dict(of.get(chosen, {})), counts, len(turns), codes)


def read_report(
    batch: Batch, *, user: User | None, axis: str = AXES[0], coder: str = "", other: Batch | None = None
) -> tuple[dict[str, Any], Coded | None]:
    """The report of a batch as pages, API and command show it; where the purpose was withdrawn, its caveats say so. The
    models of ``other``, a probe of the same study, are compared with its own. Reads batch.study. Raises ``Refused``.
    """
    coded = read_coded(batch, user=user, coder=coder)
    other = None if other == batch else other
    named = [each._replace(model=f"{each.model} (batch {other.pk})") for each in read_trials(other)] if other else []
    report = make_report(read_trials(batch), None if coded is None else coded.themes, axis=axis, others=named)
    if other and (conditions := _find_changed_prompts(batch, other)):
        report["warnings"].append(
            f"Batch {other.pk} used another wording for {' and '.join(conditions)}, so a difference may be due to the wording."
        )
    report["batch"] = batch.pk
    report["parser"] = read_parsers(batch)
    purpose = find_latest(batch.study)
    if purpose is not None and purpose.is_withdrawn:
        report["caveats"].append(describe_withdrawal(purpose))
    report["coder"] = coded.coder if coded else ""
    if coded is not None and len(coded.counts) > 1:
        others = ", ".join(f"{who} ({count})" for who, count in coded.counts.items() if who != coded.coder)
        report["warnings"].append(
            f"Table 2 is based on the codings of {coded.coder}. Others have coded rationales too: {others}."
        )
    return report, coded


def _find_changed_prompts(batch: Batch, other: Batch) -> list[str]:
    """The conditions under which two probes were asked with different prompts."""
    asked: dict[str, set[str]] = defaultdict(set)
    for condition, prompt in Arm.objects.filter(batch__in=[batch, other]).values_list("task", "prompt_hash"):
        asked[condition].add(prompt)
    return sorted(condition for condition, prompts in asked.items() if len(prompts) > 1)


def count_reviews(reviews: ReviewSet) -> dict[str, int]:
    """How many reviews of each category are in a set."""
    rows = reviews.reviews.order_by().values_list("category").annotate(Count("pk"))
    counts = Counter(dict(rows))
    return {category: counts[category] for category in CATEGORIES}


def describe_probe(batch: Batch) -> dict[str, Any]:
    """The facts of one probe for its sentences."""
    key = batch.parameters.get("reviews")
    reviews = ReviewSet.objects.filter(study=batch.study_id, pk=key).first() if isinstance(key, int) else None
    arms = list(batch.arms.select_related("variant__account"))
    return {
        "batch": batch,
        "reviews": reviews,
        "last": reviews.funnel[-1] if reviews else None,
        "models": sorted({arm.variant.label for arm in arms}),
        "fake": sorted({arm.variant.label for arm in arms if arm.variant.is_fake}),
        "texts": batch.parameters.get("texts", {}),
        "same_texts": batch.parameters.get("same_texts", False),
        "trials": TrialRow.objects.filter(cell__batch=batch).count(),
        "parser": read_parsers(batch),
        "tests": TESTS,
    }


def read_notes(study: Study) -> dict[str, Any]:
    """Every probe of a study, for its methods paragraph. Empty where there is none."""
    batches = list(study.batches.filter(kind=KIND).order_by("pk"))
    if not batches:
        return {}
    purpose = find_latest(study)
    return {
        "purpose": purpose,
        "withdrawal": describe_withdrawal(purpose) if purpose else "",
        "probes": [describe_probe(batch) for batch in batches],
    }
