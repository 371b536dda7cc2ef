"""The site's paid model by the pages of a study: what a member without a grant, with one, and the owner of the site see."""

from decimal import Decimal

import pytest

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from auditapp.llm.grants import set_grant
from auditapp.llm.models import Commitment
from transcripts.accounts.actions import create_user, set_rights
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

PATH = "/studies/culture/sob/launch/"


def add_paid():
    return add_model(
        label="paid",
        provider="openai_compatible",
        base_url="https://models.example/v1",
        model="m",
        max_tokens=1024,
        price_in=Decimal(1),
        price_out=Decimal(2),
        by=trail.SYSTEM,
    )


def make_form(dataset, model):
    return {
        "dataset": dataset.pk,
        "models": [model.pk],
        "tasks": ["acceptability"],
        "instrument": "paper",
        "notice": "on",
        "repeats": 5,
        "concurrency": 5,
        "pilot": 0,
        "cap": "",
        "lost_answers": "hold",
    }


@pytest.fixture
def paid(study):
    return add_paid()


@pytest.fixture
def typed(dataset, paid):
    return make_form(dataset, paid)


def send(client, typed, step):
    got = client.post(PATH, typed | {"step": step})
    return got.status_code, " ".join(got.content.decode().split())


pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("step", ["review", "launch"])
def test_every_hurdle_stops_a_launch_at_each_step(study, owner, paid, typed, client_of, step):
    browser = client_of(owner)
    status, page = send(browser, typed, step)
    assert status == 422
    assert "This study may not use paid" in page
    assert "grant set culture" in page
    one, ten = Decimal(1), Decimal(10)
    set_grant(
        study=study,
        account=paid.account,
        study_usd=ten,
        study_day_usd=ten,
        person_day_usd=one,
        by=trail.SYSTEM,
    )
    status, page = send(browser, typed, step)
    assert status == 422
    assert "needs a cap" in page
    status, page = send(browser, typed | {"cap": "8"}, step)
    assert status == 422
    assert "$1.00 of $1.00 is left for you" in page
    assert not Batch.objects.exists()


def test_the_review_shows_what_is_left_and_what_will_be_committed(study, owner, paid, typed, client_of):
    limits = {"study_usd": Decimal(10), "study_day_usd": Decimal(5), "person_day_usd": Decimal(3)}
    set_grant(study=study, account=paid.account, by=trail.SYSTEM, **limits)
    typed |= {"cap": "1"}
    page = send(client_of(owner), typed, "review")[1]
    for words in ("Money granted to this study", "of $10.00", "of $5.00", "of $3.00", "Launching commits $1.00"):
        assert words in page
    assert send(client_of(owner), typed, "launch")[0] == 302
    assert Commitment.objects.get().nano == 10**9
    assert "$9.00" in send(client_of(owner), typed, "review")[1]


def test_the_owner_of_the_site_launches_as_before(study, owner, typed, client_of):
    owner.is_superuser = True
    owner.save()
    status, page = send(client_of(owner), typed, "review")
    assert status == 200
    assert "Money granted" not in page
    assert send(client_of(owner), typed, "launch")[0] == 302


def test_the_attack_fails_at_its_first_step_and_without_each_hurdle_at_the_next(client_of, settings):
    """A signed-in account starts a study, loads twenty rows, and launches the site's paid model, five repeats and no cap."""
    attacker = create_user(username="attacker", by=trail.SYSTEM)
    paid = add_paid()
    browser = client_of(attacker)
    assert browser.post("/new-study/", {"name": "Mine"}).status_code == 403

    set_rights(user=attacker, may_start_studies=True, may_invite=False, by=trail.SYSTEM)
    assert browser.post("/new-study/", {"name": "Mine"}).status_code == 302
    study = Study.objects.get()
    rows = "text,target\n" + "".join(f"Invented text {number}.,old\n" for number in range(20))
    dataset, _ = load_dataset(study=study, name="T", file_name="t.csv", data=rows.encode(), by=attacker)
    typed = make_form(dataset, paid)
    path = f"/studies/{study.slug}/sob/launch/"

    def find_refusal(**changed):
        got = browser.post(path, typed | changed | {"step": "launch"})
        assert got.status_code == 422
        assert not Batch.objects.exists()
        return " ".join(got.content.decode().split())

    assert "a grant for the account" in find_refusal()
    limits = {"study_usd": Decimal(3), "study_day_usd": Decimal(2), "person_day_usd": Decimal(1)}
    set_grant(study=study, account=paid.account, by=trail.SYSTEM, **limits)
    assert "needs a cap" in find_refusal()
    assert "$3.00 of $3.00 is left for this study in all" in find_refusal(cap="8")
    assert "$2.00 of $2.00 is left for this study today" in find_refusal(cap="3")
    assert "$1.00 of $1.00 is left for you" in find_refusal(cap="2")
    settings.MAX_CELLS_PER_LAUNCH = 50
    assert "has 100 cells" in find_refusal(cap="1")

    settings.MAX_CELLS_PER_LAUNCH = 100
    assert browser.post(path, typed | {"cap": "1", "step": "launch"}).status_code == 302
    assert Batch.objects.get().cap_nano == 10**9
    again = browser.post(path, typed | {"cap": "1", "step": "launch"}).content.decode()
    assert "$0.00 of $1.00 is left for you" in " ".join(again.split())
