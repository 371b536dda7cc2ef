"""A script that has a suite played: reviewed, launched, run by the worker's function, approved after its pilot and reported."""

from dataclasses import replace
from decimal import Decimal
from uuid import uuid4

import pytest
from django.core.management import call_command

from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.scenarios.actions.scripts import load_scripts
from auditapp.benchmarks.scenarios.actions.storing import store_sessions
from auditapp.benchmarks.scenarios.models import Session
from auditapp.llm.actions import add_model
from auditapp.llm.grants import set_grant
from tests.auditapp.api.test_running_batches import PAID, work
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import PROMPTED, SUITE, load_suite, make_script
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("spool")]
LAUNCH = "studies/culture/batches/scenario/"
ESTIMATE = f"{LAUNCH}estimate/"


@pytest.fixture
def model(db):
    return add_model(label="qwertzmodel", provider="fake", by=trail.SYSTEM)


@pytest.fixture
def program(study, lead, program_of):
    return program_of(lead)


@pytest.fixture
def asked(study, model):
    """The body of a launch of a suite with two cases of two turns, prompted and not."""
    load_suite(study)
    return {
        "suite": SUITE,
        "models": ["qwertzmodel"],
        "conditions": {"prompted": PROMPTED},
        "pilot": 0,
        "idempotency_key": str(uuid4()),
    }


def test_a_suite_is_reviewed_launched_approved_after_its_pilot_and_stored(program, asked):
    asked["pilot"] = 2
    told = program.post(ESTIMATE, asked)
    assert told.status == 200, told.body
    assert (told.body["calls"], told.body["inputs"], told.body["fake"]) == (8, 4, True)
    assert sorted(arm["task"] for arm in told.body["arms"]) == ["prompted", "unprompted"]
    assert not Batch.objects.exists()

    launched = program.post(LAUNCH, asked)
    assert launched.status == 201, launched.body
    batch = Batch.objects.get(pk=launched.body["id"])
    assert (told.body["calls"], told.body["pilot_calls"]) == (batch.cells.count(), batch.pilot_cells)
    assert batch.launched_by_name == "lead"
    # The person who launches may code the threads, so nothing names conditions or models.
    assert (launched.body["closed"], launched.body["cells"], launched.body["arms"]) == (True, None, [])
    work(batch.pk)
    batch.refresh_from_db()
    assert batch.state == Batch.State.WAITING
    assert program.post(f"studies/culture/batches/{batch.pk}/approve/").body["state"] == "running"
    work(batch.pk)
    batch.refresh_from_db()
    store_sessions(batch)
    assert Session.objects.filter(arm__batch=batch, state=Session.State.STORED).count() == 4


@pytest.mark.usefixtures("without_grants")
def test_a_review_names_the_likely_cost_beside_the_highest(program, asked):
    make_variant("paid")
    told = program.post(ESTIMATE, {**asked, "models": ["paid"]}).body
    assert 0 < told["likely"] < told["highest"]
    assert sum(arm["likely"] for arm in told["arms"]) == pytest.approx(told["likely"])


def test_the_same_request_sent_again_launches_nothing_more_and_another_one_is_refused(program, asked):
    ends = [program.post(LAUNCH, asked) for _ in range(2)]
    assert [end.status for end in ends] == [201, 200]
    assert ends[0].body["id"] == ends[1].body["id"]
    other = program.post(LAUNCH, {**asked, "conditions": {"prompted": "Other words."}})
    assert (other.status, other.error["code"]) == (409, "conflict")
    assert (Batch.objects.count(), Session.objects.count()) == (1, 4)


def test_it_asks_what_the_command_asks(program, study, asked, tmp_path):
    team = tmp_path / "team.txt"
    team.write_text(PROMPTED, encoding="utf-8")
    by_api = Batch.objects.get(pk=program.post(LAUNCH, {**asked, "repeats": 2, "has_unprompted": False}).body["id"])
    words = ["--study", "culture", "--suite", SUITE, "--model", "qwertzmodel", "--condition", f"prompted={team}"]
    call_command("scenario", "launch", *words, "--no-unprompted", "--repeats", "2")
    by_command = Batch.objects.order_by("-pk")[0]
    same = ("title", "kind", "concurrency", "lost_answers", "route", "pilot_cells", "cap_nano", "has_conversations")
    assert [getattr(by_api, name) for name in same] == [getattr(by_command, name) for name in same]
    cells = [
        list(each.cells.order_by("pk").values_list("input_id", "repeat", "arm__prompt_hash", "state"))
        for each in (by_api, by_command)
    ]
    assert cells[0] == cells[1]


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"suite": "nothing"}, "suite", SUITE),
        ({"suite": ""}, "suite", "blank"),
        ({"models": ["nothing"]}, "models", "qwertzmodel"),
        ({"models": ["qwertzmodel", "qwertzmodel"]}, "models", "chosen twice. Choose each model only once"),
        ({"conditions": {"unprompted": "Words."}}, "conditions", "another name"),
        ({"conditions": {"prompted": "  "}}, "conditions", "has no text"),
        ({"conditions": {"prompted": 1}}, "conditions", "string"),
        ({"conditions": {"a/b": "Words."}}, "conditions", "letters, digits"),
        ({"conditions": {}, "has_unprompted": False}, "conditions", "Name at least one"),
        ({"repeats": 0}, "repeats", "1"),
        ({"cap": "5"}, "cap", "number"),
        ({"tasks": []}, "tasks", "no such field"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_launched(program, asked, change, field, says):
    for address in (LAUNCH, ESTIMATE):
        refused = program.post(address, asked | change)
        assert (refused.status, list(refused.error["fields"])) == (422, [field])
        assert says in str(refused.error["fields"])
    assert not Batch.objects.exists()


def test_a_case_that_names_a_code_which_the_codebook_lacks_is_told_before_the_launch(program, study, asked):
    case = {"answer": {"code": "theme.nowhere"}}
    named = [replace(make_script(side), case=case) for side in "ab"]
    load_scripts(study=study, scripts=named, by=trail.SYSTEM, reason="names a code")
    assert any("theme.nowhere" in sentence for sentence in program.post(ESTIMATE, asked).body["warnings"])


def test_money_needs_a_grant_a_cap_keeps_to_it_and_the_token_the_scope(program, program_of, study, lead, asked):
    paid = add_model(label="paid", by=trail.SYSTEM, **PAID)
    body = {**asked, "models": ["paid"], "cap": 1}
    for address in (LAUNCH, ESTIMATE):
        refused = program.post(address, body)
        assert (refused.status, refused.error["code"]) == (409, "conflict")
        assert "grant" in refused.error["message"]
    limits = {"study_usd": Decimal(9), "study_day_usd": Decimal(9), "person_day_usd": Decimal(9)}
    set_grant(study=study, account=paid.account, by=trail.SYSTEM, **limits)
    assert program.post(ESTIMATE, {**body, "cap": 0.001}).body["cap"] == 0.001
    without = program_of(lead, scopes=[Scope.READ, Scope.MANAGE])
    for address in (LAUNCH, ESTIMATE):
        assert without.post(address, body).error["code"] == "scope_missing"
    assert not Batch.objects.exists()
    launched = Batch.objects.get(pk=program.post(LAUNCH, body).body["id"])
    assert launched.cap_nano == 10**9
    assert AuditEvent.objects.filter(action="batch.launched").count() == 1
    assert Cell.objects.filter(batch=launched).count() == 8
