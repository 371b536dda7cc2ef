import hashlib
import html
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import undo_import
from transcripts.corpus.models import Interview, Sentence
from transcripts.formats.interviews import FORMATS, READERS_VERSION
from transcripts.refusals import Refused


def make_line(external_id, model="Model A", questions=1, words=3):
    turns = [
        turn
        for _ in range(questions)
        for turn in ({"role": "interviewer", "text": "And then?"}, {"role": "model", "text": "word " * words})
    ]
    return json.dumps({"id": external_id, "title": f"Interview {external_id}", "model": model, "turns": turns})


def bring(study, by, *lines):
    import_file(study=study, name="interviews.jsonl", data="\n".join(lines).encode(), by=by)


def upload(*contents, **more):
    files = [SimpleUploadedFile(f"file{n}.jsonl", content.encode()) for n, content in enumerate(contents, 1)]
    return {"uploads": files, "format": "auto", **more}


def test_list_shows_each_interview_with_its_counts(study, interview, coder, client_of):
    page = client_of(coder).get(reverse("corpus:interviews", args=[study.slug]))
    html = page.content.decode()
    assert page.status_code == 200
    assert "First interview" in html
    assert reverse("desk:desk", args=[study.slug, interview.pk]) in html
    row = page.context["page"][0]
    assert (row.turn_count, row.sentence_count, row.questions, row.author_words, row.model_words) == (4, 10, 2, 17, 41)
    assert row.counts.average_response == 20.5


def test_mean_over_interviews_and_pooled_average_are_told_apart(study, owner, client_of):
    bring(study, owner, make_line("a", questions=1, words=10), make_line("b", questions=3, words=2))
    page = client_of(owner).get(reverse("corpus:interviews", args=[study.slug]))
    summary = page.context["summary"]
    assert (summary.average_response.mean, summary.pooled_average) == (6.0, 4.0)
    html = " ".join(page.content.decode().split())
    for label, figure in (("Mean over interviews, unweighted", "6.0"), ("Pooled: all model words", "4.0")):
        row = html[html.index(label) :].partition("</tr>")[0]
        assert f'<td class="num">{figure}</td>' in row


def test_agent_runs_are_not_summed_up_with_interviews(study, owner, client_of):
    run = {"id": "r", "kind": "trajectory", "turns": json.loads(make_line("r", words=1))["turns"]}
    bring(study, owner, make_line("a", questions=3, words=10), make_line("b", questions=5, words=20), json.dumps(run))
    client, address = client_of(owner), reverse("corpus:interviews", args=[study.slug])
    page = client.get(address)
    summary, words = page.context["summary"], " ".join(page.content.decode().split())
    assert (summary.interviews, summary.questions.minimum, summary.model_words.minimum) == (2, 3, 30)
    assert "Of 2 interviews (few)" in words
    [apart] = re.findall(r'href="(\?[^"]*)">see the 1 agent run alone', words)
    page = client.get(address + html.unescape(apart))
    summary, words = page.context["summary"], " ".join(page.content.decode().split())
    assert (summary.interviews, summary.questions.minimum, summary.model_words.maximum) == (1, 1, 1)
    assert "Of 1 agent run (few)" in words
    assert "counted separately" not in words


def test_list_can_be_narrowed_to_one_model(study, owner, client_of):
    bring(study, owner, make_line("a", "Model A"), make_line("b", "Model B"))
    page = client_of(owner).get(reverse("corpus:interviews", args=[study.slug]), {"model": "Model B"})
    assert [row.title for row in page.context["page"]] == ["Interview b"]
    assert page.context["models"] == ["Model A", "Model B"]


def test_model_that_nobody_interviewed_shows_no_interview(study, interview, owner, client_of):
    page = client_of(owner).get(reverse("corpus:interviews", args=[study.slug]), {"model": "Model Z"})
    assert page.status_code == 200
    assert "No interviews match" in page.content.decode()


def test_list_takes_as_many_queries_for_many_interviews_as_for_few(study, owner, client_of, django_assert_num_queries):
    bring(study, owner, *(make_line(str(number)) for number in range(120)))
    client = client_of(owner)
    # Session, person, study with role; interviews, models, coders; sentences, labels, assignments, names of those who have
    # either; those left out.
    with django_assert_num_queries(11):
        page = client.get(reverse("corpus:interviews", args=[study.slug]))
    assert len(page.context["page"]) == 50


def test_empty_study_says_what_to_do_next(study, lead, coder, client_of):
    url = reverse("corpus:import", args=[study.slug])
    listing = reverse("corpus:interviews", args=[study.slug])
    assert url in client_of(lead).get(listing).content.decode()
    assert url not in client_of(coder).get(listing).content.decode()


def test_outsider_finds_neither_list_nor_import(study, outsider, client_of):
    for name in ("corpus:interviews", "corpus:import"):
        assert client_of(outsider).get(reverse(name, args=[study.slug])).status_code == 404


@pytest.mark.parametrize("person", ["coder", "reader"])
def test_those_who_may_not_import_are_refused(study, person, client_of, request):
    user = request.getfixturevalue(person)
    client = client_of(user)
    url = reverse("corpus:import", args=[study.slug])
    assert client.get(url).status_code == 403
    assert client.post(url, upload(make_line("a"))).status_code == 403
    assert not study.interviews.exists()


def test_lead_imports_several_files(study, lead, client_of):
    url = reverse("corpus:import", args=[study.slug])
    answer = client_of(lead).post(url, upload(make_line("a"), make_line("b")), follow=True)
    assert answer.redirect_chain == [(reverse("corpus:interviews", args=[study.slug]), 302)]
    assert "sentences, from 2 files." in answer.content.decode()
    assert study.interviews.count() == 2


def test_importing_the_same_file_again_says_so(study, lead, client_of):
    client, url = client_of(lead), reverse("corpus:import", args=[study.slug])
    client.post(url, upload(make_line("a")))
    answer = client.post(url, upload(make_line("a")), follow=True)
    assert "Already imported" in answer.content.decode()
    assert study.interviews.count() == 1


def test_check_reports_and_stores_nothing(study, lead, client_of):
    url = reverse("corpus:import", args=[study.slug])
    page = client_of(lead).post(url, upload(make_line("a"), check="1"))
    assert page.status_code == 200
    assert [(report.interviews, report.sentences) for report in page.context["reports"]] == [(1, 2)]
    assert "Nothing has been stored yet" in page.content.decode()
    assert "<h1>" in page.content.decode()
    assert not study.interviews.exists()


def test_check_with_htmx_leaves_the_chosen_files_alone(study, lead, client_of):
    url = reverse("corpus:import", args=[study.slug])
    part = client_of(lead).post(url, upload(make_line("a"), check="1"), headers={"HX-Request": "true"})
    html = part.content.decode()
    assert 'id="report"' in html
    assert "<form" not in html
    assert "<h1>" not in html


def test_wrong_file_is_refused_beside_the_field(study, lead, client_of):
    page = client_of(lead).post(reverse("corpus:import", args=[study.slug]), upload(make_line("a") + "\n{"))
    assert page.status_code == 422
    assert "line 2" in page.context["form"].errors["uploads"][0]
    assert not study.interviews.exists()


def test_wrong_file_with_htmx_says_so_and_leaves_the_chosen_files_alone(study, lead, client_of):
    url = reverse("corpus:import", args=[study.slug])
    part = client_of(lead).post(url, upload("{", check="1"), headers={"HX-Request": "true"})
    assert part.status_code == 422
    assert part.headers["HX-Retarget"] == "#problems"
    assert "line 1" in part.content.decode()
    assert "<form" not in part.content.decode()
    assert "<h1>" not in part.content.decode()


def test_a_good_check_takes_what_was_wrong_before_off_the_page(study, lead, client_of):
    url = reverse("corpus:import", args=[study.slug])
    part = client_of(lead).post(url, upload(make_line("a"), check="1"), headers={"HX-Request": "true"})
    assert '<div id="problems" hx-swap-oob="true"></div>' in part.content.decode()


class TestChoosing:
    def test_the_preview_says_what_the_file_is_and_holds(self, study, lead, client_of):
        url = reverse("corpus:import", args=[study.slug])
        page = client_of(lead).post(url, upload(make_line("a"), check="1"))
        preview = page.context["reports"][0].preview
        assert preview["reason"] == "its first object has turns"
        assert (preview["conversations"], preview["answers"], preview["models"]) == (1, 1, ["Model A"])
        text = " ".join(page.content.decode().split())
        assert "Interviews as JSON objects, because its first object has turns" in text
        assert "And then?" in text

    def test_what_is_unticked_stays_out(self, study, lead, client_of):
        file = f"{make_line('a')}\n{make_line('b')}"
        typed = {**upload(file), "listed": ["a", "b"], "take": ["b"]}
        client_of(lead).post(reverse("corpus:import", args=[study.slug]), typed)
        assert [interview.external_id for interview in study.interviews.all()] == ["b"]

    def test_roles_model_and_consent_are_as_chosen(self, study, lead, client_of):
        line = json.dumps({"id": "a", "turns": [{"role": "model", "speaker": "Ada", "text": "Why?"}]})
        typed = {**upload(line), "role:Ada": "interviewer", "model": "Model C", "consent": "external", "basis": "Form"}
        client_of(lead).post(reverse("corpus:import", args=[study.slug]), typed)
        interview = study.interviews.get()
        assert (interview.model_label, interview.turns.get().role) == ("Model C", "interviewer")
        assert [(row.scope, row.is_given, row.basis) for row in interview.consents.all()] == [
            ("external", True, "Form")
        ]

    def test_a_role_that_is_left_as_it_was_read_changes_nobody_of_the_same_name(self, study, lead, client_of):
        lines = [
            json.dumps({"id": name, "turns": [{"role": role, "speaker": "Ada", "text": "So."}]})
            for name, role in (("a", "interviewer"), ("b", "model"))
        ]
        url = reverse("corpus:import", args=[study.slug])
        shown = client_of(lead).post(url, upload(*lines, check="1")).content.decode()
        assert shown.count('name="role:Ada"') == 2
        assert shown.count('<option value="" selected>') == 2
        client_of(lead).post(url, {**upload(*lines), "role:Ada": ["", ""]})
        assert [each.turns.get().role for each in study.interviews.order_by("external_id")] == [
            "interviewer",
            "model",
        ]

    def test_a_conversation_is_given_a_title(self, study, lead, client_of):
        url = reverse("corpus:import", args=[study.slug])
        shown = client_of(lead).post(url, upload(make_line("a"), check="1")).content.decode()
        assert 'name="title:a"' in shown
        client_of(lead).post(url, {**upload(make_line("a")), "title:a": "On gifts"})
        assert study.interviews.get().title == "On gifts"

    def test_what_was_shown_goes_when_the_next_file_cannot_be_read_but_not_what_was_chosen(
        self, study, lead, client_of
    ):
        url = reverse("corpus:import", args=[study.slug])
        wrong = client_of(lead).post(url, upload("{", check="1"), headers={"HX-Request": "true"})
        assert 'id="report"' in wrong.content.decode()
        typed = {**upload(make_line("a")), "consent": "external", "listed": "a", "title:a": "On gifts"}
        unfounded = client_of(lead).post(url, typed, headers={"HX-Request": "true"})
        assert unfounded.status_code == 422
        page = unfounded.content.decode()
        assert '<input type="checkbox" name="take" value="a" aria-label' in page, "it was not ticked"
        assert 'value="On gifts"' in page

    @pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
    def test_a_consent_without_its_basis_is_said_at_the_basis(self, study, lead, client_of, headers):
        url = reverse("corpus:import", args=[study.slug])
        talk = "Ann: Does it matter?\nCy: It depends.\nAnn: On whom?\nBert: On me.\nCy: On them.\n"
        typed = {"consent": "quotation", "speaker": "Bert", "role:Cy": "interviewer"}

        def send(**more):
            files = {"uploads": [SimpleUploadedFile("talk.txt", talk.encode())]}
            sent = client_of(lead).post(url, {**files, **typed, **more}, headers=headers)
            return sent.status_code, " ".join(sent.content.decode().split())

        status, page = send()
        assert (status, study.interviews.count()) == (422, 0)
        assert '<a href="#choose-basis">Basis of the consent</a> – A consent needs its basis' in page
        assert '<a href="#id_uploads">' not in page
        assert re.search('id="choose-basis"[^>]* aria-invalid="true"', page) or re.search(
            'aria-invalid="true"[^>]* id="choose-basis"', page
        )
        # What would be imported is shown as it is chosen now: five turns, two of them of who is not the interviewer by name.
        assert '<td class="num">5</td>' in page
        assert "turns: 4 interviewer, 1 model" in page
        assert re.search('name="speaker" value="Bert" checked', page)
        assert re.search('<option value="interviewer" selected>', page)
        assert re.search('value="quotation"[^>]* checked', page)
        # It is shown again without a basis, for nothing is put on record by that.
        assert send(check="1")[0] == 200
        assert send(basis="A signed form.")[0] < 400
        assert [turn.role for turn in study.interviews.get().turns.order_by("position")][1] == "interviewer"

    def test_a_name_that_is_text_stays_text_when_the_file_is_shown_again(self, study, lead, client_of):
        talk = "Ann: Does it matter?\nCy: It depends.\nPros: many\nAnn: On whom?\nPros: few\nCy: On them.\n"
        files = {"uploads": [SimpleUploadedFile("talk.txt", talk.encode())]}
        url = reverse("corpus:import", args=[study.slug])
        page = client_of(lead).post(url, {**files, "check": "1", "role:Pros": "text"})
        text = " ".join(page.content.decode().split())
        assert page.context["reports"][0].turns == 4
        assert '<option value="text" selected>Nobody: this is text</option>' in text
        assert 'name="speaker" value="Pros"' not in text

    def test_a_format_that_does_not_fit_is_said_at_the_format(self, study, lead, client_of):
        url = reverse("corpus:import", args=[study.slug])
        page = client_of(lead).post(url, {**upload(make_line("a")), "format": "captions"})
        assert (page.status_code, list(page.context["form"].errors)) == (422, ["format"])
        page = client_of(lead).post(url, {**upload("{"), "format": "captions"})
        assert list(page.context["form"].errors) == ["uploads"]

    @pytest.mark.parametrize(
        "typed", [{"consent": "external"}, {"role:Ada": "narrator"}, {"consent": "x", "basis": "y"}]
    )
    def test_what_cannot_be_chosen_is_refused(self, study, lead, client_of, typed):
        page = client_of(lead).post(reverse("corpus:import", args=[study.slug]), {**upload(make_line("a")), **typed})
        assert page.status_code == 422
        assert not study.interviews.exists()


class TestGrownConversations:
    def test_a_conversation_that_went_on_is_continued(self, study, lead, client_of):
        bring(study, lead, make_line("a"))
        interview = study.interviews.get()
        before = list(Sentence.objects.filter(turn__interview=interview).values_list("pk", flat=True))
        client_of(lead).post(reverse("corpus:import", args=[study.slug]), upload(make_line("a", questions=2)))
        interview.refresh_from_db()
        sentences = list(Sentence.objects.filter(turn__interview=interview).order_by("position"))
        assert [sentence.pk for sentence in sentences][: len(before)] == before
        assert [sentence.position for sentence in sentences] == [1, 2, 3, 4]
        assert (interview.turn_count, interview.sentence_count, interview.questions) == (4, 4, 2)
        version = interview.versions.get()
        assert (version.number, version.first_turn.position, version.turns, version.sentences) == (2, 3, 2, 2)

    def test_its_details_name_the_file_of_each_version(self, study, lead, client_of):
        bring(study, lead, make_line("a"))
        grown = make_line("a", questions=2)
        client_of(lead).post(reverse("corpus:import", args=[study.slug]), upload(grown))
        interview = study.interviews.get()
        page = client_of(lead).get(reverse("corpus:details", args=[study.slug, interview.pk])).content.decode()
        text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
        for data, name in ((make_line("a"), "interviews.jsonl"), (grown, "file1.jsonl")):
            assert hashlib.sha256(data.encode()).hexdigest() in text
            assert name in text
        assert f"Interviews as JSON objects, by version {READERS_VERSION} of the readers" in text
        assert f"by {lead.username}" in text
        assert "Version 2: 2 turns appended, from turn 3 on" in text

    def test_its_import_cannot_be_undone_and_says_why(self, study, lead):
        bring(study, lead, make_line("a"))
        bring(study, lead, make_line("a", questions=2), make_line("b"))
        with pytest.raises(Refused, match="added turns to 1 interviews"):
            undo_import(file=study.imported_files.latest("pk"), by=lead)
        assert study.interviews.count() == 2

    def test_changed_words_are_refused_with_their_place(self, study, lead):
        bring(study, lead, make_line("a", questions=2))
        with pytest.raises(Refused, match="from turn 2 on"):
            bring(study, lead, make_line("a", questions=2, words=4))
        with pytest.raises(Refused, match="from turn 3 on"):
            bring(study, lead, make_line("a", questions=1))


@pytest.mark.parametrize(
    ("typed", "field"),
    [({"format": "auto"}, "uploads"), (upload("{}", format="papyrus"), "format")],
    ids=["no file", "no such format"],
)
def test_form_that_is_not_complete_says_why(study, lead, client_of, typed, field):
    page = client_of(lead).post(reverse("corpus:import", args=[study.slug]), typed)
    assert page.status_code == 422
    assert field in page.context["form"].errors


def test_example_on_the_page_of_imports_can_be_imported(study, lead, client_of):
    client, url = client_of(lead), reverse("corpus:import", args=[study.slug])
    shown = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", client.get(url).content.decode(), re.DOTALL)
    assert shown is not None
    lines = html.unescape(shown[1])
    assert client.post(url, upload(lines)).status_code == 302
    assert Interview.objects.filter(study=study, external_id__in=["t1", "t2", "t3", "t4", "t5"]).count() == 5


def test_every_format_is_listed_on_a_page_that_the_import_leads_to(study, lead, client_of):
    page = client_of(lead).get(reverse("corpus:import", args=[study.slug])).content.decode()
    address = reverse("help_page", args=["guide/files"])
    assert address in page
    listed = client_of(lead).get(address).content.decode()
    assert [reader.label for reader in FORMATS.values() if f"<strong>{reader.label}</strong>" not in listed] == []


class TestSeveralFiles:
    def test_a_bad_file_is_named_and_can_be_left_out(self, study, lead, client_of):
        client, url = client_of(lead), reverse("corpus:import", args=[study.slug])
        files = (make_line("a"), "{", make_line("b"), "[1")
        page = client.post(url, {**upload(*files), "check": "1"})
        assert page.status_code == 422
        assert page.context["refused"] == ["file2.jsonl", "file4.jsonl"]
        assert len(page.context["form"].errors["uploads"]) == 2
        assert 'name="without" value="file2.jsonl"' in page.content.decode()
        without = ["file2.jsonl", "file4.jsonl"]
        page = client.post(url, {**upload(*files), "check": "1", "without": without})
        assert [report.name for report in page.context["reports"]] == ["file1.jsonl", "file3.jsonl"]
        assert '<input type="hidden" name="without" value="file4.jsonl">' in page.content.decode()
        page = client.post(url, {**upload(*files), "looked": "1", "without": without}, follow=True)
        assert [str(message) for message in page.context["messages"]] == [
            "Imported: 2 interviews with 4 sentences, from 2 files. Left out: file2.jsonl, file4.jsonl."
        ]
        every = [f"file{number}.jsonl" for number in range(1, 5)]
        assert client.post(url, {**upload(*files), "without": every}).status_code == 422

    def test_what_the_preview_said_is_not_said_again(self, study, lead, client_of):
        client, url = client_of(lead), reverse("corpus:import", args=[study.slug])
        talk = "Ann: Does it matter?\nBob: It depends.\nAnn: On whom?\nBob: On them.\n"

        def send(number, **typed):
            words = talk.replace("depends", "depends " + "so " * number)
            files = [SimpleUploadedFile(f"{name}{number}.txt", f"{words}{name}\n".encode()) for name in ("a", "b")]
            page = client.post(url, {"uploads": files, **typed}, follow=True)
            return [str(message) for message in page.context["messages"]]

        assert len(send(1, looked="1")) == 1
        _, *notes = send(2)
        assert len(notes) == len(set(notes)) > 0
        assert any("a2.txt, b2.txt: Names recognised as speakers:" in note for note in notes)
        _, *notes = send(3, **{"role:Ann": "model", "role:Bob": "interviewer"})
        assert not any("assumed" in note or "recognised" in note for note in notes), "she said who is who"
