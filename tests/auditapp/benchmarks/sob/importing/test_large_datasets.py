"""A large dataset comes in by parts that no page shows until it is whole."""

import datetime

import pytest
from django.db import connection
from django.utils import timezone

from auditapp.benchmarks.sob.models import Dataset, Text
from auditapp.benchmarks.sob.texts.actions import loading
from auditapp.benchmarks.sob.texts.actions.derived import combine_datasets, retarget_dataset, sample_dataset
from auditapp.benchmarks.sob.texts.actions.loading import remove_abandoned_datasets
from tests.auditapp.benchmarks.sob.importing.test_datasets import load, write_rows
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus import storing
from transcripts.refusals import Refused

DATA = write_rows(*((f"text {number}", "women") for number in range(7)))

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def at_each_pause(monkeypatch):
    """Has a function called between the parts."""
    monkeypatch.setattr(loading, "SMALL_SIZE", 3)
    monkeypatch.setattr(loading, "INSERT_SIZE", 2)
    return lambda function: monkeypatch.setattr(storing, "rest", lambda _seconds: function())


def test_no_study_has_it_before_it_is_whole(study, owner, at_each_pause):
    seen = []
    at_each_pause(lambda: seen.append((study.datasets.count(), connection.in_atomic_block)))
    dataset = load(study, owner, DATA)
    assert seen == [(0, False)] * 4
    assert study.datasets.get() == dataset
    assert list(dataset.texts.values_list("position", "text")) == [(n + 1, f"text {n}") for n in range(7)]
    assert AuditEvent.objects.get(action="sob.dataset.loaded").details["texts"] == 7


def test_another_of_the_same_name_meanwhile_keeps_it_out(study, owner, at_each_pause):
    def load_other():
        at_each_pause(lambda: None)
        load(study, owner, write_rows(("other", "men")))

    at_each_pause(load_other)
    with pytest.raises(Refused, match="stored in the meantime"):
        load(study, owner, DATA)
    assert [text.text for text in Text.objects.all()] == ["other"]
    assert Dataset.objects.count() == 1


def test_one_that_was_given_up_is_removed_and_never_finished(study, owner, at_each_pause):
    def sleep_long():
        at_each_pause(lambda: None)
        Dataset.objects.update(loaded_at=timezone.now() - datetime.timedelta(hours=1))
        remove_abandoned_datasets()
        assert not Text.objects.exists()

    at_each_pause(sleep_long)
    with pytest.raises(Refused, match="interrupted for many minutes"):
        load(study, owner, DATA)
    assert not Dataset.objects.exists()


@pytest.mark.parametrize("way", ["sampled", "combined", "retargeted"])
def test_what_is_made_of_others_is_seen_when_it_is_whole(study, owner, at_each_pause, way):
    at_each_pause(lambda: None)
    first = load(study, owner, DATA)
    second = load(study, owner, write_rows(("another", "men"), ("one more", "men")), name="second")
    make = {
        "sampled": lambda: sample_dataset(dataset=first, name="made", size=5, by=owner),
        "combined": lambda: combine_datasets(datasets=[first, second], name="made", by=owner),
        "retargeted": lambda: retarget_dataset(dataset=first, name="made", by=owner),
    }
    seen = []
    at_each_pause(lambda: seen.append((study.datasets.count(), connection.in_atomic_block)))
    made = make[way]()
    texts = {"sampled": 5, "combined": 9, "retargeted": 7}[way]
    assert seen == [(2, False)] * -(-texts // 2)
    assert (made.study, made.texts.count(), study.datasets.count()) == (study, texts, 3)
    assert AuditEvent.objects.get(action=f"sob.dataset.{way}").target.endswith(f":{made.pk}")


def test_making_one_that_fails_half_way_leaves_nothing(study, owner, at_each_pause):
    at_each_pause(lambda: None)
    first = load(study, owner, DATA)

    def load_other():
        at_each_pause(lambda: None)
        load(study, owner, write_rows(("other", "men")), name="made")

    at_each_pause(load_other)
    with pytest.raises(Refused, match="stored in the meantime"):
        sample_dataset(dataset=first, name="made", size=5, by=owner)
    assert Dataset.objects.count() == 2
    assert Text.objects.count() == 8
