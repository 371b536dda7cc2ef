"""Wrong requests: each is told what was wrong, in one shape, and none is answered with a failure of the server."""

import json
import logging
from uuid import uuid4

import pytest
from django.core.exceptions import SuspiciousOperation
from django.http import UnreadablePostError
from django.test import Client
from rest_framework.exceptions import Throttled

from auditapp.api import studies
from auditapp.api.errors import answer_exception, explain
from auditapp.api.fields import MAX_BODY
from transcripts.coding.models import Coding

pytestmark = pytest.mark.django_db

PATH = "studies/culture/codings/"
LISTS = ("studies/", "studies/culture/interviews/", PATH, "studies/culture/batches/")


@pytest.fixture
def program(study, coder, program_of):
    return program_of(coder)


@pytest.fixture
def body(sentence, code):
    return {"sentence": sentence.pk, "code": code.identifier, "idempotency_key": str(uuid4())}


MALFORMED = {
    "cut off": b"{",
    "no UTF-8": b"\xff\xfe{}",
    "NaN": b'{"sentence": NaN}',
    "a field twice": b'{"sentence": 1, "sentence": 2}',
    "a long number": b'{"sentence": ' + b"9" * 5_000 + b"}",
    "deep": b"[" * 50_000,
    "more behind": b'{"sentence": 1} and more',
    "null byte": b"\x00",
}


def test_a_body_that_is_no_json_is_refused(program):
    for name, data in MALFORMED.items():
        answer = program.send(PATH, data)
        assert (answer.status, answer.error["code"]) == (400, "malformed_request"), name


def test_a_body_that_is_no_json_is_told_where_it_breaks(program):
    assert (
        "line 2: found JSON that breaks off at the end of the line (character 1)"
        in program.send(PATH, b'{"sentence": 1,\n').error["message"]
    )


def test_a_body_in_chunks_is_not_taken_for_an_empty_one(program):
    answer = program.ask("POST", PATH, headers={"Transfer-Encoding": "chunked"})
    assert (answer.status, answer.error["code"]) == (400, "malformed_request")
    assert "Content-Length" in answer.error["message"]


def test_a_huge_body_is_refused_unread(program, body):
    data = json.dumps({**body, "note": "x" * MAX_BODY}).encode()
    answer = program.send(PATH, data)
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_body_that_is_no_object_is_refused(program):
    for data in (b"[]", b"null", b"1", b'"text"', b"true"):
        answer = program.send(PATH, data)
        assert (answer.status, answer.error["fields"]) == (422, None), data


def test_a_body_of_another_type_is_refused(program):
    form, parts = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
    for content_type in (form, parts, "text/plain", "", "x" * 999):
        answer = program.send(PATH, b"sentence=1", content_type)
        assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type"), content_type


def test_a_charset_in_the_header_changes_nothing(program, body):
    assert program.post(PATH, body).status == 201
    for charset in ("zlib", "bz2", "utf-16", "rot13", "idna", "nonsense", "utf-8"):
        content_type = f"application/json; charset={charset}"
        assert program.send(PATH, json.dumps(body).encode(), content_type).status == 200, charset
    utf_16 = {"Content-Type": "application/json; charset=utf-16"}
    assert program.ask("GET", f"{PATH}?withdrawn=%61ny", headers=utf_16).status == 200


WRONG = [
    ("sentence", None),
    ("sentence", "1"),
    ("sentence", 1.5),
    ("sentence", True),
    ("sentence", -1),
    ("sentence", 0),
    ("sentence", 2**63),
    ("sentence", 10**100),
    ("sentence", [1]),
    ("sentence", {"id": 1}),
    ("code", 5),
    ("code", ""),
    ("code", "x" * 101),
    ("code", "theme.nothing"),
    ("code", "theme\x00"),
    ("code", "\ud800"),
    ("code", ["theme.balance"]),
    ("level", "deep"),
    ("level", "\ud800"),
    ("level", None),
    ("level", ["semantic"]),
    ("enactment", "enacted"),
    ("enactment", 1),
    ("enactment", {}),
    ("note", None),
    ("note", 3),
    ("note", "a\x00b"),
    ("note", "\udfff"),
    ("note", "x" * 1_001),
    ("idempotency_key", "not a uuid"),
    ("idempotency_key", 5),
    ("idempotency_key", None),
    ("idempotency_key", "\ud800"),
]


def test_a_wrong_value_is_told_beside_its_field(program, body):
    for field, value in WRONG:
        answer = program.post(PATH, {**body, field: value})
        assert (answer.status, answer.error["code"]) == (422, "invalid_fields"), (field, ascii(value))
        assert list(answer.error["fields"]) == [field]
    assert not Coding.objects.exists()


def test_a_missing_field_is_named(program, body):
    for field in body:
        answer = program.post(PATH, {name: value for name, value in body.items() if name != field})
        assert answer.status == 422
        assert list(answer.error["fields"]) == [field]
        assert field in answer.error["message"]


def test_an_unknown_field_is_refused(program, body):
    for name in ("coder", "blinding", "study", "created_at", "x" * 5_000, "\ud800", ""):
        answer = program.post(PATH, {**body, name: 1})
        assert (answer.status, answer.error["code"]) == (422, "invalid_fields"), ascii(name)
        assert len(answer.error["fields"]) == 1
        assert len(json.dumps(answer.body)) < 1_000
    assert not Coding.objects.exists()


def test_thousands_of_unknown_fields_make_no_long_answer(program):
    answer = program.post(PATH, {f"field {number}": 1 for number in range(3_000)})
    assert answer.status == 422
    assert len(json.dumps(answer.body)) < 5_000


def test_taking_off_takes_no_fields(program):
    assert program.post(f"{PATH}1/withdraw/", {"why": "x"}).status == 422


def test_taking_off_needs_no_body(program):
    assert program.send(f"{PATH}1/withdraw/", b"").status == 404


FOREIGN_FILTERS = (
    "coder__password__startswith",
    "coder__username__regex",
    "sentence__turn__interview__study",
    "_connector",
    "_negated",
    "id",
    "pk",
    "order_by",
    "format",
    "page",
    "search",
)


def test_an_unknown_filter_is_refused(program):
    for path in LISTS:
        for name in FOREIGN_FILTERS:
            answer = program.get(path, **{name: "OR"})
            assert (answer.status, answer.error["code"]) == (400, "invalid_parameters"), (path, name)
            assert list(answer.error["fields"]) == [name]


WRONG_FILTERS = (
    ("interview", "x"),
    ("interview", "-1"),
    ("interview", "0"),
    ("interview", "1.0"),
    ("interview", "１"),
    ("interview", str(2**63)),
    ("interview", "9" * 10_000),
    ("interview", ""),
    ("coder", "\x00"),
    ("coder", "x" * 151),
    ("code", "theme\x00"),
    ("withdrawn", "maybe"),
    ("withdrawn", ""),
    ("limit", "0"),
    ("limit", "1001"),
    ("limit", "all"),
    ("offset", "-1"),
    ("offset", str(2**63)),
)


def test_a_wrong_filter_is_refused(program):
    for name, value in WRONG_FILTERS:
        answer = program.get(PATH, **{name: value})
        assert (answer.status, answer.error["code"]) == (400, "invalid_parameters"), (name, value)
        assert list(answer.error["fields"]) == [name]


def test_a_filter_given_twice_is_refused(program):
    answer = program.ask("GET", f"{PATH}?code=a&code=b")
    assert (answer.status, list(answer.error["fields"])) == (400, ["code"])


def test_bytes_that_are_no_text_are_no_filter(program):
    assert program.ask("GET", f"{PATH}?code=%ff%fe&coder=%00").status == 400


def test_thousands_of_parameters_are_refused(program):
    answer = program.ask("GET", f"{PATH}?" + "&".join(f"a{number}=1" for number in range(3_000)))
    assert answer.status == 400


STRANGE_IDS = (
    *("-1", "0", "1.5", str(2**63), str(2**64), "9" * 5_000, "1e400"),
    *("%00", "%0a", "%ff", "x" * 10_000, "é", "..%2f"),
)


def test_a_strange_id_is_not_there(program, interview, batch):
    for pk in STRANGE_IDS:
        for path in (f"interviews/{pk}/", f"interviews/{pk}/sentences/", f"batches/{pk}/", f"batches/{pk}/sob-report/"):
            answer = program.get(f"studies/culture/{path}")
            assert (answer.status, answer.error["code"]) == (404, "not_found"), path
        assert program.post(f"{PATH}{pk}/withdraw/").status == 404, pk
        assert program.get(f"studies/{pk}/").status == 404, pk


def test_an_unknown_address_has_the_shape_of_every_error(program):
    for path in ("", "nothing/", "studies", "studies/culture/codings", "a%0ab", "schema", "studies/x/y/z/"):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            answer = program.ask(method, path)
            assert (answer.status, answer.error["code"]) == (404, "not_found"), path


def test_the_header_accept_changes_nothing(coder, program):
    for accept in ("text/html", "application/xml", "x" * 9_000, "", "*/*;q=0"):
        assert program.ask("GET", "studies/", headers={"Accept": accept}).status == 200


def test_a_failure_of_the_server_is_told_in_the_same_shape_and_logged(coder, program_of, monkeypatch, caplog):
    def fail(user):
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr(studies, "studies_of", fail)
    program = program_of(coder)
    program.client.raise_request_exception = False
    with caplog.at_level(logging.ERROR, logger="django.request"):
        answer = program.get("studies/")
    assert (answer.status, answer.error["code"]) == (500, "server_error")
    assert "nobody foresaw this" not in json.dumps(answer.body)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


def test_a_failure_of_the_server_reaches_whoever_watches_for_such(coder, program_of, monkeypatch):
    monkeypatch.setattr(studies, "studies_of", None)
    with pytest.raises(TypeError):
        program_of(coder).get("studies/")


def test_too_many_requests_are_told_when_to_come_back():
    response = answer_exception(Throttled(wait=2.4), {})
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "3"


@pytest.mark.parametrize("exception", [SuspiciousOperation("x"), UnreadablePostError("x")])
def test_a_request_that_broke_off_is_no_failure_of_the_server(exception):
    refusal = explain(exception)
    assert refusal is not None
    assert refusal.status == 400


def test_a_sign_in_page_is_never_the_answer(study):
    response = Client().get("/api/v1/studies/", headers={"Accept": "text/html"})
    assert response.status_code == 401
    assert response.headers["Content-Type"] == "application/json"
