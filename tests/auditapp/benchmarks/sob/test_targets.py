import pytest
from django.db import IntegrityError, transaction

from auditapp.benchmarks.sob.models import Dataset, TargetTable
from auditapp.benchmarks.sob.queries import find_target_table
from auditapp.benchmarks.sob.texts.actions.derived import retarget_dataset
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

ROWS = [{"raw": "wom", "target": "women"}, {"raw": "bla, wom", "target": "black", "secondary": "women"}]
FILE = b"text;target_raw\na;WOM\nb;'bla, wom'\nc;xyz\n"


@pytest.fixture
def table(study, owner):
    return save_targets(study=study, rows=ROWS, reason="As in our codebook.", by=owner)


def test_a_table_is_stored_whole_with_its_reason_and_one_event(table, owner):
    assert table.number == 1
    assert table.rows[1] == {"raw": "bla, wom", "target": "black", "secondary": "women", "tertiary": ""}
    assert (table.reason, table.made_by, table.made_by_name) == ("As in our codebook.", owner, owner.username)
    event = AuditEvent.objects.get(action="sob.targets.saved")
    assert event.details == {"number": 1, "rows": 2, "sha256": table.sha256}


def test_a_change_is_the_next_number_and_the_first_stays(table, study, owner):
    second = save_targets(study=study, rows=ROWS[:1], reason="One is enough.", by=owner)
    assert second.number == 2
    assert find_target_table(study) == second
    assert find_target_table(study, 1) == table
    assert len(TargetTable.objects.get(number=1).rows) == 2


def test_each_study_counts_its_own_tables(table, owner):
    other = create_study(slug="other", name="Other", by=owner)
    assert find_target_table(other) is None
    assert save_targets(study=other, rows=ROWS, reason="Ours too.", by=owner).number == 1


def test_a_senseless_table_is_refused_and_writes_nothing(table, study, owner):
    for rows, sentence in [
        ([], "at least one row"),
        ([*ROWS, {"raw": "'WOM'", "target": "x"}], "Row 3 has the source label of row 1"),
    ]:
        with pytest.raises(Refused, match=sentence):
            save_targets(study=study, rows=rows, reason="x", by=owner)
        assert TargetTable.objects.count() == 1


def test_a_number_that_names_no_table_is_answered_with_those_there_are(table, study):
    with pytest.raises(Refused, match=r"no target table 7 in .*; there are: 1\."):
        find_target_table(study, 7)


def test_the_database_keeps_a_number_once(table):
    again = TargetTable(study=table.study, number=1, rows=[], reason="x", made_by_name="x", made_at=table.made_at)
    with pytest.raises(IntegrityError), transaction.atomic():
        again.save()


class TestDatasets:
    def test_a_file_is_loaded_under_the_studys_table(self, table, study, owner):
        dataset = load_dataset(
            study=study, name="t", file_name="t.csv", data=FILE, targets="table", target_table=table, by=owner
        )[0]
        assert (dataset.targets_from, dataset.target_table) == (Dataset.TargetsFrom.TABLE, table)
        assert list(dataset.texts.values_list("target", "target_secondary")) == [
            ("women", ""),
            ("black", "women"),
            ("", ""),
        ]
        assert dataset.warnings == [
            "1 text has a label missing from the study's table of targets and counts only in overall: “xyz” (1)"
        ]

    def test_texts_are_copied_under_another_table_and_the_first_set_stays(self, table, study, owner):
        data = FILE.replace(b"target_raw", b"target")
        first = load_dataset(study=study, name="t", file_name="t.csv", data=data, by=owner)[0]
        second = retarget_dataset(dataset=first, name="t again", target_table=table, by=owner)
        published = retarget_dataset(dataset=second, name="published", by=owner)
        assert (second.drawn_from, second.target_table) == (first, table)
        assert list(second.texts.values_list("target", "target_raw"))[:2] == [("women", "WOM"), ("black", "'bla, wom'")]
        assert (published.targets_from, published.target_table) == (Dataset.TargetsFrom.PUBLISHED, None)
        assert list(first.texts.values_list("target", flat=True)) == ["WOM", "'bla, wom'", "xyz"]
        event = AuditEvent.objects.filter(action="sob.dataset.retargeted").order_by("sequence")[0]
        assert event.details == {"drawn_from": first.pk, "target_table": table.pk, "texts": 3, "unknown": 1}

    @pytest.mark.parametrize(
        ("targets", "has_table", "sentence"),
        [("table", False, "Choose which"), ("file", True, "Choose which"), ("mine", False, "not by")],
    )
    def test_targets_that_name_nothing_are_refused(self, table, study, owner, targets, has_table, sentence):
        with pytest.raises(Refused, match=sentence):
            load_dataset(
                study=study,
                name="t",
                file_name="t.csv",
                data=FILE,
                targets=targets,
                target_table=table if has_table else None,
                by=owner,
            )
        assert not Dataset.objects.exists()

    def test_another_studys_table_is_refused(self, table, owner):
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="another study"):
            load_dataset(
                study=other, name="t", file_name="t.csv", data=FILE, targets="table", target_table=table, by=owner
            )
