"""The six-phase board and positionality: own words, dated, never a gate, never required."""

import pytest
from django.urls import reverse

from tests.transcripts.analysis.themes.cast import make_theme
from tests.transcripts.coding.cast import last_event
from tests.transcripts.corpus.cast import allow
from transcripts.analysis.models import PhaseEntry, PositionalityStatement
from transcripts.analysis.themes import actions
from transcripts.analysis.themes.actions import EntryChanged, NotYours, ThemeText, add_quote, create_theme
from transcripts.refusals import WrongInput


def url(name):
    return reverse(f"themes:{name}", args=["culture"])


def get(client, name):
    return client.get(url(name)).content.decode()


def test_texts_have_twenty_thousand_characters(study, coder):
    longest = "x" * 20_000
    entry = actions.write_entry(study=study, phase=1, text=longest, by=coder)
    actions.change_entry(entry=entry, text="y" * 20_000, by=coder)
    actions.write_statement(study=study, text=longest, by=coder)
    text = ThemeText("Hedging", longest, longest)
    assert create_theme(study=study, text=text, codes=[], by=coder).concept == longest
    with pytest.raises(WrongInput, match="the limit is 20,000"):
        actions.write_statement(study=study, text=f"{longest}x", by=coder)


class TestEntries:
    def test_phases_are_written_in_any_order(self, study, coder):
        for number, phase in enumerate((6, 1, 4, 1)):
            actions.write_entry(study=study, phase=phase, text=f"Noted {number}.", by=coder)
        assert [entry.phase for entry in PhaseEntry.objects.order_by("pk")] == [6, 1, 4, 1]

    def test_double_click_writes_down_once(self, study, coder, second_coder):
        first = actions.write_entry(study=study, phase=1, text="Noted.", by=coder)
        assert actions.write_entry(study=study, phase=1, text=" Noted. ", by=coder) == first
        assert actions.write_entry(study=study, phase=2, text="Noted.", by=coder) != first
        assert actions.write_entry(study=study, phase=1, text="Noted.", by=second_coder) != first

    def test_a_change_keeps_the_text_before(self, study, coder):
        before = actions.write_entry(study=study, phase=1, text="First thoughts.", by=coder)
        after = actions.change_entry(entry=before, text="Second thoughts.", by=coder)
        before.refresh_from_db()
        assert (before.text, before.superseded_by) == ("First thoughts.", after)
        assert before.withdrawn_at is not None
        assert last_event(study).details == {"characters": 16, "phase": 1, "replaces": before.pk}

    def test_the_same_text_twice_is_one_row(self, study, coder):
        entry = actions.write_entry(study=study, phase=1, text="Noted.", by=coder)
        assert actions.change_entry(entry=entry, text=" Noted. ", by=coder) == entry

    def test_two_windows_lose_nothing(self, study, coder):
        entry = actions.write_entry(study=study, phase=1, text="One.", by=coder)
        second = actions.change_entry(entry=entry, text="Two.", by=coder)
        third = actions.change_entry(entry=second, text="Three.", by=coder)
        with pytest.raises(EntryChanged) as caught:
            actions.change_entry(entry=entry, text="Four.", by=coder)
        assert caught.value.active == third
        actions.withdraw_entry(entry=third, by=coder)
        with pytest.raises(EntryChanged, match="withdrew") as caught:
            actions.change_entry(entry=entry, text="Four.", by=coder)
        assert caught.value.active is None

    def test_people_change_their_own_entries(self, study, coder, lead):
        entry = actions.write_entry(study=study, phase=1, text="Mine.", by=coder)
        with pytest.raises(NotYours):
            actions.change_entry(entry=entry, text="Theirs.", by=lead)
        with pytest.raises(NotYours):
            actions.withdraw_entry(entry=entry, by=lead)

    @pytest.mark.parametrize(("phase", "text"), [(7, "Noted."), (0, "Noted."), (1, " "), (1, "x" * 20_001)])
    def test_what_cannot_be_taken_is_refused(self, study, coder, phase, text):
        with pytest.raises(WrongInput):
            actions.write_entry(study=study, phase=phase, text=text, by=coder)


class TestBoard:
    def test_the_board_shows_what_each_phase_brought(self, study, sentence, lead, reader, client_of):
        theme = make_theme(study, lead)
        add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead, edited_text="I would ask […]")
        allow(lead, sentence.turn.interview, scope="quotation")
        actions.write_entry(study=study, phase=4, text="We kept the second reading.", by=lead)
        board = get(client_of(reader), "phases")
        for part in (
            "Familiarisation",
            "1 candidate theme",
            "1 extract",
            "I would ask […]",
            "We kept the second reading.",
        ):
            assert part in board

    def test_a_blind_coder_reads_her_own_entries(self, study, coder, second_coder, client_of):
        entry = actions.write_entry(study=study, phase=2, text="I code everything as balance.", by=second_coder)
        client = client_of(coder)
        assert "everything as balance" not in get(client, "phases")
        for name in ("change_entry", "withdraw_entry"):
            assert client.post(url(name), {"entry": entry.pk, "text": "x"}).status_code == 404

    def test_writing_changing_and_withdrawing_need_no_script(self, study, coder, client_of):
        client = client_of(coder)
        assert client.post(url("write_entry"), {"phase": "3", "text": "A first map."}).status_code == 302
        entry = PhaseEntry.objects.get()
        assert client.post(url("change_entry"), {"entry": entry.pk, "text": "A second map."}).status_code == 302
        stale = client.post(url("change_entry"), {"entry": entry.pk, "text": "A third map."})
        assert stale.status_code == 409
        assert "A second map." in stale.content.decode()
        assert "A third map." in stale.content.decode()
        active = PhaseEntry.objects.get(withdrawn_at__isnull=True)
        assert client.post(url("withdraw_entry"), {"entry": active.pk}).status_code == 302
        assert "second map" not in get(client, "phases")

    def test_an_empty_text_comes_back(self, study, coder, client_of):
        assert client_of(coder).post(url("write_entry"), {"phase": "3", "text": " "}).status_code == 422
        assert not PhaseEntry.objects.exists()


class TestPositionality:
    def test_one_statement_stands_and_earlier_ones_stay(self, study, coder):
        first = actions.write_statement(study=study, text="Trained in sociology.", by=coder)
        second = actions.write_statement(study=study, text="And in law.", by=coder, replaces=first.pk)
        first.refresh_from_db()
        assert first.superseded_by == second
        assert [each.text for each in PositionalityStatement.objects.filter(withdrawn_at__isnull=True)] == [
            "And in law."
        ]
        assert "sociology" not in str(last_event(study).details)

    def test_two_windows_lose_nothing(self, study, coder, client_of):
        client = client_of(coder)
        client.post(url("write_statement"), {"text": "From one window."})
        late = client.post(url("write_statement"), {"text": "From the other."})
        assert late.status_code == 409
        assert "From one window." in late.content.decode()
        assert "From the other." in late.content.decode()

    def test_only_its_author_and_those_who_see_all_codings_read_it(
        self, study, coder, second_coder, lead, reader, client_of
    ):
        actions.write_statement(study=study, text="Raised bilingual.", by=coder)
        for user, reads in ((coder, True), (lead, True), (reader, True), (second_coder, False)):
            assert ("Raised bilingual." in get(client_of(user), "positionality")) is reads

    def test_it_is_asked_for_once_and_gently(self, study, coder, client_of):
        client, home = client_of(coder), reverse("studies:home", args=["culture"])
        assert "positionality statement" in client.get(home).content.decode()
        client.post(url("postpone_statement"))
        assert "positionality statement" not in client.get(home).content.decode()
        assert "positionality statement" in client_of(coder).get(home).content.decode()
        client_of(coder).post(url("write_statement"), {"text": "Trained in sociology."})
        assert "positionality statement" not in client_of(coder).get(home).content.decode()

    def test_readers_are_not_asked(self, study, reader, client_of):
        home = reverse("studies:home", args=["culture"])
        assert "positionality statement" not in client_of(reader).get(home).content.decode()

    def test_a_withdrawn_statement_is_not_asked_for_again(self, study, coder, reader, client_of):
        actions.write_statement(study=study, text="Raised bilingual.", by=coder)
        client = client_of(coder)
        assert client.post(url("withdraw_statement")).status_code == 302
        assert "Raised bilingual." not in get(client_of(reader), "positionality")
        assert PositionalityStatement.objects.count() == 1
        home = reverse("studies:home", args=["culture"])
        assert "positionality statement" not in client.get(home).content.decode()
