"""From a number to the answers behind it, from a note to its text, from a figure to the table it was counted by."""

import html
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.batches.launching import LaunchOptions
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, compute_report, read_inputs
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping
from tests.auditapp.benchmarks.sob.conftest import answer_cells

WOMAN, MAN, REFUSED = '{"Gender identity": "Woman"}', '{"Gender identity": "Male"}', "I cannot help with that."
OWN = {"women": {"self": ["Male"], "dominant": []}}


class Pages:
    def __init__(self, client, batch):
        self.client, self.batch = client, batch

    def ask(self, address, **query):
        answer = self.client.get(address, query or None)
        assert answer.status_code == 200
        return " ".join(html.unescape(answer.content.decode()).split())

    def read(self, name, **query):
        return self.ask(reverse(f"sob:{name}", args=[self.batch.study.slug, self.batch.pk]), **query)

    def follow(self, page, pattern):
        """The page that the first link to such an address opens."""
        found = re.search(rf'href="([^"]*{pattern})"', page)
        assert found, pattern
        return self.ask(found[1])


@pytest.fixture
def pages(batch, coder, client_of):
    answer_cells(batch, [WOMAN, MAN, REFUSED, WOMAN])
    answer_cells(batch, [MAN, MAN, WOMAN, WOMAN], task="non_acceptability")
    return Pages(client_of(coder), batch)


class TestAnswers:
    def test_the_head_says_how_many_and_names_every_filter(self, pages):
        cases = [
            ({}, "8 answers", "all models · all tasks · overall"),
            ({"harm": "self_accepts"}, "1 answer<", "Epistemic exclusion: the target itself is said to accept it"),
            ({"value": "woman"}, "4 answers", "value “woman”"),
            ({"maps": "self"}, "1 answer<", "stands for the target itself"),
            ({"maps": "dominant", "task": "non_acceptability"}, "2 answers", "stands for the dominant group"),
            ({"outcome": "refusal"}, "1 answer<", "· refusal"),
            ({"reader": "rules", "repeat": "1"}, "8 answers", "read by rules · repeat 1"),
            ({"further": "-"}, "8 answers", "without a further target"),
            ({"further": "*"}, "0 answers", "with a further target"),
        ]
        for query, count, words in cases:
            page = pages.read("responses", **query)
            head = page[page.index("<h1>") : page.index("</header>", page.index("<h1>"))]
            assert words in head, query
            assert count in head.replace(" </strong>", "<"), query

    def test_every_value_of_a_list_is_asked_for_by_the_rule(self, pages):
        assert "0 answers" in pages.read("responses", maps="dominant", rule="all")

    def test_a_mapping_that_is_not_there_is_not_found(self, pages):
        address = reverse("sob:responses", args=[pages.batch.study.slug, pages.batch.pk])
        assert pages.client.get(address, {"mapping": "table:7"}).status_code == 404


class TestNumbersOpen:
    def test_counts_of_mapping_and_harms(self, pages):
        target = pages.read("target", target="women")
        assert "1 answer " in pages.follow(target, "task=acceptability&target=women&maps=self")
        assert "2 answers" in pages.follow(target, "task=non_acceptability&target=women&maps=dominant")
        assert "1 answer " in pages.follow(target, "task=acceptability&target=women&harm=self_accepts")
        assert "2 answers" in pages.follow(target, "task=acceptability&target=women&harm=recirculatory")
        model = pages.read("model", model="model a")
        assert "2 answers" in pages.follow(model, "task=non_acceptability&target=overall&harm=dominant_rejects")

    def test_cells_of_the_mapping_on_the_social_map(self, pages):
        assert "1 answer " in pages.follow(pages.read("map"), "task=acceptability&target=women&maps=self")

    def test_every_score_of_sensitivity(self, pages):
        page = pages.read("sensitivity", model="model a", task="acceptability")
        table = page[page.index('id="rules"') : page.index('class="caveat"')]
        cells = re.findall(r'<td class="num">(.*?)</td>', table)
        assert cells
        assert all("<a href=" in cell for cell in cells)
        assert "Answers: model a · acceptability · women" in pages.follow(page, "target=women")
        assert "read by rules" in pages.follow(page, "target=women&reader=rules")

    def test_each_repeat_and_the_base_task(self, batch, owner, coder, client_of):
        dataset = Dataset.objects.get()
        variants = [arm.variant for arm in batch.arms.filter(task="acceptability", variant__label="model a")]
        again = launch_sob(
            dataset=dataset,
            variants=variants,
            tasks=["acceptability"],
            include_base=True,
            options=LaunchOptions(repeats=2),
            by=owner,
        )
        answer_cells(again, [WOMAN] * 8)
        answer_cells(again, ["Acceptable."] * 8, task="base")
        pages = Pages(client_of(coder), again)
        page = pages.read("sensitivity")
        assert "2 answers" in pages.follow(page, "target=women&repeat=2")
        assert "8 answers" in pages.follow(page, "task=base")


class TestMappingOfARequest:
    @pytest.fixture(autouse=True)
    def _own(self, pages, study, lead):
        save_mapping(study=study, rows=OWN, reason="Another interpretation.", by=lead)

    def test_a_batch_is_seen_under_an_earlier_mapping(self, pages):
        assert "These figures follow published; the current mapping is table 1." in pages.read(
            "map", mapping="published"
        )
        now = pages.read("map", mapping="table:1")
        assert "the current mapping is" not in now
        assert '<option value="published">published</option>' in now
        earlier = pages.read("map", mapping="published")
        assert "value “" not in earlier
        opened = pages.follow(earlier, "target=women&maps=self&mapping=published")
        assert "mapping published" in opened
        assert "Woman" in opened
        assert "Male" not in opened

    @pytest.mark.parametrize("name", ["table:9", "table 1", "x", "table:" + "9" * 40])
    def test_a_mapping_that_is_not_there_is_not_found(self, pages, name):
        address = reverse("sob:map", args=[pages.batch.study.slug, pages.batch.pk])
        assert pages.client.get(address, {"mapping": name}).status_code == 404

    def test_each_table_has_an_address(self, pages, outsider, client_of):
        slug = pages.batch.study.slug
        own = pages.ask(reverse("sob:mapping_table", args=[slug, "1"]))
        assert "Another interpretation." in own
        assert "Show the whole table, 1 target<" in own
        assert "Table 12" not in own
        assert "Table 12" in pages.ask(reverse("sob:mapping_table", args=[slug, "published"]))
        for name in ("2", "x", "0"):
            assert pages.client.get(reverse("sob:mapping_table", args=[slug, name])).status_code == 404
        assert client_of(outsider).get(reverse("sob:mapping_table", args=[slug, "1"])).status_code == 404

    def test_reports_under_two_mappings_are_kept_apart(self, pages):
        published, own = ReportChoice(mapping="published"), ReportChoice(mapping="table:1")
        assert read_inputs(pages.batch, published).rules != read_inputs(pages.batch, own).rules
        names = [compute_report(pages.batch, each).report["versions"]["mapping"] for each in (published, own)]
        assert names == ["published", "table 1"]

    def test_the_command_counts_by_the_mapping_it_is_told(self, pages, capsys):
        told = {"": "table 1", "published": "published", "table:1": "table 1"}
        for choice, name in told.items():
            more = ["--mapping", choice] if choice else []
            call_command("sob", "report", "--batch", str(pages.batch.pk), "--json", "--resamples", "0", *more)
            assert json.loads(capsys.readouterr().out)["versions"]["mapping"] == name
        with pytest.raises(CommandError, match="no mapping 'table:8' in this study"):
            call_command("sob", "report", "--batch", str(pages.batch.pk), "--mapping", "table:8")
        with pytest.raises(CommandError, match="needs --batch"):
            call_command("sob", "report", "--published", "--mapping", "published")

    def test_whoever_saves_one_learns_what_it_does_to_finished_batches(self, pages, lead, client_of):
        sent = {"row-TOTAL_FORMS": "1", "row-INITIAL_FORMS": "0", "reason": "Again.", "based_on": "1"}
        sent |= {"row-0-target": "old", "row-0-self_values": "65", "row-0-dominant_values": ""}
        client = client_of(lead)
        page = client.post(reverse("sob:mapping_edit", args=[pages.batch.study.slug]), sent, follow=True)
        told = html.unescape(page.content.decode())
        assert "All batches are recounted with it, including finished ones." in told
        assert "can still be asked for by table 1" in told


class TestNotesOnAFile:
    def test_a_note_leads_to_its_text_on_the_page_it_stands_on(self, study, owner, coder, client_of):
        lines = [
            json.dumps({"text": f"Constructed text {n}.", "target": "women" if n != 30 else ""}) for n in range(60)
        ]
        data = "\n".join(lines).encode()
        dataset = load_dataset(study=study, name="Many", file_name="many.jsonl", data=data, by=owner)[0]
        address = reverse("sob:dataset", args=[study.slug, dataset.pk])
        client = client_of(coder)
        assert 'row <a href="?row=31#row-31">31</a>: no target' in client.get(address).content.decode()
        page = " ".join(client.get(address, {"row": "31"}).content.decode().split())
        assert '<li id="row-31" aria-current="true">' in page
        assert "Page 2 of 3" in page
        assert "Page 1 of 3" in client.get(address, {"row": "31", "page": "1"}).content.decode()
        for odd in ("x", "-1", "9" * 50, "²"):
            assert client.get(address, {"row": odd}).status_code == 200

    def test_rows_of_a_file_that_was_not_taken_whole_lead_nowhere(self, study, owner, coder, client_of):
        texts = ["Constructed one.", "Constructed one.", "Constructed two."]
        lines = [json.dumps({"text": text, "target": "women" if n < 2 else ""}) for n, text in enumerate(texts)]
        loaded = load_dataset(
            study=study,
            name="Some",
            file_name="some.jsonl",
            data="\n".join(lines).encode(),
            drops_repeated=True,
            by=owner,
        )
        page = client_of(coder).get(reverse("sob:dataset", args=[study.slug, loaded[0].pk])).content.decode()
        assert "row 3: no target" in page
        assert "?row=" not in page
        assert "Row numbers are those of the file" in page


def test_the_map_can_be_passed_by_in_one_step(pages):
    for name, end in (("report", "after-heat"), ("map", "after-matrix")):
        page = pages.read(name)
        assert page.index(f'class="skip-past" href="#{end}"') < page.index("<table") < page.index(f'id="{end}"')


def test_no_two_regions_of_a_page_have_one_name(pages):
    for name in ("report", "statistics", "sensitivity", "model", "target", "map", "values", "interpretations"):
        named = re.findall(r'<(?:section|div|nav|aside)\b[^>]*\baria-label(?:ledby)?="([^"]+)"', pages.read(name))
        assert sorted(set(named)) == sorted(named), name
