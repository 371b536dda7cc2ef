import html
import re
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.benchmarks.sob.pure.attributions import AttributionTally, Rule, list_mapping
from auditapp.benchmarks.sob.pure.figures import Figures
from auditapp.benchmarks.sob.pure.secondary import draw_social_map, list_top_values
from auditapp.benchmarks.sob.queries import find_mapping
from auditapp.benchmarks.sob.report.views.reports import draw_values
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping
from tests.auditapp.benchmarks.sob.conftest import answer_cells

ACC, NON_ACC = "acceptability", "non_acceptability"
SHOW_REPORT = "auditapp.benchmarks.sob.report.views.reports.read_report"


def write_report(tally):
    """What the pages of attributions read of a report."""
    cells = [
        {
            "model": place.model,
            "task": place.task,
            "target": place.target,
            "n_responses": counts.attributed,
            "n_items": 12,
        }
        for place, counts in tally.list_places()
        if place.model is not None
    ]
    return {
        "versions": {"mapping": tally.mapping.name},
        "cells": cells,
        "top_values": list_top_values(tally, 20),
        "mapping": list_mapping(tally),
        "mapping_all": list_mapping(tally, rule=Rule.ALL),
        "social_map": draw_social_map(tally),
        "warnings": [],
    }


@pytest.fixture
def tally(study):
    tally = AttributionTally(find_mapping(study))
    tally.add_answers("model a", ACC, "women", [{"Gender identity": "Male", "Race": "White"}] * 3)
    tally.add_answers("model a", ACC, "women", [{"Gender identity": "woman"}])
    tally.add_answers("model a", ACC, "women", [{"Gender identity": ["woman", "girl"]}])
    tally.add_answers("model b", ACC, "women", [{"Race": "<b>R&B</b>"}] * 2)
    tally.add_answers("model a", ACC, "old", [{"Age": "65"}])
    tally.add_answers("model a", NON_ACC, "women", [{"Gender identity": "woman"}] * 2)
    return tally


@pytest.fixture
def _report(tally, monkeypatch):
    stored = SimpleNamespace(report=write_report(tally), as_of=timezone.now(), is_current=True)
    monkeypatch.setattr(SHOW_REPORT, lambda *_, **__: stored)


def test_asking_about_two_texts_again_makes_no_value_lead():
    cells = [
        {"model": model, "task": ACC, "target": "women", "n_items": texts} for model, texts in (("a", 2), ("b", 12))
    ]
    rows = [{"target": "women", "denominator": 24, "values": [{"value": "White", "pct": 100.0, "count": 24}]}]
    for model, verdict in (
        ("a", "few texts: 2, a verdict needs 10"),
        ("b", "one value leads"),
        ("", "one value leads"),
    ):
        texts = Figures({"cells": cells}).count_texts(model=model, task=ACC)
        chart = draw_values(rows, texts=texts, whose="all", link=lambda **place: "")
        assert [row.verdict.words for row in chart.rows if row.verdict] == [verdict]


def get(client, name, batch, **query):
    answer = client.get(reverse(name, args=[batch.study.slug, batch.pk]), query)
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def get_html(client, name, batch, **query):
    return client.get(reverse(name, args=[batch.study.slug, batch.pk]), query).content.decode()


@pytest.mark.usefixtures("_report")
class TestValues:
    def test_each_share_stands_with_its_denominator(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:values", batch)
        assert "women 6 Male 50.0 % (3 of 6)" in page
        assert "all models together, acceptability" in page

    def test_a_value_opens_the_answers_that_give_it(self, batch, coder, client_of):
        page = get_html(client_of(coder), "sob:values", batch, model="model b")
        assert "?model=model%20b&amp;task=acceptability&amp;target=women&amp;value=%3Cb%3ER%26B%3C%2Fb%3E" in page
        assert "<b>R&B" not in page

    def test_model_task_and_number_are_in_the_address(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:values", batch, model="model a", task=NON_ACC, k="10")
        assert "The 5 values attributed most: model a, non-acceptability" in page
        assert "women 2 woman 100.0 % (2 of 2)" in page

    def test_the_chart_has_the_first_values_with_a_verdict(self, batch, coder, client_of):
        page = client_of(coder).get(reverse("sob:values", args=[batch.study.slug, batch.pk])).content.decode()
        # A chart of rows is on the page twice: for wide screens and for narrow ones.
        labels = set(re.findall(r'aria-label="([^":]+: [^":]+: [\d.]+ % [^"]*)"', page))
        assert len([label for label in labels if "few answers: 6, a verdict needs 10" in label]) == 1
        for label in labels:
            _target, value, figures = label.split(": ", 2)
            pct, counts = figures.split(";")[0].split(" (")
            assert f'>{value}</a> <span class="of">{pct} <span class="nowrap">({counts}</span>' in page

    def test_fewer_values_may_be_asked_for(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:values", batch, k="3")
        assert "The 3 values attributed most" in page
        assert page.partition("All values as a table")[2].count(" of 6)") == 3

    def test_a_number_of_values_that_is_none_shows_the_usual_one(self, batch, coder, client_of):
        for odd in ["x", "-1", "9" * 5000, "\x00", "²"]:
            page = get(client_of(coder), "sob:values", batch, k=odd)
            assert "The 5 values attributed most: all models together, acceptability" in page


@pytest.mark.usefixtures("_report")
class TestMap:
    def test_each_cell_says_its_share_and_denominator_and_what_it_maps_to(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:map", batch)
        assert "50.0 %: Male, women (dominant): 3 of 6 answers" in page
        assert "16.7 %: woman, women (self): 1 of 6 answers" in page

    def test_a_cell_without_answers_is_no_link(self, batch, coder, client_of):
        page = get_html(client_of(coder), "sob:map", batch)
        assert "target=old&amp;value=65" in page
        assert "target=old&amp;value=Male" not in page

    def test_the_four_cells_stand_with_denominators_and_intervals(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:map", batch)
        few = "† (fewer than 10 texts) 95 %"
        assert f"women 28.57 % 2 of 7 {few} 8.2 to 64.1 % Table 13: 30.46 % of 2,275 42.86 % 3 of 7 {few}" in page
        assert "100.00 % 2 of 2 † (fewer than 10 texts) 95 % 34.2 to 100.0 % 0 of 2, in no answer" in page
        assert "exact match; mapping: published" in page

    def test_the_other_rule_is_labelled(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:map", batch, rule="all")
        assert "alternative rule: all of" in page
        assert "women 0.00 % 0 of 7" in page

    @pytest.mark.parametrize("query", [{"rule": "all"}, {"model": "model a"}])
    def test_published_shares_stand_only_beside_what_was_counted_alike(self, batch, coder, client_of, query):
        assert "Table 13:" in get(client_of(coder), "sob:map", batch)
        assert "Table 13:" not in get(client_of(coder), "sob:map", batch, **query)

    def test_a_later_mapping_is_told(self, batch, coder, lead, client_of):
        save_mapping(study=batch.study, rows={"women": {"self": ["x"], "dominant": []}}, reason="New.", by=lead)
        assert "These figures follow published; the current mapping is table 1." in get(
            client_of(coder), "sob:map", batch
        )


class TestOwnMapping:
    @pytest.fixture(autouse=True)
    def _own(self, study, lead):
        rows = {"old": {"self": ["65"], "dominant": []}}
        save_mapping(study=study, rows=rows, reason="Elders <count>.", by=lead)

    @pytest.mark.usefixtures("_report")
    def test_figures_stand_with_the_table_and_its_reason(self, batch, coder, client_of):
        page = get(client_of(coder), "sob:map", batch)
        assert (
            "old 100.00 % 1 of 1 † (fewer than 10 texts) 95 % 20.7 to 100.0 % no value listed nothing attributed nothing attributed"
            in page
        )
        assert "Mapping: table 1 , made by lead" in page
        assert "Reason: Elders <count>." in page
        assert "the current mapping is" not in page
        assert "Table 13:" not in page


def test_before_the_first_report_the_pages_say_so(batch, coder, client_of, monkeypatch):
    monkeypatch.setattr(SHOW_REPORT, lambda *_, **__: None)
    for name in ("sob:values", "sob:map"):
        assert "The figures are being computed." in get(client_of(coder), name, batch)


def test_a_batch_without_an_attribution_has_no_table(batch, coder, client_of, monkeypatch):
    stored = SimpleNamespace(report=write_report(AttributionTally()), as_of=timezone.now(), is_current=True)
    monkeypatch.setattr(SHOW_REPORT, lambda *_, **__: stored)
    for name in ("sob:values", "sob:map"):
        assert "No answers in this selection attribute anything" in get(client_of(coder), name, batch)


def test_outsiders_do_not_learn_of_them(batch, outsider, client_of):
    for name in ("sob:values", "sob:map"):
        assert client_of(outsider).get(reverse(name, args=[batch.study.slug, batch.pk])).status_code == 404


def test_the_pages_of_a_real_batch_count_its_answers(batch, coder, client_of):
    answer_cells(batch, ['{"Gender identity": "Woman"}', '{"Gender identity": "Male"}', "Person: Unknown"])
    client = client_of(coder)
    assert "women 2 Male 50.0 % (1 of 2) Woman 50.0 % (1 of 2)" in get(client, "sob:values", batch)
    page = get(client, "sob:map", batch)
    assert "50.0 %: Male, women (dominant): 1 of 2 answers" in page
    assert "women 50.00 % 1 of 2" in page
