import hashlib
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.judging.queries import sum_texts
from auditapp.benchmarks.sob.models import Interpretation, Judgment, Text
from auditapp.benchmarks.sob.pure.figures import Figures, arrange_heat_map, find_differences, is_comparable
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.sob.pure.report import published_report
from auditapp.benchmarks.sob.report.stored_reports import await_report
from auditapp.benchmarks.sob.report.views.comparisons import list_mean_ranks
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from tests.auditapp.benchmarks.sob.reports import add_arm, store
from tests.auditapp.benchmarks.sob.test_answers import read_again
from transcripts.audit_trail.models import AuditEvent
from transcripts.studies.models import Study

TASKS = ("acceptability", "non_acceptability")
PAGES = ("report", "statistics", "sensitivity", "model", "target", "texts", "responses", "compare")
WHITE = '{"Race": "White", "Age": "any"}'


class Pages:
    """The pages of one batch, as one person gets them: white space is one blank."""

    def __init__(self, client, batch):
        self.client, self.batch = client, batch

    def ask(self, name, *args, **query):
        path = reverse(f"sob:{name}", args=[self.batch.study.slug, self.batch.pk, *args])
        return self.client.get(path, query)

    def send_for_file(self, *, with_texts=False, **query):
        """The lines of the answers of one choice as CSV."""
        path = reverse("sob:responses_csv", args=[self.batch.study.slug, self.batch.pk], query=query)
        answer = self.client.post(path, {"texts": "on"} if with_texts else {})
        return b"".join(answer.streaming_content).decode().splitlines()

    def read(self, name, *args, **query):
        answer = self.ask(name, *args, **query)
        assert answer.status_code == 200
        return " ".join(answer.content.decode().split())


@pytest.fixture
def pages(batch, coder, client_of):
    """Two models that answered every text under both tasks."""
    for label in ("model a", "model b"):
        for task in TASKS:
            odd = "I cannot help with that." if label == "model b" else "Person: Unknown"
            answer_cells(batch, [WHITE, odd, '{"Gender": "Female"}', "Somebody."], label=label, task=task)
    return Pages(client_of(coder), batch)


class TestEveryPage:
    def test_it_says_how_to_read_a_score_that_answers_are_invented_and_when_new_ones_have_come(
        self, pages, monkeypatch
    ):
        known = await_report(pages.batch)
        for is_current in (True, False):
            known.is_current = is_current
            monkeypatch.setattr("auditapp.benchmarks.sob.report.views.reports.read_report", lambda inputs: known)
            for name in PAGES:
                page = pages.read(name, **({"with": "published"} if name == "compare" else {}))
                assert "Unknown is the only warranted answer" in page, name
                assert "does not certify a judge" in page, name
                assert "Invented answers: these scores say nothing about any model" in page, name
                assert reverse("sob:values", args=[pages.batch.study.slug, pages.batch.pk]) in page, name
                assert ("The figures are out of date" in page) is not is_current, name

    @pytest.mark.parametrize("name", PAGES)
    def test_it_reads_once_what_was_asked_and_by_whom_it_was_read(self, pages, name):
        pages.read(name)  # computes the report
        with CaptureQueriesContext(connection) as queries:
            pages.read(name)
        asked = [query["sql"] for query in queries if 'FROM "batches_arm"' in query["sql"]]
        assert len(asked) == 1, asked
        assert sum(query["sql"].startswith("SELECT (SELECT id FROM batches_cell") for query in queries) == 1

    def test_it_opens_before_the_first_answer(self, batch, coder, client_of):
        empty = Pages(client_of(coder), batch)
        assert {name: empty.ask(name).status_code for name in PAGES} == dict.fromkeys(PAGES, 200)

    def test_it_waits_for_a_report_that_is_being_computed(self, pages, monkeypatch):
        monkeypatch.setattr("auditapp.benchmarks.sob.report.views.reports.read_report", lambda inputs: None)
        for name in sorted(set(PAGES) - {"texts", "responses"}):
            page = pages.read(name)
            assert "The figures are being computed." in page, name
            assert 'hx-trigger="every 3s"' in page, name
            assert "Check now</a>" in page, name

    def test_lists_of_answers_do_not_wait(self, pages, monkeypatch):
        monkeypatch.setattr("auditapp.benchmarks.sob.report.views.reports.read_report", lambda inputs: None)
        assert pages.read("responses").count("Answer as received") == 0
        assert pages.read("texts").count('class="masked"') == 4

    def test_a_wording_of_ones_own_is_said_not_to_be_comparable(self, pages):
        assert "not comparable with any other" not in pages.read("report")
        Arm.objects.filter(batch=pages.batch).update(settings={"instrument": "ours", "sha256": "f" * 64})
        assert "not comparable with any other" in pages.read("report")

    def test_no_text_stands_outside_a_mask(self, pages):
        text = Text.objects.earliest("pk")
        for page in (pages.read("responses"), pages.read("texts"), pages.read("text", text.pk)):
            assert "Constructed text" in page
            assert "Constructed text" not in re.sub(r'<details class="masked">.*?</details>', "", page)


class TestHeatMap:
    def test_a_score_stands_over_the_answers_that_count(self, pages):
        page = pages.read("report")
        assert "model a, acceptability, overall: sob 1.00 over 3 answers" in page
        assert "model b, acceptability, overall: sob 1.50 over 2 answers" in page

    def test_rates_are_shaded_from_0_to_1_and_scores_on_one_scale_of_their_own(self):
        heat = arrange_heat_map(Figures({}))
        [row] = [row for row in heat["published"] if row["model"] == "gpt5.1-T"]
        [rate] = [cell for cell in row["cells"] if cell["is_rate"] and cell["task"] == "acceptability"]
        assert rate["value"] is not None
        assert rate["step"] == round(20 * rate["value"])
        steps = {
            cell["value"]: cell["step"] for each in heat["published"] for cell in each["cells"] if not cell["is_rate"]
        }
        assert steps[heat["highest"]] == max(steps.values()) == 20

    def test_the_scale_takes_in_the_overall_scores_too(self):
        cell = {"model": "m", "task": "acceptability", "target": "overall", "sob": 9.0, "n_nonrefused": 1}
        counts = dict.fromkeys(("attribution_rate", "n_attributed", "n_refused", "n_null", "n_responses"), 1)
        assert arrange_heat_map(Figures({"cells": [counts | cell]}))["highest"] == 9.0


class TestStatistics:
    def test_worked_examples_ac06_and_ac07_are_listed_highest_rank_first(self):
        report = published_report()
        ranked = list_mean_ranks(report["friedman"])
        assert [row["target"] for row in ranked][:3] == ["mexican", "immigrant", "asian"]
        ranks = {row["target"]: [round(rank, 2) for rank in row["ranks"]] for row in ranked}
        assert ranks["mexican"] == [7.96, 8.54]
        assert ranks["disabled"] == [2.58, 2.92]

    def test_published_mean_ranks_stand_beside_our_own(self, pages, monkeypatch):
        tests = published_report()["friedman"]
        [own, *_] = [dict(test, mean_ranks={"mexican": 2.0, "old": 1.0}) for test in tests]
        stored = await_report(pages.batch)
        stored.set_report(stored.report | {"friedman": [own]})
        monkeypatch.setattr("auditapp.benchmarks.sob.report.views.reports.read_report", lambda inputs: stored)
        page = pages.read("statistics")
        row = r'>{}</a></th><td class="num">{}</td><td class="num">–</td><td class="num quiet">{}</td><td class="num quiet">{}</td>'
        assert row.format("mexican", "2.00", "7.96", "8.54") in page
        assert row.format("old", "1.00", "–", "–") in page
        assert "Acceptability, published" in page
        assert 'data-table="ranks-table"' in page
        assert "<title>mexican: Acceptability 2.00" in page

    def test_tests_that_cannot_be_computed(self, pages):
        page = pages.read("statistics")
        assert "Friedman test" in page
        assert list_mean_ranks([]) == []
        assert "ranks-table" not in page


class TestSensitivity:
    def test_a_rule_shows_its_score_its_change_and_its_denominator(self, pages):
        page = pages.read("sensitivity", model="model a", task="acceptability")
        row = re.search(r'<th scope="row">overall<.*?</tr>', page)
        assert row
        assert re.search(
            r'>0.67<span class="visually-hidden">, overall, strict</span></a>.{,110}<span class="under">−0.33, of 3<',
            row[0],
        )

    def test_the_chart_shows_the_scores_of_the_table(self, pages):
        page = pages.read("sensitivity", model="model a", task="acceptability")
        assert 'data-table="rules-table"' in page
        assert "<title>strict: another rule 0.67; few texts: 3, a verdict needs 10</title>" in page

    def test_the_first_model_is_shown_where_none_is_named(self, pages):
        assert "<option selected>model a</option>" in pages.read("sensitivity")


class TestModelAndTarget:
    def test_a_model_shows_every_outcome_of_all_its_answers(self, pages):
        page = pages.read("model", model="model b")
        for words in ("50.0 % of 4", "25.0 % of 4", "0.0 % of 4"):
            assert words in page
        assert "task=acceptability&amp;outcome=refusal" in page

    def test_a_value_of_a_model_opens_the_answers_that_have_it(self, pages):
        link = re.search(r'href="[^"]*\?([^"]*value=White)"', pages.read("model", model="model a"))
        assert link
        query = dict(pair.split("=") for pair in link[1].replace("%20", " ").split("&amp;"))
        assert '<p role="status"> 1 answer </p>' in pages.read("responses", **query)

    def test_who_read_the_answers_is_counted_by_task(self, pages):
        read_again(Judgment.objects.filter(outcome="off_format", arm__variant__label="model a")[0])
        page = pages.read("model", model="model a")
        assert re.search(r'<td>person</td>\s*<td class="num"><a [^>]*reader=person">1</a>', page)

    def test_a_target_shows_every_model_beside_the_published_rows(self, pages):
        page = pages.read("target", target="women")
        assert "model a" in page
        assert "model b" in page
        # Of each model under both tasks: usable answers, rate and score.
        row = r'<th scope="row"><a [^>]*>model (\w)</a></th>(.*?)</tr>'
        shown = {
            label: re.findall(r'<td class="num">(?:<a [^>]*>)?([^<]*)<', cells)
            for label, cells in re.findall(row, page)
        }
        # Of the two texts one drew two characteristics; of the other, a names nobody and b refuses.
        assert shown == {"a": ["2", "0.500", "1.00"] * 2, "b": ["1", "1.000", "2.00"] * 2}
        assert "Published, Table 4" in page
        assert "5.09" in page

    def test_shares_of_the_mapping_are_in_per_cent_and_of_two_texts_have_no_interval(self, pages):
        page = pages.read("target", target="women")
        cell = r'<td class="num">([\d.]+)</td>'
        head = r'the target itself<span class="under">[\w-]+</span></th>'
        row = rf'{head}{cell * 2}<td class="num">([\d.]+) %</td><td class="num nowrap">(.*?)</td>'
        found = [match.groups() for match in re.finditer(row, page)]
        assert ("0", "2", "0.0", "–") in found

    def test_a_target_the_paper_has_not_has_no_published_rows(self, pages):
        page = pages.read("target", target="old")
        assert "Texts on old" in page
        assert "Published, Table 4" not in page


class TestTexts:
    def test_texts_that_drew_most_come_first(self, pages):
        page = pages.read("texts")
        totals = [
            int(number) for number in re.findall(r'</td> <td class="num">(\d+)</td> <td class="num">4</td>', page)
        ]
        assert totals == [8, 4, 0, 0]
        assert ">Verdicts</th>" not in page

    def test_what_was_read_again_counts_as_it_stands(self, pages):
        judgment = Judgment.objects.filter(outcome="attributed", n_attributes=2)[0]
        read_again(judgment)
        totals = {total["text"]: total for total in sum_texts([arm.pk for arm in pages.batch.arms.all()])}
        assert totals[judgment.text_id] == {
            "text": judgment.text_id,
            "answers": 4,
            "attributes": 6,
            "verdicts": 0,
        }

    def test_verdicts_stand_apart_from_answers(self, pages):
        cells = add_arm(pages.batch, "base", like=pages.batch.arms.all()[0])
        store(pages.batch, [(cell, "Acceptable.") for cell in cells])
        assert {
            (total["answers"], total["verdicts"]) for total in sum_texts([arm.pk for arm in pages.batch.arms.all()])
        } == {(4, 1)}
        page = pages.read("texts")
        assert page.count('<td class="num">4</td> <td class="num">1</td>') == 4
        assert "4 answers and 1 verdict<" in pages.read("text", Text.objects.all()[0].pk)
        summary = pages.read("report")
        assert '<p class="figure">16</p><p class="quiet">to the two scored tasks, and 4 to the Base prompt' in summary
        assert f'href="{reverse("sob:report", args=[pages.batch.study.slug, pages.batch.pk])}#base"' in summary
        verdicts = summary[summary.index('id="base"') :]
        assert "Acceptable" in verdicts
        assert "of 4 answers" in verdicts

    def test_texts_are_narrowed_by_target(self, pages):
        assert pages.read("texts", target="black").count('class="masked"') == 1

    def test_a_text_shows_every_models_answers_with_their_harms(self, pages):
        text = Text.objects.get(position=Text.objects.earliest("position").position)
        page = pages.read("text", text.pk)
        assert page.count("Recirculatory:") == 4
        assert page.count("stereotyped as holding it") == 2
        assert page.count("excluded as rejecting it") == 2
        assert page.count("Epistemic exclusion: the dominant") == 0

    def test_a_text_of_another_study_is_not_found(self, pages, outsider, client_of):
        assert pages.ask("text", 10**9).status_code == 404


class TestResponses:
    def test_the_choice_stays_in_the_form_and_goes_into_the_file(self, pages):
        page = pages.read("responses", model="model a", task="acceptability", value="white", harm="recirculatory")
        assert 'value="white"' in page
        assert "responses.csv?model=model+a&amp;task=acceptability&amp;value=white&amp;harm=recirculatory" in page

    def test_the_file_holds_the_choice_and_is_on_record(self, pages):
        lines = pages.send_for_file(model="model a", task="acceptability", value="white")
        assert len(lines) == 2
        assert "Constructed text" not in lines[1]
        [event] = AuditEvent.objects.filter(action="sob.file.taken_out")
        assert event.details == {"what": "answers", "format": "csv", "texts": False}
        [sent] = AuditEvent.objects.filter(action="sob.file.sent_whole")
        digest = hashlib.sha256("\r\n".join([*lines, ""]).encode()).hexdigest()
        assert sent.details == {**event.details, "rows": 1, "sha256": digest}
        assert "Constructed text" in pages.send_for_file(with_texts=True, model="model a")[1]
        assert pages.ask("responses_csv").status_code == 405

    def test_all_answers_are_counted_those_to_the_base_task_too(self, pages):
        assert "8 answers" in pages.read("responses", model="model b")
        assert "2 answers" in pages.read("responses", model="model b", outcome="refusal")
        cells = add_arm(pages.batch, "base", like=pages.batch.arms.all()[0])
        store(pages.batch, [(cell, "Acceptable.") for cell in cells])
        assert "20 answers" in pages.read("responses")
        assert "4 answers" in pages.read("responses", task="base")

    def test_an_earlier_interpretation_stays_to_be_seen(self, pages):
        read_again(Judgment.objects.filter(outcome="off_format")[0])
        page = pages.read("responses", reader="person")
        assert "Read by person; 1 earlier interpretation" in page
        assert f"rules: off format ({PARSER_VERSION})" in page

    def test_who_read_an_answer_is_for_those_who_may_see_all_codings(self, pages, reader, client_of):
        judgment = Judgment.objects.filter(outcome="off_format")[0]
        first = read_again(judgment)
        last = Interpretation.objects.create(
            judgment=judgment,
            number=2,
            reader="person",
            outcome="unknown",
            parser="person",
            read_by_name="Another",
            made_at=first.made_at,
        )
        Interpretation.objects.filter(pk=first.pk).update(superseded_by=last)
        assert "person: unknown (person)" in pages.read("responses", reader="person")
        assert "person: unknown, by A reader (person)" in Pages(client_of(reader), pages.batch).read("responses")

    def test_a_wrong_place_in_the_list_is_its_beginning(self, pages):
        assert "16 answers" in pages.read("responses", after="x", before="-1")

    def test_what_the_batch_has_not_is_not_found(self, pages):
        for name, value in (
            ("repeat", "abc"),
            ("repeat", "0"),
            ("repeat", "2"),
            ("text", "9" * 30),
            ("text", "987654321"),
            ("model", "\x00"),
            ("outcome", "\x00"),
            ("maps", "nobody"),
            ("rule", "some"),
        ):
            assert pages.ask("responses", **{name: value}).status_code == 404, (name, value)

    def test_a_way_of_counting_there_is_not_is_not_found(self, pages):
        assert pages.ask("report", counting="foo").status_code == 404

    def test_the_answers_of_each_cell_are_a_file_of_its_own(self, pages):
        def name(**query):
            path = reverse("sob:responses_csv", args=[pages.batch.study.slug, pages.batch.pk], query=query)
            return str(pages.client.post(path)["Content-Disposition"])

        place = {"model": "model a", "task": "acceptability", "target": "women"}
        assert f'"sob-batch-{pages.batch.pk}-answers-model-a-acceptability-women.csv"' in name(**place)
        narrowed = name(**place, value="words of an answer")
        assert "words" not in narrowed
        assert narrowed not in {name(**place), name(**place, value="other words")}

    def test_a_page_asks_the_same_number_of_questions_however_many_answers(self, pages, django_assert_max_num_queries):
        pages.read("responses")
        with django_assert_max_num_queries(30):
            pages.read("responses")


class TestComparing:
    def test_every_two_models_of_a_batch_are_compared_and_lead_to_their_targets(self, pages):
        page = pages.read("compare")
        # Model b refused the second text.
        assert "model a – model b" in page
        assert "few texts: 2, a verdict needs 10" in page
        assert '<td class="num">2<span class="under">few</span></td><td class="num">1</td>' in page.replace("> <", "><")
        assert "Nothing is concluded from it" in page
        assert 'href="?model=model+a&amp;other=model+b"' in page
        by_target = pages.read("compare", model="model a", other="model b")
        assert "<td>women</td>" in by_target
        assert "<td>women</td>" not in page
        assert pages.ask("compare", model="model c").status_code == 404

    def launch_again(self, batch, dataset, owner, **changed):
        variants = list({arm.variant_id: arm.variant for arm in batch.arms.all()}.values())
        other = launch_sob(dataset=dataset, variants=variants, tasks=TASKS, by=owner, **changed)
        answer_cells(other, ["Person: Unknown"] * 4)
        return other

    def test_two_batches_made_alike_get_differences(self, pages, dataset, owner):
        other = self.launch_again(pages.batch, dataset, owner)
        page = pages.read("compare", **{"with": other.pk})
        assert "Comparable." in page
        assert "+1.00" in page

    def test_another_wording_is_said_first_and_gets_no_difference(self, pages, dataset, owner):
        other = self.launch_again(pages.batch, dataset, owner, instrument_variant="release")
        page = pages.read("compare", **{"with": other.pk})
        assert "Not comparable." in page
        assert page.index("the wording, acceptability") < page.index("Scores on both sides")
        assert "+1.00" not in page

    def test_published_rows_stand_beside_without_a_difference(self, pages):
        page = pages.read("compare", **{"with": "published", "row": "gpt5.1-T"})
        assert "Not comparable." in page
        assert "cannot be rebuilt exactly" in page
        assert "5.33" in page
        assert "the wording" not in page

    def test_a_batch_that_is_not_there_is_not_found(self, pages):
        for wrong in ("x", "9" * 40, "987654321"):
            assert pages.ask("compare", **{"with": wrong}).status_code == 404, wrong

    def test_a_batch_of_another_study_is_not_found(self, pages):
        other = Batch.objects.get(pk=pages.batch.pk)
        other.pk, other.idempotency_key = None, None
        other.study = Study.objects.create(slug="other", name="Other", created_at=other.created_at)
        other.save()
        assert pages.ask("compare", **{"with": other.pk}).status_code == 404

    def test_only_what_changes_the_measure_breaks_a_comparison(self):
        making = {
            "wordings": {"base": ("a", "1")},
            "dataset": ("set", "1"),
            "texts": 4,
            "schema": ("age",),
            "targets": "as loaded",
            "parser": "rules-1",
            "lexicon": "lexicon-1",
        }
        assert find_differences(making, making) == []
        assert is_comparable(find_differences(making, {**making, "parser": "rules-2", "repeats": 3}))
        for change in (
            {"wordings": {"base": ("a", "2")}},
            {"dataset": ("set", "2")},
            {"texts": 3},
            {"schema": ("age", "race")},
            {"targets": "table 1"},
        ):
            assert not is_comparable(find_differences(making, making | change))


def test_a_label_with_signs_is_written_and_found(dataset, owner, coder, client_of):
    variant = add_model(label="a/b +(c)", provider="fake", by=owner)
    batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner)
    answer_cells(batch, [WHITE], label=variant.label)
    pages = Pages(client_of(coder), batch)
    page = pages.read("report")
    assert "model=a%2Fb%20%2B%28c%29" in page
    assert "1 answer<" in pages.read("responses", model=variant.label).replace(" <", "<")
