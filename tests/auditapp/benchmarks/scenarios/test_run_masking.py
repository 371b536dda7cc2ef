"""Threads of a run: nothing that a coder gets tells model, condition, suite, script or batch of a thread that she is dealt."""

import json

import pytest
from django.urls import reverse

from auditapp.benchmarks.scenarios.actions.storing import store_sessions
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import PROMPTED, REASON, launch, load_suite, run
from tests.support.whole_study import set_stage
from tests.test_access_matrix import Visitor
from tests.test_blind_crawl import Crawl
from tests.transcripts.rounds.cast import find_assignment, open_round
from transcripts.rounds.actions import complete_assignment

pytestmark = pytest.mark.django_db
CONDITION = "yrsbriefed"
NEEDLES = (
    CONDITION,
    "yrsenbrief",
    "ask before you assume",
    "xenosuite",
    "xenocase",
    "xenopair",
    "qwertzmodel",
    "the warrant",
    REASON,
)


@pytest.fixture
def batch(study):
    load_suite(study)
    batch = launch(study, make_variant("qwertzmodel"), conditions={CONDITION: PROMPTED})
    run(batch)
    store_sessions(batch)
    return batch


def list_leaks(found):
    said = {path: answer.decode(errors="replace").casefold() for path, answer in found.items()}
    return {path: told for path, text in said.items() if (told := [needle for needle in NEEDLES if needle in text])}


def look_at(visitor, paths):
    found = {}
    for path in paths:
        answer = visitor.knock(path, "GET")
        body = b"".join(answer) if answer.streaming else answer.content
        found[path] = f"{answer.status_code} {sorted(answer.items())}\n".encode() + body
    return found


def list_addresses(study, batch, stage):
    slug = study.slug
    threads = study.interviews.masked().order_by("pk").values_list("pk", flat=True)
    of_threads = [
        reverse(name, args=[slug, pk])
        for pk in threads
        for name in (
            "corpus:details",
            "desk:desk",
            "negotiation:case_sheet",
            "negotiation:thread",
            "api:interview",
            "api:turns",
        )
    ]
    of_batch = [
        reverse(name, args=[slug, batch.pk])
        for name in (
            "batches:detail",
            "batches:spend",
            "batches:attempts",
            "api:batch",
            "api:batch_answers",
            "api:scenario_report",
        )
    ]
    of_study = [
        reverse(name, args=[slug])
        for name in (
            *("negotiation:pairs", "api:pairs", "api:case_sheets", "api:batches", "batches:list", "corpus:interviews"),
            *("api:scripts", "scenarios:suites", "scenarios:suite", "api:trajectory_report"),
        )
    ]
    return [*of_threads, *of_batch, *of_study]


def test_nothing_that_a_coder_gets_tells_of_which_session_a_thread_came(study, batch, owner, lead, coder, second_coder):
    stage = set_stage(study, owner, second_coder)
    threads = list(study.interviews.masked().order_by("pk"))
    assert len(threads) == 4
    round_ = open_round(
        study,
        lead,
        coder,
        second_coder,
        overlap_percent=100,
        name="Both read all",
        interview_ids=[each.pk for each in threads],
    )
    visitor = Visitor(coder)
    paths = list_addresses(study, batch, stage)
    found = look_at(visitor, paths)
    assert list_leaks(found) == {}
    assert sum(answer.startswith(b"200") for answer in found.values()) > len(threads) * 4
    crawl = Crawl(visitor, stage, every_link=False)
    crawl.send_exports()
    assert list_leaks(crawl.found) == {}
    for thread in threads:
        for person in (coder, second_coder):
            complete_assignment(assignment=find_assignment(round_, thread, person), reason="Done.", by=person)
    assert list_leaks(look_at(visitor, paths)) == {}


def test_neither_numbers_nor_order_tell_the_condition(study, batch):
    """Threads of one case come in together, in the order of their random labels; both sides of a pair by their labels."""
    threads = list(study.interviews.order_by("pk"))
    assert [each.mask_label for each in threads] == sorted(each.mask_label for each in threads)
    assert len({each.imported_file_id for each in threads}) == 1
    assert {each.imported_file.name for each in threads} == {"masked"}


def test_a_lead_who_codes_sees_the_sides_of_a_pair_in_the_order_of_their_labels(study, batch, lead):
    shown = json.loads(Visitor(lead).knock(reverse("api:pairs", args=[study.slug]), "GET").content)
    titles = dict(study.interviews.values_list("pk", "title"))
    assert len(shown["results"]) == 2
    for pair in shown["results"]:
        assert titles[pair["a"]] < titles[pair["b"]]
        assert pair["name"] == f"{titles[pair['a']]} {titles[pair['b']]}"
