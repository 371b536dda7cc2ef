"""The desk's pages: who may see and do what, with and without the page's script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.transcripts.coding.desk_cast import decide, find_code, put, standing_codes, take_off
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.coding.views import SCRIPT_PARTS
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response

ClientOf = Callable[[User], Client]


def address(name: str, interview: Interview, *more: object) -> str:
    return reverse(f"coding:{name}", args=[interview.project.slug, interview.pk, *more])


def post(client: Client, name: str, interview: Interview, **fields: object) -> Response:
    """A plain form, as a browser without JavaScript sends it."""
    return client.post(address(name, interview), fields)


def act(client: Client, name: str, interview: Interview, by: User, **fields: object) -> Response:
    """The same fields as the page's script sends them."""
    return client.post(address(name, interview), {"client_id": uuid4(), **fields}, headers={"X-Desk": str(by.pk)})


def read(response: Response) -> str:
    """The page without what differs on every request."""
    html = response.content.decode()
    html = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)
    return re.sub(r"X-CSRFToken[^}]*}", "", html)


def import_long(project: Project, owner: User, sentences: int) -> Interview:
    """An interview of two exchanges with many sentences."""
    answer = " ".join(f"This is sentence number {number} of a long answer." for number in range(sentences // 2))
    turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": answer}] * 2
    line = json.dumps({"id": "long", "model": "Model A", "title": "Long interview", "turns": turns})
    import_file(project=project, name="long.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(project=project, external_id="long")


class TestPage:
    def test_shows_the_interview_and_the_codes(self, interview: Interview, coder: User, client_of: ClientOf) -> None:
        html = read(client_of(coder).get(address("desk", interview)))
        assert "Background can shape an answer, though it never settles it." in html
        assert "Models and Metamodels" in html
        assert "interview 1 of 1" in html
        assert "Model A" in html

    def test_begins_at_the_first_undecided_sentence_of_the_model(
        self, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        client = client_of(coder)
        assert f'id="s{sentence.pk}" data-kind="prose" aria-current="true"' in read(
            client.get(address("desk", interview))
        )
        decide(sentence, coder)
        assert f'id="s{sentence.pk}" data-kind="prose" tabindex="-1"' in read(client.get(address("desk", interview)))

    @pytest.mark.parametrize("at", ["x", "-1", "999999", "9" * 40, "١"])
    def test_unknown_place_is_passed_over(
        self, interview: Interview, coder: User, client_of: ClientOf, at: str
    ) -> None:
        assert client_of(coder).get(address("desk", interview), {"at": at}).status_code == 200

    def test_text_is_never_markup(
        self, project: Project, owner: User, coder: User, client_of: ClientOf, code: Code
    ) -> None:
        nasty = "<script>alert(1)</script><b hx-get=/x>Bold claim</b>"
        turns = [{"role": "interviewer", "text": nasty, "speaker": nasty}, {"role": "model", "text": nasty}]
        line = json.dumps({"id": "nasty", "title": nasty, "model": nasty, "turns": turns})
        import_file(project=project, name="nasty.jsonl", data=line.encode(), by=owner)
        interview = Interview.objects.get(external_id="nasty")
        sentence = Sentence.objects.select_related("turn").filter(turn__interview=interview)[0]
        put(sentence, code, coder, level="latent", note=nasty)
        html = read(client_of(coder).get(address("desk", interview)))
        assert "<script>alert" not in html
        assert "<b hx-get" not in html

    def test_percentage_counts_the_models_sentences_with_code_or_decision(
        self, project: Project, interview: Interview, coder: User, client_of: ClientOf
    ) -> None:
        said = list(
            Sentence.objects.select_related("turn")
            .filter(turn__interview=interview, turn__role="model")
            .order_by("position")
        )
        put(said[0], find_code(project, "theme.balance"), coder)
        decide(said[1], coder)
        put(said[6], find_code(project, "feature.task"), coder)
        asked = Sentence.objects.select_related("turn").filter(turn__role="interviewer")[0]
        put(asked, find_code(project, "theme.balance"), coder)
        html = read(client_of(coder).get(address("desk", interview)))
        assert len(said) == 7
        assert '<span id="decided-count">2</span> of 7' in html
        assert "28 %" in html

    def test_every_part_of_the_script_is_fetched_at_once(self) -> None:
        folder = Path(__file__).resolve().parents[3] / "static/js/desk"
        assert sorted(path.stem for path in folder.glob("*.js")) == sorted(SCRIPT_PARTS)

    def test_queries_do_not_grow_with_the_interview(
        self, project: Project, interview: Interview, owner: User, coder: User, client_of: ClientOf, code: Code
    ) -> None:
        longer = import_long(project, owner, sentences=300)
        for sentence in Sentence.objects.select_related("turn").filter(turn__interview=longer)[:40]:
            put(sentence, code, coder)
        client = client_of(coder)
        counts = []
        for shown in (interview, longer):
            client.get(address("desk", shown))
            with CaptureQueriesContext(connection) as captured:
                assert client.get(address("desk", shown)).status_code == 200
            counts.append(len(captured))
        assert counts[0] == counts[1]
        assert counts[0] <= 12


class TestAccess:
    @pytest.mark.parametrize("name", ["add", "withdraw", "decide", "reopen", "memo"])
    def test_reader_changes_nothing(
        self, interview: Interview, sentence: Sentence, reader: User, client_of: ClientOf, name: str
    ) -> None:
        events = AuditEvent.objects.count()
        assert post(client_of(reader), name, interview, sentence=sentence.pk, text="x").status_code == 403
        assert AuditEvent.objects.count() == events

    @pytest.mark.parametrize("name", ["desk", "add", "withdraw", "decide", "reopen", "memo"])
    def test_outsider_gets_404(self, interview: Interview, outsider: User, client_of: ClientOf, name: str) -> None:
        client = client_of(outsider)
        answer = client.get(address(name, interview)) if name == "desk" else post(client, name, interview)
        assert answer.status_code == 404

    def test_outsider_gets_no_marks(
        self, interview: Interview, sentence: Sentence, outsider: User, client_of: ClientOf
    ) -> None:
        assert client_of(outsider).get(address("marks", interview, sentence.pk)).status_code == 404

    def test_stranger_is_sent_to_sign_in(self, interview: Interview, client: Client) -> None:
        answer = client.get(address("desk", interview))
        assert answer.status_code == 302
        assert "/accounts/login/" in answer.headers["Location"]

    def test_interview_of_another_study_is_not_found(
        self, project: Project, interview: Interview, owner: User, client_of: ClientOf
    ) -> None:
        from transcripts.codebook.actions import start_study

        other = start_study(slug="other", name="Other", by=owner)
        url = reverse("coding:desk", args=[other.slug, interview.pk])
        assert client_of(owner).get(url).status_code == 404

    def test_sentence_of_another_interview_is_not_found(
        self, project: Project, interview: Interview, sentence: Sentence, owner: User, coder: User, client_of: ClientOf
    ) -> None:
        other = import_long(project, owner, sentences=4)
        code = find_code(project, "theme.balance")
        answer = act(client_of(coder), "add", other, coder, sentence=sentence.pk, code=code.pk)
        assert answer.status_code == 404
        assert not Coding.objects.exists()

    def test_reader_sees_all_codings_and_whose_they_are(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, reader: User, client_of: ClientOf
    ) -> None:
        put(sentence, code, coder)
        html = read(client_of(reader).get(address("desk", interview)))
        assert "Balance" in html
        assert "<bdi>coder</bdi>" in html
        assert "all coders" in html
        assert 'id="panel"' not in html


class TestBlindness:
    def test_another_coders_work_leaves_the_page_as_it_was(
        self,
        interview: Interview,
        sentence: Sentence,
        code: Code,
        coder: User,
        second_coder: User,
        client_of: ClientOf,
    ) -> None:
        client = client_of(coder)
        put(sentence, code, coder)
        pages = [address("desk", interview), address("marks", interview, sentence.pk)]
        before = [read(client.get(page)) for page in pages]
        put(sentence, code, second_coder, level="latent", note="A secret reading")
        decide(sentence, second_coder)
        post(client_of(second_coder), "memo", interview, sentence=sentence.pk, text="A secret memo")
        post(client_of(second_coder), "memo", interview, text="A secret memo on the interview")
        assert Memo.objects.count() == 2
        assert [read(client.get(page)) for page in pages] == before

    def test_lead_who_codes_is_blind_too(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, lead: User, client_of: ClientOf
    ) -> None:
        client = client_of(lead)
        before = read(client.get(address("desk", interview)))
        put(sentence, code, coder)
        assert read(client.get(address("desk", interview))) == before


class TestScript:
    """What the page's own script sends and gets."""

    def test_put_code_is_answered_with_what_stands(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        client_id = uuid4()
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk, client_id=client_id)
        assert answer.status_code == 200
        assert answer.headers["X-Desk-Stored"] == client_id.hex
        html = answer.content.decode()
        assert f'id="m{sentence.pk}"' in html
        assert f'data-coding="{client_id.hex}"' in html

    def test_code_of_the_turn_is_answered_with_the_turns_marks(
        self, project: Project, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        last = sentence.turn.sentences.order_by("-position")[0]
        code = find_code(project, "feature.task")
        answer = act(client_of(coder), "add", interview, coder, sentence=last.pk, code=code.pk)
        html = answer.content.decode()
        assert f'id="tm{sentence.turn_id}"' in html
        assert "Task" in html

    def test_repeated_post_is_stored_once(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        client, client_id = client_of(coder), uuid4()
        for _ in range(3):
            act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk, client_id=client_id)
        assert Coding.objects.count() == 1

    def test_stored_header_names_the_row_that_stood_already(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        stood = put(sentence, code, coder)
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert answer.headers["X-Desk-Stored"] == stood.client_id.hex

    def test_refusal_is_one_plain_sentence(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk, level="latent")
        assert answer.status_code == 422
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.content.decode() == "A latent coding needs one line that says how you read the sentence."

    def test_conflict_is_409(
        self, project: Project, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        client, client_id = client_of(coder), uuid4()
        act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk, client_id=client_id)
        other = find_code(project, "theme.compassion")
        answer = act(client, "add", interview, coder, sentence=sentence.pk, code=other.pk, client_id=client_id)
        assert answer.status_code == 409

    @pytest.mark.parametrize(
        "fields", [{}, {"sentence": "x", "code": 1}, {"sentence": 1}, {"sentence": 1, "code": 1, "client_id": "x"}]
    )
    def test_half_an_act_is_422(
        self, interview: Interview, coder: User, client_of: ClientOf, fields: dict[str, object]
    ) -> None:
        assert act(client_of(coder), "add", interview, coder, **fields).status_code == 422

    def test_act_of_somebody_who_signed_out_is_not_stored_under_another_name(
        self,
        interview: Interview,
        sentence: Sentence,
        code: Code,
        coder: User,
        second_coder: User,
        client_of: ClientOf,
    ) -> None:
        answer = act(client_of(second_coder), "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert answer.status_code == 401
        assert not Coding.objects.exists()

    def test_withdraw_by_client_id(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        coding = put(sentence, code, coder)
        answer = act(client_of(coder), "withdraw", interview, coder, coding=coding.client_id)
        assert answer.status_code == 200
        assert "Balance" not in answer.content.decode()
        assert standing_codes(sentence, coder) == []

    def test_nobody_withdraws_what_another_put(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, lead: User, client_of: ClientOf
    ) -> None:
        coding = put(sentence, code, coder)
        assert act(client_of(lead), "withdraw", interview, lead, coding=coding.client_id).status_code == 404
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_again_puts_back_what_was_taken_off_with_its_line(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        coding = put(sentence, code, coder, level="latent", note="Reads a picture")
        take_off(coding, coder)
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, again=coding.client_id)
        assert answer.status_code == 200
        back = Coding.objects.get(withdrawn_at__isnull=True)
        assert (back.code, back.level, back.note) == (code, "latent", "Reads a picture")
        assert back != coding

    def test_decide_and_reopen(
        self, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        client = client_of(coder)
        answer = act(client, "decide", interview, coder, sentence=sentence.pk)
        assert "none applies" in answer.content.decode()
        decision = Decision.objects.get()
        answer = act(client, "reopen", interview, coder, decision=decision.client_id)
        assert "none applies" not in answer.content.decode()
        assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()

    def test_memo_on_the_interview_is_answered_without_marks(
        self, interview: Interview, coder: User, client_of: ClientOf
    ) -> None:
        assert act(client_of(coder), "memo", interview, coder, text="Hedges throughout").status_code == 204
        assert Memo.objects.get().sentence is None

    def test_marks_of_a_sentence_bring_those_of_its_turn(
        self, project: Project, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        put(sentence, code, coder)
        put(sentence, find_code(project, "feature.task"), coder)
        html = client_of(coder).get(address("marks", interview, sentence.pk)).content.decode()
        sentence_part, turn_part = html.split(f'id="tm{sentence.turn_id}"')
        assert "Balance" in sentence_part
        assert "Task" not in sentence_part
        assert "Task" in turn_part

    def test_saving_a_code_costs_few_queries(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        client = client_of(coder)
        assert interview.project.slug
        with CaptureQueriesContext(connection) as captured:
            act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk)
        reads_and_writes = [query for query in captured.captured_queries if "SAVEPOINT" not in query["sql"]]
        assert len(reads_and_writes) <= 12, [query["sql"][:60] for query in reads_and_writes]


class TestPlainForms:
    """The same acts without JavaScript."""

    def test_put_code_leads_back_to_the_sentence(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        answer = post(client_of(coder), "add", interview, sentence=sentence.pk, code=code.pk, level="semantic")
        assert answer.status_code == 303
        assert answer.headers["Location"].endswith(f"?at={sentence.pk}#s{sentence.pk}")
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_button_of_a_standing_code_takes_it_off(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        coding = put(sentence, code, coder)
        client = client_of(coder)
        html = read(client.get(address("desk", interview), {"at": sentence.pk}))
        button = re.search(r'<button class="code" data-code="theme.balance"[^>]*>', html)
        assert button is not None
        assert 'aria-pressed="true"' in button[0]
        assert f'value="{coding.client_id.hex}"' in button[0]
        assert f'formaction="{address("withdraw", interview)}"' in button[0]
        answer = post(client, "withdraw", interview, sentence=sentence.pk, coding=coding.client_id.hex)
        assert answer.status_code == 303
        assert standing_codes(sentence, coder) == []

    def test_nothing_more_here_goes_on_to_the_models_next_sentence(
        self, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        last = sentence.turn.sentences.order_by("-position")[0]
        answer = post(client_of(coder), "decide", interview, sentence=last.pk)
        following = Sentence.objects.filter(turn__position=4).order_by("position")[0]
        assert answer.headers["Location"].endswith(f"?at={following.pk}#s{following.pk}")

    def test_missing_line_is_said_beside_its_field(
        self, interview: Interview, sentence: Sentence, code: Code, coder: User, client_of: ClientOf
    ) -> None:
        answer = post(
            client_of(coder), "add", interview, sentence=sentence.pk, code=code.pk, level="latent", family="themes"
        )
        html = read(answer)
        assert answer.status_code == 422
        assert 'aria-describedby="note-themes-problem"' in html
        assert 'id="note-themes-problem">A latent coding needs one line' in html
        assert f'id="s{sentence.pk}" data-kind="prose" aria-current="true"' in html

    def test_memo_that_is_too_long_is_shown_again(
        self, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        answer = post(client_of(coder), "memo", interview, sentence=sentence.pk, text="x" * 20_001)
        assert answer.status_code == 422
        assert "x" * 20_001 in read(answer)
        assert "at most 20,000 fit" in read(answer)

    def test_memo_is_shown_in_its_box(
        self, interview: Interview, sentence: Sentence, coder: User, client_of: ClientOf
    ) -> None:
        client = client_of(coder)
        assert post(client, "memo", interview, sentence=sentence.pk, text="Hedges here.").status_code == 303
        html = read(client.get(address("desk", interview), {"at": sentence.pk}))
        assert html.count("Hedges here.") == 2

    def test_csrf_token_is_asked_for(self, interview: Interview, sentence: Sentence, code: Code, coder: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(coder)
        assert post(client, "add", interview, sentence=sentence.pk, code=code.pk).status_code == 403
        assert not Coding.objects.exists()

    def test_acts_are_posts(self, interview: Interview, coder: User, client_of: ClientOf) -> None:
        for name in ("add", "withdraw", "decide", "reopen", "memo"):
            assert client_of(coder).get(address(name, interview)).status_code == 405
