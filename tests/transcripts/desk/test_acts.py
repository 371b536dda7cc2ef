"""Acts at the desk over HTTP: as the page's script sends them, and as plain forms."""

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.transcripts.coding.cast import find_code, put, standing_codes, take_off
from tests.transcripts.desk.desk_pages import act, address, post, read
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.models import Sentence


class TestScript:
    """What the page's own script sends and gets."""

    def test_put_code_is_answered_with_what_stands(self, interview, sentence, code, coder, client_of):
        idempotency_key = uuid4()
        answer = act(
            client_of(coder),
            "add",
            interview,
            coder,
            sentence=sentence.pk,
            code=code.pk,
            idempotency_key=idempotency_key,
        )
        assert answer.status_code == 200
        assert answer.headers["X-Desk-Stored"] == idempotency_key.hex
        html = answer.content.decode()
        assert f'id="m{sentence.pk}"' in html
        assert f'data-coding="{idempotency_key.hex}"' in html

    def test_code_of_the_turn_is_answered_with_the_turns_marks(self, study, interview, sentence, coder, client_of):
        last = sentence.turn.sentences.order_by("-position")[0]
        code = find_code(study, "feature.task")
        answer = act(client_of(coder), "add", interview, coder, sentence=last.pk, code=code.pk)
        html = answer.content.decode()
        assert f'id="tm{sentence.turn_id}"' in html
        assert "Task" in html

    def test_repeated_post_is_stored_once(self, interview, sentence, code, coder, client_of):
        client, idempotency_key = client_of(coder), uuid4()
        for _ in range(3):
            act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk, idempotency_key=idempotency_key)
        assert Coding.objects.count() == 1

    def test_stored_header_names_the_row_that_stood_already(self, interview, sentence, code, coder, client_of):
        stood = put(sentence, code, coder)
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert answer.headers["X-Desk-Stored"] == stood.idempotency_key.hex

    def test_refusal_is_one_plain_sentence(self, interview, sentence, code, coder, client_of):
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk, level="latent")
        assert answer.status_code == 422
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert answer.content.decode() == "A latent coding needs your interpretation of the sentence in one line."

    def test_conflict_is_409(self, study, interview, sentence, code, coder, client_of):
        client, idempotency_key = client_of(coder), uuid4()
        act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk, idempotency_key=idempotency_key)
        other = find_code(study, "theme.compassion")
        answer = act(
            client, "add", interview, coder, sentence=sentence.pk, code=other.pk, idempotency_key=idempotency_key
        )
        assert answer.status_code == 409

    @pytest.mark.parametrize(
        "fields",
        [{}, {"sentence": "x", "code": 1}, {"sentence": 1}, {"sentence": 1, "code": 1, "idempotency_key": "x"}],
    )
    def test_half_an_act_is_422(self, interview, coder, client_of, fields):
        assert act(client_of(coder), "add", interview, coder, **fields).status_code == 422

    def test_act_of_somebody_who_signed_out_is_not_stored_under_another_name(
        self, interview, sentence, code, coder, second_coder, client_of
    ):
        answer = act(client_of(second_coder), "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert answer.status_code == 401
        assert not Coding.objects.exists()

    def test_withdraw_by_idempotency_key(self, interview, sentence, code, coder, client_of):
        coding = put(sentence, code, coder)
        answer = act(client_of(coder), "withdraw", interview, coder, coding=coding.idempotency_key)
        assert answer.status_code == 200
        assert "Balance" not in answer.content.decode()
        assert standing_codes(sentence, coder) == []

    def test_nobody_withdraws_what_another_put(self, interview, sentence, code, coder, lead, client_of):
        coding = put(sentence, code, coder)
        assert act(client_of(lead), "withdraw", interview, lead, coding=coding.idempotency_key).status_code == 404
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_again_puts_back_what_was_taken_off_with_its_line(self, interview, sentence, code, coder, client_of):
        coding = put(sentence, code, coder, level="latent", note="Reads a picture")
        take_off(coding, coder)
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, again=coding.idempotency_key)
        assert answer.status_code == 200
        back = Coding.objects.get(withdrawn_at__isnull=True)
        assert (back.code, back.level, back.note) == (code, "latent", "Reads a picture")
        assert back != coding

    def test_undo_cannot_carry_a_coding_to_another_sentence(self, study, interview, sentence, coder, client_of):
        old = put(sentence, find_code(study, "move.revise"), coder)
        Coding.objects.update(enactment="")
        last = sentence.turn.sentences.order_by("-position")[0]
        answer = act(client_of(coder), "add", interview, coder, sentence=last.pk, again=old.idempotency_key)
        assert answer.status_code == 409
        assert f"removed from sentence {sentence.label}" in answer.content.decode()
        assert Coding.objects.count() == 1

    def test_decide_and_reopen(self, interview, sentence, coder, client_of):
        client = client_of(coder)
        answer = act(client, "decide", interview, coder, sentence=sentence.pk)
        assert "none applies" in answer.content.decode()
        decision = Decision.objects.get()
        answer = act(client, "reopen", interview, coder, decision=decision.idempotency_key)
        assert "none applies" not in answer.content.decode()
        assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()

    def test_memo_on_the_interview_is_answered_without_marks(self, interview, coder, client_of):
        assert act(client_of(coder), "memo", interview, coder, text="Hedges throughout").status_code == 204
        assert Memo.objects.get().sentence is None

    def test_marks_of_a_sentence_bring_those_of_its_turn(self, study, interview, sentence, code, coder, client_of):
        put(sentence, code, coder)
        put(sentence, find_code(study, "feature.task"), coder)
        html = client_of(coder).get(address("marks", interview, sentence.pk)).content.decode()
        sentence_part, turn_part = html.split(f'id="tm{sentence.turn_id}"')
        assert "Balance" in sentence_part
        assert "Task" not in sentence_part
        assert "Task" in turn_part

    def test_saving_a_code_costs_few_queries(self, interview, sentence, code, coder, client_of):
        client = client_of(coder)
        assert interview.study.slug
        with CaptureQueriesContext(connection) as captured:
            act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk)
        reads_and_writes = [query for query in captured.captured_queries if "SAVEPOINT" not in query["sql"]]
        assert len(reads_and_writes) <= 12, [query["sql"][:60] for query in reads_and_writes]


class TestPlainForms:
    """The same acts without JavaScript."""

    def test_put_code_leads_back_to_the_sentence(self, interview, sentence, code, coder, client_of):
        answer = post(client_of(coder), "add", interview, sentence=sentence.pk, code=code.pk, level="semantic")
        assert answer.status_code == 303
        assert answer.headers["Location"].endswith(f"?at={sentence.pk}#s{sentence.pk}")
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_button_of_a_standing_code_takes_it_off(self, interview, sentence, code, coder, client_of):
        coding = put(sentence, code, coder)
        client = client_of(coder)
        html = read(client.get(address("desk", interview), {"at": sentence.pk}))
        button = re.search(r'<button class="code" data-code="theme.balance"[^>]*>', html)
        assert button is not None
        assert 'aria-pressed="true"' in button[0]
        assert f'value="{coding.idempotency_key.hex}"' in button[0]
        assert f'formaction="{address("withdraw", interview)}"' in button[0]
        answer = post(client, "withdraw", interview, sentence=sentence.pk, coding=coding.idempotency_key.hex)
        assert answer.status_code == 303
        assert standing_codes(sentence, coder) == []

    def test_nothing_more_here_goes_on_to_the_models_next_sentence(self, interview, sentence, coder, client_of):
        last = sentence.turn.sentences.order_by("-position")[0]
        answer = post(client_of(coder), "decide", interview, sentence=last.pk)
        following = Sentence.objects.filter(turn__position=4).order_by("position")[0]
        assert answer.headers["Location"].endswith(f"?at={following.pk}#s{following.pk}")

    def test_missing_line_is_said_beside_its_field(self, interview, sentence, code, coder, client_of):
        answer = post(
            client_of(coder), "add", interview, sentence=sentence.pk, code=code.pk, level="latent", family="themes"
        )
        html = read(answer)
        assert answer.status_code == 422
        assert 'aria-describedby="note-themes-problem"' in html
        assert 'id="note-themes-problem">A latent coding needs your interpretation' in html
        assert f'id="s{sentence.pk}" data-kind="prose" aria-current="true"' in html

    def test_a_code_that_requires_an_answer_leads_to_a_form_that_asks_for_it(
        self, study, interview, sentence, coder, client_of
    ):
        client, code = client_of(coder), find_code(study, "feature.stakeholders")
        asked = post(client, "add", interview, sentence=sentence.pk, code=code.pk, family="case_features")
        assert asked.status_code == 422
        html = read(asked)
        assert "needs an answer to “Whose identities or interests?”" in html
        assert re.search(r'<select [^>]*name="attribute:who" required>', html)
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html))
        again = post(client, "add", interview, **fields, note="x" * 1_001, **{"attribute:who": "unclear"})
        assert again.status_code == 422
        assert "<option selected>unclear</option>" in read(again)
        stored = post(client, "add", interview, **fields, **{"attribute:who": "unclear"})
        assert stored.headers["Location"].endswith(f"?at={sentence.pk}#s{sentence.pk}")
        assert Coding.objects.get().attributes == {"who": "unclear"}

    def test_memo_that_is_too_long_is_shown_again(self, interview, sentence, coder, client_of):
        answer = post(client_of(coder), "memo", interview, sentence=sentence.pk, text="x" * 20_001)
        assert answer.status_code == 422
        assert "x" * 20_001 in read(answer)
        assert "the limit is 20,000" in read(answer)

    def test_memo_is_shown_in_its_box(self, interview, sentence, coder, client_of):
        client = client_of(coder)
        assert post(client, "memo", interview, sentence=sentence.pk, text="Hedges here.").status_code == 303
        html = read(client.get(address("desk", interview), {"at": sentence.pk}))
        assert html.count("Hedges here.") == 2

    def test_csrf_token_is_asked_for(self, interview, sentence, code, coder):
        client = Client(enforce_csrf_checks=True)
        client.force_login(coder)
        assert post(client, "add", interview, sentence=sentence.pk, code=code.pk).status_code == 403
        assert not Coding.objects.exists()

    def test_acts_are_posts(self, interview, coder, client_of):
        for name in ("add", "withdraw", "decide", "reopen", "memo"):
            assert client_of(coder).get(address(name, interview)).status_code == 405
