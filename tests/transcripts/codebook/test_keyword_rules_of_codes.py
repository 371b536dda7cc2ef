"""Keyword rules as a field of a code: edited, refused by their line, kept in versions and files. What a rule says is tested
with the grammar."""

import io
import json

import pytest
from django.urls import reverse

from tests.transcripts.codebook.cast import content_of, edit, find, list_steps, new_code, snapshot
from tests.transcripts.codebook.test_draft_pages import address, fill_in, text_of
from transcripts.codebook import actions, queries
from transcripts.codebook.files import read_version
from transcripts.codebook.models import Code
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.refusals import Refused

RULES = ("balanc*", "value & harm - price", "“on the other hand”")


@pytest.fixture(autouse=True)
def no_rules_yet(draft):
    """The seeded codebook without the rules it comes with."""
    Code.objects.filter(version__study=draft.study_id).update(keyword_rules=[])


@pytest.fixture
def ruled(draft, lead):
    """A draft with rules in one of its codes."""
    edit(draft, "theme.balance", lead, keyword_rules=RULES)
    return draft


class TestEditing:
    def test_lead_writes_rules_a_line_each(self, draft, lead, client_of):
        code = find(draft, "theme.balance")
        form = fill_in(code, keyword_rules="balanc*\r\n\r\n  value  &  harm - price \r\nbalanc*")
        answer = client_of(lead).post(address("edit_code", draft, code.pk), form)
        assert answer.status_code == 302
        code.refresh_from_db()
        assert code.keyword_rules == ["balanc*", "value & harm - price"]

    def test_line_that_is_no_rule_is_named_and_nothing_is_saved(self, draft, lead, client_of):
        code = find(draft, "theme.balance")
        form = fill_in(code, name="Another name", keyword_rules="balanc*\r\n\r\na|b\r\n& harm")
        answer = client_of(lead).post(address("edit_code", draft, code.pk), form)
        html = text_of(answer)
        assert answer.status_code == 422
        assert "Line 3: | has no meaning in a rule" in html
        assert "Line 4: A rule must begin with a word" in html
        assert "a|b" in html
        code.refresh_from_db()
        assert (code.name, code.keyword_rules) == ("Balance", [])

    @pytest.mark.parametrize(
        ("rules", "said"),
        [
            (("good", "a|b"), "keyword rule 2: . has no meaning"),
            (("x" * 201,), "keyword rule 1: A rule has at most 200"),
            (tuple(f"word{number}" for number in range(101)), "101 keyword rules; the limit is 100"),
        ],
    )
    def test_action_refuses_what_the_form_would(self, draft, lead, rules, said):
        with pytest.raises(actions.WrongInput, match=said):
            edit(draft, "theme.balance", lead, keyword_rules=rules)

    def test_pages_show_the_rules(self, ruled, lead, client_of):
        client, code = client_of(lead), find(ruled, "theme.balance")
        for page in (address("code", ruled, code.pk), address("version", ruled)):
            assert "value &amp; harm - price" in text_of(client.get(page))
        assert "balanc*\nvalue &amp; harm - price" in text_of(client.get(address("edit_code", ruled, code.pk)))


class TestVersions:
    def test_rules_change_nothing_in_what_a_code_means(self, published, ruled):
        [found] = queries.find_comparison(published, ruled).codes
        assert (found.identifier, found.kinds, found.means_other) == ("theme.balance", ["adjusted"], False)
        assert [*found.facts.values()] == [("Keyword rules", "", "; ".join(RULES))]
        assert find(ruled, "theme.balance").meaning_version == 1
        assert list_steps(ruled) == [("adjusted", "wording", "theme.balance", "theme.balance")]

    def test_published_rules_are_frozen_and_go_into_the_next_draft(self, study, ruled, lead):
        actions.publish_version(version=ruled, by=lead)
        before = snapshot(ruled)
        with pytest.raises(Refused):
            edit(ruled, "theme.balance", lead, keyword_rules=())
        later = actions.start_draft(study=study, by=lead)
        assert content_of(later, "theme.balance").keyword_rules == RULES
        edit(later, "theme.balance", lead, keyword_rules=("other",))
        assert snapshot(ruled) == before

    def test_a_merge_takes_them_over_and_a_split_does_not(self, ruled, lead):
        edit(ruled, "theme.compassion", lead, keyword_rules=("empath*", "balanc*"))
        actions.merge_codes(
            version=ruled,
            codes=[find(ruled, "theme.balance")],
            into=find(ruled, "theme.compassion"),
            reason="the same",
            by=lead,
        )
        assert content_of(ruled, "theme.compassion").keyword_rules == ("empath*", *RULES)
        code = find(ruled, "theme.compassion")
        parts = [new_code("One", definition="1"), new_code("Two", definition="2")]
        born = actions.split_code(code=code, revision=code.revision, parts=parts, reason="two things", by=lead)
        assert [each.keyword_rules for each in born] == [[], []]


def test_a_file_with_a_line_that_is_no_rule_is_refused(study, ruled, lead):
    actions.publish_version(version=ruled, by=lead)
    stream = io.StringIO()
    write_codebook_json(read_version(ruled), stream)
    file = json.loads(stream.getvalue())
    [code] = [each for each in file["codes"] if each["identifier"] == "theme.balance"]
    code["keyword_rules"] = ["fine", "a|b"]
    with pytest.raises(actions.CodebookRefused) as refused:
        actions.import_codebook(study=study, data=json.dumps(file).encode(), name="file", by=lead)
    assert refused.value.problems[0].startswith("Balance, keyword rule 2: | has no meaning")


def test_whoever_reads_may_see_the_rules(ruled, lead, reader, client_of):
    actions.publish_version(version=ruled, by=lead)
    page = client_of(reader).get(reverse("codebook:current", args=[ruled.study.slug]), follow=True)
    assert "value &amp; harm - price" in text_of(page)
