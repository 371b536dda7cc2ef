"""A study's own wordings: how they are written, kept and shown."""

import pytest
from django.urls import reverse

from auditapp.benchmarks.sob.judging.launching import add_wording, find_instrument, launch_sob
from auditapp.benchmarks.sob.models import Judgment, Wording
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

CASTE = {"name": "caste", "based_on": "paper", "characteristics": ["Caste", "Age"]}


def keep(study, by, **changes):
    return add_wording(study=study, by=by, **(CASTE | changes))


class TestKeeping:
    def test_both_tasks_are_kept_with_hashes_and_one_event(self, study, owner):
        acc, non = keep(study, owner)
        assert (acc.task, non.task) == ("acceptability", "non_acceptability")
        assert acc.characteristics == ["caste", "age"]
        assert "• Caste\n• Age\n" in non.text
        assert acc.sha256 != get_instrument("acceptability").sha256
        event = AuditEvent.objects.get(action="sob.wording.added")
        assert event.details == {
            "name": "caste",
            "based_on": "paper",
            "acceptability": acc.sha256,
            "non_acceptability": non.sha256,
        }

    def test_it_is_an_instrument_that_compares_with_nothing(self, study, owner):
        keep(study, owner)
        found = find_instrument("acceptability", "caste", study)
        assert (found.variant, found.characteristics, found.comparable) == ("caste", ("caste", "age"), False)
        assert "Not comparable with the published figures" in found.note

    def test_a_text_of_ones_own_is_kept_as_written_with_one_kind_of_line_end(self, study, owner):
        text = "Who accepts P? Name Caste and Age.\r\nElse: Person: Unknown"
        acc, non = keep(study, owner, texts={"acceptability": text})
        assert acc.text == text.replace("\r\n", "\n")
        assert "NOT acceptable" in non.text

    def test_strict_counting_of_its_answers_takes_its_characteristics(self, study, dataset, owner):
        keep(study, owner)
        variant = add_model(label="m", provider="fake", by=owner)
        batch = launch_sob(
            dataset=dataset, variants=[variant], tasks=["acceptability"], instrument_variant="caste", by=owner
        )
        answer_cells(batch, ['{"Caste": "high", "Race": "White", "Gender": "woman"}'], label="m")
        judgment = Judgment.objects.get()
        assert (judgment.n_attributes, judgment.n_on_schema, judgment.n_strict) == (3, 1, 1)

    def test_one_can_be_based_on_another(self, study, owner):
        keep(study, owner)
        acc, _ = keep(study, owner, name="wealth", based_on="caste", characteristics=["Wealth"])
        assert "• Wealth\n\n" in acc.text
        assert acc.based_on == "caste"

    def test_what_would_measure_nothing_is_refused_and_nothing_is_kept(self, study, owner):
        cases = [
            ({"name": "paper"}, "a built-in wording"),
            ({"name": "base"}, "a built-in wording"),
            ({"name": ""}, "needs a name"),
            ({"name": "two words"}, "needs a name"),
            ({"name": "x" * 41}, "needs a name"),
            ({"based_on": "nothing"}, "no instrument acceptability \\(nothing\\)"),
            ({"characteristics": []}, "Acceptability: There are 0"),
            ({"characteristics": ["Age", "age"]}, "is in the list twice"),
            ({"texts": {"non_acceptability": "Caste and Age."}}, "Non-acceptability: .*Person: Unknown"),
        ]
        for changes, sentence in cases:
            with pytest.raises(Refused, match=sentence):
                keep(study, owner, **changes)
            assert not Wording.objects.exists()

    def test_a_wording_is_never_changed_a_change_is_another_name(self, study, owner):
        keep(study, owner)
        with pytest.raises(Refused, match="A wording is never changed"):
            keep(study, owner, characteristics=["Wealth"])
        assert Wording.objects.count() == 2

    def test_each_study_has_its_own(self, study, owner):
        keep(study, owner)
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="no instrument acceptability \\(caste\\)"):
            find_instrument("acceptability", "caste", other)
        keep(other, owner)


class TestAsking:
    def test_a_batch_says_with_what_it_asked_and_that_it_does_not_compare(self, study, dataset, owner):
        acc, _ = keep(study, owner)
        variant = add_model(label="m", provider="fake", by=owner)
        batch = launch_sob(
            dataset=dataset, variants=[variant], tasks=["acceptability"], instrument_variant="caste", by=owner
        )
        arm = batch.arms.get()
        assert arm.system_prompt == acc.text
        assert arm.settings == {
            "instrument": "caste",
            "sha256": acc.sha256,
            "schema": ["caste", "age"],
            "comparable": False,
        }
        assert batch.parameters["comparable"] is False
        assert batch.title == "sob: Texts, wording caste (not comparable)"


class TestPages:
    def typed(self, **changes):
        return {
            "name": "caste",
            "based_on": "release",
            "characteristics": "Caste\r\nAge\r\n",
            "acceptability": "",
            "non_acceptability": "",
            "step": "save",
            **changes,
        }

    def test_the_texts_are_shown_before_they_are_kept(self, study, lead, client_of):
        url = reverse("sob:wording_new", args=[study.slug])
        got = client_of(lead).post(url, self.typed(step="preview"))
        assert got.status_code == 200
        page = got.content.decode()
        assert page.count("- Caste\n- Age\n\nYour response") == 2
        assert "Not saved yet" in page
        assert not Wording.objects.exists()

    @pytest.mark.parametrize("name", ["paper", "base"])
    def test_a_name_that_is_taken_is_refused_before_the_texts_are_shown(self, study, lead, client_of, name):
        url = reverse("sob:wording_new", args=[study.slug])
        got = client_of(lead).post(url, self.typed(name=name, step="preview"))
        assert got.status_code == 422
        assert f"{name} is the name of a built-in wording" in got.content.decode()

    def test_what_was_shown_is_what_is_kept_and_can_be_written_anew(self, study, lead, client_of):
        url, client = reverse("sob:wording_new", args=[study.slug]), client_of(lead)
        shown = client.post(url, self.typed(step="preview")).context["form"].data
        changed = {**shown, "characteristics": "Wealth", "step": "preview"}
        assert "does not name Wealth" in client.post(url, changed).content.decode()
        anew = client.post(url, {**changed, "step": "anew"})
        assert anew.content.decode().count("- Wealth\n\nYour response") == 2
        client.post(url, {**shown, "step": "save"})
        client.post(url, self.typed(name="directly"))
        assert Wording.objects.values("task", "sha256").distinct().count() == 2

    def test_a_wording_is_kept_and_its_page_says_what_it_is(self, study, lead, coder, client_of):
        got = client_of(lead).post(reverse("sob:wording_new", args=[study.slug]), self.typed())
        assert got.status_code == 302
        page = client_of(coder).get(got["Location"]).content.decode()
        assert "Not comparable with the published figures" in page
        assert Wording.objects.all()[0].sha256 in page
        assert "-- Caste" not in page
        assert "+- Caste" in page
        assert "caste" in client_of(coder).get(reverse("sob:wordings", args=[study.slug])).content.decode()

    def test_a_refusal_is_the_form_again_with_everything_typed(self, study, lead, client_of):
        url = reverse("sob:wording_new", args=[study.slug])
        got = client_of(lead).post(url, self.typed(acceptability="Caste, Age."))
        assert got.status_code == 422
        page = got.content.decode()
        assert "does not allow the answer “Person: Unknown”" in page
        assert "Caste, Age.</textarea>" in page

    def test_it_begins_with_the_wording_it_is_written_from(self, study, owner, lead, client_of):
        keep(study, owner)
        url = reverse("sob:wording_new", args=[study.slug])
        assert "Caste\nAge</textarea>" in client_of(lead).get(url, {"from": "caste"}).content.decode()
        assert "Disability status\nAge</textarea>" in client_of(lead).get(url, {"from": "no such"}).content.decode()

    @pytest.mark.parametrize("name", ["paper", "release", "base"])
    def test_what_comes_with_the_program_has_a_page(self, study, coder, client_of, name):
        page = client_of(coder).get(reverse("sob:wording", args=[study.slug, name])).content.decode()
        task = "base" if name == "base" else "acceptability"
        assert get_instrument(task, name).sha256 in page
        assert ("Our reconstruction: no score" in page) == (name == "base")

    def test_a_name_that_is_none_is_not_found(self, study, coder, client_of):
        assert client_of(coder).get(reverse("sob:wording", args=[study.slug, "nothing"])).status_code == 404

    def test_a_page_lists_the_batches_that_asked_with_it(self, study, dataset, owner, coder, client_of):
        variant = add_model(label="m", provider="fake", by=owner)
        batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], include_base=True, by=owner)
        link = reverse("sob:report", args=[study.slug, batch.pk])
        for name, listed in (("paper", True), ("base", True), ("release", False)):
            page = client_of(coder).get(reverse("sob:wording", args=[study.slug, name])).content.decode()
            assert (link in page) == listed, name
