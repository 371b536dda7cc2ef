"""The pages of interviews held here: what they send, what they warn of, and to whom they are closed."""

import json
import re
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.batches.ledger.batch_state import pause_for
from auditapp.batches.models import Cell
from auditapp.benchmarks.scenarios.actions.asking import ask
from auditapp.benchmarks.scenarios.actions.storing import close_session
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import PAPER, hear, open_recorded, open_talk, say, write_guide
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interview
from transcripts.corpus.models import Interview
from transcripts.desk.keys import set_keys

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_grants")]


@pytest.fixture
def script(study):
    return write_guide(study)


@pytest.fixture
def session(script, lead):
    session = open_talk(script, lead)
    hear(session, "Schemas shape what people notice.")
    return session


def path(name, session, *more):
    return reverse(f"scenarios:{name}", args=[session.study.slug, session.pk, *more])


def text(answer):
    return str(answer.content.decode())


def send(client, session, **more):
    told = {"kind": "expand", "text": "Could you say more?", "seen": "1", "idempotency_key": uuid.uuid4(), **more}
    return client.post(path("ask", session), told)


class TestHiddenFields:
    """A choice hides fields; what was typed there before counts for nothing and refuses nothing."""

    def test_a_kind_that_has_no_intent_is_sent_without_the_one_chosen_before(self, client_of, session, lead):
        answer = send(client_of(lead), session, kind="open", intent="probe")
        assert answer.status_code == 302
        assert list(session.questions.values_list("kind", "intent"))[-1] == ("open", "")

    @pytest.mark.parametrize(
        "told",
        [
            {
                "where": "recorded",
                "model_as_shown": "Chat 4",
                "surface": "chat.example",
                "cap": "much",
                "variant": "999",
            },
            {"where": "here", "model_as_shown": "x" * 300, "surface": "y" * 300, "opening": "paper", "seed": "-1"},
        ],
    )
    def test_an_interview_opens_whatever_was_typed_for_another_place(self, client_of, script, lead, told):
        given = {"script": script.pk, "opening": "*", "seed": 1, "variant": make_variant("m").pk, **told}
        answer = client_of(lead).post(reverse("scenarios:open_session", args=[script.study.slug]), given)
        assert answer.status_code == 302, answer.context["form"].errors


class TestScripts:
    def test_a_new_one_begins_with_the_published_opening(self, client_of, study, lead):
        address = reverse("scenarios:new_script", args=[study.slug])
        page = client_of(lead).get(address)
        openings = page.context["form"]["openings"].value()
        assert openings == f"[paper] {PAPER}"
        bank = "[expand] Go on?\n\n[challenge: new fact] She was\nnot paid.\n[New information] Wages rose."
        answer = client_of(lead).post(
            address,
            {
                "name": "pay",
                "openings": openings,
                "bank": bank,
                "max_questions": "9",
                "language": "en",
                "consent_coding": "yes",
                "consent_reuse": "no",
                "consent_basis": "Terms.",
            },
        )
        assert answer.status_code == 302, text(answer)
        script = Script.objects.get()
        assert (script.label, script.max_questions, script.openings) == ("pay/1", 9, [{"id": "paper", "text": PAPER}])
        assert script.consents == {"coding": True, "reuse": False}
        assert [(each.kind, each.intent, each.text) for each in script.questions.all()] == [
            ("expand", "", "Go on?"),
            ("challenge", "new_fact", "She was\nnot paid."),
            ("new_information", "", "Wages rose."),
        ]

    def test_what_cannot_be_played_is_refused_with_its_sentence(self, client_of, study, lead):
        address = reverse("scenarios:new_script", args=[study.slug])
        given = {"name": "pay", "openings": "[paper] Hello.", "language": "en"}
        for wrong, sentence in (
            ({"bank": "\nGo on?"}, "Line 2: “Go on?” has no heading. Begin each question with its kind"),
            (
                {"bank": "[open] A?\nB?\n\n[challenge] No."},
                "Question 2, line 4: a challenge also gives its intent",
            ),
            ({"bank": "[trick] No."}, "Question 1, line 1: [trick] is not a kind of question. Write one of these"),
            ({"bank": "[challenge: x] No."}, "after the colon: warranted, unwarranted, new fact, probe"),
            ({"bank": "[leading: probe] No?"}, "Write [leading] alone"),
            ({"bank": "[open] A?\n[open]"}, "Line 2: there is no text after [open]. Write the question"),
            ({"openings": "[a] One.\n[a] Two."}, "Line 2: the opening [a] occurs twice"),
            ({"openings": "[a]"}, "Line 1: there is no text after [a]"),
            ({"openings": "[a/b] Hello."}, "Line 1: [a/b] is not an id"),
            ({"name": "a/b"}, "A name has"),
        ):
            answer = client_of(lead).post(address, {**given, **wrong})
            assert answer.status_code == 422
            assert sentence in text(answer)
        assert not Script.objects.exists()

    def test_every_fault_of_a_bank_is_named_at_once(self, client_of, study, lead):
        given = {"name": "pay", "openings": "[paper] Hello.", "language": "en"}
        bank = "\n\n".join(["[open] A?", "[trick] B?", "[challenge] C."])
        address = reverse("scenarios:new_script", args=[study.slug])
        page = text(client_of(lead).post(address, {**given, "bank": bank}))
        assert "Question 2, line 3: [trick]" in page
        assert "Question 3, line 5: a challenge" in page
        assert "[open] A?" in page, "what was typed is kept"

    def test_the_next_number_needs_a_reason_and_keeps_what_it_does_not_change(self, client_of, script, lead):
        address = reverse("scenarios:next_script", args=[script.study.slug, script.pk])
        form = client_of(lead).get(address).context["form"]
        given = {name: form[name].value() or "" for name in form.fields}
        assert client_of(lead).post(address, {**given, "max_questions": "5"}).status_code == 422
        answer = client_of(lead).post(address, {**given, "max_questions": "5", "reason": "Shorter."})
        assert answer.status_code == 302, text(answer)
        newer = Script.objects.get(number=2)
        assert [each.as_text() for each in newer.questions.all()] == [each.as_text() for each in script.questions.all()]
        late = client_of(lead).post(address, {**given, "max_questions": "6", "reason": "Late."})
        assert late.status_code == 409
        assert f"wrote {newer.label} after" in text(late)
        [clash] = late.context["clashes"]
        assert (clash.label, clash.stored, clash.typed) == ("Most questions", 5, "6")
        assert "Most questions, stored now" in text(late)


class TestConsole:
    def test_it_opens_an_interview_and_shows_what_was_said(self, client_of, script, lead):
        make_variant("model b")
        address = reverse("scenarios:open_session", args=[script.study.slug])
        form = client_of(lead).get(address).context["form"]
        variant = form.fields["variant"].queryset.get(label="model b")
        answer = client_of(lead).post(
            address, {"script": script.pk, "opening": "*", "seed": 3, "where": "here", "variant": variant.pk}
        )
        session = Session.objects.get()
        assert answer["Location"] == path("session", session)
        page = text(client_of(lead).get(path("session", session)))
        assert "data-waiting" in page
        hear(session, "Schemas <b>shape</b> it.")
        page = text(client_of(lead).get(path("session", session)))
        assert "data-waiting" not in page
        assert "Schemas &lt;b&gt;shape&lt;/b&gt; it." in page

    def test_the_script_is_chosen_first_and_only_its_openings_are_offered(self, client_of, script, lead):
        other = write_guide(script.study, name="pay", openings={"wages": "Shall we talk about pay?"})
        client, address = client_of(lead), reverse("scenarios:open_session", args=[script.study.slug])
        page = text(client.get(address))
        assert ("gender/1" in page, "pay/1" in page, "<select" in page) == (True, True, False)
        form = client.get(address, {"script": other.pk}).context["form"]
        assert [name for name, _ in form.fields["opening"].choices] == ["*", "wages"]
        newer = write_guide(script.study, name="pay", openings={"new": "Pay?"}, reason="Shorter.")
        late = client.post(address, {"script": other.pk})
        assert (late.status_code, "has a newer number now" in text(late)) == (422, True)
        assert client.get(address, {"script": newer.pk}).status_code == 200

    def test_what_is_needed_is_not_called_optional_and_its_absence_is_named_at_its_field(self, client_of, script, lead):
        client, address = client_of(lead), reverse("scenarios:open_session", args=[script.study.slug])
        page = text(client.get(address))
        for label, when in (("Model", "for an interview held here"), ("Chat page", "for a recorded interview")):
            assert re.search(rf">{label} <span class=\"optional\">\({when}\)", page), label
        assert "(optional)" not in page.split("id_vendor")[0]
        for given, names in (
            ({"where": "here", "opening": "paper"}, {"variant"}),
            ({"where": "recorded", "opening": "*", "seed": ""}, {"model_as_shown", "surface", "seed"}),
        ):
            assert set(client.post(address, {"script": script.pk, **given}).context["form"].errors) == names
        assert not Session.objects.exists()

    def test_a_waiting_page_gets_what_has_changed_and_nothing_else(self, client_of, session, lead):
        ask(session=session, kind="expand", text="More?", by=lead)
        client = client_of(lead)
        [polled] = re.findall(r'hx-get="([^"]+)"', text(client.get(path("session", session))))
        assert client.get(polled).status_code == 204
        hear(session, "More.")
        part = text(client.get(polled))
        assert part.lstrip().startswith("<section")
        assert "More." in part
        assert "data-waiting" not in part

    def test_a_question_that_raises_something_first_is_warned_of_before_it_is_sent(self, client_of, session, lead):
        client, asked = client_of(lead), "And intersectionality?"
        shown = text(client.post(path("warn", session), {"text": asked, "kind": "expand"}))
        assert "Intersectionality" in shown
        warned = send(client, session, text=asked)
        assert warned.status_code == 422
        assert "counts as prompted" in text(warned)
        assert "“<bdi>intersectionality</bdi>” raises <bdi>Intersectionality</bdi>" in text(warned)
        by_kind = text(client.post(path("warn", session), {"text": "Why?", "kind": "challenge"}))
        assert "a question of this kind raises" in by_kind
        assert asked in text(warned)
        assert session.questions.count() == 1, "nothing is sent before the warning is on the page"
        [codes] = re.findall(r'name="warned" value="([^"]*)"', text(warned))
        assert send(client, session, text=asked, warned=codes).status_code == 302
        hear(session, "It matters.")
        assert "Intersectionality" not in text(
            client.post(path("warn", session), {"text": "Intersectionality again?", "kind": "expand"})
        ), "it was raised already"

    def test_what_the_model_has_raised_is_no_prompt(self, client_of, script, lead):
        session = open_talk(script, lead)
        hear(session, "Think of intersectionality.")
        assert send(client_of(lead), session, text="What is intersectionality?").status_code == 302

    def test_bad_input_is_refused_with_a_sentence_and_keeps_what_was_typed(self, client_of, session, lead):
        client = client_of(lead)
        for wrong, sentence in (
            ({"kind": ""}, "Choose the kind"),
            ({"kind": "trick"}, "Select a valid choice"),
            ({"text": " "}, "The question is empty"),
            ({"text": "a\x00b"}, "ull character"),
            ({"text": "x" * 1_000_001}, "1,000,001 bytes"),
            ({"kind": "challenge"}, "the intent of the challenge"),
        ):
            answer = send(client, session, **wrong)
            assert (answer.status_code, sentence in text(answer)) == (422, True), wrong
        assert "Kept?" in text(send(client, session, kind="", text="Kept?"))
        assert session.questions.count() == 1

    def test_a_very_long_question_is_asked_back_before_it_is_sent(self, client_of, session, lead):
        client, long = client_of(lead), "word\r\n" * 2_000
        asked = send(client, session, text=long)
        assert (asked.status_code, "10,000 characters, about 2,000 words" in text(asked)) == (422, True)
        assert session.questions.count() == 1
        [length] = re.findall(r'name="confirmed" value="([^"]*)"', text(asked))
        longer = send(client, session, text=f"{long}!", confirmed=length)
        assert (longer.status_code, session.questions.count()) == (422, 1), "another text is asked back again"
        assert send(client, session, text=long, confirmed=length).status_code == 302
        assert session.questions.get(position=2).text == long.replace("\r\n", "\n")

    def test_what_is_recorded_costs_nothing_and_is_not_asked_back(self, client_of, script, lead):
        session = open_recorded(script, lead)
        assert send(client_of(lead), session, text="x" * 9_000, answer="Yes.", seen="0").status_code == 302

    def test_a_question_says_which_turn_of_the_interview_it_is(self, client_of, script, lead):
        session = open_talk(script, lead)
        hear(session, "One.", reasoning="First I think.")
        say(session, lead, "Two?", "Two.")
        client = client_of(lead)
        page = text(client.get(path("session", session)))
        assert ("turn 1 of the interview" in page, "turn 4 of the interview" in page) == (True, True)
        closed = close_session(session=session, inclusion="included", reason="x", by=lead).interview
        assert closed.turns.get(position=4).text == "Two?"
        desk = reverse("desk:desk", args=[session.study.slug, closed.pk])
        assert f'href="{desk}#turn-4">turn 4 at the desk' in text(client.get(path("session", session)))

    def test_an_excluded_interview_is_marked_in_the_list_and_on_its_page(self, client_of, session, lead):
        interview = close_session(session=session, inclusion="excluded", reason="x", by=lead).interview
        details = reverse("corpus:details", args=[session.study.slug, interview.pk])
        client = client_of(lead)
        listed = text(client.get(reverse("scenarios:sessions", args=[session.study.slug])))
        assert f'href="{details}">Excluded</a>' in listed
        assert "left out of this page" not in listed
        page = text(client.get(path("session", session)))
        assert "The interview is excluded" in page
        assert details in page

    def test_keys_are_those_of_the_person(self, client_of, session, lead):
        set_keys(given={"console:branch": "KeyW", "console:again": ""}, codes=[], by=lead)
        page = client_of(lead).get(path("session", session))
        keys = page.context["keys"]
        assert (keys["branch"]["key"], keys["again"]["key"], keys["open"]["key"]) == ("KeyW", "", "Digit1")
        assert '<kbd data-key="KeyW">w</kbd> ask a different question' in text(page)
        assert "ask again" not in text(page).split("Outside a text field")[1].split("</span>")[0]

    def test_a_second_tab_gets_409_with_both_texts(self, client_of, session, lead):
        client = client_of(lead)
        assert send(client, session, text="From the first tab?").status_code == 302
        late = send(client, session, text="From the second tab?")
        assert late.status_code == 409
        assert text(late).count("From the first tab?") >= 2, "in the talk, and in the notice"
        assert "From the second tab?" in text(late)
        key = uuid.uuid4()
        hear(session, "One.")
        for _ in range(2):
            assert send(client, session, text="Once?", seen="2", idempotency_key=key).status_code == 302
        assert session.questions.filter(text="Once?").count() == 1

    def test_asking_again_branching_and_closing(self, client_of, session, lead):
        client = client_of(lead)
        send(client, session)
        hear(session, "Cut o", finish_reason="length")
        page = text(client.get(path("session", session)))
        assert "Answer cut off at the output limit" in page
        assert client.post(path("ask_again", session, 2)).status_code == 302
        hear(session, "Whole.")
        assert "Asked before" in text(client.get(path("session", session)))
        branched = client.post(path("branch", session, 1))
        branch = Session.objects.get(branch_of=session)
        assert branched["Location"] == path("session", branch)
        refused = client.post(path("close", branch), {"inclusion": "included", "reason": "x"})
        assert refused.status_code == 422
        assert client.post(path("close", session), {"inclusion": "", "reason": "x"}).status_code == 422
        assert client.post(path("close", session), {"inclusion": "included", "reason": "x"}).status_code == 302
        assert Interview.objects.get().turn_count == 4
        assert client.post(path("discard", branch), {"discard-reason": "Not needed."}).status_code == 302
        assert send(client, session).status_code == 422

    def test_a_question_in_a_stopped_batch_is_given_up_and_the_interview_closed(self, client_of, session, lead):
        client = client_of(lead)
        send(client, session)
        assert "Give this question up" not in text(client.get(path("session", session))), (
            "a worker will take it in a moment"
        )
        pause_for(session.arm.batch_id, "The provider refused the account.")
        assert "Give this question up" in text(client.get(path("session", session)))
        assert client.post(path("give_up", session, 2)).status_code == 302
        page = text(client.get(path("session", session)))
        assert "No answer came: given up. Ask it again," in page
        assert client.post(path("give_up", session, 2)).status_code == 409
        closed = client.post(path("close", session), {"inclusion": "included", "reason": "No credit."}, follow=True)
        assert "Question 2 is left out: given up." in text(closed)
        details = client.get(reverse("corpus:details", args=[session.study.slug, Interview.objects.get().pk]))
        assert "<dt>Got no answer</dt><dd><bdi>Question 2: given up</bdi></dd>" in text(details)

    def test_a_recorded_interview_begins_with_its_opening(self, client_of, script, lead):
        session = open_recorded(script, lead)
        form = client_of(lead).get(path("session", session)).context["form"]
        assert (form["text"].value(), form["kind"].value()) == (PAPER, "open")
        answer = send(client_of(lead), session, text=PAPER, kind="open", answer="Gladly.", seen="0")
        assert answer.status_code == 302, text(answer)
        assert Question.objects.get(session=session).answer == "Gladly."
        assert not Cell.objects.exists()


class TestWhoSeesIt:
    @pytest.fixture
    def stored(self, session, lead):
        say(session, lead, "That is wrong.", "Is it?", kind="challenge", intent="unwarranted")
        return close_session(session=session, inclusion="included", reason="x", by=lead).interview

    def test_who_may_code_it_and_did_not_hold_it_sees_neither_the_talk_nor_its_calls(
        self, client_of, session, stored, lead, owner, coder, reader
    ):
        batch = reverse("batches:attempts", args=[session.study.slug, session.arm.batch_id])
        for person, is_open in ((lead, True), (reader, True), (owner, False), (coder, False)):
            client = client_of(person)
            for address in (path("session", session), path("talk", session)):
                shown = text(client.get(address))
                assert ("That is wrong." in shown) is is_open, (person, address)
                assert ("unwarranted" in shown) is is_open
            listed = text(client.get(reverse("scenarios:sessions", args=[session.study.slug])))
            assert (path("session", session) in listed) is is_open
            calls = text(client.get(batch))
            assert ("attempts/" in calls) is is_open, (person, calls)
        assert send(client_of(owner), session).status_code == 404
        unblind_interview(study=stored.study, interview=stored, by=owner, where="x")
        assert "That is wrong." in text(client_of(owner).get(path("session", session)))

    def test_one_opened_by_command_says_why_it_is_closed(self, client_of, script, lead, reader):
        session = open_talk(script, trail.SYSTEM)
        shown = text(client_of(lead).get(path("session", session)))
        assert "opened by command in nobody’s name" in shown
        assert f"manage.py session show {session.pk}" in shown
        assert "Hello" not in shown
        assert PAPER[:40] in text(client_of(reader).get(path("session", session)))

    def test_one_held_by_command_in_somebodys_name_is_open_to_her(self, client_of, script, lead, owner, coder):
        options = ["--study", script.study.slug, "--script", "gender", "--opening", "paper", "--json"]
        recorded = [*options, "--recorded", "Chat 4", "--surface", "chat.example"]
        for name, words in (("coder", "role of coder"), ("nobody", "has no member 'nobody'")):
            with pytest.raises(CommandError, match=words):
                call_command("session", "open", *recorded, "--as", name)
        assert not Session.objects.exists()
        told = StringIO()
        call_command("session", "open", *recorded, "--as", "lead", stdout=told)
        session = Session.objects.get(pk=json.loads(told.getvalue())["session"])
        assert (session.opened_by, session.opened_by_name) == (lead, "lead")
        said = ["--kind", "expand", "--text", "And intersectionality?", "--answer", "Yes.", "--json", "--as", "lead"]
        told = StringIO()
        call_command("session", "record", str(session.pk), *said, stdout=told)
        [raised] = json.loads(told.getvalue())["raises"]
        assert (raised["name"], raised["words"]) == ("Intersectionality", "intersectionality")
        assert "And intersectionality?" in text(client_of(lead).get(path("session", session)))
        assert "And intersectionality?" not in text(client_of(owner).get(path("session", session)))

    def test_a_coder_never_reads_what_a_bank_is_meant_to_do(self, client_of, script, coder, reader):
        address = reverse("scenarios:scripts", args=[script.study.slug])
        assert "unwarranted" in text(client_of(reader).get(address))
        assert "unwarranted" not in text(client_of(coder).get(address))
