"""The room of memos: who finds what, and what is done with what is typed."""

import datetime
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.analysis.themes.cast import BALANCE, CONTEXT, make_theme, open_all, put_on
from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place, find_place
from transcripts.coding.actions import open_stage
from transcripts.coding.models import Memo
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study


def url(name, *args):
    return reverse(f"notebook:{name}", args=["culture", *args])


def write(study, by, text, *, kind="reading", **place):
    asked = {name: str(value) for name, value in place.items()}
    return write_memo(
        study=study, place=find_place(study, asked), text=text, kind=kind, by=by, idempotency_key=uuid.uuid4()
    )


def find(client, query=""):
    answer = client.get(f"{url('list')}?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


class TestWhoReadsWhat:
    @pytest.fixture(autouse=True)
    def written(self, study, sentence, second_coder):
        write(study, second_coder, "On a sentence.", sentence=sentence.pk)
        write(study, second_coder, "On a code.", code=BALANCE)

    def test_a_blind_coder_reads_her_own(self, study, coder, second_coder, client_of):
        page = find(client_of(coder))
        assert "On a " not in page
        assert "second_coder" not in page
        own = find(client_of(second_coder))
        assert "On a sentence." in own
        assert "On a code." in own
        memo = Memo.objects.filter(subject="code")[0]
        for name in ("revise", "withdraw"):
            assert client_of(coder).post(url(name, memo.pk), {"text": "x"}).status_code == 404
        assert client_of(coder).get(url("memo", memo.pk)).status_code == 404

    def test_who_only_reads_reads_all(self, reader, client_of):
        page = find(client_of(reader))
        assert "On a sentence." in page
        assert "second_coder" in page

    def test_who_may_still_code_opens_first_what_is_on_sentences(self, study, lead, client_of):
        client = client_of(lead)
        page = find(client)
        assert "On a code." in page
        assert "On a sentence." not in page
        assert "1 interview" in page
        on_sentence = Memo.objects.get(subject="sentence")
        assert client.get(url("memo", on_sentence.pk)).status_code == 404
        open_all(study, lead)
        assert "On a sentence." in find(client)
        assert client.get(url("memo", on_sentence.pk)).status_code == 200


class TestSearch:
    @pytest.fixture(autouse=True)
    def written(self, study, sentence, interview, coder, lead):
        make_theme(study, lead)
        put_on(sentence, BALANCE, coder)
        write(study, coder, "Hedges «only» when pushed.", sentence=sentence.pk, kind="interpretive")
        write(study, coder, "Ökonomie of attention.", interview=interview.pk)
        write(study, coder, "Balance is two codes.", code=BALANCE, kind="decision")
        write(study, coder, "Weighing again.", theme=1, kind="methodological")
        write(study, coder, "Begin anew.", kind="positional")

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["Begin", "Weighing", "Balance is", "Ökonomie", "Hedges"]),
            ("words=hedges+pushed", ["Hedges"]),
            ("words=%C3%B6KONOMIE", ["Ökonomie"]),
            ("words=hedges+balance", []),
            ("words=%22two+codes%22", ["Balance is"]),
            ("kind=decision", ["Balance is"]),
            ("subject=theme", ["Weighing"]),
            ("subject=theme&key=1", ["Weighing"]),
            ("subject=theme&key=2", []),
            ("subject=sentence", ["Hedges"]),
            (f"code={BALANCE}", ["Balance is", "Hedges"]),
            (f"code={CONTEXT}", []),
            ("since=2020-01-01", ["Begin", "Weighing", "Balance is", "Ökonomie", "Hedges"]),
            ("until=2020-01-01", []),
            ("words=a&kind=reading", ["Ökonomie"]),
        ],
    )
    def test_what_is_asked_is_found_newest_first(self, coder, client_of, query, found):
        page = find(client_of(coder), query)
        text = page.replace("<mark>", "").replace("</mark>", "")
        places = {name: text.find(f">{name}") for name in ("Begin", "Weighing", "Balance is", "Ökonomie", "Hedges")}
        assert sorted((name for name in places if places[name] >= 0), key=places.__getitem__) == found

    def test_an_author_is_offered_and_found(self, coder, reader, lead, client_of):
        study = Study.objects.get()
        write(study, lead, "From the lead.", code=BALANCE)
        client = client_of(reader)
        assert "From the lead." in find(client, "author=lead")
        assert "Hedges" not in find(client, "author=lead")

    def test_what_was_found_is_marked_and_opens_its_place(self, sentence, coder, client_of):
        page = find(client_of(coder), "words=pushed")
        assert "<mark>pushed</mark>" in page
        assert f"?at={sentence.pk}#s{sentence.pk}" in page
        assert f"sentence {sentence.label}" in page

    @pytest.mark.parametrize(
        "query", ["kind=odd", "since=yesterday", "since=0001-01-01", "interview=x", "code=nowhere"]
    )
    def test_a_search_that_makes_no_sense_comes_back(self, coder, client_of, query):
        assert client_of(coder).get(f"{url('list')}?{query}").status_code == 422

    def test_days_are_headings(self, coder, client_of):
        first = Memo.objects.order_by("pk")[0]
        Memo.objects.filter(pk=first.pk).update(created_at=timezone.now() - datetime.timedelta(days=40))
        assert find(client_of(coder)).count('<section class="day"') == 2

    def test_the_list_costs_few_queries_however_many_memos(
        self, study, coder, client_of, django_assert_max_num_queries
    ):
        now = timezone.now()
        Memo.objects.bulk_create(
            Memo(
                study=study,
                subject="study",
                thread=uuid.uuid4(),
                author=coder,
                text=f"Note {number}",
                idempotency_key=uuid.uuid4(),
                created_at=now,
            )
            for number in range(120)
        )
        client = client_of(coder)
        for query in ("", "words=note", "page=2"):
            with django_assert_max_num_queries(14):
                find(client, query)
        assert "1–50 of 120 memos" in find(client, "words=note")


class TestWriting:
    def test_a_memo_is_written_on_a_code_and_changed_without_a_script(self, study, coder, client_of):
        client = client_of(coder)
        page = client.get(f"{url('new')}?code={BALANCE}&kind=decision").content.decode()
        assert "Balance" in page
        assert '<option value="decision" selected>' in page
        form = {
            "code": BALANCE,
            "text": "Split it.",
            "kind": "decision",
            "idempotency_key": uuid.uuid4(),
        }
        answer = client.post(url("new"), form)
        memo = Memo.objects.get()
        assert (answer["Location"], memo.subject_key) == (url("memo", memo.pk), BALANCE)
        assert client.post(url("new"), form)["Location"] == url("memo", memo.pk)
        change = {"text": "Keep it.", "kind": "decision", "idempotency_key": uuid.uuid4()}
        answer = client.post(url("revise", memo.pk), change)
        assert answer.status_code == 302
        page = client.get(url("memo", memo.pk)).content.decode()
        assert "Keep it." in page
        assert "Split it." in page
        latest = Memo.objects.get(withdrawn_at__isnull=True)
        assert client.post(url("withdraw", latest.pk)).status_code == 302
        assert "Keep it." not in find(client)

    def test_a_sentence_opens_its_memo_from_a_link(self, study, sentence, coder, client_of):
        client, address = client_of(coder), f"{url('new')}?sentence={sentence.pk}"
        assert sentence.read_text() in client.get(address).content.decode()
        memo = write(study, coder, "Latent: a rule of the house.", sentence=sentence.pk)
        assert client.get(address)["Location"] == url("memo", memo.pk)

    @pytest.mark.parametrize(
        "place", ["sentence=999999", "sentence=x", "interview=999999", "code=nowhere", "theme=1", f"theme={'9' * 30}"]
    )
    def test_a_place_of_elsewhere_is_not_found(self, study, coder, client_of, place):
        assert client_of(coder).get(f"{url('new')}?{place}").status_code == 404

    def test_a_form_gone_back_to_shows_both_texts_even_when_the_first_was_withdrawn(self, study, coder, client_of):
        client = client_of(coder)
        form = {"text": "First words.", "kind": "reading", "idempotency_key": uuid.uuid4()}
        assert client.post(url("new"), form).status_code == 302
        again = client.post(url("new"), {**form, "text": "Second words."})
        assert again.status_code == 409
        assert "First words." in again.content.decode()
        assert "Second words." in again.content.decode()
        assert client.post(url("withdraw", Memo.objects.get().pk)).status_code == 302
        late = client.post(url("new"), {**form, "text": "Second words."})
        assert late.status_code == 409
        assert "was withdrawn in another window" in late.content.decode()
        assert "Second words." in late.content.decode()
        assert Memo.objects.count() == 1

    def test_the_loser_of_a_race_sees_both_texts(self, study, sentence, coder, client_of):
        client = client_of(coder)
        memo = write(study, coder, "Before.", sentence=sentence.pk)
        for text in ("From one window.", "From the other."):
            answer = client.post(
                url("revise", memo.pk), {"text": text, "kind": "reading", "idempotency_key": uuid.uuid4()}
            )
        assert answer.status_code == 409
        page = answer.content.decode()
        assert "From one window." in page
        assert "From the other.</textarea>" in page
        standing = Memo.objects.get(withdrawn_at__isnull=True)
        assert url("revise", standing.pk) in page

    def test_a_text_for_a_memo_withdrawn_meanwhile_is_not_lost(self, study, coder, client_of):
        client = client_of(coder)
        memo = write(study, coder, "Before.", code=BALANCE)
        client.post(url("withdraw", memo.pk))
        answer = client.post(
            url("revise", memo.pk), {"text": "Typed late.", "kind": "reading", "idempotency_key": uuid.uuid4()}
        )
        assert answer.status_code == 409
        page = answer.content.decode()
        assert "Typed late." in page
        assert f"{url('new')}?code={BALANCE}" in page

    def test_an_empty_or_endless_memo_comes_back(self, study, coder, client_of):
        client = client_of(coder)
        for text in ("", "x" * 20_001):
            answer = client.post(url("new"), {"text": text, "kind": "reading", "idempotency_key": uuid.uuid4()})
            assert answer.status_code == 422
        assert not Memo.objects.exists()

    def test_markup_in_a_memo_is_text(self, study, coder, client_of):
        memo = write(study, coder, "<script>alert(1)</script>")
        client = client_of(coder)
        for page in (find(client), find(client, "words=alert"), client.get(url("memo", memo.pk)).content.decode()):
            assert "<script>alert" not in page


def test_a_place_names_itself_in_an_address(sentence):
    interview = sentence.turn.interview
    assert Place("sentence", "", interview, sentence).fields == {"sentence": str(sentence.pk)}
    assert Place("interview", "", interview).fields == {"interview": str(interview.pk)}
    assert Place("theme", "3").fields == {"theme": "3"}
    assert Place("study").fields == {}


def test_closed_reasoning_is_not_shown_to_whoever_would_write_a_memo_on_it(study, owner, coder, client_of):
    line = '{"id": "run", "turns": [{"role": "model", "channel": "reasoning", "text": "Think of seals."}]}'
    import_file(study=study, name="run.jsonl", data=line.encode(), by=owner)
    sentence = Sentence.objects.get(turn__interview__external_id="run")
    page = client_of(coder).get(f"{url('new')}?sentence={sentence.pk}").content.decode()
    assert "closed until you open it" in page
    assert "seals" not in page
    open_stage(study=study, turn=sentence.turn, by=coder)
    assert "Think of seals." in client_of(coder).get(f"{url('new')}?sentence={sentence.pk}").content.decode()
