"""Threads compared: the page shows the numbers that were worked out apart from the code, each with what is behind it."""

import csv
import hashlib
import io
import math
from urllib.parse import parse_qs, urlsplit

import lxml.html
import pytest
from django.urls import reverse

from tests.transcripts.negotiation.loading import load, read_check
from tests.transcripts.negotiation.test_records import make_coding, make_thread
from tests.transcripts.negotiation.test_trajectory_report import correct
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Coding, Decision
from transcripts.negotiation.models import Score
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.queries.records import read_records
from transcripts.negotiation.views.threads import compare

pytestmark = pytest.mark.django_db

OUTCOMES = {"NC07": "move.contextualize"}


def follow(report, path):
    for key in path:
        report = report[int(key) if isinstance(report, list) else key]
    return report


def is_near(found, wanted, tolerance):
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(is_near, found, wanted, [tolerance] * len(wanted)))
    if isinstance(wanted, float) and found is not None:
        return math.isclose(found, wanted, abs_tol=max(tolerance, 1e-6))
    return bool(found == wanted)


def show(client, study, **asked):
    answer = client.get(reverse("negotiation:study", args=[study.slug]), asked)
    assert answer.status_code == 200
    return answer


@pytest.mark.parametrize("number", ["NC04", "NC05", "NC06", "NC07", "NC08"])
def test_the_study_gives_the_numbers_that_were_worked_out_apart(study, owner, reader, client_of, number):
    lines, expected, tolerance = read_check(number)
    expected = correct(expected)
    load(study, owner, lines)
    asked = {"coder": "ana", "outcome": OUTCOMES.get(number, "")}
    answer = show(client_of(reader), study, **asked)
    report = answer.context["compared"].report
    wrong = [line for line in expected if not is_near(follow(report, line["path"]), line["value"], tolerance)]
    assert not wrong
    of_command = make_report(read_records(study), outcomes=[asked["outcome"]] if asked["outcome"] else [])
    assert of_command["by_coder"]["ana"] == report["by_coder"]["ana"]


@pytest.mark.parametrize(
    "number", ["NC04", *(pytest.param(each, marks=pytest.mark.full) for each in ("NC05", "NC06", "NC07", "NC08"))]
)
def test_every_number_opens_as_many_places_as_it_counts(study, owner, reader, client_of, number):
    load(study, owner, read_check(number)[0])
    client = client_of(reader)
    answer = show(client, study, coder="ana", outcome=OUTCOMES.get(number, ""))
    page = lxml.html.fromstring(answer.content)
    links = [
        link for link in page.xpath("//table[contains(@class, 'figures')]//td/a") if link.text_content().isdecimal()
    ]
    assert links
    for link in links:
        behind = client.get(link.get("href"))
        assert behind.status_code == 200
        number_of = behind.context["page"].paginator.count
        asked = parse_qs(urlsplit(link.get("href")).query)
        counted = int(link.text_content())
        # A pair is shown by both of its threads; a step between sets is shared out, so more places stand behind it.
        if asked["figure"] == ["pairs"]:
            counted *= 2
        if asked["figure"] == ["transitions"]:
            assert number_of >= counted, link.get("href")
        else:
            assert number_of == counted, link.get("href")


def test_the_figures_of_one_coder_are_the_same_when_others_work_is_not_read(study, owner, reader, client_of):
    lines, _, _ = read_check("NC04")
    coders = sorted({line["coder"] for line in lines if line["record"] == "coding"})
    assert len(coders) > 1
    load(study, owner, lines)
    decided = {each.coder for each in read_records(study).decided}
    assert decided
    for coder in coders:
        request = show(client_of(reader), study, coder=coder).wsgi_request
        whole, one = compare(request, request.GET), compare(request, request.GET, is_of_one=True)
        assert one.figures == whole.figures
        assert one.found
        if coder in decided:
            assert {each.coder for each in one.found.records.codings} == {coder}


def test_one_who_decided_nothing_is_counted_beside_those_who_did(study, owner, reader, client_of):
    load(study, owner, read_check("NC04")[0])
    Decision.objects.filter(coder__username="ana").delete()
    Coding.objects.filter(coder__username="ana", code__family__unit="sentence").delete()
    request = show(client_of(reader), study, coder="ana").wsgi_request
    assert compare(request, request.GET, is_of_one=True).figures == compare(request, request.GET).figures


def test_who_coded_nothing_is_shown_the_figures_of_somebody_who_did(study, owner, lead, client_of):
    line = {"thread": "t1", "turn": 1, "role": "model", "channel": "utterance"}
    coding = {"thread": "t1", "turn": 1, "start": 0, "coder": "ana", "code": "move.elicit", "enactment": "enacted"}
    load(
        study,
        owner,
        [
            {"record": "thread", "thread": "t1"},
            {"record": "turn", **line},
            {"record": "coding", "id": "k1", **coding},
        ],
    )
    assert show(client_of(lead), study).context["compared"].coder == "ana"
    assert show(client_of(lead), study, coder="lead").context["compared"].coder == "lead"


def test_a_first_coding_of_ones_own_does_not_take_the_figures_of_another_away(study, owner, lead, client_of):
    line = {"record": "turn", "thread": "t1", "turn": 1, "role": "model", "channel": "utterance"}
    coding = {"record": "coding", "thread": "t1", "turn": 1, "start": 0, "enactment": "enacted"}
    moves = ("move.elicit", "move.refuse")
    of_ana = [{**coding, "id": f"a{move}", "coder": "ana", "code": move} for move in moves]
    of_lead = {**coding, "id": "l1", "coder": "ben", "code": moves[0]}
    load(study, owner, [{"record": "thread", "thread": "t1"}, line, *of_ana, of_lead])
    Coding.objects.filter(coder__username="ben").update(coder=lead)
    assert show(client_of(lead), study).context["compared"].coder == "ana"
    Coding.objects.filter(coder__username="ana", code__identifier="move.refuse").delete()
    assert show(client_of(lead), study).context["compared"].coder == "lead", "her own of two with as many"


def test_it_begins_with_interviews_of_one_model_and_pools_only_where_that_is_asked(study, owner, reader, client_of):
    lines = []
    for number, name in enumerate(("a1", "a2", "b1", "agent")):
        turn = {"thread": name, "turn": 1, "role": "model", "channel": "utterance"}
        coding = {"thread": name, "turn": 1, "start": 0, "coder": "ana", "code": "move.elicit", "enactment": "enacted"}
        lines += [{"record": "thread", "thread": name}, {"record": "turn", **turn}]
        lines += [{"record": "coding", "id": f"k{number}", **coding}]
    load(study, owner, lines)
    study.interviews.filter(external_id="b1").update(model_label="Model B")
    study.interviews.filter(external_id="agent").update(kind="trajectory", model_label="Agent")

    def read(**asked):
        answer = show(client_of(reader), study, coder="ana", **asked)
        told = " ".join(str(lxml.html.fromstring(answer.content).xpath("string()")).split())
        return answer.context["compared"].report["threads"], told

    threads, told = read()
    assert threads == 2
    assert "Interviews of Model A. Another model or kind" in told
    assert "Pooled:" not in told
    assert read(kind="trajectory")[0] == 1
    assert read(model="Model B")[0] == 1
    threads, told = read(model="*")
    assert threads == 3
    assert "every figure covers 2 models together (Model A, Model B). Choose" in told
    threads, told = read(model="*", kind="*")
    assert threads == 4
    assert "3 models together (Agent, Model A, Model B), and interviews and trajectories together." in told


def test_figures_of_one_thread_are_marked(study, owner, reader, client_of):
    """One warranted challenge against one, and one coded sentence: numbers with a mark, without an interval or a verdict."""
    lines = make_thread(make_coding("m", "move.elicit"))
    load(study, owner, lines)
    page = show(client_of(reader), study).content.decode()
    assert "per 100 (few)" in page
    assert "Few: fewer than 10 threads" in page
    assert "no difference" not in page


def test_every_id_of_the_page_stands_once(study, owner, reader, client_of):
    load(study, owner, read_check("NC06")[0])
    page = lxml.html.fromstring(show(client_of(reader), study, coder="ana").content)
    ids = page.xpath("//@id")
    assert "revision-title" in ids
    assert sorted(ids) == sorted(set(ids))


def test_turns_behind_a_number_are_listed_without_computing_every_figure(study, owner, reader, client_of, monkeypatch):
    load(study, owner, read_check("NC06")[0])
    client, asked = client_of(reader), {"coder": "ana", "figure": "episodes", "key": "warranted"}
    address = reverse("negotiation:behind", args=[study.slug])
    number = client.get(address, asked).context["page"].paginator.count
    assert number
    monkeypatch.setattr("transcripts.negotiation.views.threads.make_report", None)
    assert client.get(address, asked).context["page"].paginator.count == number


def test_scores_are_not_read_for_a_page_that_shows_none(study, owner, reader, client_of):
    load(study, owner, read_check("NC09")[0])
    assert Score.objects.exists()
    compared = show(client_of(reader), study).context["compared"]
    assert compared.found.records.scores == []


def test_every_figure_can_be_downloaded_and_that_is_recorded(study, owner, reader, client_of):
    load(study, owner, make_thread(make_coding("m", "move.elicit")))
    answer = client_of(reader).post(reverse("negotiation:download", args=[study.slug]), {"coder": "ana"})
    assert answer.status_code == 200
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    event = AuditEvent.objects.get(action="negotiation.exported")
    sha256 = hashlib.sha256(answer.content).hexdigest()
    filters = dict.fromkeys(("round", "model", "condition", "kind", "outcome", "stage", "openings"))
    basis = {"blinding": "blind", "codebook_version": 1, "coded_versions": [1], **filters, "threads": 1}
    basis["hidden_interviews"] = 0
    assert event.details == {"coder": "ana", "format": "csv", "rows": len(rows) - 1, "sha256": sha256, **basis}
    assert answer["X-Content-SHA256"] == sha256
    assert rows[0][-len(basis) :] == list(basis)
    told = ["blind", "1", "[1]", *[""] * len(filters), "1", "0"]
    assert {tuple(row[-len(basis) :]) for row in rows[1:]} == {tuple(told)}
    assert answer["Content-Disposition"].endswith('-negotiation-ana.csv"')
    asked = {"coder": "ana", "stage": "all"}
    narrowed = client_of(reader).post(reverse("negotiation:download", args=[study.slug]), asked)
    assert "-negotiation-ana-narrowed-" in narrowed["Content-Disposition"]
    assert csv.DictReader(io.StringIO(narrowed.content.decode())).__next__()["stage"] == "all"
