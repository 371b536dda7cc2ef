"""Markup, paths, formulas and ids of another study: put in wherever something is taken, looked for wherever it comes out."""

import builtins
import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, models, transaction
from django.test import Client

from auditapp.llm.models import ModelVariant, ProviderAccount
from tests.conftest import make_member, make_user
from tests.docs.test_code_rules import read_sources
from tests.security.filling import read_to_end, write_urlencoded
from tests.security.test_form_fuzz import FORMS, PAGES, Fuzzer
from tests.support.whole_study import ADDRESSES, set_stage
from tests.test_access_matrix import OF_A_STUDY, undone
from transcripts.accounts.models import User
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Code
from transcripts.corpus.models import Interview
from transcripts.exchange.rows import list_exports
from transcripts.studies.models import Study

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def fuzzer(study, owner, second_coder):
    return Fuzzer(set_stage(study, owner, second_coder), 1)


@pytest.mark.full
def test_what_is_typed_into_a_parameter_or_a_field_never_comes_back_as_markup(fuzzer):
    wrong = []
    for name in {*PAGES, *FORMS}:
        path = fuzzer.find_path(name)
        for method in ("GET", "POST"):
            # The first time tells which fields the view looks for.
            for _ in range(2):
                sent = write_urlencoded({each: [f"\"'>{MARKUP}"] for each in fuzzer.filler.asked_for[name]}).decode()
                fuzzer.client.cookies.load(fuzzer.signed_in)
                with undone(), fuzzer.filler.listening(name):
                    if method == "GET":
                        answer = fuzzer.client.get(f"{path}?{sent}")
                    else:
                        answer = fuzzer.client.post(path, sent, "application/x-www-form-urlencoded")
                    read_to_end(answer)
                if is_page(answer) and MARKUP in answer.content.decode(errors="replace"):
                    wrong.append(f"{method} {name}")
    assert wrong == []


def is_page(answer):
    return not answer.streaming and answer["Content-Type"].startswith("text/html")


def put_markup(made):
    """Put markup into every text that people or files can have written, past every form; returns how many."""
    put = 0
    not_words = {"slug", "username", "password", "kind", "state", "format", "provider", "raw", "parser", "outcome"}
    for model, keys in made.items():
        for column in model._meta.concrete_fields:
            is_text = isinstance(column, models.TextField) or (column.max_length or 0) >= 100
            if (
                not is_text
                or column.choices
                or column.name in not_words
                or not isinstance(column, models.CharField | models.TextField)
            ):
                continue
            if (model.__name__, column.name) in {("Turn", "text"), ("Session", "session_data"), ("Message", "data")}:
                continue
            for key in keys:
                try:
                    with transaction.atomic():
                        put += model._default_manager.filter(pk=key).update(**{column.name: f"{MARKUP} {key}"})
                except DatabaseError:
                    pass  # Columns of hashes, ids and words of ours have constraints, and events cannot be changed.
    return put


@pytest.mark.full
def test_no_text_that_is_stored_comes_out_as_markup_on_any_page(study, owner, second_coder):
    before = list_rows()
    made = Fuzzer(set_stage(study, owner, second_coder), 1)
    rows = {model: {*now} - {*before[model]} for model, now in list_rows().items()}
    rows[Study] = {study.pk}
    rows[Code] = {*Code.objects.values_list("pk", flat=True)}
    assert put_markup(rows) > 60
    shown, raw, failed = set(), set(), {}
    for name in PAGES:
        try:
            with undone():
                answer = made.client.get(made.find_path(name))
                read_to_end(answer)
        except Exception as error:
            failed[name] = repr(error)[:200]
            continue
        if is_page(answer):
            text = answer.content.decode(errors="replace")
            raw |= {name} if MARKUP in text else set()
            shown |= {name} if "&lt;img src=x" in text else set()
    assert raw == set()
    assert failed == {}
    assert len(shown) > len(PAGES) / 2


def test_interview_text_is_shown_as_text_and_metadata_too(study, owner, second_coder):
    line = json.dumps({"id": "i2", "title": MARKUP, "turns": [{"role": "model", "text": f"Before. {MARKUP} After."}]})
    from transcripts.corpus.actions import import_file

    import_file(study=study, name="markup.jsonl", data=line.encode(), by=owner)
    made = Fuzzer(set_stage(study, owner, second_coder), 1)
    interview = Interview.objects.get(external_id="i2")
    for name in ("desk:desk", "corpus:interview_consent", "corpus:interviews", "search:search"):
        path = (
            made.stage.path(name, interview_id=interview.pk)
            if "interview_id" in ADDRESSES[name].holes
            else made.find_path(name)
        )
        assert MARKUP not in made.client.get(path, {"words": "onerror"}).content.decode()


def test_an_export_opens_no_path_that_stands_in_the_data(study, owner, second_coder, tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("NOBODY MAY READ THIS", encoding="utf-8")
    set_stage(study, owner, second_coder)
    told = {
        "path": str(secret),
        "file": f"file://{secret}",
        "text": f"@{secret}",
        "audio": f"/data/local-files/?d={secret}",
    }
    Interview.objects.filter(relation="").update(title=str(secret), metadata=told, external_id=str(secret))
    opened = []
    plain = builtins.open

    def look(file, *arguments, **options):
        opened.append(str(file))
        return plain(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", look)
    monkeypatch.setattr(io, "open", look)
    for export in list_exports():
        for format in export.formats:
            target = tmp_path / f"{export.key}.{format}"
            call_command(
                "study",
                "export",
                export.key,
                "--study",
                study.slug,
                "--format",
                format,
                "--output",
                str(target),
                "--json",
                stdout=io.StringIO(),
            )
            assert b"NOBODY MAY READ THIS" not in target.read_bytes()
    assert not [path for path in opened if "secret.txt" in path]


def test_nothing_but_the_callers_of_models_opens_connections_to_an_address():
    """So there is no webhook, no import from an address and no picture fetched for somebody."""
    clients = {
        "aiohttp",
        "requests",
        "httpx",
        "urllib3",
        "http.client",
        "urllib.request",
        "socket",
        "ftplib",
        "smtplib",
    }
    using = {
        path
        for path, source in read_sources().items()
        if any(name in clients or name.split(".")[0] in clients for name in source.imports)
    }
    elsewhere = {path for path in using if not path.startswith(("auditapp/llm/", "auditapp/outbound/"))}
    # One shares a client for the calls of a batch, one tells the name of its machine, and the web server listens.
    listed = {
        "auditapp/batches/routes/live_run.py",
        "auditapp/batches/ledger/leases.py",
        "auditapp/site/serving.py",
    }
    assert elsewhere <= listed


def test_only_owners_of_the_site_say_where_requests_go(fuzzer):
    from tests.test_access_matrix import OF_THE_SITE_OWNER

    asking = {}
    for name in FORMS:
        with undone(), fuzzer.filler.listening(name):
            fuzzer.client.cookies.load(fuzzer.signed_in)
            fuzzer.client.post(fuzzer.find_path(name), {"x": "1"})
        words = {
            each
            for each in fuzzer.filler.asked_for[name]
            if re.search(r"url|base|endpoint|host|address|proxy|header", each)
        }
        if words and name not in OF_THE_SITE_OWNER:
            asking[name] = words
    assert asking == {}


def list_rows():
    """Every row of every table, by its key."""
    return {
        model: {row[model._meta.pk.attname]: row for row in model._default_manager.values()}
        for model in apps.get_models()
        if model._meta.managed
    }


@pytest.mark.full
def test_ids_of_another_study_among_ones_own_change_nothing_there(study, owner, second_coder):
    stage = set_stage(study, owner, second_coder)
    before = list_rows()
    stranger = make_user("stranger")
    foreign = start_study(slug="foreign", name="Foreign", by=stranger)
    theirs = set_stage(foreign, stranger, make_member(foreign, stranger, "reader", "friend"))
    everything = list_rows()
    # People and models are the site's.
    of_the_site = {User, ModelVariant, ProviderAccount}
    made_there = {model: {*now} - {*before[model]} for model, now in everything.items() if model not in of_the_site}
    fuzzer = Fuzzer(stage, 1)
    with undone():
        fuzzer.read_pages()
    client = Client()
    client.force_login(owner)
    signed_in = client.cookies.output().replace("Set-Cookie: ", "")
    ids = sorted({str(value) for value in flatten(theirs.things) if isinstance(value, int)})
    taken = 0
    for name in sorted(name for name, row in OF_A_STUDY.items() if "POST" in row and not name.startswith("api:")):
        offered = fuzzer.filler.offered[name]
        for among in (True, False):
            client.cookies.load(signed_in)
            fields = {}
            for each in sorted({*offered, *fuzzer.filler.asked_for[name]}):
                usual = offered.get(each, [])
                takes_ids = all(isinstance(value, str) and value.isdecimal() for value in usual if value)
                fields[each] = [*usual[:1], *ids] if takes_ids and among else ids[-1:] if takes_ids else usual[:1]
            body = write_urlencoded(fields).decode()
            with transaction.atomic(), fuzzer.filler.listening(name):
                answer = client.post(stage.path(name), body, "application/x-www-form-urlencoded")
                read_to_end(answer)
            taken += answer.status_code in {200, 302, 303}
    assert taken > 20
    after = list_rows()
    for model, keys in made_there.items():
        for key in keys:
            assert after[model].get(key) == everything[model][key], f"{model.__name__} {key} was changed"
    for model, rows in after.items():
        links = [
            column for column in model._meta.concrete_fields if column.is_relation and column.related_model is not User
        ]
        for key in {*rows} - {*everything[model]}:
            for column in links:
                there = made_there.get(column.related_model, set())
                assert rows[key][column.attname] not in there, (
                    f"{model.__name__} {key} holds a {column.name} of another study"
                )


def flatten(things):
    for value in things.values():
        if isinstance(value, dict):
            yield from flatten(value)
        else:
            yield value


def test_formulas_in_names_of_people_and_codes_and_in_headings_are_text_in_a_csv(study, owner, second_coder):
    stage = set_stage(study, owner, second_coder)
    second_coder.username = "@SUM(1+1)*cmd"
    User.objects.filter(pk=owner.pk).update(username="+1+cmd|' /C calc'!A0")
    Code.objects.filter(pk=stage.things["own_coding"].code_id).update(name='=HYPERLINK("http://x")')
    Interview.objects.filter(relation="").update(title="-2+3", external_id="\t=1", interviewer="=a@example.org")
    found = 0
    for export in list_exports():
        if "csv" not in export.formats:
            continue
        stream = io.StringIO()
        target = Path(settings.DATA) / f"formulas-{export.key}.csv"
        call_command(
            "study",
            "export",
            export.key,
            "--study",
            study.slug,
            "--format",
            "csv",
            "--output",
            str(target),
            "--json",
            stdout=stream,
        )
        cells = [cell for row in csv.reader(target.read_text(encoding="utf-8-sig").splitlines()) for cell in row]
        target.unlink()
        dangerous = [cell for cell in cells if re.match(r"\s*[=+@\t]|\s*-[^\d.]|\s*-\d+[^\d.]", cell)]
        assert dangerous == [], export.key
        found += sum(cell.startswith("'") for cell in cells)
    assert found > 3
