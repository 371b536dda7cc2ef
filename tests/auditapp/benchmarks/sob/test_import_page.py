"""The page that imports answers of another run: a preview first, then the same action that the command calls."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset
from auditapp.llm.models import ModelVariant
from tests.auditapp.benchmarks.sob.test_imported_answers import dataset, write_row, write_table
from transcripts.studies.actions import create_study

__all__ = ["dataset"]

ROWS = [
    write_row("{'race': 'White'}"),
    write_row("refusal", 1),
    write_row("", 2),
    [*write_row("Unknown")[:3], "77", "Another text.", *write_row("Unknown")[5:]],
    write_row("Unknown", prompt="something_else"),
]


class Page:
    """The page of one study, as one person uses it."""

    def __init__(self, client, study):
        self.client, self.path = client, reverse("sob:import", args=[study.slug])

    def send(self, step, dataset, data=None, *, with_htmx=False, **more):
        file = SimpleUploadedFile("sob_results.csv", write_table(ROWS) if data is None else data)
        typed = {"dataset": dataset.pk, "file": file, "task": "", "step": step, **more}
        return self.client.post(self.path, typed, headers={"HX-Request": "true"} if with_htmx else {})

    def look(self, dataset):
        """What was looked at, as the page remembers it."""
        answer = self.send("check", dataset)
        assert answer.status_code == 200
        return str(answer.context["form"]["checked"].value())


@pytest.fixture
def page(dataset, lead, client_of):
    return Page(client_of(lead), dataset.study)


class TestLooking:
    def test_it_counts_what_would_come_in_and_stores_nothing(self, page, dataset):
        told = " ".join(page.send("check", dataset).content.decode().split())
        assert "<dd>3 of 4 match a text; 1 of them empty, 0 failed calls</dd>" in told
        assert "<dd>gpt5.1-T</dd>" in told
        assert "<li>1: its text is not in the dataset</li>" in told
        assert "<li>1: a prompt for neither of the two scored tasks</li>" in told
        assert "The first of them: row 4." in told
        assert "Another text." not in told
        assert "Choose the same file again" in told
        assert not Batch.objects.exists()
        assert not ModelVariant.objects.exists()

    def test_with_htmx_the_part_below_the_file_is_sent_and_the_file_stays_chosen(self, page, dataset):
        told = page.send("check", dataset, with_htmx=True).content.decode()
        assert told.lstrip().startswith('<div id="found"')
        assert "Choose the same file again" not in told
        assert "Import them</button>" in told

    def test_a_task_is_meant_for_prompts_of_other_names(self, page, dataset):
        told = " ".join(page.send("check", dataset, task="non_acceptability").content.decode().split())
        assert "<dd>acceptability, non-acceptability</dd>" in told


class TestBringingIn:
    def test_the_answers_are_a_finished_batch_and_come_in_once(self, page, dataset):
        checked = page.look(dataset)
        answer = page.send("import", dataset, checked=checked)
        batch = Batch.objects.get()
        place = reverse("sob:report", args=[dataset.study.slug, batch.pk])
        assert (answer.headers["Location"], batch.state, batch.launched_by_name) == (place, "done", "lead")
        assert "3 of 4 answers imported" in page.client.get(place).content.decode()
        told = page.send("check", dataset).content.decode()
        assert "has been imported before" in told
        assert "Import them</button>" not in told
        assert page.send("import", dataset, checked=checked).headers["Location"] == place
        assert "has already been imported" in page.client.get(place).content.decode()

    def test_what_was_not_looked_at_is_refused(self, page, dataset):
        checked = page.look(dataset)
        for asserted, task in (("", ""), ("x", ""), (checked, "base")):
            answer = page.send("import", dataset, checked=asserted, task=task)
            assert answer.status_code == 422
            assert "has changed since the preview" in answer.content.decode()
        assert page.send("import", dataset, write_table(ROWS[:1]), checked=checked).status_code == 422
        assert not Batch.objects.exists()

    def test_a_file_that_will_not_do_is_refused_with_a_sentence(self, page, dataset):
        for data, sentence in (
            (b"", "The file is empty."),
            (b"\xff\xfe", "found text in UTF-16"),
            (b"a,b\n1,2\n", "found no column model_name (there are a, b)"),
            (b"{", "sob_results.csv"),
            (write_table([[*ROWS[3]]]), "None of the 1 answers in sob_results.csv matches a text of Texts"),
        ):
            for step in ("check", "import"):
                answer = page.send(step, dataset, data)
                assert answer.status_code == 422
                if step == "check" or not data:
                    assert sentence in answer.content.decode()
        assert not Batch.objects.exists()


class TestWhoMay:
    def test_a_coder_may_not_and_an_outsider_finds_nothing(self, dataset, coder, outsider, client_of):
        for person, status in ((coder, 403), (outsider, 404)):
            page = Page(client_of(person), dataset.study)
            assert page.client.get(page.path).status_code == status
            assert page.send("check", dataset).status_code == status

    def test_a_study_without_texts_is_told_so(self, study, lead, client_of):
        page = Page(client_of(lead), study)
        assert "There are no texts yet" in page.client.get(page.path).content.decode()

    def test_texts_of_another_study_are_none_of_its_choices(self, page, dataset, owner, lead, client_of):
        other = Dataset.objects.get(pk=dataset.pk)
        other.pk, other.name = None, "Elsewhere"
        other.study = create_study(slug="elsewhere", name="Elsewhere", by=owner)
        other.save()
        assert page.send("check", other).status_code == 422
