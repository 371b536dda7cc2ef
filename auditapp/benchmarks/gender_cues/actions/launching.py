"""Launching a probe: an ordinary batch, one arm for each model and condition, each review asked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.instruments import load_prompts
from auditapp.benchmarks.gender_cues.pure.limits import (
    ANDROGYNOUS,
    CAVEATS,
    CONDITIONS,
    CONTROL,
    MAN,
    MAY_ABSTAIN,
    MIN_TEXTS,
    PRIMED,
    SCORED,
    WOMAN,
)
from auditapp.benchmarks.gender_cues.queries.purposes import require_purpose
from auditapp.benchmarks.gender_cues.queries.trials import KIND, count_reviews
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.refusals import Refused

UNCONFIRMED = (
    "Confirm that the source of the reviews allows sending them to the providers of the chosen models, and that you have read the "
    "terms of these. Nothing was launched."
)
NO_FILES = "A probe's requests hold the reviews, so they are not written to a file. Ask live, or by the provider's batch service."


@transaction.atomic
def launch_probe(
    *,
    reviews: ReviewSet,
    variants: Sequence[ModelVariant],
    texts: Mapping[str, int],
    by: trail.Actor,
    same_texts: bool = True,
    androgynous: int = 0,
    confirms_source: bool = False,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Ask every variant about reviews under each condition. See ``plan_probe`` for what is drawn.

    ``confirms_source``: ``by`` confirms that the reviews may be sent; needed unless every model is fake. Reads reviews.project.
    Raises ``Refused``.
    """
    require_purpose(reviews.project, locks=True)
    if not confirms_source and needs_confirmation(variants):
        raise Refused(UNCONFIRMED)
    if options.route == Batch.Route.FILE:
        raise Refused(NO_FILES)
    if options.repeats != 1:
        raise Refused("A probe asks about each review once under each condition.")

    def plan() -> LaunchPlan:
        return plan_probe(
            reviews=reviews, variants=variants, texts=texts, same_texts=same_texts, androgynous=androgynous
        )

    return launch_once(
        project=reviews.project,
        kind=KIND,
        plan=plan,
        by=by,
        options=options,
        reviews=reviews.pk,
        variants=[variant.pk for variant in variants],
        texts=dict(texts),
        same_texts=same_texts,
        androgynous=androgynous,
    )


def needs_confirmation(variants: Sequence[ModelVariant]) -> bool:
    """Whether reviews would leave the site. Fake models send nothing to anybody."""
    return not all(variant.is_fake for variant in variants)


def plan_probe(
    *,
    reviews: ReviewSet,
    variants: Sequence[ModelVariant],
    texts: Mapping[str, int],
    same_texts: bool = True,
    androgynous: int = 0,
) -> LaunchPlan:
    """What a launch would ask; writes nothing.

    ``texts``: how many texts of each scored category each condition gets. With ``same_texts`` every condition gets the first so
    many in the order of the set, so that conditions can be paired; without, texts of its own. ``androgynous``: as many of that
    category besides, which are counted and not scored. Reads reviews.project. Raises ``Refused``.
    """
    require_purpose(reviews.project)
    if not variants or len({variant.pk for variant in variants}) != len(variants):
        raise Refused("Choose at least one model, each once.")
    asked = {condition: texts[condition] for condition in CONDITIONS if texts.get(condition)}
    if set(texts) - set(CONDITIONS):
        raise Refused(f"The conditions are {', '.join(CONDITIONS)}.")
    _check_numbers(reviews, asked, same_texts=same_texts, androgynous=androgynous)
    drawn = _draw(reviews, asked, same_texts=same_texts, androgynous=androgynous)
    prompts = load_prompts()
    arms = [
        PlannedArm(
            variant,
            condition,
            prompts[condition].text,
            {"prompt_sha256": prompts[condition].sha256, "origin": prompts[condition].origin},
            drawn[condition],
            messages="review",
        )
        for variant in variants
        for condition in asked
    ]
    inputs = sorted({key for keys in drawn.values() for key in keys})
    parameters: dict[str, object] = {
        "reviews": reviews.pk,
        "texts": asked,
        "same_texts": same_texts,
        "androgynous": androgynous,
        "rules_sha256": reviews.rules_sha256,
        "seed": reviews.seed,
    }
    return LaunchPlan(
        KIND,
        arms,
        inputs,
        title=f"Gender-cue probe: {reviews.name}",
        parameters=parameters,
        warnings=_warn(asked),
        facts=[
            ("Reviews", reviews.name),
            *(
                (prompts[condition].title, f"{count} women's, {count} men's texts")
                for condition, count in asked.items()
            ),
            ("Texts of the conditions", "the same" if same_texts else "different ones"),
            ("Androgynous, not scored", str(androgynous)),
            ("Caveats", " ".join(CAVEATS)),
        ],
    )


def _check_numbers(reviews: ReviewSet, asked: Mapping[str, int], *, same_texts: bool, androgynous: int) -> None:
    if not asked:
        raise Refused("Say how many texts at least one condition gets.")
    few = [condition for condition, count in asked.items() if count < MIN_TEXTS]
    if few:
        raise Refused(
            f"{few[0]}: {asked[few[0]]} texts of each category are too few for any figure. A condition gets at least {MIN_TEXTS}."
        )
    there = count_reviews(reviews)
    needed = max(asked.values()) if same_texts else sum(asked.values())
    for category in SCORED:
        if there[category] < needed:
            raise Refused(
                f"{needed} texts of the category {category} are needed, and the rules kept {there[category]} (women "
                f"{there[WOMAN]}, men {there[MAN]}). Ask about fewer, at least {MIN_TEXTS}, or load reviews by other rules. The "
                "funnel shows where they were lost."
            )
    if not 0 <= androgynous <= there[ANDROGYNOUS]:
        raise Refused(f"The rules kept {there[ANDROGYNOUS]} androgynous texts; choose a number from 0 to that.")


def _draw(reviews: ReviewSet, asked: Mapping[str, int], *, same_texts: bool, androgynous: int) -> dict[str, list[int]]:
    rows = reviews.reviews.order_by("position").values_list("category", "pk")
    by_category: dict[str, list[int]] = {}
    for category, key in rows:
        by_category.setdefault(category, []).append(key)
    drawn: dict[str, list[int]] = {}
    first = 0
    for condition, count in asked.items():
        keys = [key for category in SCORED for key in by_category[category][first : first + count]]
        drawn[condition] = [*keys, *by_category.get(ANDROGYNOUS, [])[:androgynous]]
        first += 0 if same_texts else count
    return drawn


def _warn(asked: Mapping[str, int]) -> list[str]:
    said = []
    if MAY_ABSTAIN not in asked:
        said.append(
            "The condition in which the model may abstain is not asked. It is recommended: without it nobody learns how much of "
            "Table 1 is owed to the demand for a guess."
        )
    if not {CONTROL, PRIMED} <= set(asked):
        said.append("Control and primed are not both asked, so the two cannot be compared.")
    if CONTROL in asked or PRIMED in asked:
        said.append(
            "The prompts of control and primed are reconstructions from Appendix A, which has lost its highlighting."
        )
    return said
