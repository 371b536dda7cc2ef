"""The desk's pages: who may see and do what, with and without the page's script."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.desk.desk_pages import act, address, post, read
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import start_study
from transcripts.coding.models import Coding, Memo
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.rounds.queries import read_progress


def import_long(study, owner, sentences):
    """An interview of two exchanges with many sentences."""
    answer = " ".join(f"This is sentence number {number} of a long answer." for number in range(sentences // 2))
    turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": answer}] * 2
    line = json.dumps({"id": "long", "model": "Model A", "title": "Long interview", "turns": turns})
    import_file(study=study, name="long.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(study=study, external_id="long")


class TestPage:
    def test_shows_the_interview_and_the_codes(self, interview, coder, client_of):
        html = read(client_of(coder).get(address("desk", interview)))
        assert "Background can shape an answer, though it never settles it." in html
        assert "Models and Metamodels" in html
        assert "interview 1 of 1" in html
        assert "Model A" in html

    @pytest.mark.parametrize(("speaker", "shown"), [("Interviewer", ""), (" INTERVIEWER", ""), ("Ada", "Ada")])
    def test_a_speaker_named_as_her_role_is_not_named_twice(self, study, owner, client_of, speaker, shown):
        turns = [{"role": "interviewer", "speaker": speaker, "text": "Why?"}, {"role": "model", "text": "Because."}]
        import_file(study=study, name="n.jsonl", data=json.dumps({"id": "n", "turns": turns}).encode(), by=owner)
        html = read(client_of(owner).get(address("desk", Interview.objects.get(external_id="n"))))
        before = f"<bdi>{shown}</bdi> · " if shown else ""
        assert re.search(rf'<p class="speaker">\s*{before}Interviewer ', html)

    def test_begins_at_the_first_undecided_sentence_of_the_model(self, interview, sentence, coder, client_of):
        client = client_of(coder)
        assert f'id="s{sentence.pk}" data-kind="prose" aria-current="true"' in read(
            client.get(address("desk", interview))
        )
        decide(sentence, coder)
        assert f'id="s{sentence.pk}" data-kind="prose" tabindex="-1"' in read(client.get(address("desk", interview)))

    @pytest.mark.parametrize("at", ["x", "-1", "999999", "9" * 40, "١"])
    def test_unknown_place_is_passed_over(self, interview, coder, client_of, at):
        assert client_of(coder).get(address("desk", interview), {"at": at}).status_code == 200

    def test_text_is_never_markup(self, study, owner, coder, client_of, code):
        nasty = "<script>alert(1)</script><b hx-get=/x>Bold claim</b>"
        turns = [{"role": "interviewer", "text": nasty, "speaker": nasty}, {"role": "model", "text": nasty}]
        line = json.dumps({"id": "nasty", "title": nasty, "model": nasty, "turns": turns})
        import_file(study=study, name="nasty.jsonl", data=line.encode(), by=owner)
        interview = Interview.objects.get(external_id="nasty")
        sentence = Sentence.objects.select_related("turn").filter(turn__interview=interview)[0]
        put(sentence, code, coder, level="latent", note=nasty)
        html = read(client_of(coder).get(address("desk", interview)))
        assert "<script>alert" not in html
        assert "<b hx-get" not in html

    def test_a_code_of_its_own_decides_a_sentence_and_a_code_of_its_turn_does_not(
        self, study, interview, coder, client_of
    ):
        said = Sentence.objects.select_related("turn").filter(turn__interview=interview, turn__is_answer=True)
        first, second = said.order_by("position")[:2]
        put(first, find_code(study, "feature.task"), coder)
        assert read_progress([interview.pk]).find(interview.pk, coder.pk).decided == 0
        assert f'<li class="sentence" id="s{first.pk}"' in read(client_of(coder).get(address("desk", interview)))
        put(second, find_code(study, "theme.models_metamodels"), coder)
        html = read(client_of(coder).get(address("desk", interview)))
        assert f'<li class="sentence decided" id="s{second.pk}"' in html, "the tick"
        assert f'<span id="decided-count">1</span> of {said.count()} model sentences' in html
        assert read_progress([interview.pk]).find(interview.pk, coder.pk).decided == 1, "overview, lists and charts"

    def test_percentage_counts_the_models_sentences_with_code_or_decision(self, study, interview, coder, client_of):
        said = list(
            Sentence.objects.select_related("turn")
            .filter(turn__interview=interview, turn__role="model")
            .order_by("position")
        )
        put(said[0], find_code(study, "theme.balance"), coder)
        decide(said[1], coder)
        put(said[6], find_code(study, "feature.task"), coder)
        asked = Sentence.objects.select_related("turn").filter(turn__role="interviewer")[0]
        put(asked, find_code(study, "theme.balance"), coder)
        html = read(client_of(coder).get(address("desk", interview)))
        assert len(said) == 7
        assert '<span id="decided-count">2</span> of 7' in html
        assert "29 %" in html

    def test_queries_do_not_grow_with_the_interview(self, study, interview, owner, coder, client_of, code):
        longer = import_long(study, owner, sentences=300)
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
    def test_reader_changes_nothing(self, interview, sentence, reader, client_of, name):
        events = AuditEvent.objects.count()
        assert post(client_of(reader), name, interview, sentence=sentence.pk, text="x").status_code == 403
        assert AuditEvent.objects.count() == events

    @pytest.mark.parametrize("name", ["desk", "add", "withdraw", "decide", "reopen", "memo"])
    def test_outsider_gets_404(self, interview, outsider, client_of, name):
        client = client_of(outsider)
        answer = client.get(address(name, interview)) if name == "desk" else post(client, name, interview)
        assert answer.status_code == 404

    def test_outsider_gets_no_marks(self, interview, sentence, outsider, client_of):
        assert client_of(outsider).get(address("marks", interview, sentence.pk)).status_code == 404

    def test_stranger_is_sent_to_sign_in(self, interview, client):
        answer = client.get(address("desk", interview))
        assert answer.status_code == 302
        assert "/accounts/login/" in answer.headers["Location"]

    def test_interview_of_another_study_is_not_found(self, study, interview, owner, client_of):
        other = start_study(slug="other", name="Other", by=owner)
        url = reverse("desk:desk", args=[other.slug, interview.pk])
        assert client_of(owner).get(url).status_code == 404

    def test_sentence_of_another_interview_is_not_found(self, study, interview, sentence, owner, coder, client_of):
        other = import_long(study, owner, sentences=4)
        code = find_code(study, "theme.balance")
        answer = act(client_of(coder), "add", other, coder, sentence=sentence.pk, code=code.pk)
        assert answer.status_code == 404
        assert not Coding.objects.exists()

    def test_reader_sees_all_codings_and_whose_they_are(self, interview, sentence, code, coder, reader, client_of):
        put(sentence, code, coder)
        html = read(client_of(reader).get(address("desk", interview)))
        assert "Balance" in html
        assert "<bdi>coder</bdi>" in html
        assert "all coders" in html
        assert 'id="panel"' not in html


class TestBlindness:
    def test_another_coders_work_leaves_the_page_as_it_was(
        self, interview, sentence, code, coder, second_coder, client_of
    ):
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

    def test_lead_who_codes_is_blind_too(self, interview, sentence, code, coder, lead, client_of):
        client = client_of(lead)
        before = read(client.get(address("desk", interview)))
        put(sentence, code, coder)
        assert read(client.get(address("desk", interview))) == before


class TestCodesWithoutKeys:
    """A codebook of one's own, whose codes have no keys."""

    def read_desk(self, client_of, owner, *, codes):
        rows = "".join(f"Code {n};Family {n // 10};What it means.\n" for n in range(codes))
        file = ("codes.csv", f"Code;Family;Definition\n{rows}".encode())
        study = start_study(slug="keyless", name="Keyless", codebook="file", file=file, by=owner)
        turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "Because."}]
        import_file(study=study, name="one.jsonl", data=json.dumps({"id": "one", "turns": turns}).encode(), by=owner)
        return read(client_of(owner).get(address("desk", study.interviews.get())))

    def test_codes_without_keys_are_there_to_click(self, client_of, owner):
        html = self.read_desk(client_of, owner, codes=4)
        assert re.findall(r'<details class="code-family[^>]*>', html) == [
            '<details class="code-family family-family_0" open>'
        ]
        assert "Click the codes that fit." in html
        assert ">choose keys</a>" in html

    def test_of_many_codes_without_keys_those_that_fit_are_unfolded(self, client_of, owner):
        html = self.read_desk(client_of, owner, codes=40)
        opened = [" open" in each for each in re.findall(r'<details class="code-family[^>]*>', html)]
        assert opened == [True, True, False, False]

    def test_codes_with_keys_need_no_such_words(self, interview, coder, client_of):
        assert "Click the codes that fit." not in read(client_of(coder).get(address("desk", interview)))
