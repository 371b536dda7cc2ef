"""The page of security controls has the numbers and places that hold (docs/security/controls.md)."""

import math
import re

import pytest
from allauth.account import app_settings as allauth
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from kombu.exceptions import ContentDisallowed
from kombu.serialization import dumps, loads

from auditapp.api.fields import MAX_BODY
from auditapp.batches.forms import MAX_ANSWER_FILE
from auditapp.benchmarks.sob.pure import dataset_files
from auditapp.site import serving
from auditapp.site.environment import NUMBERS
from tests.docs.test_code_rules import read_sources
from tools.environment import ROOT
from transcripts.accounts import actions, sealing
from transcripts.accounts.models import MAX_TOKEN_DAYS, TOKEN_DAYS
from transcripts.accounts.passwords import LIFE_SECONDS, OWN_WORDS
from transcripts.codebook.forms import MAX_FILE_SIZE as LARGEST_CODEBOOK
from transcripts.corpus.forms import MAX_UPLOAD_SIZE
from transcripts.exchange.views import MAX_FILE_SIZE as LARGEST_PROJECT
from transcripts.formats.guarded_input import ZipLimits
from transcripts.ui.forms import MEGABYTE, USUAL_BYTES

CRYPTOGRAPHY = {"hmac", "cryptography", "ssl"}


@pytest.fixture(scope="module")
def page():
    return " ".join((ROOT / "docs" / "security" / "controls.md").read_text(encoding="utf-8").split())


def test_the_numbers_of_signing_in_are_those_that_hold(page):
    validators = settings.AUTH_PASSWORD_VALIDATORS
    rules = {each["NAME"].rpartition(".")[2]: each.get("OPTIONS", {}) for each in validators}
    assert f"{rules['MinimumLengthValidator']['min_length']} characters at least" in page
    assert "not like the name" in page
    assert "UserAttributeSimilarityValidator" in rules
    assert len(CommonPasswordValidator().passwords) >= 19_000
    assert "none of the 20,000 most common" in page
    assert f"{PBKDF2PasswordHasher.iterations:,} rounds" in page
    assert PBKDF2PasswordHasher.iterations >= 600_000
    assert f"for {int(actions.SIGN_IN_LINK_LIFE.total_seconds()) // 60} minutes" in page
    assert f"or {actions.INVITATION_LIFE.days} days for somebody invited" in page
    assert allauth.RATE_LIMITS["login_failed"] == "60/m/ip,5/5m/key"
    assert allauth.RATE_LIMITS["login"] == "120/m/ip"
    assert allauth.RATE_LIMITS["login_failed_anywhere"] == "30/h/key"
    assert allauth.RATE_LIMITS["login_failed_known"] == "5/5m/key"
    assert "5 in 5 minutes for a name from one address, 30 an hour for a name from all, " in page
    assert "60 a minute from an address, 120 requests to sign in a minute" in page
    assert "(a signed cookie, for a year; it lets nobody in) is counted apart (5 in 5 minutes)" in page
    assert LIFE_SECONDS == 365 * 24 * 3600
    listed = re.findall(r"one of the words ([\w, ]+?) with a few", page)
    assert set(listed[0].split(", ")) == OWN_WORDS
    assert "PatternValidator" in rules


def test_the_numbers_of_tokens_are_those_that_hold(page):
    assert f"works for {TOKEN_DAYS} days, or up to {MAX_TOKEN_DAYS}" in page
    assert f"{actions.MAX_TOKENS} an account" in page


def test_secrets_have_as_many_random_bits_as_the_page_says(page):
    secrets = {sealing.make_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {43}  # 256 bits in base64
    assert page.count("256 random bits") >= 3


def test_the_numbers_of_sessions_are_those_that_hold(page):
    assert f"not used for {NUMBERS['SESSION_IDLE_HOURS'][0]} hours (`SESSION_IDLE_HOURS`)" in page
    assert f"and {NUMBERS['SESSION_DAYS'][0]} days after signing in" in page
    assert f"32 random characters of {len(VALID_KEY_CHARS)}" in page
    assert 32 * math.log2(len(VALID_KEY_CHARS)) > 128


def test_the_limits_are_those_that_hold(page):
    packed = ZipLimits()
    for words in (
        f"request without a session | {serving.STRANGERS_BYTES // MEGABYTE} MB",
        f"request with a session or token | {USUAL_BYTES // MEGABYTE} MB",
        f"requests to the API in a minute | {NUMBERS['API_REQUESTS_PER_MINUTE'][0]} with a token",
        f"body of an API request | {MAX_BODY:,} bytes",
        f"from their header to their answer | {serving.ROOM_FOR_BODIES // MEGABYTE} MB together",
        f"request's header | {serving.HEADER_SECONDS} seconds",
        f"cells of a launch | {NUMBERS['MAX_CELLS_PER_LAUNCH'][0]:,} (",
        f"open batches of a study | {NUMBERS['MAX_OPEN_BATCHES'][0]} (",
        f"in a day | {NUMBERS['MAX_UPLOAD_MB_PER_DAY'][0]:,} MB",
        f"| interviews | JSON lines, text, Markdown | {MAX_UPLOAD_SIZE // MEGABYTE} MB |",
        f"| codebooks | CSV, JSON, QDC | {LARGEST_CODEBOOK // MEGABYTE} MB |",
        f"| {LARGEST_PROJECT // MEGABYTE} MB | {packed.unpacked_bytes // 1_000_000} MB, {packed.entries:,} entries",
        f"| {dataset_files.MAX_FILE_BYTES // MEGABYTE} MB | {dataset_files.MAX_UNPACKED_BYTES // MEGABYTE} MB |",
        f"| answers of models | JSON lines | {MAX_ANSWER_FILE // MEGABYTE} MB |",
    ):
        assert words in page, words


def test_every_module_with_cryptography_of_its_own_is_listed(page):
    using = {
        path
        for path, source in read_sources().items()
        if {name.split(".")[0] for name in source.imports} & CRYPTOGRAPHY
        or any(name.startswith("django.core.signing") for name in source.imports)
    }
    listed = set(re.findall(r"`((?:transcripts|auditapp)/\S+\.py)`", page.partition("Modules with cryptography")[2]))
    assert using - listed == set()
    assert [path for path in listed if not (ROOT / path).exists()] == []


def test_no_uploaded_file_has_an_address(page):
    assert "No uploaded file is ever served again" in page
    assert settings.MEDIA_URL in {"", "/"}
    assert settings.MEDIA_ROOT == ""
    assert "uploads" not in str(settings.STATIC_ROOT.relative_to(settings.DATA))


def test_the_page_says_how_known_weaknesses_are_looked_for_and_how_fast_they_are_fixed(page):
    assert "pip-audit --require-hashes" in page
    assert re.search(r"critical or exploited \d+ days, high \d+ days, others \d+ days", page)


@pytest.mark.parametrize(
    "heading",
    [
        "Signing in",
        "Sessions",
        "Rights",
        "Limits",
        "Keys and algorithms",
        "Connections",
        "Data",
        "Logs",
        "What the program is made of",
    ],
)
def test_every_subject_has_its_part(heading):
    text = (ROOT / "docs" / "security" / "controls.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert len(part) > 300


def test_messages_to_workers_are_json():
    assert settings.CELERY_ACCEPT_CONTENT == ["json"]
    assert settings.CELERY_TASK_SERIALIZER == "json"
    packed, kind, encoding = dumps({"queue": 1}, serializer="pickle")
    with pytest.raises(ContentDisallowed):
        loads(packed, kind, encoding, accept=settings.CELERY_ACCEPT_CONTENT)


def test_the_cache_of_the_server_holds_no_content():
    """Counts of wrong passwords (allauth), hashes of used codes, and which job, run or delivery a worker was just told of."""
    using = {path for path, source in read_sources().items() if "django.core.cache" in source.imports}
    assert using <= {
        "auditapp/batches/runner/job_tasks.py",
        "auditapp/annotators/tasks.py",
        "auditapp/webhooks/actions.py",
        "transcripts/accounts/second_factor_views.py",
    }
    for path in using:
        stored = re.findall(r"cache\.\w+\((.*?),", (ROOT / path).read_text(encoding="utf-8"))
        assert stored
        assert all(re.fullmatch(r'f"[a-z-]+:\{(job_id|run_id|delivery_id|digest)\}"', key) for key in stored)
