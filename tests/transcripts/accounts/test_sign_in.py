import pytest
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.test import Client

from tests.transcripts.accounts.conftest import PASSWORD
from transcripts.accounts.actions import set_password
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent

SIGN_IN = "/accounts/login/"


def sign_in(client, name, password, **more):
    return client.post(SIGN_IN, {"login": name, "password": password, **more})


def is_signed_in(client):
    return "_auth_user_id" in client.session


def actions_in_trail():
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


def wrong_passwords(name, times, *, address="127.0.0.1", client=None):
    """Somebody types wrong passwords, from an address of her own."""
    guesser = client or Client(REMOTE_ADDR=address)
    return [sign_in(guesser, name, f"wrong {number}").status_code for number in range(times)]


def test_right_password_signs_in_and_leads_to_the_studies(client, person):
    answer = sign_in(client, "Rosalind", PASSWORD)
    assert answer.status_code == 302
    assert answer["Location"] == "/land/"
    assert is_signed_in(client)
    assert actions_in_trail()[-1] == "account.signed_in"


def test_case_of_the_name_does_not_matter(client, person):
    sign_in(client, "rosalind", PASSWORD)
    assert is_signed_in(client)


def test_sign_in_leads_back_to_the_page_that_was_asked_for(client, person):
    asked = client.get("/account/")
    assert asked["Location"] == f"{SIGN_IN}?next=/account/"
    assert 'name="next" value="/account/"' in client.get(asked["Location"]).content.decode()
    assert sign_in(client, "Rosalind", PASSWORD, next="/account/")["Location"] == "/account/"


def test_sign_in_never_leads_to_another_site(client, person):
    assert sign_in(client, "Rosalind", PASSWORD, next="https://elsewhere.example/")["Location"] == "/land/"


@pytest.mark.parametrize("name", ["Rosalind", "nobody"])
def test_wrong_password_is_422_with_the_same_words_for_known_and_unknown_names(client, person, name):
    answer = sign_in(client, name, "wrong")
    assert answer.status_code == 422
    assert "The name or the password is wrong." in answer.content.decode()
    assert not is_signed_in(client)


def test_wrong_password_of_a_known_name_leaves_an_event(client, person):
    sign_in(client, "Rosalind", "wrong")
    event = AuditEvent.objects.latest("pk")
    assert (event.action, event.target, event.details) == (
        "account.sign_in.failed",
        f"accounts.user:{person.pk}",
        {},
    )


def test_words_typed_instead_of_a_known_name_are_kept_nowhere(client, person):
    before = actions_in_trail()
    sign_in(client, "my secret by mistake", "wrong")
    assert actions_in_trail() == before


def test_twenty_wrong_passwords_end_in_429_and_then_the_right_one_is_not_looked_at(client, person):
    answers = [sign_in(client, "Rosalind", f"wrong {number}") for number in range(20)]
    assert answers[-1].status_code == 429
    assert "Wait five minutes" in answers[-1].content.decode()
    assert int(answers[-1]["Retry-After"]) > 0
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 429
    assert not is_signed_in(client)


def test_a_classroom_behind_one_address_may_mistype(client, person):
    assert {wrong_passwords(f"pupil-{number}", 1)[0] for number in range(30)} == {422}
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 302


def test_what_cannot_be_counted_is_not_too_many(client, person, monkeypatch):
    """As on a full disk: the cache that counts then says of each write that it failed."""
    monkeypatch.setattr(DatabaseCache, "_base_set", lambda *_, **__: False)
    monkeypatch.setattr("allauth.core.internal.ratelimit.CACHE_LOCK_WAIT_TIMEOUT", 0)
    client.raise_request_exception = False
    answer = sign_in(client, "Rosalind", PASSWORD)
    assert answer.status_code == 503
    assert "Try again in a few seconds" in answer.content.decode()


def test_wrong_passwords_from_elsewhere_keep_nobody_out(client, person):
    assert wrong_passwords("Rosalind", 6, address="10.0.0.1")[-1] == 429
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 302


def test_browser_in_which_one_signed_in_is_never_kept_out_by_others(client, person):
    sign_in(client, "Rosalind", PASSWORD)
    client.post("/accounts/logout/")
    for number in range(7):
        wrong_passwords("Rosalind", 5, address=f"10.0.0.{number}")
    assert sign_in(Client(), "Rosalind", PASSWORD).status_code == 429, "guessers with many addresses are slowed down"
    wrong_passwords("Rosalind", 10)
    assert sign_in(client, "rosalind", PASSWORD).status_code == 302


def test_known_browser_is_slowed_down_by_its_own_wrong_passwords(client, person):
    sign_in(client, "Rosalind", PASSWORD)
    client.post("/accounts/logout/")
    assert wrong_passwords("Rosalind", 6, client=client) == [422] * 5 + [429]
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 429


def test_browser_is_known_for_its_own_person_only(client, person, newcomer):
    set_password(user=newcomer, password=PASSWORD, by=newcomer)
    sign_in(client, "newcomer", PASSWORD)
    client.post("/accounts/logout/")
    assert wrong_passwords("Rosalind", 6, address="127.0.0.1")[-1] == 429
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 429


def test_cookie_that_somebody_made_up_is_no_known_browser(client, person):
    client.cookies["known"] = f"{person.pk}:abc:def:ghi"
    assert wrong_passwords("Rosalind", 6, client=client)[-1] == 429
    wrong_passwords("Rosalind", 35, address="10.0.0.1")
    assert sign_in(client, "Rosalind", PASSWORD).status_code == 429


def test_right_passwords_use_up_nothing(client, person):
    for _ in range(8):
        assert sign_in(Client(), "Rosalind", PASSWORD).status_code == 302


def test_many_names_from_one_address_end_in_429(client, db):
    answers = [sign_in(client, f"name{number}", "wrong") for number in range(61)]
    assert [answer.status_code for answer in answers] == [422] * 60 + [429]
    assert "or from your internet address" in answers[-1].content.decode()


def test_host_header_with_another_port_starts_no_new_count(client, person):
    statuses = [
        client.post(
            SIGN_IN, {"login": "Rosalind", "password": "wrong"}, headers={"host": f"127.0.0.1:{port}"}
        ).status_code
        for port in range(8001, 8007)
    ]
    assert statuses == [422] * 5 + [429]


def test_an_address_is_the_one_that_the_web_server_names_and_never_that_of_a_header(client, db):
    """The web server asks a trusted proxy for it (tests/auditapp/site/test_serving.py)."""

    def try_often(**environ):
        for number in range(61):
            answer = client.post(
                SIGN_IN,
                {"login": f"name{number}", "password": "x"},
                headers={"x-forwarded-for": f"10.0.0.{number}"},
                **environ,
            )
        return answer.status_code

    assert try_often(REMOTE_ADDR="203.0.113.7") == 429
    assert client.post(SIGN_IN, {"login": "name", "password": "x"}, REMOTE_ADDR="203.0.113.8").status_code == 422


def test_too_many_posts_a_minute_get_a_page_that_says_so(client, db):
    answers = [sign_in(client, "", "") for _ in range(121)]
    assert answers[119].status_code == 422
    assert answers[120].status_code == 429
    assert "Too many attempts" in answers[120].content.decode()


def test_limits_hold_over_all_web_processes(client, person):
    """They are counted in the database, which every process shares."""
    assert isinstance(caches["default"], DatabaseCache)


def test_person_without_a_password_cannot_sign_in_with_any(client, newcomer):
    assert sign_in(client, "newcomer", newcomer.password).status_code == 422
    assert not is_signed_in(client)


def test_closed_account_is_told_so_only_after_the_right_password(client, person):
    User.objects.update(is_active=False)
    assert sign_in(client, "Rosalind", "wrong").status_code == 422
    answer = sign_in(client, "Rosalind", PASSWORD)
    assert answer.status_code == 403
    assert "This account is closed" in answer.content.decode()
    assert not is_signed_in(client)


def test_sign_in_form_answers_pages_and_never_json(client, person):
    answer = client.post(SIGN_IN, {"login": "Rosalind", "password": "wrong"}, headers={"accept": "application/json"})
    assert answer["Content-Type"].startswith("text/html")


def test_sign_in_without_a_form_token_is_refused(person):
    answer = sign_in(Client(enforce_csrf_checks=True), "Rosalind", PASSWORD)
    assert answer.status_code == 403


def test_session_gets_a_new_key_at_sign_in(client, person):
    session = client.session
    session["kept"] = "from before"
    session.save()
    sign_in(client, "Rosalind", PASSWORD)
    assert client.session.session_key != session.session_key


def test_signing_out_takes_a_form_and_ends_the_session(client, person):
    client.force_login(person)
    asked = client.get("/accounts/logout/")
    assert "Sign out" in asked.content.decode()
    assert is_signed_in(client)
    assert client.post("/accounts/logout/")["Location"] == SIGN_IN
    assert not is_signed_in(client)


@pytest.mark.parametrize(
    "path",
    [
        "signup/",
        "email/",
        "confirm-email/",
        "confirm-email/key/",
        "password/reset/",
        "password/reset/done/",
        "password/reset/key/1-set-password/",
        "password/set/",
        "reauthenticate/",
        "login/code/",
        "login/code/confirm/",
        "inactive/",
        "",
    ],
)
def test_other_pages_of_allauth_do_not_exist(client, person, path):
    assert client.get(f"/accounts/{path}").status_code == 404
    client.force_login(person)
    assert client.get(f"/accounts/{path}").status_code == 404
    assert client.post(f"/accounts/{path}").status_code == 404
