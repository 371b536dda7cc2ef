import io

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Cell
from auditapp.benchmarks.gender_cues.actions import allow_probe, launch_probe, load_reviews
from auditapp.benchmarks.gender_cues.models import Review
from auditapp.benchmarks.gender_cues.pure.reviews import check_rules
from auditapp.benchmarks.gender_cues.runner import ProbeKind
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.gender_cues.making import RULES, write_csv
from tests.support.databases import stored
from transcripts.codebook.actions import seed_codebook
from transcripts.studies.actions import create_study

TEXTS = 40


def write_reviews(count=TEXTS):
    rows = [
        (f"A constructed review number {number} of a {category}", category)
        for category in ("woman", "man")
        for number in range(count)
    ]
    rows += [("A constructed review by nobody knows", "androgynous")] * 5
    return write_csv([*rows, ("Too short", "unknown")])


def load(study, by, *, name="Invented reviews", data=None):
    return load_reviews(
        study=study,
        name=name,
        file=io.BytesIO(write_reviews() if data is None else data),
        rules=check_rules(RULES),
        category_method="invented with the texts",
        source="invented for tests",
        seed=7,
        by=by,
    )


def answer_cells(batch, answer):
    """Store an answer for every cell: of its condition and its review."""
    cells = list(Cell.objects.filter(batch=batch).select_related("arm").order_by("pk"))
    reviews = Review.objects.in_bulk([cell.input_id for cell in cells])
    ProbeKind().store_answers(
        batch,
        [
            Answered(cell.pk, cell.arm_id, cell.input_id, answer(cell.arm.task, reviews[cell.input_id]), "stop", "")
            for cell in cells
        ],
    )


@stored
def purpose(study, owner):
    return allow_probe(study=study, text="To see whether the probe works.", by=owner)


@stored
def reviews(purpose, study, owner):
    return load(study, owner)


@stored
def variant(owner):
    return add_model(label="model a", provider="fake", by=owner)


@stored
def probe(reviews, variant, owner):
    """One fake model, control and primed on the same thirty women's and men's texts, and five androgynous ones."""
    return launch_probe(
        reviews=reviews, variants=[variant], texts={"control": 30, "primed": 30}, androgynous=5, by=owner
    )


@stored
def rationale_study(owner):
    study = create_study(slug="rationales", name="Rationales", by=owner)
    seed_codebook(study=study, by=owner)
    return study
