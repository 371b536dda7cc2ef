"""Showing some sentences of an interview: by the address, without script."""

import json
import re
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.desk.desk_pages import address, read
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding import actions
from transcripts.coding.models import Unblinding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence


def said(interview, position):
    return Sentence.objects.select_related("turn__interview").get(turn__interview=interview, position=position)


def shown(html):
    """The numbers of the rows that are in sight and no mere context."""
    rows = re.findall(r'<li class="sentence[^>]*>\s*<a class="n"[^>]*>(\w+)<', html)
    out = re.findall(r'<li class="sentence[^>]*(?:hidden|data-context)[^>]*>\s*<a class="n"[^>]*>(\w+)<', html)
    return [row for row in rows if row not in out]


def words(html):
    [found] = re.findall(r'id="shown" role="status">([^<]*)<', html)
    return str(found)


@pytest.fixture
def coded(interview, coder):
    """2 is coded, 3 is decided, 4 has a memo."""
    put(said(interview, 2), find_code(interview.study, "theme.balance"), coder)
    decide(said(interview, 3), coder)
    actions.write_memo(
        study=interview.study,
        interview=interview,
        sentence=said(interview, 4),
        text="Hedges",
        by=coder,
        idempotency_key=uuid4(),
    )
    return interview


def test_everything_is_shown_at_first(coded, coder, client_of):
    html = read(client_of(coder).get(address("desk", coded)))
    assert shown(html) == [str(number) for number in range(1, 11)]
    assert words(html) == ""


@pytest.mark.parametrize(
    ("show", "rows", "told"),
    [
        ("uncoded", ["4", "5", "8", "9", "10"], "Uncoded: 5 of 7 sentences"),
        ("memo", ["4"], "With memo: 1 of 10 sentences"),
        ("code:theme.balance", ["2"], "Balance: 1 of 10 sentences"),
    ],
)
def test_filter_keeps_what_fits_and_counts_it(coded, coder, client_of, show, rows, told):
    html = read(client_of(coder).get(address("desk", coded), {"show": show}))
    assert shown(html) == rows
    assert words(html) == told


def test_question_stays_beside_what_is_shown(coded, coder, client_of):
    html = read(client_of(coder).get(address("desk", coded), {"show": "memo"}))
    assert re.search(r"<li [^>]*data-context[^>]*>\s*<a[^>]*>1<", html)
    assert re.search(r'id="t3"[^>]* hidden>', html)
    assert not re.search(r'id="t1"[^>]* hidden>', html)


def test_code_of_a_turn_shows_its_first_sentence(interview, coder, client_of):
    put(said(interview, 5), find_code(interview.study, "feature.task"), coder)
    html = read(client_of(coder).get(address("desk", interview), {"show": "code:feature.task"}))
    assert shown(html) == ["2"]


def test_current_sentence_is_one_that_is_shown(coded, coder, client_of):
    client = client_of(coder)
    for at, expected in ((2, 4), (5, 5), (10, 10)):
        query = {"show": "uncoded", "at": said(coded, at).pk}
        html = read(client.get(address("desk", coded), query))
        assert f'id="s{said(coded, expected).pk}" data-kind="prose" aria-current="true"' in html.replace(
            'data-kind="list_item"', 'data-kind="prose"'
        )


@pytest.mark.parametrize("show", ["changed", "code:failure.generic_fairness_talk"])
def test_where_nothing_fits_all_is_shown_and_said(coded, coder, client_of, show):
    html = read(client_of(coder).get(address("desk", coded), {"show": show}))
    assert len(shown(html)) == 10
    assert words(html).endswith("none of 10 sentences, so all are shown")


@pytest.mark.parametrize("show", ["nonsense", "code:", "code:nowhere", "disagreed", "<b>", "x" * 5000])
def test_unknown_filter_filters_nothing(coded, coder, client_of, show):
    html = read(client_of(coder).get(address("desk", coded), {"show": show}))
    assert len(shown(html)) == 10
    assert words(html) == ""


def test_code_that_changed_since_is_found(coded, coder, client_of):
    version = CodebookVersion.objects.get(study=coded.study)
    newer = CodebookVersion.objects.create(
        study=coded.study,
        number=2,
        status="published",
        title="Second",
        created_at=timezone.now(),
        published_at=timezone.now(),
    )
    old = find_code(coded.study, "theme.balance")
    family = old.family
    family.pk, family.version = None, newer
    family.save(force_insert=True)
    Code.objects.create(
        version=newer, family=family, identifier="theme.balance", name="Balance", key="d", meaning_version=2, position=1
    )
    html = read(client_of(coder).get(address("desk", coded), {"show": "changed"}))
    assert version.number == 1
    assert shown(html) == ["2"]
    assert 'class="chip family-themes changed ' in html


class TestDisagreement:
    @pytest.fixture
    def read_twice(self, interview, coder, second_coder):
        put(said(interview, 2), find_code(interview.study, "theme.balance"), coder)
        decide(said(interview, 2), second_coder)
        for person in (coder, second_coder):
            decide(said(interview, 3), person)
        return interview

    def test_reader_finds_where_coders_differ(self, read_twice, reader, client_of):
        html = read(client_of(reader).get(address("desk", read_twice), {"show": "disagreed"}))
        assert shown(html) == ["2"]
        assert "Uncoded" not in html

    def test_lead_who_may_still_code_blindly_is_not_told(self, read_twice, lead, client_of):
        html = read(client_of(lead).get(address("desk", read_twice), {"show": "disagreed"}))
        assert len(shown(html)) == 10
        assert "Coders disagree" not in html

    def test_lead_who_opened_the_interview_is(self, read_twice, lead, client_of):
        Unblinding.objects.create(interview=read_twice, user=lead, where="test", unblinded_at=timezone.now())
        html = read(client_of(lead).get(address("desk", read_twice), {"show": "disagreed"}))
        assert shown(html) == ["2"]
        assert "Coders disagree" in html

    def test_coder_never_is(self, read_twice, coder, client_of):
        Unblinding.objects.create(interview=read_twice, user=coder, where="test", unblinded_at=timezone.now())
        html = read(client_of(coder).get(address("desk", read_twice), {"show": "disagreed"}))
        assert len(shown(html)) == 10


def test_list_of_turns_names_challenges_and_reasoning(interview, owner, coder, client_of):
    turns = [
        {"role": "interviewer", "text": "Sure?", "prompt_kind": "challenge"},
        {"role": "model", "channel": "reasoning", "text": "First I weigh."},
        {"role": "model", "text": "It depends."},
    ]
    line = json.dumps({"id": "thinking", "turns": turns})
    import_file(study=interview.study, name="t.jsonl", data=line.encode(), by=owner)
    thinking = Interview.objects.get(external_id="thinking")
    html = read(client_of(coder).get(address("desk", thinking)))
    assert '<span class="kinds">challenge</span>' in html
    assert 'href="#turn-2"><span class="visually-hidden">turn </span>2 <bdi>reasoning</bdi></a>' in html
    assert 'id="turn-2"' in html
