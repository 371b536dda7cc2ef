"""The export of enrolments: what each unit was assigned to, but for units whose threads are read masked."""

import json

import pytest
from pyarrow import parquet

from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.exports import ENROLMENTS
from auditapp.benchmarks.experiments.models import Enrolment
from auditapp.benchmarks.experiments.pure.plans import make_plan
from tests.auditapp.benchmarks.experiments.test_experiments import MEASURED, PLAN, SCALES, UNITS
from transcripts.blinding.actions import unmask_interviews
from transcripts.corpus.actions import import_files
from transcripts.corpus.pure.previews import Choices
from transcripts.exchange.actions import write_file
from transcripts.exchange.rows import Scope, find_export

pytestmark = pytest.mark.django_db


@pytest.fixture
def experiment(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=UNITS.encode(), by=owner)
    return experiment


def read_rows(study, only=None):
    assert ENROLMENTS.read_rows is not None
    rows = [dict(zip(ENROLMENTS.header, row, strict=True)) for row in ENROLMENTS.read_rows(Scope(study, only))]
    return {str(row["unit"]): row for row in rows}


def list_arms(study):
    return {unit: row["arm"] for unit, row in read_rows(study).items()}


def bring_in(study, owner, *units, mask=True):
    lines = [json.dumps({"id": unit, "turns": [{"role": "model", "text": f"Hello {unit}."}]}) for unit in units]
    import_files(study=study, files=[("logs.jsonl", "\n".join(lines).encode())], by=owner, choices=Choices(mask=mask))


def test_each_unit_comes_with_its_arm_and_what_is_known_of_its_outcomes(study, experiment):
    rows = read_rows(study)

    assert list(rows) == ["u1", "u2", "u3", "u4"]
    first, third = rows["u1"], rows["u3"]
    assert (first["arm"], first["group"], first["outcome"], first["others"]) == (
        "old",
        "north",
        False,
        {"escalated": False},
    )
    assert (third["outcome"], third["others"]) == (None, {"escalated": True})
    assert first["plan_sha256"] == experiment.sha256
    assert not first["masked"]
    assert find_export("enrolments") == ENROLMENTS


def test_an_outcome_that_is_a_number_has_a_column_of_its_own(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(SCALES), by=owner)
    load_enrolments(experiment=experiment, data=MEASURED.encode(), by=owner)

    first = read_rows(study)["u1"]

    assert (first["outcome"], first["outcome_number"]) == (None, 3.5)
    assert first["others"] == {"minutes": 12.0, "escalated": False}


def test_a_unit_that_a_later_file_completed_comes_once(study, experiment, owner):
    later = UNITS.replace("u3,old,south,,yes", "u3,old,south,1,yes")
    load_enrolments(experiment=experiment, data=later.encode(), by=owner)

    assert read_rows(study)["u3"]["outcome"] is True
    assert ENROLMENTS.count_rows is not None
    assert ENROLMENTS.count_rows(Scope(study, None)) == len(read_rows(study)) == 4


def test_the_order_of_the_file_that_was_loaded_does_not_show(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=b"unit,arm\nz,old\nb,old\na,new\nc,new\n", by=owner)

    assert list(read_rows(study)) == ["a", "b", "c", "z"]


def test_nothing_is_told_of_a_unit_whose_thread_is_masked(study, experiment, owner):
    bring_in(study, owner, "u2")

    row = read_rows(study)["u2"]

    assert (row["masked"], row["arm"], row["group"], row["outcome"], row["others"]) == (True, "", "", None, {})
    assert list_arms(study)["u1"] == "old"


def test_nothing_is_told_of_a_sample_until_its_threads_are_there_and_unmasked(study, experiment, owner):
    draw_audit(experiment=experiment, per_arm=2, seed=1, by=owner)
    assert set(list_arms(study).values()) == {""}
    bring_in(study, owner, "u1", "u2", "u4")
    assert set(list_arms(study).values()) == {""}

    unmask_interviews(study=study, interviews=list(study.interviews.masked()), reason="All is read.", by=owner)

    # The thread of u3 may still come in.
    assert list_arms(study) == {"u1": "old", "u2": "new", "u3": "", "u4": "new"}


def test_units_come_as_parquet_with_types(study, experiment, tmp_path):
    write_file(export=ENROLMENTS, scope=Scope(study, None), format="parquet", path=tmp_path / "units.parquet")

    first, _, third, _ = parquet.read_table(tmp_path / "units.parquet").to_pylist()

    assert (first["outcome"], first["masked"], json.loads(first["others"])) == (False, False, {"escalated": False})
    assert third["outcome"] is None
    assert first["loaded"] == Enrolment.objects.get(unit="u1").loaded_at


def test_somebody_who_sees_her_own_work_alone_gets_no_unit(study, experiment, coder):
    assert read_rows(study, only=coder) == {}
