"""The sentences on experiments: in the methods paragraph of a study, and on the page of one."""

import json

import pytest
from django.urls import reverse

from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.pure.plans import make_plan
from tests.auditapp.benchmarks.experiments.test_experiments import PLAN
from transcripts.corpus.actions import import_files
from transcripts.corpus.pure.previews import Choices
from transcripts.exchange.methods import as_markdown, draft_methods

pytestmark = pytest.mark.django_db


def make_units(*counts):
    """Units by arm and group, so many with the outcome of so many."""
    lines = ["unit,arm,group,outcome,escalated"]
    for arm, group, part, whole in counts:
        lines += [f"{arm}-{group}-{n},{arm},{group},{int(n < part)},0" for n in range(whole)]
    return ("\n".join(lines) + "\nlost,old,north,,\n").encode()


@pytest.fixture
def experiment(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    units = make_units(
        ("new", "north", 20, 30), ("new", "south", 10, 20), ("old", "north", 9, 30), ("old", "south", 7, 19)
    )
    load_enrolments(experiment=experiment, data=units, by=owner)
    return experiment


def read_words(study):
    return " ".join(draft_methods(study)["sections"]["Machines"])


def test_the_methods_paragraph_tells_plan_units_assignment_differences_and_sample(study, experiment, owner):
    draw_audit(experiment=experiment, per_arm=2, seed=7, by=owner)
    drawn = list(experiment.sampled.values_list("unit", flat=True))
    lines = [json.dumps({"id": unit, "turns": [{"role": "model", "text": f"Hello {unit}."}]}) for unit in drawn[:3]]
    import_files(study=study, files=[("logs.jsonl", "\n".join(lines).encode())], by=owner, choices=Choices(mask=True))

    words = read_words(study)

    assert "The experiment asking first compares new with the baseline old" in words
    assert f"Its plan was stored in auditapp on {experiment.locked_at:%-d %B %Y}" in words
    assert "This is not a preregistration" in words
    assert f"(SHA-256 {experiment.sha256})" in words
    assert "100 units were assigned: 50 to old (outcome known for 49); 50 to new (outcome known for 50)." in words
    assert "Against the planned shares: chi-square 0.000, P 1.000." in words
    # Worked out by statsmodels (Newcombe) and scipy (Fisher): 30 of 50 against 16 of 49.
    assert "30 of 50 against 16 of 49, difference +0.273 (0.077 to 0.442), P 0.009 (Fisher)" in words
    assert "By group, with Holm’s adjustment over groups: north, 20 of 30 against 9 of 30" in words
    assert "Other outcomes, with Holm’s adjustment over them: escalated, 0 of 50 against 0 of 49" in words
    assert "A sample of 4 units, 2 of each arm, was drawn at random with seed 7" in words
    assert "the threads of 3 of them were imported, 3 masked" in words
    assert "3 are still masked." in words
    assert experiment.sha256 in as_markdown(draft_methods(study))


def test_an_assignment_that_is_not_as_planned_is_told(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=make_units(("new", "north", 5, 90), ("old", "north", 5, 20)), by=owner)

    assert "this is an alarm, and no difference can be trusted" in read_words(study)
    assert "No sample of threads was drawn." in read_words(study)


def test_a_plan_without_units_is_told_as_such(study, owner):
    lock_plan(study=study, plan=make_plan(PLAN), by=owner)

    assert "No units are loaded yet." in read_words(study)


def test_a_study_without_experiments_says_nothing_of_them(study):
    assert "experiment" not in read_words(study)


def test_the_page_has_the_same_sentences(study, experiment, lead, client_of):
    page = client_of(lead).get(reverse("experiments:show", args=[study.slug, experiment.pk])).content.decode()

    assert "For a paper" in page
    assert "The experiment asking first compares new with the baseline old" in page
    assert "30 of 50 against 16 of 49" in page
