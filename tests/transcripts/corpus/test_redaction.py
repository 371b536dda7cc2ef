"""The redaction list of a study: saved as numbers, previewed before, never lost."""

import json

import pytest
from django.urls import reverse

from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.actions import import_file
from transcripts.corpus.consent import preview, save_redaction, suggest_entries
from transcripts.corpus.models import RedactionList, Turn
from transcripts.corpus.pure.redacting import Entry
from transcripts.corpus.queries import find_redaction
from transcripts.history.models import NothingChanged
from transcripts.refusals import Refused

ANNA = Entry("Anna Berg", "[PERSON 1]")


@pytest.fixture
def told(study, owner):
    lines = [
        {
            "id": "a",
            "title": "With Anna Berg",
            "interviewer": "Anna Berg and Nour Haddad",
            "turns": [
                {"role": "interviewer", "speaker": "Interviewer", "text": "I am Anna Berg."},
                {"role": "model", "text": "Good day, anna  berg! Bergs are no Anna Bergs."},
            ],
        },
        {"id": "b", "turns": [{"role": "interviewer", "speaker": "K. Osei", "text": "Anna Berg asked too."}]},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    import_file(study=study, name="told.jsonl", data=data, by=owner)
    return study


def save(study, by, *entries, based_on=0):
    return save_redaction(study=study, entries=entries, reason="asked for", by=by, based_on=based_on)


class TestSaving:
    def test_every_save_is_the_next_list_and_the_latest_holds(self, study, lead):
        assert find_redaction(study) is None
        first = save(study, lead, ANNA)
        second = save(study, lead, ANNA, Entry("Osei", "[PERSON 2]"), based_on=1)
        third = save(study, lead, based_on=2)
        assert [each.number for each in (first, second, third)] == [1, 2, 3]
        assert find_redaction(study) == third
        assert RedactionList.objects.get(number=1).entries == [{"text": "Anna Berg", "replacement": "[PERSON 1]"}]

    def test_event_counts_and_names_nobody(self, study, lead):
        save(study, lead, ANNA)
        save(study, lead, Entry("Osei", "[PERSON 2]"), based_on=1)
        first, second = AuditEvent.objects.filter(action="corpus.redaction.saved").order_by("sequence")
        assert first.details == {"number": 1, "entries": 1, "added": 1, "removed": 0}
        assert second.details == {"number": 2, "entries": 1, "added": 1, "removed": 1}

    @pytest.mark.parametrize("entries", [[], [Entry("", "x")], [ANNA, ANNA]])
    def test_empty_and_impossible_lists_are_refused(self, study, lead, entries):
        with pytest.raises(Refused):
            save(study, lead, *entries)
        assert not RedactionList.objects.exists()

    def test_blanks_around_an_entry_change_nothing(self, study, lead):
        save(study, lead, ANNA)
        with pytest.raises(NothingChanged):
            save(study, lead, Entry(" Anna Berg ", "[PERSON 1]"), based_on=1)


class TestPreview:
    def test_counts_every_text_and_shows_no_name(self, told):
        [effect] = preview(told, [ANNA])
        assert (effect["places"], effect["interviews"], effect["inside"]) == (3, 2, 1)
        shown = json.dumps(effect["samples"])
        assert len(effect["samples"]) == 2
        assert "anna berg" not in shown.casefold().replace("anna bergs", "")
        assert "[PERSON 1]" in shown

    def test_entry_that_is_nowhere_has_no_samples(self, told):
        [effect] = preview(told, [Entry("Nobody", "[X]")])
        assert (effect["places"], effect["interviews"], effect["samples"]) == (0, 0, [])

    def test_texts_stay_as_they_are(self, told, lead):
        before = list(Turn.objects.order_by("pk").values_list("text", flat=True))
        save(told, lead, ANNA)
        preview(told, [ANNA])
        assert list(Turn.objects.order_by("pk").values_list("text", flat=True)) == before


class TestSuggestions:
    def test_interviewers_and_speakers_are_suggested_but_not_their_parts(self, told):
        assert suggest_entries(told, []) == [
            Entry("Anna Berg", "[INTERVIEWER 1]"),
            Entry("K. Osei", "[INTERVIEWER 2]"),
            Entry("Nour Haddad", "[INTERVIEWER 3]"),
        ]

    def test_names_that_are_replaced_and_numbers_that_are_taken_are_passed_over(self, told):
        held = [ANNA, Entry("x", "[INTERVIEWER 1]")]
        assert suggest_entries(told, held) == [
            Entry("K. Osei", "[INTERVIEWER 2]"),
            Entry("Nour Haddad", "[INTERVIEWER 3]"),
        ]


class TestPage:
    def test_lead_sees_what_would_change_before_anything_is_saved(self, told, lead, client_of):
        url = reverse("corpus:redaction", args=[told.slug])
        form = {"entries": "Anna Berg -> [PERSON 1]", "reason": "", "based_on": "0", "check": "1"}
        answer = client_of(lead).post(url, form)
        html = answer.content.decode()
        assert answer.status_code == 200
        assert "<mark>[PERSON 1]</mark>" in html
        effects = html.partition('id="effects"')[2].partition("</section>")[0]
        assert "<bdi>Anna Berg</bdi>" in effects
        assert not RedactionList.objects.exists()

    def test_lead_saves_a_list(self, told, lead, client_of):
        url = reverse("corpus:redaction", args=[told.slug])
        form = {"entries": "Anna Berg -> [PERSON 1]\nK. Osei -> [PERSON 2]", "reason": "promised", "based_on": "0"}
        answer = client_of(lead).post(url, form, follow=True)
        assert answer.redirect_chain == [(url, 302)]
        assert "List 1, in use" in answer.content.decode()
        assert RedactionList.objects.get().made_by_name == "lead"

    def test_suggested_names_are_put_below_the_entries(self, told, lead, client_of):
        save(told, lead, ANNA)
        page = client_of(lead).get(reverse("corpus:redaction", args=[told.slug]), {"suggested": "1"})
        assert page.context["form"].initial["entries"].splitlines() == [
            "Anna Berg -> [PERSON 1]",
            "K. Osei -> [INTERVIEWER 1]",
            "Nour Haddad -> [INTERVIEWER 2]",
        ]

    @pytest.mark.parametrize("button", [{}, {"check": "1"}])
    @pytest.mark.parametrize(
        ("typed", "said"), [("Anna", "Line 1 is not an entry"), ("Anna -> A\nanna -> B", "Entries 1 and 2")]
    )
    def test_wrong_entries_come_again_with_the_reason(self, told, lead, client_of, typed, said, button):
        form = {"entries": typed, "reason": "", "based_on": "0", **button}
        answer = client_of(lead).post(reverse("corpus:redaction", args=[told.slug]), form)
        assert answer.status_code == 422
        assert said in answer.content.decode()
        assert typed.splitlines()[0].replace(">", "&gt;") in answer.content.decode()
        assert not RedactionList.objects.exists()

    def test_whoever_was_overtaken_keeps_her_entries_and_can_save_them_next(self, told, lead, client_of):
        save(told, lead, ANNA)
        client, url = client_of(lead), reverse("corpus:redaction", args=[told.slug])
        form = {"entries": "K. Osei -> [PERSON 2]", "reason": "", "based_on": "0"}
        answer = client.post(url, form)
        assert answer.status_code == 409
        assert "lead wrote redaction list 1 after you opened this page" in answer.content.decode()
        assert answer.context["form"].data["based_on"] == "1"
        assert client.post(url, {**form, "based_on": "1"}).status_code == 302

    @pytest.mark.parametrize("person", ["coder", "reader"])
    def test_others_neither_see_nor_change_it(self, told, person, client_of, request):
        client, url = client_of(request.getfixturevalue(person)), reverse("corpus:redaction", args=[told.slug])
        assert client.get(url).status_code == 403
        assert client.post(url, {"entries": "a -> b", "based_on": "0"}).status_code == 403
