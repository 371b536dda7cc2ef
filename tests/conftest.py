"""The cast and the stage: one study, one interview, and the people around them."""

import gc
import html
import json
import os
import shutil
import sys
import uuid
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.forms import BaseForm
from django.test import Client, TransactionTestCase
from hypothesis import settings as hypothesis_settings
from whitenoise.middleware import WhiteNoiseMiddleware

from auditapp.batches import grants
from tests.auditapp.batches.cast import prepare
from tests.support.databases import databases, ensure_template, is_postgres, stored
from tests.support.instance import HOST, FakeProvider, Instance, Preloaded, find_free_port
from tests.support.services import uses_database
from tests.support.unordered_rows import unordered_rows_reversed
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.actions import seed_codebook
from transcripts.codebook.models import Code
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.desk.desk import _read_frozen_families
from transcripts.hooks import load_registrations
from transcripts.jobs import actions
from transcripts.studies.actions import create_study, set_member_role

# Machines that run tests are busy and noisy: no example fails for being slow.
# `make test-all` asks for the second profile.
hypothesis_settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
hypothesis_settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=200)
hypothesis_settings.load_profile("quick")

TURNS = [
    {
        "role": "interviewer",
        "text": "How do you handle a question where culture may matter?",
        "prompt_kind": "open",
    },
    {
        "role": "model",
        "text": "I would ask first. Background can shape an answer, though it never settles it.\n"
        "- It is a tendency, not a rule.\n- Would you like to say more?",
    },
    {"role": "interviewer", "text": "You said it never settles it. Never?", "prompt_kind": "challenge"},
    {"role": "model", "text": "You are right. I put that too strongly. There are cases where it decides."},
]


@pytest.fixture(scope="session", autouse=True)
def _no_order_is_taken_for_granted():
    with unordered_rows_reversed():
        yield


@pytest.fixture(autouse=True)
def _no_codebook_is_remembered():
    """The desk keeps the codes of published versions in memory, and tests write such rows by hand."""
    yield
    _read_frozen_families.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def _events_need_a_transaction_of_their_act():
    """The transaction around a test would pass for one: what the product records must be inside a block that it opened."""

    def record(action, **what):
        is_from_test = sys._getframe(1).f_globals["__name__"].startswith("tests.")
        blocks = transaction.get_connection().atomic_blocks
        if not is_from_test and all(getattr(block, "_from_testcase", False) for block in blocks):
            raise RuntimeError(
                f"{action} was recorded outside a transaction of its own. Wrap the act in transaction.atomic."
            )
        write(action, **what)

    write = trail.record
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trail, "record", record)
        yield


@pytest.fixture(scope="session", autouse=True)
def _a_response_may_be_closed():
    """The end of a request closes a connection that is inside a transaction, as that of a test is."""

    def close_unless_in_test(database):
        if not any(getattr(block, "_from_testcase", False) for block in database.atomic_blocks):
            close(database)

    close = BaseDatabaseWrapper.close_if_unusable_or_obsolete
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "close_if_unusable_or_obsolete", close_unless_in_test)
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_listed_once():
    """Each test client makes its own middleware, and each of those would walk through all static files."""
    found = {}

    def add_files(middleware):
        if not found:
            list_files(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    list_files = WhiteNoiseMiddleware.add_files_from_finders
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_files)
        yield


# Tests that send what no form of a page would: nobody waits for its sentence.
FILLED_BY_CHANCE = ("tests/security/", "tests/test_access_matrix.py")


@pytest.fixture(autouse=True)
def _every_page_says_what_was_wrong(request):
    """A page that shows a refused form again has each sentence of the refusal somewhere on it, whatever field it belongs to."""

    def send_and_look(client, **asked):
        response = send(client, **asked)
        if response.status_code in {409, 422} and response.context is not None:
            page = html.unescape(response.content.decode())
            for sentence in list_errors(response.context, page):
                assert sentence in page, f"{asked.get('PATH_INFO')} does not show: {sentence}"
        return response

    if request.node.nodeid.startswith(FILLED_BY_CHANCE):
        yield
        return
    send = Client.request
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", send_and_look)
        yield


def list_errors(context, page):
    """What is wrong in the forms that a page shows."""
    contexts = context if isinstance(context, list) else [context]
    given = [value for each in contexts for blinding in each.dicts for value in blinding.values()]
    forms = [value for value in given if isinstance(value, BaseForm) and value.is_bound]
    shown = [form for form in forms if any(f'name="{field.html_name}"' in page for field in form.visible_fields())]
    return {str(sentence) for form in shown for sentences in form.errors.values() for sentence in sentences}


@pytest.fixture(scope="session", autouse=True)
def _programs_are_not_slowed():
    """Tests send as many requests as they like, and each uses the numbers of tokens and accounts anew."""
    settings.API_REQUESTS_PER_MINUTE = 1_000_000


@pytest.fixture(scope="session", autouse=True)
def _no_import_is_taken_for_cancelled():
    """The thread that shows that an import lives looks by a connection of its own. It sees nothing of a test that does not
    commit, and would stop what takes longer than a second there."""
    actions.PULSE_SECONDS = actions.BEAT_SECONDS = 3600.0


@pytest.fixture(scope="session", autouse=True)
def _registries_are_full():
    """Filled before a test puts something of its own into one."""
    load_registrations()


def pytest_collection_finish():
    """What is loaded by now stays: the garbage collector need not look at it again after each test."""
    gc.collect()
    gc.freeze()
    # Tests make much and keep little: looking less often takes a twentieth off their time.
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if uses_database(item):
        databases.choose(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown():
    """A test that leaves its transaction open, or closes its connection, fails itself, in place of those after it."""
    yield
    if connection.in_atomic_block or connection.closed_in_transaction:
        connection.atomic_blocks.clear()
        connection.savepoint_ids.clear()
        connection.in_atomic_block = connection.needs_rollback = connection.closed_in_transaction = False
        if is_postgres() and connection.connection is not None:
            connection.connection.close()
            connection.connection = None
        pytest.fail("The test closed its database connection, or left a transaction open.", pytrace=False)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker):
    """In place of pytest-django's, which migrates a database for each process."""
    # A test that commits gets a copy that is thrown away; to empty it first would be refused by the triggers of the trail.
    TransactionTestCase._fixture_teardown = lambda _case: None
    with django_db_blocker.unblock():
        databases.open()
    yield
    with django_db_blocker.unblock():
        databases.close()


def make_user(username):
    """Somebody with the rights of accounts from before there were rights."""
    return User.objects.create_user(username=username, password=None, may_start_studies=True, may_invite=True)


@stored
def owner():
    return make_user("owner")


@stored
def study(owner):
    """A study with the seeded codebook, of whose method nothing is said yet: tests of that say it themselves."""
    study = create_study(slug="culture", name="Cultural schemas", by=owner)
    seed_codebook(study=study, by=owner)
    return study


def make_member(study, owner, role, username):
    user = make_user(username)
    set_member_role(study=study, user=user, role=role, by=trail.SYSTEM)
    return user


@stored
def lead(study, owner):
    return make_member(study, owner, "lead", "lead")


@stored
def coder(study, owner):
    return make_member(study, owner, "coder", "coder")


@stored
def second_coder(study, owner):
    return make_member(study, owner, "coder", "second_coder")


@stored
def reader(study, owner):
    return make_member(study, owner, "reader", "reader")


@stored
def outsider():
    return make_user("outsider")


@stored
def interview(study, owner):
    """Four turns, nine sentences, all of our own making."""
    line = json.dumps({"id": "i1", "model": "Model A", "title": "First interview", "turns": TURNS})
    import_file(study=study, name="interviews.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(study=study, external_id="i1")


@pytest.fixture
def sentence(interview):
    """The first sentence the model says."""
    return (
        Sentence.objects.select_related("turn")
        .filter(turn__interview=interview, turn__role="model")
        .order_by("position")[0]
    )


@pytest.fixture
def code(study):
    """A theme of the seeded codebook."""
    return Code.objects.get(version__study=study, identifier="theme.balance")


@pytest.fixture
def client_of():
    """A browser in which the given person is signed in."""

    def sign_in(user):
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def without_grants(monkeypatch):
    """Everybody spends the site's money as its owner does: for tests that are about something else."""
    monkeypatch.setattr(grants, "needs_no_grant", lambda by: True)


@pytest.fixture(scope="session")
def migrated(django_test_environment, django_db_blocker, tmp_path_factory):
    """An instance whose database is migrated and empty, to be copied."""
    with django_db_blocker.unblock():
        template = ensure_template()
    folder = tmp_path_factory.mktemp("migrated")
    if not is_postgres():
        shutil.copy(template, folder / "auditapp.sqlite3")
        yield Instance(folder)
        return
    with create_database(os.environ["DATABASE_URL"], template=template) as own:
        yield Instance(folder, database_url=own)


@pytest.fixture(scope="session")
def own_instance(tmp_path_factory):
    """The one instance whose processes the tests of this session use, each test with data of its own (``refill``)."""
    folder, base_url = tmp_path_factory.mktemp("own"), f"http://{HOST}:{find_free_port()}"
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        instance = Preloaded(folder, BASE_URL=base_url)
        yield instance
        instance.close()
        return
    with create_database(url) as own:
        instance = Preloaded(folder, database_url=own, redis_url=os.environ.get("REDIS_URL", ""), BASE_URL=base_url)
        yield instance
        instance.close()


@pytest.fixture
def instance(own_instance, migrated):
    """An instance of the product in processes of its own, on the kind of database and broker of this session."""
    with refilled(own_instance, migrated) as instance:
        yield instance


@contextmanager
def refilled(own, original):
    """The session's instance with data like those of ``original``, which runs nothing; what it starts is ended."""
    own.stop()
    database_url = own.environment.get("DATABASE_URL")
    if database_url:
        replace_database(database_url, template=find_database(original))
    own.refill(original)
    try:
        yield own
    finally:
        own.stop()


@contextmanager
def copy_instance(original, folder):
    """An instance with a database like that of ``original``, which runs nothing; what it starts is ended."""
    url = os.environ.get("DATABASE_URL", "")
    shutil.copytree(original.folder, folder)
    if not url.startswith("postgres"):
        yield from use(Instance(folder))
        return
    with create_database(url, template=find_database(original)) as own:
        yield from use(Instance(folder, database_url=own, redis_url=os.environ.get("REDIS_URL", "")))


@contextmanager
def create_database(url, *, template="template1"):
    """A database of its own on the server of ``url``, dropped at the end; its address."""
    name = f"instance_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def find_database(instance):
    """The name of its database on the server."""
    return urlsplit(instance.environment["DATABASE_URL"]).path.strip("/")


def replace_database(url, *, template):
    """Put a copy of the database ``template`` in the place of that of ``url``."""
    address = urlsplit(url)
    name = address.path.strip("/")
    with psycopg.connect(urlunsplit(address._replace(path="/postgres")), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())


def use(instance):
    try:
        yield instance
    finally:
        instance.stop()


@pytest.fixture(scope="session")
def paid_api():
    """The process of the fake paid API."""
    provider = FakeProvider()
    try:
        yield provider
    finally:
        provider.stop()


@pytest.fixture
def fake_provider(paid_api):
    """The fake paid API without orders, its counts at zero."""
    paid_api.order(reset=True)
    return paid_api


@pytest.fixture(scope="session")
def prepared(migrated, paid_api, tmp_path_factory):
    """A study with a priced model at the fake paid API and texts to judge; it runs nothing."""
    with copy_instance(migrated, tmp_path_factory.mktemp("prepared") / "data") as instance:
        prepare(instance, paid_api)
        yield instance
