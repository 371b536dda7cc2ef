"""What the database brings together for a batch is what its answers come to, one by one."""

import pytest

from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.sob.judging.queries import Choice, choose_arms, list_keys
from auditapp.benchmarks.sob.models import Judgment, TargetTable, Text
from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.benchmarks.sob.queries import UnknownTargets, find_families, find_pairs, read_arms, read_targets
from auditapp.benchmarks.sob.report.stored_reports import tally_batch
from auditapp.llm.models import ModelVariant
from tests.auditapp.benchmarks.sob.reports import (
    ANSWERS,
    VERDICTS,
    add_arm,
    answer_all,
    launch,
    observe,
    read_again,
    store,
)


def compare(found, expected):
    assert found.groups == expected.groups
    assert found.repeats == expected.repeats
    assert found.verdicts == expected.verdicts
    assert found.attributions.sum_places() == expected.attributions.sum_places()
    assert list_matrices(found) == list_matrices(expected)


def list_matrices(tallies):
    """Every text, model and task with its figures, whatever their order."""
    return {
        (task, item, model): (
            matrix.targets[row],
            matrix.secondaries[row],
            *(int(part[row, column]) for part in (matrix.usable, matrix.paper, matrix.strict)),
        )
        for task, matrix in tallies.matrices.items()
        for row, item in enumerate(matrix.items)
        for column, model in enumerate(matrix.models)
    }


@pytest.fixture
def batch(dataset, owner):
    """Three models, two tasks, four texts, two repeats: 48 answers of every kind."""
    Text.objects.filter(target="black").update(target_secondary="women", target_tertiary="old")
    batch = launch(dataset, owner, repeats=2)
    answer_all(batch)
    return batch


def test_a_batch_comes_to_the_same_as_its_answers_one_by_one(batch):
    found = tally_batch(batch)
    compare(found, tally_observations(observe(batch)))
    assert found.groups.total() == 48


def test_a_later_interpretation_counts_in_the_place_of_the_first_and_once(batch, owner):
    unread = list(Judgment.objects.filter(outcome="off_format", cell__batch=batch).order_by("pk"))
    read_again(unread[0], owner, '{"Race": "White"}')
    read_again(unread[1], owner, '{"Race": "White"}')
    read_again(unread[1], owner, '{"Race": "Black", "Age": "40"}')
    found = tally_batch(batch)
    compare(found, tally_observations(observe(batch)))
    assert found.groups.total() == 48
    by_person = [group for group in found.groups.elements() if group.reader == "person"]
    assert sorted(group.counts.paper for group in by_person) == [1, 2]


def test_answers_to_the_base_task_are_verdicts_and_in_no_score(batch):
    cells = add_arm(batch, "base", like=batch.arms.all()[0])
    before = tally_batch(batch)
    store(batch, list(zip(cells, VERDICTS, strict=False)))
    found = tally_batch(batch)
    compare(found, tally_observations(observe(batch)))
    assert found.groups == before.groups
    assert found.verdicts.total() == 4
    assert set(found.matrices) == {"acceptability", "non_acceptability"}


def test_a_batch_without_an_answer_has_empty_tallies(dataset, owner):
    found = tally_batch(launch(dataset, owner))
    compare(found, tally_observations([]))
    assert not found.groups


def test_another_batch_on_the_same_texts_counts_nothing_here(batch, dataset, owner):
    before = tally_batch(batch)
    other = Batch.objects.get(pk=batch.pk)
    other.pk, other.idempotency_key = None, None
    other.save()
    store(other, list(zip(add_arm(other, "acceptability", like=batch.arms.all()[0]), ANSWERS, strict=False)))
    compare(tally_batch(batch), before)
    assert tally_batch(other).groups.total() == 4


def test_one_model_in_two_wordings_is_two_columns(batch):
    cells = add_arm(batch, "acceptability", like=batch.arms.all()[0], instrument="release")
    store(batch, list(zip(cells, ANSWERS, strict=False)))
    models = {group.model for group in tally_batch(batch).groups}
    assert models == {"a-I (paper)", "a-I (release)", "a-R", "b"}
    [chosen] = choose_arms(read_arms(batch), model="a-I (release)", task="acceptability")
    assert set(list_keys(Choice(batch, [chosen]), None, backward=False, limit=100)) == {cell.pk for cell in cells}


def test_wordings_of_one_name_are_told_apart_by_their_hashes(batch):
    cells = add_arm(batch, "acceptability", like=batch.arms.all()[0], instrument="mine")
    Arm.objects.filter(pk=cells[0].arm_id).update(settings=batch.arms.all()[0].settings)
    models = [arm.model for arm in read_arms(batch) if arm.task == "acceptability"]
    assert models == [f"a-I (paper {batch.arms.all()[0].prompt_hash[:8]})", "a-R", "b", "a-I (paper mine0000)"]


def test_variants_of_one_model_are_a_family_and_a_pair(batch):
    arms = read_arms(batch)
    assert find_families(arms) == {"a-I": "a", "a-R": "a", "b": "b"}
    assert find_pairs(arms) == (("a-I", "a-R"),)
    ModelVariant.objects.filter(label="a-R").update(reasoning="")
    assert find_pairs(read_arms(batch)) == ()


def test_one_model_at_two_accounts_is_a_family_and_no_pair(batch):
    variant = ModelVariant.objects.get(label="a-R")
    other = variant.account
    other.pk, other.name = None, "elsewhere"
    other.save(force_insert=True)
    ModelVariant.objects.filter(pk=variant.pk).update(account=other)
    arms = read_arms(batch)
    assert find_families(arms) == {"a-I": "a", "a-R": "a", "b": "b"}
    assert find_pairs(arms) == ()


def test_answers_behind_a_cell_are_found_by_the_interpretation_that_stands(batch, owner):
    unread = Judgment.objects.filter(outcome="off_format", cell__batch=batch).order_by("pk")[0]
    read_again(unread, owner, "Person: Unknown")
    read_again(unread, owner, '{"Race": "White"}')

    def find(outcome):
        return list_keys(Choice(batch, read_arms(batch), outcome=outcome), None, backward=False, limit=100)

    assert find("attributed").count(unread.pk) == 1
    assert unread.pk not in find("off_format")
    assert unread.pk not in find("unknown")


class TestTargets:
    def test_a_table_of_the_study_names_the_targets_anew(self, batch, dataset):
        Text.objects.filter(target="women").update(target_raw="wom")
        rows = [{"raw": "wom", "target": "female", "secondary": "", "tertiary": ""}]
        TargetTable.objects.create(
            study=dataset.study,
            number=3,
            rows=rows,
            reason="x",
            sha256="x",
            made_by_name="x",
            made_at=batch.created_at,
        )
        texts = read_targets(batch, "table:3")
        assert texts.name == "table 3"
        assert texts.targets == ["female", "female", "black", "old"]
        assert texts.warnings == (
            "2 texts have a source label that is not in the target table. Each keeps the target it was loaded with.",
        )
        groups = tally_batch(batch, texts=texts).groups
        assert {group.target for group in groups} == {"female", "black", "old"}

    def test_a_table_that_is_not_there_is_refused(self, batch):
        for choice in ["table:9", "table:x", "theirs", "table:99999999999999999999"]:
            with pytest.raises(UnknownTargets, match="loaded, published or table:N"):
                read_targets(batch, choice)

    def test_a_text_without_a_target_counts_in_overall_alone(self, batch):
        Text.objects.filter(target="old").update(target="")
        compare(tally_batch(batch), tally_observations(observe(batch)))

    def test_texts_of_another_set_are_refused(self, batch):
        Batch.objects.filter(pk=batch.pk).update(parameters={"dataset": 0})
        batch.refresh_from_db()
        with pytest.raises(LookupError, match="another set"):
            tally_batch(batch)


def test_answers_counted_in_small_parts_come_to_the_same(batch, monkeypatch):
    monkeypatch.setattr("auditapp.benchmarks.sob.report.stored_reports.CELLS_AT_A_TIME", 7)
    compare(tally_batch(batch), tally_observations(observe(batch)))
