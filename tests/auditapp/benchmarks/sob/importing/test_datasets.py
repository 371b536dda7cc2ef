import json
from collections import Counter
from pathlib import Path

import pytest

from auditapp.benchmarks.sob.models import Dataset, Text
from auditapp.benchmarks.sob.pure.dataset_files import Provenance
from auditapp.benchmarks.sob.pure.dataset_texts import SAME_AGAIN, Draw
from auditapp.benchmarks.sob.texts.actions.derived import combine_datasets, sample_dataset
from auditapp.benchmarks.sob.texts.actions.loading import describe_dataset, load_dataset
from tests.support.shared import shared
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

RAW = Path(__file__).resolve().parents[4] / "data" / "sob" / "raw"


def write_rows(*rows, source="s"):
    lines = [
        json.dumps({"source": source, "external_id": str(number), "text": text, "target": target})
        for number, (text, target) in enumerate(rows, start=1)
    ]
    return "\n".join(lines).encode()


def load(study, by, data, name="first", **wishes):
    return load_dataset(study=study, name=name, file_name=f"{name}.jsonl", data=data, by=by, **wishes)[0]


TEN = write_rows(*((f"Invented text {number}.", "women" if number < 6 else "old") for number in range(10)))


class TestLoad:
    def test_published_source_has_its_statement_and_licence_on_record(self, study, owner):
        dataset = load(study, owner, (RAW / "hatecheck.csv").read_bytes())
        assert (dataset.format, dataset.targets_from, dataset.split) == ("hatecheck", "published", "test")
        assert dataset.licence.startswith("CC BY 4.0")
        assert dataset.filter == "label_gold is hateful"
        assert dataset.sampling["dropped"] == {"not labelled hateful": 2}
        event = AuditEvent.objects.get(action="sob.dataset.loaded")
        assert (event.details["read"], event.details["texts"]) == (5, 3)

    def test_what_a_person_says_of_the_licence_stands_before_what_is_known(self, study, owner):
        dataset = load(
            study, owner, (RAW / "hatecheck.csv").read_bytes(), provenance=Provenance(licence="by agreement")
        )
        assert (dataset.licence, dataset.split) == ("by agreement", "test")

    def test_the_same_file_read_in_another_way_needs_another_name(self, study, owner):
        load(study, owner, TEN)
        load(study, owner, TEN)
        with pytest.raises(Refused, match="read in another way"):
            load(study, owner, TEN, draw=Draw(4))
        with pytest.raises(Refused, match="read in another way"):
            load(study, owner, TEN, targets="published")
        assert Dataset.objects.count() == 1

    def test_a_sample_too_large_is_refused_and_nothing_stays(self, study, owner):
        with pytest.raises(Refused, match="11 texts cannot be drawn from 10"):
            load(study, owner, TEN, draw=Draw(11))
        assert not Dataset.objects.exists()

    def test_every_source_of_the_benchmark_loads_to_the_papers_number_of_texts(self, study, owner):
        names = [
            "dynab_sampled_500.csv",
            "hatecheck_test.csv",
            "ishate_test.csv.gz",
            "linguistic_informed_data.csv",
            "toxigen_annotated_test.csv",
        ]
        sets = [load(study, owner, shared(f"data/sob/raw/{name}").read_bytes(), name) for name in names]
        assert [dataset.texts.count() for dataset in sets] == [500, 500, 500, 499, 458]
        assert combine_datasets(datasets=sets, name="all", by=owner).texts.count() == 2_457


class TestDescribe:
    def test_a_licence_is_put_on_record_later_with_one_event(self, study, owner):
        dataset = load(study, owner, TEN)
        found = Provenance("A forum", "CC0", "all", "")
        describe_dataset(dataset=dataset, provenance=found, by=owner)
        describe_dataset(dataset=dataset, provenance=found, by=owner)
        dataset.refresh_from_db()
        assert (dataset.source_name, dataset.licence) == ("A forum", "CC0")
        event = AuditEvent.objects.get(action="sob.dataset.described")
        assert event.details == {"changed": "source_name, licence, split"}

    def test_a_licence_too_long_is_refused(self, study, owner):
        with pytest.raises(Refused, match="licence has 201 characters; it can have 200"):
            describe_dataset(dataset=load(study, owner, TEN), provenance=Provenance(licence="x" * 201), by=owner)


class TestSample:
    def test_a_sample_is_a_new_dataset_with_its_statement(self, study, owner):
        whole = load(study, owner, TEN)
        sample = sample_dataset(dataset=whole, name="half", size=5, by=owner)
        assert sample.drawn_from == whole
        assert Counter(sample.texts.values_list("target", flat=True)) == {"women": 3, "old": 2}
        assert sample.sampling["strata"] == {"women": {"read": 6, "kept": 3}, "old": {"read": 4, "kept": 2}}
        assert sample.sampling["dropped"] == {"not drawn": 5}
        assert list(sample.texts.values_list("position", flat=True)) == [1, 2, 3, 4, 5]
        assert set(sample.texts.values_list("text", flat=True)) < set(whole.texts.values_list("text", flat=True))
        event = AuditEvent.objects.get(action="sob.dataset.sampled")
        assert event.details == {
            "drawn_from": whole.pk,
            "method": "proportional",
            "by": "target",
            "seed": 42,
            "read": 10,
            "texts": 5,
        }

    def test_the_same_wish_draws_the_same_texts(self, study, owner):
        whole = load(study, owner, TEN)
        texts = [
            list(
                sample_dataset(dataset=whole, name=name, size=4, method="simple", seed=3, by=owner).texts.values_list(
                    "external_id"
                )
            )
            for name in ("a", "b")
        ]
        assert texts[0] == texts[1]

    def test_repeated_texts_are_kept_and_warned_of_or_dropped_and_counted(self, study, owner):
        whole = load(study, owner, write_rows(("a b", "x"), ("a b", "x"), ("c d", "y")))
        assert whole.warnings == ["rows 1, 2: the same text more than once in one source"]
        sample = sample_dataset(dataset=whole, name="once", size=2, drops_repeated=True, by=owner)
        assert list(sample.texts.values_list("text", flat=True)) == ["a b", "c d"]
        assert sample.sampling["dropped"] == {SAME_AGAIN: 1}
        assert (sample.sampling["read"], sample.sampling["kept"]) == (3, 2)
        assert sample.warnings == [f"row 2: {SAME_AGAIN}; dropped"]

    @pytest.mark.parametrize(
        ("wish", "sentence"),
        [
            ({"name": "first", "size": 2}, "already a dataset first"),
            ({"name": "s", "size": 11}, "11 texts cannot be drawn"),
            ({"name": "s", "size": 2, "method": "best"}, "no sampling method"),
            ({"name": "", "size": 2}, "needs a name"),
        ],
    )
    def test_a_senseless_sample_writes_nothing(self, study, owner, wish, sentence):
        whole = load(study, owner, TEN)
        with pytest.raises(Refused, match=sentence):
            sample_dataset(dataset=whole, by=owner, **wish)
        assert (Dataset.objects.count(), Text.objects.count()) == (1, 10)


class TestCombine:
    def test_sets_follow_each_other_and_repeated_texts_are_stated(self, study, owner):
        first = load(study, owner, write_rows(("a", "x"), ("b", "y")))
        second = load(study, owner, write_rows(("a", "x"), ("c", "y")), "second")
        third = load(study, owner, write_rows(("a", "x"), source="t"), "third")
        both = combine_datasets(datasets=[first, second, third], name="all", by=owner)
        assert list(both.texts.values_list("source", "external_id", "text")) == [
            ("s", "1", "a"),
            ("s", "2", "b"),
            ("s", "2/2", "c"),
            ("t", "1", "a"),
        ]
        assert both.sampling["dropped"] == {SAME_AGAIN: 1}
        assert both.sampling["strata"]["second"] == {"read": 2, "kept": 1}
        assert both.sampling["datasets"] == [first.pk, second.pk, third.pk]
        assert f"{SAME_AGAIN}: 1 dropped" in both.warnings
        event = AuditEvent.objects.get(action="sob.dataset.combined")
        assert event.details == {"datasets": [first.pk, second.pk, third.pk], "read": 5, "texts": 4}

    def test_sets_with_targets_of_different_tables_are_combined_with_a_warning(self, study, owner):
        first = load(study, owner, TEN)
        second = load(study, owner, (RAW / "toxigen.csv").read_bytes(), "second")
        both = combine_datasets(datasets=[first, second], name="all", by=owner)
        assert any("one group may have two names" in warning for warning in both.warnings)
        assert both.licence == second.licence

    def test_one_set_or_another_studys_is_not_combined(self, study, owner):
        first = load(study, owner, TEN)
        other = load(create_study(slug="other", name="Other", by=owner), owner, TEN)
        with pytest.raises(Refused, match="2 to 50 different"):
            combine_datasets(datasets=[first, first], name="all", by=owner)
        with pytest.raises(Refused, match="different studies"):
            combine_datasets(datasets=[first, other], name="all", by=owner)
