"""The pages of themes, without a script: what they show to whom, and what they do with what is typed."""

import re

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from tests.transcripts.analysis.themes.cast import BALANCE, COMPASSION, CONTEXT, answers, make_theme, open_all, put_on
from tests.transcripts.blinding.cast import find_form, unblind_on
from transcripts.analysis.models import ThemeQuote, ThemeVersion
from transcripts.analysis.themes.actions import add_quote
from transcripts.analysis.themes.queries import current_themes, find_current
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Interview


def url(name, *args):
    return reverse(f"themes:{name}", args=["culture", *args])


def text(answer):
    return str(answer.content.decode())


def seen(client, page):
    """A page without the tokens of its forms, which are others each time."""
    return re.sub(r"[0-9A-Za-z]{64}", "", text(client.get(page)))


def said(answer):
    return " ".join(str(message) for message in get_messages(answer.wsgi_request))


@pytest.fixture
def theme(study, lead):
    return make_theme(study, lead)


class TestPagesByRole:
    def test_a_blind_coder_reads_what_themes_say_and_sees_her_own_evidence(
        self, theme, interview, coder, second_coder, lead, client_of
    ):
        mine, hers, *_ = answers(interview)
        put_on(mine, BALANCE, coder)
        client = client_of(coder)
        pages = [url("themes"), url("theme", 1), url("presence"), f"{url('evidence')}?theme=1", url("history", 1)]
        before = [seen(client, page) for page in pages]
        assert "Weighing" in before[1]
        assert "One idea" in before[1]
        assert "<strong>1</strong> of 1" in before[2]
        put_on(hers, BALANCE, second_coder)
        put_on(mine, COMPASSION, second_coder)
        add_quote(theme=theme.theme, sentence=hers, side="for", by=lead)
        assert [seen(client, page) for page in pages] == before

    def test_reasons_of_versions_are_not_for_blind_coders(self, theme, coder, reader, lead, client_of):
        form = {"name": "Weighing", "concept": "Another", "state": "reviewed", "codes": [BALANCE], "version": "1"}
        answer = client_of(lead).post(url("edit", 1), {**form, "reason": "Two coders read it apart."})
        assert answer.status_code == 302
        assert "read it apart" in text(client_of(reader).get(url("history", 1)))
        assert "Another" in text(client_of(coder).get(url("history", 1)))
        assert "read it apart" not in text(client_of(coder).get(url("history", 1)))

    def test_quotes_of_colleagues_wait_for_the_opening(self, theme, sentence, lead, owner, reader, client_of):
        add_quote(theme=theme.theme, sentence=sentence, side="against", by=owner, note="A counter-reading")
        for user in (reader, owner):
            assert "A counter-reading" in text(client_of(user).get(url("theme", 1)))
        assert "A counter-reading" not in text(client_of(lead).get(url("theme", 1)))
        open_all(theme.theme.study, lead)
        assert "A counter-reading" in text(client_of(lead).get(url("theme", 1)))

    def test_a_theme_that_is_not_there_is_not_found(self, study, owner, client_of):
        client = client_of(owner)
        assert client.get(url("theme", 9)).status_code == 404
        assert client.get(f"{url('evidence')}?theme=9").status_code == 404
        assert client.get(f"{url('evidence')}?theme=x").status_code == 404
        assert client.get(f"{url('evidence')}?code=theme.nowhere").status_code == 404

    def test_the_list_costs_few_queries_however_many_themes(
        self, study, interview, reader, lead, client_of, django_assert_max_num_queries
    ):
        for number in range(12):
            make_theme(study, lead, f"Theme {number}")
        client = client_of(reader)
        with django_assert_max_num_queries(19):
            client.get(url("themes"))
        with django_assert_max_num_queries(18):
            client.get(url("presence"))


class TestForms:
    def test_a_theme_is_made_of_ticked_codes(self, study, lead, client_of):
        client = client_of(lead)
        assert "Balance" in text(client.get(url("new")))
        answer = client.post(url("new"), {"name": "Weighing", "codes": [BALANCE, CONTEXT]})
        assert answer["Location"] == url("theme", 1)
        [made] = current_themes(study)
        assert made.codes == [BALANCE, CONTEXT]

    def test_a_wrong_form_comes_back_as_it_was(self, study, lead, client_of):
        answer = client_of(lead).post(url("new"), {"name": "", "concept": "What holds it", "codes": [BALANCE]})
        assert answer.status_code == 422
        assert "What holds it" in text(answer)
        assert f'value="{BALANCE}" checked' in text(answer)

    def test_a_megabyte_is_refused_with_a_sentence(self, study, lead, client_of):
        answer = client_of(lead).post(url("new"), {"name": "Weighing", "description": "x" * 1_000_000})
        assert answer.status_code == 422
        assert "the limit is 20,000" in text(answer)
        assert current_themes(study) == []

    def test_the_loser_of_a_race_sees_both_texts_and_can_send_again(self, theme, lead, owner, client_of):
        form = {"state": "candidate", "codes": [BALANCE], "version": "1", "reason": "Sharper."}
        client_of(owner).post(url("edit", 1), {**form, "name": "Hers", "concept": "Her idea"})
        client = client_of(lead)
        answer = client.post(url("edit", 1), {**form, "name": "Mine", "concept": "My idea"})
        assert answer.status_code == 409
        assert "Her idea" in text(answer)
        assert "My idea" in text(answer)
        assert 'name="version" value="2"' in text(answer)
        again = client.post(url("edit", 1), {**form, "version": "2", "name": "Mine", "concept": "Both ideas"})
        assert again.status_code == 302
        latest = find_current(theme.theme.study, 1)
        assert latest is not None
        assert (latest.number, latest.concept) == (3, "Both ideas")

    def test_codes_are_grouped_with_the_keyboard_alone(self, theme, lead, client_of):
        client = client_of(lead)
        page = text(client.get(url("group")))
        assert f'type="checkbox" name="codes" value="{CONTEXT}"' in page
        form = {"codes": [COMPASSION], "new_name": "Caring", "out_of": "1", "reason": "Another idea."}
        assert client.post(url("group"), form).status_code == 302
        assert [each.codes for each in current_themes(theme.theme.study)] == [[BALANCE], [COMPASSION]]

    @pytest.mark.parametrize("form", [{}, {"codes": [BALANCE], "into": "99", "reason": "x"}, {"codes": [BALANCE]}])
    def test_what_cannot_be_grouped_comes_back(self, theme, lead, client_of, form):
        assert client_of(lead).post(url("group"), form).status_code == 422
        assert ThemeVersion.objects.count() == 1

    def test_themes_merge_and_the_choice_knows_their_versions(self, study, theme, lead, owner, client_of):
        make_theme(study, lead, "Caring", [CONTEXT])
        client = client_of(lead)
        form = {"themes": ["1:1", "2:1"], "name": "Both", "reason": "One idea."}
        client_of(owner).post(
            url("edit", 2), {"name": "Caring", "concept": "New", "state": "candidate", "version": "1", "reason": "x"}
        )
        late = client.post(url("merge"), form)
        assert late.status_code == 422
        answer = client.post(url("merge"), {**form, "themes": ["1:1", "2:2"]})
        assert answer["Location"] == url("theme", 3)
        assert "Made from" in text(client.get(url("theme", 3)))

    def test_a_theme_splits_by_where_each_code_goes(self, theme, lead, client_of):
        client = client_of(lead)
        assert f'name="part.{BALANCE}"' in text(client.get(url("split", 1)))
        form = {"name_1": "One", "name_2": "Two", "version": "1", "reason": "Two ideas."}
        wrong = client.post(url("split", 1), form)
        assert wrong.status_code == 422
        assert "Two has no code" in text(wrong)
        answer = client.post(url("split", 1), {**form, f"part.{COMPASSION}": "2"})
        assert answer.status_code == 302
        themes = {each.name: each.codes for each in current_themes(theme.theme.study) if each.state == "candidate"}
        assert themes == {"One": [BALANCE], "Two": [COMPASSION]}

    def test_a_late_split_is_told_what_stands(self, theme, lead, owner, client_of):
        client_of(owner).post(
            url("edit", 1), {"name": "Hers", "state": "candidate", "version": "1", "reason": "x", "codes": [BALANCE]}
        )
        form = {"name_1": "One", "name_2": "Two", "version": "1", "reason": "Two ideas.", f"part.{BALANCE}": "2"}
        answer = client_of(lead).post(url("split", 1), form)
        assert answer.status_code == 409
        assert "Hers" in text(answer)


class TestEvidence:
    def test_each_cell_opens_its_sentences(self, theme, interview, reader, coder, client_of):
        one, two, three, *_ = answers(interview)
        put_on(one, BALANCE, coder)
        put_on(two, COMPASSION, coder, level="latent")
        put_on(three, CONTEXT, coder)
        client = client_of(reader)
        page = text(client.get(url("presence")))
        href = f"{url('evidence')}?theme=1&amp;model=Model+A&amp;coder=all&amp;blinding=any"
        assert f'<a href="{href}"><strong>2</strong> of 3</a>' in page
        # The interview has two turns of the model: too few to draw a share.
        assert "Shares are drawn from 3 decided turns on." in page
        behind = text(client.get(href.replace("&amp;", "&")))
        assert behind.count('<li id="r') == 2
        assert "How do you handle a question where culture may matter?" in behind
        assert "As I read it." in behind

    @pytest.mark.parametrize(
        "query", ["rows=codes", "columns=interviews", "rows=codes&columns=interviews&blinding=blind", "rows=x"]
    )
    def test_every_way_to_count_has_a_page(self, theme, sentence, coder, client_of, query):
        put_on(sentence, BALANCE, coder)
        page = text(client_of(coder).get(f"{url('presence')}?{query}"))
        assert "<strong>1</strong> of 1" in page
        assert "no significance tests" in page

    def test_interviews_in_another_language_put_a_warning_beside_unprompted(self, theme, interview, coder, client_of):
        assert "Other languages" not in text(client_of(coder).get(url("presence")))
        Interview.objects.filter(pk=interview.pk).update(language="de-AT")
        assert "interviews in de-AT are counted" in text(client_of(coder).get(url("presence")))

    def test_colleagues_are_counted_once_they_are_opened(self, theme, sentence, coder, lead, client_of):
        put_on(sentence, BALANCE, coder)
        client, here = client_of(lead), f"{url('presence')}?coder=all"
        closed = text(client.get(here))
        assert "<strong>1</strong> of 1" not in closed
        assert "Others’ labels in 1 interview are hidden from you" in closed
        assert unblind_on(client, here, confirmed=False).status_code == 422
        assert not Unblinding.objects.exists()
        assert unblind_on(client, here)["Location"] == here
        assert Unblinding.objects.filter(user=lead).count() == 1
        assert "<strong>1</strong> of 1" in text(client.get(here))

    def test_who_only_reads_is_offered_nothing(self, theme, sentence, coder, reader, client_of):
        put_on(sentence, BALANCE, coder)
        page = text(client_of(reader).get(f"{url('presence')}?coder=all"))
        assert "<strong>1</strong> of 1" in page
        assert find_form(page) is None


class TestQuotes:
    def test_a_sentence_is_quoted_from_the_list_with_marked_edits(self, theme, sentence, lead, client_of):
        coding = put_on(sentence, BALANCE, lead)
        client = client_of(lead)
        href = f"{url('quote', 1, sentence.pk)}?coding={coding.pk}&amp;side=against"
        assert href in text(client.get(f"{url('evidence')}?theme=1"))
        form = text(client.get(href.replace("&amp;", "&")))
        assert "I would ask first." in form
        answer = client.post(
            url("quote", 1, sentence.pk),
            {"side": "against", "edited_text": "[The model] would ask first.", "coding": coding.pk},
        )
        assert answer.status_code == 302
        quote = ThemeQuote.objects.get()
        assert (quote.edited_text, quote.side, quote.coding) == ("[The model] would ask first.", "against", coding)
        page = text(client.get(url("theme", 1)))
        assert "[The model] would ask first." in page
        assert "I would ask first." in page

    def test_words_of_ones_own_come_back_with_their_names(self, theme, sentence, lead, client_of):
        answer = client_of(lead).post(
            url("quote", 1, sentence.pk), {"side": "for", "edited_text": "I would never ask first."}
        )
        assert answer.status_code == 422
        assert "Not in the sentence: “never”" in text(answer)
        assert "I would never ask first." in text(answer)

    def test_the_loser_of_a_race_sees_both_quotes(self, theme, sentence, lead, owner, client_of):
        add_quote(theme=theme.theme, sentence=sentence, side="for", by=owner, edited_text="I would ask […]")
        client = client_of(lead)
        form = {"side": "against", "edited_text": "[…] ask first."}
        answer = client.post(url("quote", 1, sentence.pk), form)
        assert answer.status_code == 409
        assert "I would ask […]" in text(answer)
        assert "[…] ask first." in text(answer)
        active = ThemeQuote.objects.get()
        assert f'name="replaces" value="{active.pk}"' in text(answer)
        assert client.post(url("quote", 1, sentence.pk), {**form, "replaces": active.pk}).status_code == 302

    def test_a_quote_is_withdrawn(self, theme, sentence, lead, client_of):
        quote = add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
        answer = client_of(lead).post(url("withdraw_quote", 1, quote.pk))
        assert answer.status_code == 302
        assert "withdrawn" in said(answer)
        assert not ThemeQuote.objects.filter(withdrawn_at__isnull=True).exists()

    def test_markup_in_what_people_type_is_text(self, study, lead, client_of):
        nasty = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
        make_theme(study, lead, nasty)
        client = client_of(lead)
        for page in (url("themes"), url("theme", 1), url("presence"), url("history", 1), url("group"), url("phases")):
            assert "<script>alert" not in text(client.get(page))
            assert "<img src=x" not in text(client.get(page))
