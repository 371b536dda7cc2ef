import json
from io import StringIO

import pytest
from django.core.management import call_command

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import Purpose
from tests.support.whole_study import add_probe

pytestmark = pytest.mark.django_db


@pytest.fixture
def program(study, reader, program_of):
    return program_of(reader)


def test_a_batch_tells_how_far_it_is_and_what_it_cost(program, batch):
    found = program.get(f"studies/culture/batches/{batch.pk}/").body
    assert (found["id"], found["kind"], found["state"]) == (batch.pk, "sob", "running")
    assert (found["cells"], found["finished"]) == (2, 1)
    assert found["states"] == {"done": 1, "planned": 1}
    assert found["outcomes"] == {"attributed": 1}
    assert (found["spent"], found["cap"], found["finished_at"]) == (0.0, None, None)
    assert found["launched_by"] == "system"


def test_a_batch_says_that_its_model_is_fake(program, batch):
    found = program.get(f"studies/culture/batches/{batch.pk}/").body
    assert found["fake"] is True
    assert [(arm["model"], arm["task"], arm["fake"]) for arm in found["arms"]] == [
        ("Fake model", "acceptability", True)
    ]
    report = program.get(f"studies/culture/batches/{batch.pk}/sob-report/").body
    assert report["fake_models"] == ["Fake model"]


def test_a_batch_tells_the_same_as_the_command(program, batch):
    out = StringIO()
    call_command("batch", "show", str(batch.pk), "--json", stdout=out)
    shown = json.loads(out.getvalue())
    found = program.get(f"studies/culture/batches/{batch.pk}/").body
    assert shown.pop("batch") == found["id"]
    assert shown == {name: found[name] for name in shown}


def test_the_list_of_batches_tells_the_same_in_brief(program, batch):
    whole = program.get(f"studies/culture/batches/{batch.pk}/").body
    [row] = program.get("studies/culture/batches/").body["results"]
    assert row == {name: whole[name] for name in row}
    assert {"id", "title", "state", "cells", "finished", "spent"} <= set(row)


def test_the_sob_report_is_that_of_the_command(program, batch):
    out = StringIO()
    call_command("sob", "report", "--batch", str(batch.pk), "--json", stdout=out)
    report = program.get(f"studies/culture/batches/{batch.pk}/sob-report/").body
    assert report["cells"] == json.loads(out.getvalue())["cells"]
    overall = report["cells"][0]
    assert (overall["target"], overall["n_responses"], overall["sob"]) == ("overall", 1, 3.0)


def test_a_batch_of_another_kind_has_no_sob_report(program, batch):
    Batch.objects.filter(pk=batch.pk).update(kind="preannotation")
    answer = program.get(f"studies/culture/batches/{batch.pk}/sob-report/")
    assert answer.status == 404
    assert "sob batch" in answer.error["message"]


def test_a_probe_is_read_only_while_it_is_allowed(study, owner, program):
    batch = add_probe(study, owner)["batch_id"]
    path = f"studies/culture/batches/{batch}/probe-report/"
    report = program.get(path).body
    assert report["models"] == ["Fake of culture"]
    assert report["fake_models"] == ["Fake of culture"]
    table = report["by_model"]["Fake of culture"]["table1"]
    assert table["primed"]["emotion"]["n_woman"] == 1
    assert program.get(f"{path}?axis=gender").status == 400
    assert program.get(f"studies/culture/batches/{batch}/answers/").status == 403
    Purpose.objects.all().delete()
    assert program.get(path).status == 403
