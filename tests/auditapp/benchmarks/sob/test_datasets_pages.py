"""The pages of the texts: looked at first, then loaded, shown masked, sampled."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from auditapp.benchmarks.sob.models import Dataset, Text
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from auditapp.benchmarks.sob.texts.forms import FileForm
from tests.auditapp.benchmarks.sob.conftest import write_texts
from transcripts.ui.forms import limit_size

HATECHECK = (
    "functionality,case_id,test_case,label_gold,target_ident\n"
    "f1,1,Constructed text one.,hateful,women\n"
    "f1,2,Constructed text two.,non-hateful,women\n"
    "f2,3,Constructed text three.,hateful,immigrants\n"
)
UNUSUAL = "words;group;id\nConstructed text one.;Women;a\nConstructed text two.;elves;b\n"


class Loading:
    """A lead's browser on the page that loads texts."""

    def __init__(self, client, study):
        self.client, self.path = client, reverse("sob:load", args=[study.slug])
        self.status, self.location = 200, ""

    def send(self, content, step, typed=None, *, name="texts.csv", htmx=False):
        data = content.encode() if isinstance(content, str) else content
        form = {"name": "Texts", "step": step, "file": SimpleUploadedFile(name, data), **(typed or {})}
        got = self.client.post(self.path, form, headers={"hx-request": "true"} if htmx else {})
        self.status, self.location = got.status_code, got.headers.get("Location", "")
        return " ".join(got.content.decode().split())


@pytest.fixture
def loading(study, lead, client_of):
    return Loading(client_of(lead), study)


def read_fields(page):
    """What a browser would send again: hidden and typed values, and the chosen options."""
    found = dict(re.findall(r'<input type="(?:hidden|text|number)" name="(\w+)" value="([^"]*)"', page))
    for name, options in re.findall(r'<select name="(\w+)"[^>]*>(.*?)</select>', page):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return {name: value for name, value in found.items() if name not in {"csrfmiddlewaretoken", "name"}}


class TestLooking:
    def test_a_source_of_the_benchmark_is_recognised_and_nothing_is_written(self, loading):
        page = loading.send(HATECHECK, "check")
        assert loading.status == 200
        assert "This is the HateCheck test suite as published" in page
        assert "2 of 3 rows kept, by the benchmark’s own filter and draw, seed 42" in page
        assert "1 left out: not labelled hateful" in page
        assert "CC BY 4.0" in page
        assert "Choose the same file again" in page
        assert not Dataset.objects.exists()

    def test_every_row_of_a_source_can_be_wished_for(self, loading):
        typed = read_fields(loading.send(HATECHECK, "check"))
        page = loading.send(HATECHECK, "check", typed | {"rows": "all"})
        assert "Every row of the file." in page
        loading.send(HATECHECK, "load", typed | {"rows": "all"})
        assert Text.objects.count() == 3

    def test_the_column_of_the_texts_is_asked_for_where_no_name_tells(self, loading):
        page = loading.send(UNUSUAL, "check")
        assert loading.status == 200
        assert "Which column has the texts?" in page
        typed = read_fields(page)
        assert typed["column_target"] == "1"
        page = loading.send(UNUSUAL, "check", typed | {"column_text": "0", "targets": "published"})
        assert "What would be loaded" in page
        assert '<th scope="row" class="short">women</th>' in page
        assert '<th scope="row" class="short">none</th>' in page

    def test_the_first_texts_are_masked(self, loading):
        page = loading.send(write_texts(), "check", name="texts.jsonl")
        masked = "".join(re.findall(r'<details class="masked">.*?</details>', page))
        assert masked.count("Constructed text") == page.count("Constructed text") == 4

    def test_a_header_that_may_be_a_text_is_shown_by_its_place(self, loading):
        page = loading.send("Secret words of a text,women\nMore secret words,old\n", "check")
        assert "Secret words" not in page
        assert "column 1" in page

    def test_with_htmx_the_part_below_the_file_comes_alone(self, loading):
        page = loading.send(HATECHECK, "check", htmx=True)
        assert page.startswith('<div id="choices"')
        assert "Choose the same file again" not in page
        wrong = loading.send("", "check", htmx=True)
        assert loading.status == 422
        assert wrong.startswith('<div id="choices"')

    def test_what_is_wrong_with_the_file_is_said_with_its_line(self, loading):
        page = loading.send("text,target\nConstructed text.,women\n,women\n", "check")
        assert loading.status == 422
        assert "texts.csv, line 3: found no text in row 2" in page
        assert "Update the preview" in page

    def test_another_file_is_looked_at_from_the_start(self, loading):
        typed = read_fields(loading.send(UNUSUAL, "check")) | {"column_text": "0"}
        page = loading.send("id,text,target\n1,Constructed text.,old\n", "check", typed)
        assert read_fields(page)["column_text"] == "1"
        assert "What would be loaded" in page


class TestLoading:
    def test_it_lands_on_the_page_of_what_came_in(self, loading):
        typed = read_fields(loading.send(HATECHECK, "check", name="cases.csv"))
        loading.send(HATECHECK, "load", typed, name="cases.csv")
        dataset = Dataset.objects.get()
        assert loading.location == reverse("sob:dataset", args=[dataset.study.slug, dataset.pk])
        assert (dataset.format, dataset.targets_from, dataset.split) == ("hatecheck", "published", "test")
        assert list(dataset.texts.values_list("target", "target_raw")) == [
            ("women", "women"),
            ("immigrant", "immigrants"),
        ]
        page = " ".join(loading.client.get(loading.location).content.decode().split())
        assert "2 of 3 rows kept" in page
        assert dataset.sha256 in page
        assert "CC BY 4.0" in page

    def test_a_mapping_a_sample_and_a_record_of_ones_own_are_kept(self, loading):
        typed = read_fields(loading.send(UNUSUAL, "check"))
        chosen = {"column_text": "0", "size": "1", "method": "simple", "seed": "7", "licence": "our own"}
        loading.send(UNUSUAL, "load", typed | chosen)
        dataset = Dataset.objects.get()
        assert (dataset.licence, dataset.sampling["method"], dataset.sampling["seed"]) == ("our own", "simple", 7)
        assert dataset.texts.get().text.startswith("Constructed text")

    def test_the_studys_own_table_can_name_the_targets(self, loading, study, owner):
        table = save_targets(study=study, rows=[{"raw": "elves", "target": "elf"}], reason="They exist.", by=owner)
        typed = read_fields(loading.send(UNUSUAL, "check"))
        page = loading.send(UNUSUAL, "check", typed | {"column_text": "0", "targets": "table"})
        assert "from the study&#x27;s table 1" in page
        loading.send(UNUSUAL, "load", typed | {"column_text": "0", "targets": "table"})
        assert Dataset.objects.get().target_table == table
        assert list(Text.objects.values_list("target", flat=True)) == ["", "elf"]

    def test_a_file_that_is_not_the_one_that_was_looked_at_is_refused(self, loading):
        typed = read_fields(loading.send(HATECHECK, "check"))
        page = loading.send(HATECHECK + "f3,4,Constructed text four.,hateful,old\n", "load", typed)
        assert loading.status == 422
        assert "This is not the file of the preview" in page
        assert not Dataset.objects.exists()

    def test_the_prepared_table_stays_known_as_what_it_is(self, loading):
        header = "source,tix,text,target_raw,type,target,target_secondary,target_tertiary"
        content = f"{header}\nhatecheck,1,Constructed text.,women,f1,women,black,\n"
        typed = read_fields(loading.send(content, "check"))
        loading.send(content, "load", typed)
        assert Dataset.objects.get().format == "sob_inputs"

    def test_a_name_that_stands_for_another_file_is_refused_and_nothing_typed_is_lost(self, loading, dataset):
        typed = read_fields(loading.send(HATECHECK, "check")) | {"licence": "as typed"}
        page = loading.send(HATECHECK, "load", typed)
        assert loading.status == 422
        assert "There is already a dataset Texts, from another file" in page
        assert 'name="licence" value="as typed"' in page

    def test_a_file_that_is_too_large_is_refused_before_it_is_read(self, loading, monkeypatch):
        monkeypatch.setattr(FileForm.base_fields["file"], "validators", [limit_size(10)])
        page = loading.send(HATECHECK, "check")
        assert loading.status == 422
        assert "the limit is 10" in page


class TestList:
    def test_each_set_stands_with_its_counts_in_a_handful_of_queries(
        self, study, dataset, batch, coder, client_of, django_assert_max_num_queries
    ):
        client = client_of(coder)
        with django_assert_max_num_queries(9):
            page = " ".join(client.get(reverse("sob:datasets", args=[study.slug])).content.decode().split())
        assert re.search(r'Texts</a>.*?<td class="num">4</td> <td class="num">3</td> <td class="num">1</td>', page)

    def test_nothing_is_claimed_of_the_texts(self, study, dataset, coder, client_of):
        for name, more in (("sob:datasets", ()), ("sob:dataset", (dataset.pk,))):
            page = client_of(coder).get(reverse(name, args=[study.slug, *more])).content.decode()
            assert "may be hateful or offensive" in page
            assert "are hateful" not in page


class TestDataset:
    def test_texts_are_masked_paged_and_narrowed_by_target(self, study, dataset, coder, client_of):
        url = reverse("sob:dataset", args=[study.slug, dataset.pk])
        page = client_of(coder).get(url).content.decode()
        masked = "".join(re.findall(r'<details class="masked">.*?</details>', page, re.DOTALL))
        assert masked.count("Constructed text") == page.count("Constructed text") == 4
        page = client_of(coder).get(url, {"target": "women"}).content.decode()
        assert page.count("Constructed text") == 2
        assert client_of(coder).get(url, {"target": "-"}).content.decode().count("Constructed text") == 0
        assert client_of(coder).get(url, {"target": "\x00", "page": "99"}).status_code == 200

    def test_its_batches_are_linked(self, study, dataset, batch, coder, client_of):
        page = client_of(coder).get(reverse("sob:dataset", args=[study.slug, dataset.pk])).content.decode()
        assert reverse("sob:report", args=[study.slug, batch.pk]) in page

    def test_who_may_only_look_is_offered_nothing_to_change(self, study, dataset, coder, outsider, client_of):
        url = reverse("sob:dataset", args=[study.slug, dataset.pk])
        page = client_of(coder).get(url).content.decode()
        assert "Draw a sample" not in page
        assert "Launch</a>" not in page
        assert client_of(outsider).get(url).status_code == 404


class TestSample:
    def test_a_sample_is_a_set_of_its_own_that_says_how_it_was_drawn(self, study, dataset, lead, client_of):
        client = client_of(lead)
        typed = {"name": "Half", "size": "2", "method": "proportional", "by_field": "target", "seed": "42"}
        got = client.post(reverse("sob:sample", args=[study.slug, dataset.pk]), typed)
        assert got.status_code == 302
        sample = Dataset.objects.get(name="Half")
        assert (sample.texts.count(), sample.drawn_from) == (2, dataset)
        page = " ".join(client.get(got["Location"]).content.decode().split())
        assert "2 of 4 rows kept, drawn proportional by target, seed 42." in page
        assert "2 left out: not drawn" in page
        assert "Half" in client.get(reverse("sob:dataset", args=[study.slug, dataset.pk])).content.decode()

    def test_what_cannot_be_drawn_is_told(self, study, dataset, lead, client_of):
        for typed, sentence in [
            ({"name": "Half", "size": "5"}, "cannot be drawn from 4"),
            ({"name": "Texts", "size": "1"}, "already a dataset Texts"),
            ({"name": "Half", "size": ""}, "This field is required"),
            ({"name": "Half", "size": "0"}, "greater than or equal to 1"),
            ({"name": "Half", "size": "1", "seed": "-1"}, "greater than or equal to 0"),
        ]:
            got = client_of(lead).post(
                reverse("sob:sample", args=[study.slug, dataset.pk]),
                {"method": "simple", "by_field": "target", **typed},
            )
            assert got.status_code == 422
            assert sentence in got.content.decode()
            assert Dataset.objects.count() == 1


class TestOtherTargetsAndRecord:
    def test_the_same_texts_can_be_had_with_targets_of_another_table(self, study, dataset, owner, lead, client_of):
        rows = [{"raw": "women", "target": "all women"}]
        table = save_targets(study=study, rows=rows, reason="Ours.", by=owner)
        url, client = reverse("sob:retarget", args=[study.slug, dataset.pk]), client_of(lead)
        assert "the study&#x27;s table 1" in client.get(url).content.decode()
        assert client.post(url, {"name": "Again", "targets": "1"}).status_code == 302
        made = Dataset.objects.get(name="Again")
        assert (made.target_table, made.drawn_from) == (table, dataset)
        assert sorted(made.texts.values_list("target", flat=True)) == ["", "", "all women", "all women"]
        client.post(url, {"name": "Published", "targets": ""})
        assert Dataset.objects.get(name="Published").targets_from == "published"
        for typed in ({"name": "Again", "targets": "1"}, {"name": "New", "targets": "7"}, {}):
            assert client.post(url, typed).status_code == 422

    def test_the_record_can_be_put_right_and_the_texts_stay(self, study, dataset, lead, client_of):
        url, client = reverse("sob:describe", args=[study.slug, dataset.pk]), client_of(lead)
        seen = client.get(url).context["form"].initial["seen"]
        typed = {"source_name": "Our own", "licence": "CC0", "split": "", "filter": "", "seen": seen}
        assert client.post(url, typed).status_code == 302
        dataset.refresh_from_db()
        assert (dataset.source_name, dataset.licence, dataset.texts.count()) == ("Our own", "CC0", 4)
        assert 'value="CC0"' in client.get(url).content.decode()
        assert client.post(url, typed | {"licence": "x" * 201}).status_code == 422
