"""Experiments by API: plans are locked, units loaded and figures read by those who see all codings, as on pages."""

import base64
import csv
import json
from io import StringIO

import pytest
from django.core.management import call_command

from auditapp.benchmarks.experiments.models import Enrolment, Experiment
from tests.auditapp.benchmarks.experiments.test_experiments import PLAN, UNITS
from transcripts.audit_trail.models import AuditEvent

pytestmark = pytest.mark.django_db
ADDRESS = "studies/culture/experiments/"


@pytest.fixture
def program(study, lead, program_of):
    return program_of(lead)


@pytest.fixture
def experiment(program):
    assert program.post(ADDRESS, {"plan": PLAN}).status == 201
    return Experiment.objects.get()


def test_a_program_locks_a_plan_once(program, lead):
    first = program.post(ADDRESS, {"name": "asking", "plan": PLAN})
    again = program.post(ADDRESS, {"name": "asking", "plan": PLAN})
    other = program.post(ADDRESS, {"name": "asking", "plan": {**PLAN, "others": []}})

    assert first.status == again.status == 201
    assert first.body == again.body
    assert (first.body["name"], first.body["locked_by"]) == ("asking", lead.username)
    assert first.body["plan"]["outcome"] == PLAN["outcome"]
    assert program.get(ADDRESS).body["results"] == [first.body]
    assert (other.status, list(other.error["fields"])) == (422, ["name"])
    assert AuditEvent.objects.filter(action="experiments.plan.locked").count() == 1


@pytest.mark.parametrize(
    "plan", [{}, {"outcome": 3}, {**PLAN, "variant": "old"}, {**PLAN, "\ud800": 1}, {**PLAN, "name": ""}]
)
def test_a_plan_that_cannot_be_locked_is_refused_with_a_reason(program, plan):
    answer = program.post(ADDRESS, {"plan": plan})

    assert answer.status == 422
    assert set(answer.error["fields"]) <= {"plan", "name"}
    assert not Experiment.objects.exists()


def test_units_are_loaded_whole_or_not_at_all(program, experiment):
    units = f"{ADDRESS}{experiment.pk}/units/"

    assert program.post(units, {"name": "units.csv", "content": UNITS}).body == {
        "new": 4,
        "completed": 0,
        "unchanged": 0,
    }
    later = base64.b64encode(UNITS.replace("u3,old,south,,yes", "u3,old,south,1,").encode()).decode()
    assert program.post(units, {"name": "units.csv", "base64": later}).body["completed"] == 1
    wrong = program.post(units, {"name": "units.csv", "content": "unit,arm\nu9,old\nu1,new\n"})

    assert (wrong.status, list(wrong.error["fields"])) == (422, ["content"])
    assert "is in old already" in wrong.error["fields"]["content"][0]
    assert not Enrolment.objects.filter(unit="u9").exists()


def test_the_report_has_the_figures_of_the_command(program, study, experiment):
    program.post(f"{ADDRESS}{experiment.pk}/units/", {"name": "units.csv", "content": UNITS})
    out = StringIO()
    call_command("experiment", "report", "--study", study.slug, "--experiment", experiment.name, "--json", stdout=out)

    report = program.get(f"{ADDRESS}{experiment.pk}/report/").body

    assert (report.pop("experiment"), report.pop("plan_sha256")) == (experiment.pk, experiment.sha256)
    assert report == json.loads(out.getvalue())
    assert report["effect"]["variant"] == [2, 2]


def test_the_moves_of_somebody_who_has_read_nothing_are_refused(program, experiment):
    program.post(f"{ADDRESS}{experiment.pk}/units/", {"name": "units.csv", "content": UNITS})

    assert program.get(f"{ADDRESS}{experiment.pk}/report/", coder="nobody").status == 200
    assert program.get(f"{ADDRESS}999999/report/").status == 404


def test_a_coder_gets_nothing_of_an_experiment(program, experiment, coder, program_of):
    hers = program_of(coder)

    assert hers.get(ADDRESS).status == 403
    assert hers.get(f"{ADDRESS}{experiment.pk}/report/").status == 403


def test_the_units_are_taken_as_an_export(program, experiment, reader, program_of):
    program.post(f"{ADDRESS}{experiment.pk}/units/", {"name": "units.csv", "content": UNITS})

    answer = program_of(reader).post("studies/culture/exports/enrolments/", {"format": "csv"})

    assert answer.status == 200
    rows = list(csv.DictReader(StringIO(answer.body.decode("utf-8-sig"))))
    assert [(row["unit"], row["arm"], row["outcome"]) for row in rows][:2] == [
        ("u1", "old", "false"),
        ("u2", "new", "true"),
    ]
