import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.pure.figures import STEPS, Counting, Figures, arrange_heat_map, choose_targets
from auditapp.benchmarks.sob.report.stored_reports import compute_report
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from tests.support.calls import list_followed


def get(client, name, *args, **query):
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


class TestDashboard:
    def test_it_shows_the_published_rows_even_before_the_first_batch(self, study, coder, client_of):
        page = get(client_of(coder), "sob:dashboard", study.slug)
        assert "gpt5.1-I" in page
        assert "3.55" in page

    def test_a_cell_opens_its_answers_and_says_what_stands_behind_it(self, batch, study, coder, client_of):
        answer_cells(batch, ['{"Race": "White", "Age": "35"}', "Person: Unknown"])
        page = get(client_of(coder), "sob:report", study.slug, batch.pk)
        link = re.search(
            r'href="([^"]*target=women)">1.0<span class="details">model a, acceptability, women: sob 1.00 over 2 answers \(fewer',
            page,
        )
        assert link
        answers = client_of(coder).get(link[1].replace("&amp;", "&")).content.decode()
        assert answers.count('<details class="masked">') == 2
        assert "sob 1.00 over 2 answers" in " ".join(answers.split())

    def test_the_map_comes_first_and_what_it_was_made_with_is_folded_below(self, batch, study, coder, client_of):
        answer_cells(batch, ["Person: Unknown"])
        for page in (
            get(client_of(coder), "sob:dashboard", study.slug),
            get(client_of(coder), "sob:report", study.slug, batch.pk),
        ):
            order = [
                page.index(part)
                for part in (
                    '<table role="table" class="heat stacks">',
                    '<aside class="caveat">',
                    '<ul class="cards">',
                    '<details class="why">',
                    '<dl class="versions"',
                )
            ]
            assert order == sorted(order)

    def test_shares_of_answers_about_fewer_than_ten_texts_are_marked(self, batch, study, coder, client_of):
        answer_cells(batch, ["Person: Unknown", "I cannot help with that."])
        page = get(client_of(coder), "sob:dashboard", study.slug)
        assert "† Few: fewer than 10 texts." in page

    def test_whoever_reads_the_page_of_the_map_follows_at_most_fifty_functions(self, batch, study, coder, client_of):
        for label in ("model a", "model b"):
            answer_cells(batch, ['{"Race": "White", "Age": "35"}', "Person: Unknown", "no"], label=label)
        client = client_of(coder)
        # What is computed and loaded once is there.
        get(client, "sob:report", study.slug, batch.pk)
        with list_followed("show_report") as followed:
            get(client, "sob:report", study.slug, batch.pk)
        assert 20 < len(followed) <= 50, sorted(followed)

    def test_fake_answers_are_named_as_such(self, batch, study, coder, client_of):
        client = client_of(coder)
        for name in ("sob:report", "sob:responses"):
            assert "Invented answers: these scores say nothing about any model" in get(
                client, name, study.slug, batch.pk
            )
        assert "Invented answers: these scores say nothing about any model" in get(client, "sob:dashboard", study.slug)

    def test_a_score_stands_with_what_it_does_not_say(self, batch, study, coder, client_of):
        page = " ".join(get(client_of(coder), "sob:report", study.slug, batch.pk).split())
        assert "does not deny that oppression exists" in page
        assert "does not certify a judge" in page
        assert "Unknown is the only warranted answer" in page

    def test_the_text_is_masked_and_stands_in_no_title(self, batch, study, coder, client_of):
        answer_cells(batch, ["Person: Unknown"])
        page = get(client_of(coder), "sob:responses", study.slug, batch.pk, outcome="unknown")
        title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
        assert title
        assert "Constructed text" not in title[1]
        masked = re.search(r'<details class="masked">.*?</details>', page, re.DOTALL)
        assert masked
        assert "Constructed text number 0." in masked[0]
        assert page.count("Constructed text number 0.") == 1

    def test_an_outsider_gets_404(self, batch, study, outsider, client_of):
        for url in (
            reverse("sob:dashboard", args=[study.slug]),
            reverse("sob:report", args=[study.slug, batch.pk]),
            reverse("sob:responses", args=[study.slug, batch.pk]),
        ):
            assert client_of(outsider).get(url).status_code == 404


class TestHeatMap:
    def test_shades_run_from_nothing_to_the_highest_score_shown(self, batch):
        answer_cells(batch, ['{"Race": "White"}', "Person: Unknown"])
        heat = arrange_heat_map(read_figures(batch))
        assert heat["tasks"] == ["acceptability"]
        assert [row["model"] for row in heat["rows"]] == ["model a"]
        assert len(heat["published"]) == 12
        steps = [
            cell["step"] for row in (*heat["rows"], *heat["published"]) for cell in row["cells"] if not cell["is_rate"]
        ]
        assert (min(steps), max(steps)) == (0, STEPS)
        women = next(cell for cell in heat["rows"][0]["cells"] if cell["column"] == "women")
        assert women["value"] == 0.5
        assert "over 2 answers" in women["details"]

    def test_rates_have_a_scale_of_their_own_from_0_to_1(self, batch):
        answer_cells(batch, ['{"Race": "White", "Age": "35"}', "Person: Unknown"])
        rate = arrange_heat_map(read_figures(batch))["rows"][0]["cells"][0]
        assert (rate["is_rate"], rate["value"], rate["step"], rate["target"]) == (True, 0.5, STEPS // 2, "overall")

    def test_a_target_without_an_answer_has_no_score(self, batch):
        answer_cells(batch, ["Person: Unknown"])
        arab = next(
            cell for cell in arrange_heat_map(read_figures(batch))["rows"][0]["cells"] if cell["column"] == "arab"
        )
        assert arab["value"] is None

    def test_targets_of_ones_own_stand_after_the_papers(self, batch):
        answer_cells(batch, ["Person: Unknown"] * 4)
        figures = read_figures(batch)
        assert choose_targets(figures) == "all"
        heat = arrange_heat_map(figures, targets="all")
        assert heat["columns"] == ["rate", "overall", "women", "black", "old"]
        assert [cell["value"] for cell in heat["published"][0]["cells"] if cell["column"] == "old"] == [None]
        assert "old" not in arrange_heat_map(figures, targets="ten")["columns"]

    def test_strict_counting_leaves_out_what_says_nothing(self, batch):
        answer_cells(batch, ['{"Race": "White", "Age": "any"}'])
        figures = read_figures(batch)
        scores = [arrange_heat_map(figures, counting=each)["rows"][0]["cells"][1]["value"] for each in Counting]
        assert scores == [2.0, 1.0, 2.0]


def read_figures(batch):
    return Figures(compute_report(batch).report)


class TestForms:
    def test_a_wrong_file_is_told_beside_the_field(self, study, lead, client_of):
        file = SimpleUploadedFile("texts.jsonl", b"no JSON")
        answer = client_of(lead).post(reverse("sob:load", args=[study.slug]), {"name": "Texts", "file": file})
        assert answer.status_code == 422
        assert "texts.jsonl" in answer.content.decode()
        assert Dataset.objects.count() == 0

    def test_a_good_file_is_loaded(self, study, lead, client_of):
        file = SimpleUploadedFile("texts.jsonl", write_texts())
        answer = client_of(lead).post(reverse("sob:load", args=[study.slug]), {"name": "Texts", "file": file})
        assert answer.status_code == 302
        assert Dataset.objects.get().texts.count() == 4

    def test_a_coder_may_not_launch(self, study, coder, client_of):
        assert client_of(coder).post(reverse("sob:launch", args=[study.slug])).status_code == 403

    def test_a_launch_asks_for_the_notice_to_be_confirmed(self, batch, dataset, study, lead, client_of):
        chosen = {
            "dataset": dataset.pk,
            "models": [batch.arms.all()[0].variant_id],
            "tasks": ["acceptability"],
            "instrument": "paper",
            "concurrency": 5,
            "repeats": 1,
            "pilot": 0,
            "lost_answers": "retry",
            "step": "launch",
        }
        url = reverse("sob:launch", args=[study.slug])
        assert client_of(lead).post(url, chosen).status_code == 422
        answer = client_of(lead).post(url, chosen | {"notice": "on"})
        assert answer.status_code == 302
        assert Batch.objects.count() == 2


@pytest.mark.parametrize("name", ["sob:load", "sob:launch"])
def test_forms_open_for_a_lead(name, study, lead, client_of):
    assert "<form" in get(client_of(lead), name, study.slug)


def test_a_launch_without_texts_leads_to_loading_some(study, owner, client_of):
    client = client_of(owner)
    page = client.get(reverse("sob:launch", args=[study.slug])).content.decode()
    assert "Load texts first." in page
    assert reverse("sob:load", args=[study.slug]) in page
