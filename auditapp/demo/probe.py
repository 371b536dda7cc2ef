"""The gender-cue probe and an experiment in the demo study: invented reviews, models and assistants."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.pure.plans import Plan
from auditapp.benchmarks.gender_cues.actions import allow_probe, launch_probe, load_reviews, store_rationales
from auditapp.benchmarks.gender_cues.models import RationaleTurn
from auditapp.benchmarks.gender_cues.pure.parsing import write_theme_codebook
from auditapp.benchmarks.gender_cues.pure.reviews import check_rules
from auditapp.demo import SLUG
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.studies.models import Study

FILE = Path(__file__).parent / "data" / "reviews.csv"
RATIONALES = f"{SLUG}-rationales"
NAMESPACE = uuid.UUID("5c1f0f5e-7c3c-4b0e-8a55-3f0b8f0c2a77")
TEXTS = 30
SEED = 1
RULES = {
    "name": "negative reviews with words of disrespect",
    "steps": [
        {"name": "at least 10 words", "rule": "length", "unit": "words", "at_least": 10},
        {"name": "one star", "rule": "equals", "column": "rating", "value": "1"},
        {"name": "disrespect", "rule": "contains", "terms": ["rude*", "condescend*", "disrespect*"]},
        {
            "name": "no kinship or partner terms",
            "rule": "excludes",
            "terms": ["mother", "father", "son", "daughter", "wife", "husband"],
        },
    ],
}
# What the owner reads in the invented rationales: words in them, and the published theme that they are.
READ_AS = {
    "hurt": "Emotionally Expressive",
    "treated as less": "Feeling Belittled",
    "Exclamation marks": "Exclamation Marks",
    "warm and personal": "Interpersonal",
    "keeps to the facts": "Factual",
    "confrontation": "Aggression/Confrontation",
    "straight to the point": "Direct",
    "formal complaint": "Formal",
}
UNITS_FILE = Path(__file__).parent / "data" / "experiment.csv"
PLAN = Plan(
    name="asking first (invented)",
    outcome="said the advice fitted",
    others=("sent on to a person",),
    baseline="answers at once",
    variant="asks first",
    allocation={"answers at once": 1, "asks first": 1},
    notes="Invented: no person and no system stands behind these units.",
)
THREADS_OF_EACH_ARM = 5
DRAWN_WITH = 24


@transaction.atomic
def launch(study: Study, owner: User, ensure_fake: Callable[..., ModelVariant]) -> Batch:
    """The purpose, the reviews, and a probe of one invented model under all three conditions."""
    allow_probe(
        study=study,
        text="To try the probe on invented reviews and an invented model. Its figures say nothing about anybody (invented).",
        by=owner,
    )
    with FILE.open("rb") as file:
        reviews = load_reviews(
            study=study,
            name="Invented reviews",
            file=file,
            rules=check_rules(RULES),
            category_method="assigned when the reviews were invented; no names exist",
            source="Invented for this demo; nobody wrote them.",
            seed=SEED,
            by=owner,
        )
    variant = ensure_fake("fake guesser (invented)", "fake guesser", owner=owner)
    texts = dict.fromkeys(("control", "primed", "may_abstain"), TEXTS)
    return launch_probe(reviews=reviews, variants=[variant], texts=texts, androgynous=5, by=owner)


@transaction.atomic
def read_rationales(batch: Batch, owner: User) -> None:
    """The rationales come into a study of their own, where the owner gives them the published themes."""
    study = start_study(
        slug=RATIONALES,
        name="Demo: rationales of the probe (invented)",
        by=owner,
        description="What an invented model wrote about invented reviews, masked and shuffled, coded by turn with the themes that "
        "the paper names.",
        codebook="file",
        file=("probe-themes.csv", write_theme_codebook().encode()),
    )
    store_rationales(batch=batch, into=study, by=owner, seed=SEED)
    codes = {code.name: code for code in Code.objects.filter(version__study=study).select_related("family", "version")}
    rows = RationaleTurn.objects.filter(trial__cell__batch=batch).select_related("turn").order_by("pk")
    for row in rows:
        sentences = list(row.turn.sentences.order_by("position").select_related("turn__interview"))
        for words, theme in READ_AS.items():
            if words in row.turn.text:
                add_coding(
                    study=study,
                    sentence=sentences[0],
                    code=codes[theme],
                    by=owner,
                    idempotency_key=uuid.uuid5(NAMESPACE, f"coding {row.pk} {theme}"),
                )
        for sentence in sentences:
            decide_sentence(
                study=study,
                sentence=sentence,
                by=owner,
                idempotency_key=uuid.uuid5(NAMESPACE, f"decision {sentence.pk}"),
            )


def bring_in_experiment(study: Study, owner: User) -> None:
    """Lock the plan, load the units, and draw the sample that would be read."""
    experiment = lock_plan(study=study, plan=PLAN, by=owner)
    load_enrolments(experiment=experiment, data=UNITS_FILE.read_bytes(), by=owner)
    draw_audit(experiment=experiment, per_arm=THREADS_OF_EACH_ARM, seed=DRAWN_WITH, by=owner)
