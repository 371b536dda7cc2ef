"""Several sets of texts as one: by the page, which says first what it would keep, and by the command."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from transcripts.audit_trail.models import AuditEvent
from transcripts.studies.actions import create_study

AGAIN = "the same text again in its source"


def load(study, owner, name, *texts, source="s"):
    rows = "\n".join(f"{source},Constructed text {text}.,women" for text in texts)
    data = f"source,text,target\n{rows}\n".encode()
    return load_dataset(study=study, name=name, file_name=f"{name}.csv", data=data, by=owner)[0]


@pytest.fixture
def sets(study, owner):
    """Three sets of five texts: one stands in its source twice, one in two sources."""
    return [
        load(study, owner, "first", "a", "b"),
        load(study, owner, "second", "a", "c"),
        load(study, owner, "third", "a", source="t"),
    ]


@pytest.fixture
def path(study):
    return reverse("sob:combine", args=[study.slug])


def keys(sets):
    return [str(each.pk) for each in sets]


class TestPage:
    def test_the_list_offers_ticks_to_who_may_import_and_has_two_sets(self, study, sets, path, lead, coder, client_of):
        listing = reverse("sob:datasets", args=[study.slug])
        page = client_of(lead).get(listing).content.decode()
        assert f'action="{path}"' in page
        assert page.count('name="sets"') == 3
        assert 'name="sets"' not in client_of(coder).get(listing).content.decode()

    def test_one_set_alone_cannot_be_ticked(self, study, dataset, lead, client_of):
        page = client_of(lead).get(reverse("sob:datasets", args=[study.slug])).content.decode()
        assert 'name="sets"' not in page

    def test_ticked_sets_are_looked_at_before_anything_is_written(self, sets, path, lead, client_of):
        page = " ".join(client_of(lead).get(path, {"sets": keys(sets)}).content.decode().split())
        assert page.count(" checked") == 3
        assert "4 of 5 rows kept, from several sets." in page
        assert f"1 left out: {AGAIN}" in page
        assert "rows 1, 4: the same text in more than one source" in page
        assert "Constructed text" not in page
        assert Dataset.objects.count() == 3

    def test_another_choice_can_be_looked_at_without_a_name(self, sets, path, lead, client_of):
        got = client_of(lead).post(path, {"sets": keys(sets[1:]), "name": "", "step": "check"})
        page = " ".join(got.content.decode().split())
        assert got.status_code == 200
        assert "3 of 3 rows kept" in page
        assert "Nothing is left out." in page
        assert Dataset.objects.count() == 3

    def test_the_new_set_says_what_was_left_out_and_the_others_stay(self, sets, path, lead, client_of):
        client = client_of(lead)
        got = client.post(path, {"sets": keys(sets), "name": "all", "step": "combine"})
        assert got.status_code == 302
        made = Dataset.objects.get(name="all")
        assert list(made.texts.values_list("source", "external_id")) == [
            ("s", "1"),
            ("s", "2"),
            ("s", "2/2"),
            ("t", "1"),
        ]
        page = " ".join(client.get(got["Location"]).content.decode().split())
        assert "all has 4 texts, of 5 in 3 datasets." in page
        assert f"1 left out: {AGAIN}" in page
        assert [each.texts.count() for each in sets] == [2, 2, 1]
        assert AuditEvent.objects.get(action="sob.dataset.combined").details["texts"] == 4

    @pytest.mark.parametrize(
        ("ticked", "name", "sentence"),
        [
            (0, "all", "Tick at least two datasets."),
            (1, "all", "Choose 2 to 50 different datasets to combine."),
            (3, "first", "There is already a dataset first."),
            (3, "", "This field is required"),
        ],
    )
    def test_what_cannot_be_put_together_is_told_on_the_same_form(
        self, sets, path, lead, client_of, ticked, name, sentence
    ):
        got = client_of(lead).post(path, {"sets": keys(sets[:ticked]), "name": name, "step": "combine"})
        page = got.content.decode()
        assert got.status_code == 422
        assert sentence in page
        assert page.count(" checked") == ticked
        assert Dataset.objects.count() == 3

    def test_another_studys_set_is_none_of_this_one(self, sets, path, owner, lead, client_of):
        foreign = load(create_study(slug="other", name="Other", by=owner), owner, "foreign", "z")
        client, both = client_of(lead), [str(sets[0].pk), str(foreign.pk)]
        got = client.post(path, {"sets": both, "name": "all", "step": "combine"})
        assert got.status_code == 422
        assert "This study has no such dataset." in got.content.decode()
        page = client.get(path, {"sets": [*both, "x", "9" * 30]}).content.decode()
        assert "foreign" not in page
        assert not Dataset.objects.filter(name="all").exists()


class TestCommand:
    def test_json_says_what_became_of_every_text(self, sets):
        out = StringIO()
        call_command("sob", "combine", "first", "second", "third", "--name", "all", "--json", stdout=out)
        answer = json.loads(out.getvalue())
        assert (answer["dataset"], answer["read"], answer["kept"], answer["texts"]) == ("all", 5, 4, 4)
        assert answer["dropped"] == {AGAIN: 1}
        assert answer["strata"] == {
            "first": {"read": 2, "kept": 2},
            "second": {"read": 2, "kept": 1},
            "third": {"read": 1, "kept": 1},
        }

    def test_words_say_the_same(self, study, sets):
        out = StringIO()
        call_command("sob", "combine", "second", "first", "--name", "both", "--study", study.slug, stdout=out)
        assert out.getvalue().startswith(
            f"both: 3 texts of 2 datasets, in {study.slug}.\n  4 rows read; left out: 1 {AGAIN}.\n"
        )
        assert list(Dataset.objects.get(name="both").texts.values_list("text", flat=True)) == [
            f"Constructed text {letter}." for letter in "acb"
        ]

    @pytest.mark.parametrize(
        ("names", "sentence"),
        [
            (["first"], "Choose 2 to 50"),
            (["first", "first"], "Choose 2 to 50"),
            (["first", "nowhere"], "There is no dataset 'nowhere'. The datasets are: first, second, third"),
            (["first", "second", "--name", "third"], "There is already a dataset third"),
        ],
    )
    def test_a_senseless_wish_is_refused_in_one_line(self, sets, names, sentence):
        with pytest.raises(CommandError, match=sentence) as refusal:
            call_command("sob", "combine", "--name", "all", *names)
        assert "\n" not in str(refusal.value)
        assert Dataset.objects.count() == 3
