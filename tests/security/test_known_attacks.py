"""What has happened to comparable programs does not happen here (docs/security/known-attacks.csv)."""

import ast
import csv
import re
from urllib.parse import urlencode

import django
import pytest
from django.urls import URLResolver, get_resolver, reverse

from auditapp.site.environment import env_secret_key
from tests.conftest import make_member
from tests.docs.test_asvs import is_a_test
from tests.docs.test_code_rules import read_sources
from tests.support.whole_study import ADDRESSES, set_stage
from tools.environment import ROOT
from transcripts.accounts.models import User
from transcripts.studies.roles import ROLES

TABLE = ROOT / "docs" / "security" / "known-attacks.csv"
# Each would narrow or change a list, if what stands in an address were handed to a query.
FILTERS = {
    "imported_by__password__startswith": "pbkdf2",
    "coder__password__regex": "^p",
    "memberships__user__password__startswith": "x",
    "created_at__year": "1999",
    "_connector": "OR 1=1 OR",
    "_negated": "1",
    "pk": "0",
}
# Addresses that answer people who are not signed in. Static files are apart.
PUBLIC = {
    "help",
    "help_page",
    "livez",
    "readyz",
    "accounts:use_link",
    "account_login",
    "account_logout",
    "account_inactive",
    "mfa_authenticate",
}


def read_table():
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_known_attack_has_tests_that_exist():
    table = read_table()
    assert [row["number"] for row in table] == [f"R{number}" for number in range(1, 29)]
    assert [row["number"] for row in table if not all(row.values())] == []
    named = [(row["number"], each) for row in table for each in row["tests"].split()]
    assert [f"{number}: {each}" for number, each in named if not is_a_test(each)] == []


def list_left_out(source):
    """The tests of a module that are marked to be skipped or to fail, or that stand in a class or module that is."""
    tree = ast.parse(source)
    marked = {
        node
        for node in ast.walk(tree)
        if any(map(is_mark_to_leave_out, getattr(node, "decorator_list", [])))
        or (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "pytestmark"
            and is_mark_to_leave_out(node.value)
        )
    }
    where = [tree if isinstance(node, ast.Assign) else node for node in marked]
    return {each.name for node in where for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}


def is_mark_to_leave_out(mark):
    return re.search(r"\bmark\.(skip|skipif|xfail)\b", ast.unparse(mark)) is not None


def test_no_test_of_a_known_attack_is_left_out():
    named = {each for row in read_table() for each in row["tests"].split()}
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in {each.partition("::")[0] for each in named}}
    left_out = {path: list_left_out(source) for path, source in sources.items()}
    assert [each for each in named if each.rpartition("::")[2] in left_out[each.partition("::")[0]]] == []
    assert list_left_out("@pytest.mark.skip\ndef test_a(): ...\ndef test_b(): ...") == {"test_a"}
    assert list_left_out("pytestmark = pytest.mark.skipif(True)\ndef test_a(): ...") == {"test_a"}


def test_two_new_sites_have_secrets_of_their_own_that_only_their_owner_reads(tmp_path, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    keys = [env_secret_key(folder) for folder in folders]
    assert keys[0] != keys[1]
    assert min(map(len, keys)) >= 50
    files = [file for folder in folders for file in folder.iterdir()]
    assert files
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def read_words(page):
    """What a page says, without times, and without what takes any question back."""
    words = re.sub(r"<[^>]+>|\d\d:\d\d(:\d\d)?(\.\d+)?|Clear the search", " ", page.partition("</head>")[2])
    return " ".join(words.split())


@pytest.mark.full
def test_no_list_is_filtered_by_what_is_not_its_filter(study, owner, coder, client_of):
    stage = set_stage(study, owner, coder)
    client = client_of(owner)
    changed, looked_at = [], 0
    for name, address in ADDRESSES.items():
        # The API refuses every parameter that it does not know.
        if "slug" not in address.holes or name.startswith("api:"):
            continue
        path = stage.path(name)
        plain = client.get(path)
        if plain.status_code != 200 or "text/html" not in plain.headers["Content-Type"]:
            continue
        filtered = client.get(f"{path}?{urlencode(FILTERS)}")
        looked_at += 1
        same = read_words(filtered.content.decode()) == read_words(plain.content.decode())
        if filtered.status_code >= 500 or not (same or filtered.status_code in {400, 404, 422}):
            changed.append(name)
    assert looked_at > 80
    assert changed == []


def test_no_query_is_made_of_the_names_of_a_request():
    """``filter(**request.GET)`` and its like: keywords of a query come from our own code alone."""
    queries = {"filter", "exclude", "get", "create", "update", "alias", "annotate"}
    found = [
        f"{path}:{call.lineno}"
        for path, source in read_sources().items()
        for call in source.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in queries
        for keyword in call.keywords
        if keyword.arg is None and re.search(r"\b(GET|POST|query_params|data|headers)\b", ast.unparse(keyword.value))
    ]
    assert found == []


def list_patterns(patterns, space=""):
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from list_patterns(pattern.url_patterns, inner)
        else:
            yield space + (pattern.name or "*"), pattern


@pytest.mark.django_db
def test_strangers_have_a_handful_of_addresses(client):
    """Every view asks for a session unless it says that it does not; the API asks for a token."""
    open_to_strangers = {
        name
        for name, pattern in list_patterns(get_resolver().url_patterns)
        if not getattr(pattern.callback, "login_required", True) and not name.startswith("api:")
    }
    assert open_to_strangers <= PUBLIC
    assert len(PUBLIC) <= 10
    assert client.get("/api/v1/studies/").status_code == 401


def test_nobody_can_make_an_account_of_her_own(client, db):
    names = {name for name, _ in list_patterns(get_resolver().url_patterns)}
    assert not {name for name in names if re.search("signup|sign_up|register|reset", name)}
    assert client.get("/accounts/signup/").status_code in {302, 404}
    assert client.post("/accounts/signup/", {"username": "x", "password1": "correct horse battery"}).status_code in {
        302,
        404,
    }
    assert not User.objects.filter(username="x").exists()


def test_no_role_gives_what_it_has_not(study, owner, client_of):
    for role in ROLES:
        if role == "owner":
            continue
        member = make_member(study, owner, role, f"a-{role}")
        client = client_of(member)
        answer = client.post(f"/studies/{study.slug}/members/{member.pk}/role/", {"role": "owner"})
        assert answer.status_code == 403
        assert study.memberships.get(user=member).role == role
        assert not User.objects.get(pk=member.pk).is_superuser


def test_no_import_takes_a_path_or_an_address_in_place_of_a_file(study, lead, client_of):
    client = client_of(lead)
    for name in ("corpus:import", "exchange:import", "codebook:import", "sob:load"):
        path = reverse(name, args=[study.slug])
        for place in ("/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x", "gopher://127.0.0.1:9/"):
            fields = dict.fromkeys(("uploads", "file", "url", "path", "source", "upload"), place)
            page = client.post(path, {**fields, "format": "auto", "name": "x"})
            assert page.status_code in {200, 409, 422}, name
            assert "root:" not in page.content.decode()


def test_django_has_the_repair_of_its_filters():
    """CVE-2025-64459: the connector of a query could be given by keyword before 5.2.8."""
    assert django.VERSION >= (5, 2, 8)
    assert '"django>=5.2.8' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
