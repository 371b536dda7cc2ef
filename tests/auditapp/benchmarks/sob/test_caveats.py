"""What is invented or compares with nothing says so wherever its figures stand."""

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import _watched
from auditapp.benchmarks.sob.judging.actions import launch_formatter
from auditapp.benchmarks.sob.judging.launching import add_wording, launch_sob
from auditapp.benchmarks.sob.pure.answer_files import INPUTS, read_bundle
from auditapp.benchmarks.sob.pure.cautions import write_notice
from auditapp.benchmarks.sob.pure.figures import describe_cell, draw_heat_map
from auditapp.benchmarks.sob.pure.tables import print_table, write_latex
from auditapp.benchmarks.sob.report.actions import write_sob_bundle
from auditapp.benchmarks.sob.report.stored_reports import compute_report
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from tests.auditapp.benchmarks.sob.test_formatter import PROSE, WHITE, answer_formatter, store_results
from transcripts.ui.templatetags.numbers import ends, number, signed

BY_FILE = LaunchOptions(route="file")
PAGES = (
    "report",
    "statistics",
    "sensitivity",
    "model",
    "target",
    "texts",
    "responses",
    "files",
    "interpretations",
    "values",
)


def get(client, name, batch, **query):
    answer = client.get(reverse(f"sob:{name}", args=[batch.study.slug, batch.pk]), query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def take(client, batch, what, format):
    answer = client.post(reverse("sob:file", args=[batch.study.slug, batch.pk, what, format]))
    return str(answer.content.decode())


@pytest.fixture
def from_file(dataset, owner):
    """Answers of a file, one of them read by a formatter that invents."""
    variant = add_model(label="model a", provider="file", by=owner)
    batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner, options=BY_FILE)
    keys = store_results(batch, [PROSE, '{"Race": "White"}', "Person: Unknown"])
    fake = add_model(label="fake reader", provider="fake", by=owner)
    answer_formatter(launch_formatter(batch=batch, variant=fake, by=owner), keys[0], WHITE)
    return batch


@pytest.fixture
def own_wording(dataset, owner):
    """Answers to a wording of the study's own that name what it did not ask for."""
    add_wording(study=dataset.study, name="caste", based_on="paper", characteristics=["Caste"], by=owner)
    variant = add_model(label="model a", provider="file", by=owner)
    batch = launch_sob(
        dataset=dataset,
        variants=[variant],
        tasks=["acceptability"],
        instrument_variant="caste",
        options=BY_FILE,
        by=owner,
    )
    answer_cells(batch, ['{"Race": "White", "Age": "35"}', '{"Race": "White"}'])
    return batch


class TestFakeFormatter:
    def test_every_page_says_how_many_answers_it_read(self, from_file, owner, client_of):
        client = client_of(owner)
        for name in PAGES:
            page = get(client, name, from_file)
            assert "Fake formatter: 1 of 3 interpretations are invented" in page, name
            assert "Invented answers: these scores say nothing about any model" not in page, name

    def test_files_say_so_too(self, from_file, owner, client_of):
        client = client_of(owner)
        for what, format in (("tables", "tex"), ("heat", "svg"), ("map", "svg"), ("report", "json")):
            written = " ".join(re.sub("<[^>]*>", " ", take(client, from_file, what, format)).split())
            notice = "1 of 3 counted answers were read by a model. Interpretations invented by a fake formatter: 1."
            assert notice in written, what

    def test_the_command_says_so(self, from_file):
        out, err = StringIO(), StringIO()
        call_command("sob", "report", f"--batch={from_file.pk}", format="latex", stdout=out, stderr=err)
        assert "1 of 3 counted answers were read by a model" in out.getvalue()
        assert "invented by a fake formatter: 1." in err.getvalue()
        assert "fake provider" not in err.getvalue()

    def test_a_formatter_that_calls_a_model_is_counted_but_not_called_invented(self, from_file):
        report = compute_report(from_file).report
        assert next((cell["n_formatter"], cell["n_person"]) for cell in report["cells"]) == (1, 0)
        notice = write_notice(report["cells"], providers=["file"], notices=[], invented=0)
        assert notice == "1 of 3 counted answers were read by a model."


class TestOwnWording:
    def test_the_published_rows_do_not_stand_on_its_scale(self, own_wording, coder, client_of):
        client = client_of(coder)
        dashboard = client.get(reverse("sob:dashboard", args=[own_wording.study.slug])).content.decode()
        for page in (get(client, "report", own_wording), " ".join(dashboard.split())):
            assert "Published, Table 4" not in page
            assert "measure something else and are left out" in page
            assert "1.50 attributes per answer" in page
        target = get(client, "target", own_wording, target="women")
        assert "Published, Table 4" not in target
        assert "which are left out: the wording is not a published one" in target

    def test_a_published_wording_stands_beside_them(self, batch, coder, client_of):
        answer_cells(batch, ["Person: Unknown"])
        client = client_of(coder)
        assert "Published, Table 4" not in get(client, "report", batch)
        page = get(client, "report", batch, published="shown")
        assert "Published, Table 4" in page
        assert "measure something else and are left out" not in page

    @pytest.mark.parametrize(("what", "format"), [("tables", "tex"), ("heat", "svg")])
    def test_files_say_that_it_does_not_compare(self, own_wording, owner, client_of, what, format):
        written = re.sub("<[^>]*>", " ", take(client_of(owner), own_wording, what, format))
        assert "Not comparable with the published figures" in " ".join(written.split())

    def test_the_dashboard_warns_where_strict_counting_takes_most_away(self, own_wording, coder, client_of):
        dashboard = client_of(coder).get(reverse("sob:dashboard", args=[own_wording.study.slug])).content.decode()
        assert "model a, acceptability (1.50 against 0.00)" in dashboard

    def test_counting_that_agrees_is_not_warned_of(self, batch):
        answer_cells(batch, ['{"Race": "White", "Gender identity": "Male", "Age": "any"}'])
        warnings = compute_report(batch).report["warnings"]
        assert not [sentence for sentence in warnings if "differ by half or more" in sentence]


class TestAlarms:
    """Twelve texts about one task, and the box that names figures that are no findings."""

    @pytest.fixture
    def asked(self, study, owner):
        texts = load_dataset(study=study, name="Dozen", file_name="t.jsonl", data=write_texts(12), by=owner)[0]
        variant = add_model(label="model a", provider="fake", max_tokens=200, by=owner)
        return launch_sob(dataset=texts, variants=[variant], tasks=["acceptability"], include_base=True, by=owner)

    def test_the_page_of_scores_has_the_box(self, asked, coder, client_of):
        answer_cells(asked, ["I'm sorry, but I can't help with that."] * 12)
        answer_cells(asked, ["Acceptable."] * 12, task="base")
        page = get(client_of(coder), "report", asked)
        assert "This score is not a finding" in page
        assert (
            "model a, acceptability, all texts: refused every time (12 answers came), so that it has no score." in page
        )

    def test_the_card_on_the_overview_says_how_many_answers_count(self, asked, coder, client_of):
        answer_cells(asked, ['{"Race": "White"}'] * 3 + ["???"] * 9)
        page = client_of(coder).get(reverse("sob:newest", args=[asked.study.slug])).content.decode()
        assert "model a (3 of 12)" in page
        assert "† Few: fewer than 10 texts. Nothing is concluded from it." in page

    def test_an_alarm_of_the_base_task_is_only_where_its_verdicts_are(self, asked, coder, client_of):
        answer_cells(asked, ['{"Race": "White"}'] * 10 + ["Person: Unknown"] * 2)
        answer_cells(asked, ["Acceptable."] * 12, task="base")
        said = "model a, base task, all texts: gave the same verdict, acceptable, every time (12 verdicts)."
        client = client_of(coder)
        for name in ("values", "statistics", "map"):
            assert "no finding" not in get(client, name, asked)
        assert "no finding" not in get(client, "report", asked).partition('id="base"')[0]
        for name in ("report", "sensitivity", "model"):
            page = get(client, name, asked)
            assert "These verdicts are not findings" in page
            assert said in page
        report = compute_report(asked).report
        assert said in print_table(report, "base")
        assert said not in print_table(report, "cells")
        [alarm] = report["alarms"]
        assert alarm.startswith(said)

    def test_an_alarm_of_a_score_is_only_where_that_score_is(self, asked, coder, client_of):
        answer_cells(asked, ["I'm sorry, but I can't help with that."] * 12)
        client = client_of(coder)
        for name in ("values", "statistics", "map", "sensitivity", "model"):
            assert "model a, acceptability, all texts: refused every time" in get(client, name, asked)
        assert "no finding" not in get(client, "files", asked)
        address = reverse("sob:target", args=[asked.study.slug, asked.pk])
        page = client.get(address, {"target": "women"}).content.decode()
        assert "model a, acceptability, texts on women: refused every time (6 answers came)" in page
        assert "all texts: refused" not in page

    def test_the_share_of_unreadable_answers_names_its_denominator_and_what_it_leaves_out(
        self, asked, coder, client_of
    ):
        answer_cells(asked, ['{"Race": "White"}'] * 11 + ["???"])
        answer_cells(asked, ["???"] * 12, task="base")
        page = " ".join(get(client_of(coder), "report", asked).split())
        assert "1 of 12 answers to the scored tasks: empty, truncated, off format or failed" in page
        assert "Apart from them, 12 of 12 to the Base prompt" in page

    def test_it_stays_away_where_there_is_no_alarm(self, asked, coder, client_of):
        answer_cells(asked, ['{"Race": "White"}'] * 10 + ["Person: Unknown"] * 2)
        answer_cells(asked, ["Acceptable."] * 6 + ["Non-acceptable."] * 6, task="base")
        page = get(client_of(coder), "report", asked)
        assert "no finding" not in page

    def show_batch(self, client, asked, outcome):
        cells = asked.cells.exclude(arm__task="base")
        cells.update(state="done", outcome=outcome)
        _watched.clear()
        return client.get(reverse("batches:detail", args=[asked.study.slug, asked.pk])).content.decode()

    def test_the_page_of_the_batch_has_it_and_loses_it(self, asked, coder, client_of):
        page = self.show_batch(client_of(coder), asked, "truncated")
        assert '<p class="kind">Alarm</p>' in page
        assert "12 of 12 answers were cut off at 200 tokens" in page
        assert '<p class="kind">Alarm' not in self.show_batch(client_of(coder), asked, "attributed")

    def test_a_pilot_that_waits_for_a_decision_says_it_once(self, asked, coder, client_of):
        asked.cells.update(pilot=True)
        Batch.objects.filter(pk=asked.pk).update(state="waiting", pilot_cells=12, state_reason="Nothing could be read.")
        assert '<p class="kind">Alarm' not in self.show_batch(client_of(coder), asked, "off_format")


def test_a_note_on_a_model_stands_on_pages_and_in_files(batch, coder, client_of):
    ModelVariant.objects.update(note="Its answers are real and mostly unreadable.")
    client = client_of(coder)
    assert "Its answers are real and mostly unreadable." in get(client, "report", batch)
    assert "Its answers are real and mostly unreadable." in compute_report(batch).report["notice"]


def test_a_filter_that_names_nothing_of_the_batch_is_not_found(batch, coder, client_of):
    answer_cells(batch, ["Person: Unknown"])
    client = client_of(coder)
    for page, query in (
        ("model", {"model": "nobody"}),
        ("target", {"target": "nobody"}),
        ("texts", {"target": "nobody"}),
        ("sensitivity", {"model": "nobody"}),
        ("sensitivity", {"task": "nothing"}),
        ("values", {"model": "nobody"}),
        ("map", {"task": "nothing"}),
        ("compare", {"with": "published", "model": "nobody"}),
        ("compare", {"with": "published", "row": "nobody"}),
        *[("responses", {name: "nobody"}) for name in ("model", "task", "target", "outcome", "reader", "harm")],
    ):
        path = reverse(f"sob:{page}", args=[batch.study.slug, batch.pk])
        assert client.get(path, query).status_code == 404, (page, query)


def test_a_model_without_an_answer_yet_has_its_page(batch, coder, client_of):
    answer_cells(batch, ["Person: Unknown"])
    assert "model b" in get(client_of(coder), "model", batch, model="model b")


def test_a_half_is_rounded_alike_in_a_cell_and_in_the_table():
    cell = dict.fromkeys(("n_attributed", "n_refused", "n_null", "n_nonrefused"), 1)
    cell |= {"model": "m", "task": "acceptability", "target": "old", "sob": 1.545, "ci": [1.375, 2.625]}
    assert "sob 1.55 over 1 answer, 95 % interval 1.38 to 2.63;" in describe_cell(cell)
    assert (number(1.545), ends([1.375, 2.625])) == ("1.55", "1.38 to 2.63")
    assert (signed(-0.001), signed(0.005), signed(-1.545)) == ("0.00", "+0.01", "−1.55")


def test_a_half_is_rounded_alike_in_files():
    cell = {"model": "m", "task": "acceptability", "target": "overall", "sob": 1.545, "attribution_rate": 0.145}
    drawn, table = draw_heat_map({"cells": [cell]}).write(), write_latex({"cells": [cell]}, ["4"])
    assert ">1.55<" in drawn
    assert ">attribution rate 0.15<" in drawn
    assert re.search(r"\}0\.15 & .*\}1\.55 ", table)


def test_an_infinite_f_is_shown_as_such_with_the_reason(batch, coder, client_of):
    one, two = '{"Race": "White"}', '{"Race": "White", "Age": "35"}'
    for label in ("model a", "model b"):
        answer_cells(batch, ["Person: Unknown", "Person: Unknown", one, two], label=label)
    page = get(client_of(coder), "statistics", batch)
    assert re.search(r'<td class="num">∞</td><td class="num nowrap">2, 2</td><td class="num">–</td>', page)
    assert "All models rank the targets in the same order" in page
    assert "Only 2 models: too few blocks for either test, so there is no P" in page


def test_a_bundle_holds_the_texts_that_were_asked_alone(dataset, owner, tmp_path):
    variant = add_model(label="model a", provider="fake", by=owner)
    batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], limit=2, by=owner)
    store_results(batch, ['{"Race": "White"}', "Person: Unknown"])
    path = tmp_path / "b.zip"
    write_sob_bundle(batch=batch, path=path, by=owner)
    bundle = read_bundle(path)
    assert len(list(bundle.read(INPUTS))) == 2
    assert json.loads(json.dumps(bundle.report())) == json.loads(json.dumps(compute_report(batch).report))
