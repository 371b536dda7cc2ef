"""``sob report`` and ``sob recount``: one report from every source, in every form."""

import csv
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.sob.models import Judgment, Text
from auditapp.benchmarks.sob.pure import answer_words
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.sob.report.stored_reports import await_report, outdate_reports
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping
from tests.auditapp.benchmarks.sob.reports import (
    add_arm,
    answer_all,
    finish,
    launch,
    read_again,
    store,
    write_responses,
)
from tests.support.databases import stored
from transcripts.audit_trail.models import AuditEvent

RESAMPLES = ("--resamples", "50")
TOP_LEVEL = {
    "notice",
    "alarms",
    "providers",
    "caveats",
    "versions",
    "cells",
    "friedman",
    "friedman_families",
    "posthoc",
    "paired",
    "sensitivity",
    "repeats",
    "secondary",
    "secondary_contrast",
    "top_values",
    "mapping",
    "mapping_all",
    "harms",
    "social_map",
    "readers",
    "base",
    "warnings",
}


def run(*arguments):
    out = StringIO()
    call_command("sob", "report", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def ask(*arguments):
    return dict(json.loads(run(*arguments, "--json")))


@stored
def batch(dataset, owner):
    """Three models, two tasks, four texts, two repeats: 48 answers of every kind."""
    Text.objects.filter(target="black").update(target_secondary="women", target_tertiary="old")
    batch = launch(dataset, owner, repeats=2)
    answer_all(batch)
    finish(batch)
    return batch


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"model": "m", "task": "acceptability", "target": "women", "raw": "{\\"Race\\": \\"White\\"}"}\n')
    return path


class TestSources:
    def test_a_batch_and_a_file_of_its_answers_give_the_same_figures(self, batch, tmp_path):
        path = tmp_path / "answers.jsonl"
        path.write_text(write_responses(batch), encoding="utf-8")
        stored = ask("--batch", str(batch.pk), *RESAMPLES)
        filed = ask("--responses", str(path), *RESAMPLES)
        assert set(stored) == set(filed) == TOP_LEVEL
        # What a file does not know: which of its models are one model, and with which words they were asked.
        for part in TOP_LEVEL - {
            "notice",
            "providers",
            "versions",
            "paired",
            "friedman",
            "friedman_families",
            "warnings",
        }:
            assert stored[part] == filed[part], part
        assert {cell["n_responses"] for cell in stored["cells"] if cell["target"] == "overall"} == {8}
        assert stored["repeats"]
        assert stored["secondary"]
        assert {(each["model_a"], each["model_b"]) for each in stored["paired"] if each["reasoning"]} == {
            ("a-I", "a-R")
        }

    def test_the_published_table_needs_no_database(self):
        report = ask("--published")
        assert set(report) == TOP_LEVEL
        overall = next(cell for cell in report["cells"] if cell["target"] == "overall")
        assert (overall["model"], overall["sob"], overall["n_responses"]) == ("gpt5.1-I", 3.55, None)
        assert [test["task"] for test in report["friedman"]] == ["acceptability", "non_acceptability"]
        assert [test["n_blocks"] for test in report["friedman_families"]] == [8, 8]
        assert "gpt5.1-I" in run("--published")

    def test_a_file_needs_no_database(self, file):
        [overall, women] = ask("--responses", str(file))["cells"]
        assert (overall["target"], overall["sob"], women["sob"]) == ("overall", 1.0, 1.0)

    def test_another_task_is_refused_with_its_line_and_the_accepted_names(self, file):
        file.write_text(file.read_text() + file.read_text().replace("acceptability", "foo"))
        with pytest.raises(CommandError, match=r'line 2: found "foo" for “task”; expected acceptability'):
            run("--responses", str(file))

    def test_an_empty_file_is_refused_and_merged_targets_are_told(self, file):
        file.write_text(file.read_text() + file.read_text().replace("women", "Women "))
        assert "counted as one" in ask("--responses", str(file))["warnings"][0]
        file.write_text("\n")
        with pytest.raises(CommandError, match=r"answers.jsonl: found no answer"):
            run("--responses", str(file))

    def test_a_reader_by_task_or_cell_finds_the_default_rows(self, batch, tmp_path):
        path = tmp_path / "answers.jsonl"
        path.write_text(write_responses(batch), encoding="utf-8")
        for source in (("--batch", str(batch.pk)), ("--responses", str(path))):
            report = ask(*source, *RESAMPLES)
            for part, rule in (("mapping", "any"), ("mapping_all", "all")):
                keys = [tuple(row[name] for name in ("task", "target", "model", "kind")) for row in report[part]]
                assert len(keys) == len(set(keys)) > 0
                assert {row["rule"] for row in report[part]} == {rule}
            assert [test["task"] for test in report["friedman"]] == ["acceptability", "non_acceptability"]
            assert {test["blocks"] for test in report["friedman"]} == {"models"}
            assert {test["blocks"] for test in report["friedman_families"]} <= {"families"}

    def test_published_labels_in_a_file_bring_their_families_and_pairs(self, tmp_path):
        labels = ("gpt5.1-I", "gpt5.1-T", "llama70b", "phi4-14b-T")
        lines = [
            {"model": model, "task": "acceptability", "target": target, "item": f"{target} {n}", "raw": raw}
            for model in labels
            for target in ("cats", "dogs", "birds")
            for n, raw in enumerate(('{"Race": "White"}', "Person: Unknown"))
        ]
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        report = ask("--responses", str(path), *RESAMPLES)
        assert [test["n_blocks"] for test in (*report["friedman"], *report["friedman_families"])] == [4, 3]
        assert {(pair["model_a"], pair["model_b"]) for pair in report["paired"] if pair["reasoning"]} == {
            ("gpt5.1-I", "gpt5.1-T")
        }
        path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {**lines[0], "model": "mine"}]))
        report = ask("--responses", str(path), *RESAMPLES)
        assert report["friedman_families"] == []
        assert {pair["reasoning"] for pair in report["paired"]} == {False}

    def test_older_rules_keep_their_interpretations_and_are_told(self, batch, tmp_path):
        before = ask("--batch", str(batch.pk), *RESAMPLES)
        assert before["versions"]["parser"] == PARSER_VERSION
        first = Judgment.objects.filter(arm__batch=batch).order_by("pk")[0]
        Judgment.objects.filter(pk=first.pk).update(parser="rules-1")
        outdate_reports()  # as `sob recount` does
        after = ask("--batch", str(batch.pk), *RESAMPLES)
        assert after["versions"]["parser"] == f"rules-1 and {PARSER_VERSION}"
        assert "were read by rules-1 and" in after["warnings"][0]
        assert after["warnings"][1:] == before["warnings"]
        assert after["cells"] == before["cells"]
        Judgment.objects.filter(arm__batch=batch).update(parser="rules-1")
        outdate_reports()
        assert ask("--batch", str(batch.pk), *RESAMPLES)["versions"]["parser"] == "rules-1"
        call_command("sob", "bundle", batch=batch.pk, output=str(tmp_path / "b.zip"), stdout=StringIO())
        assert "were read by rules-1 when they arrived" in ask("--bundle", str(tmp_path / "b.zip"))["warnings"][0]

    def test_answers_to_the_base_task_stand_in_no_cell(self, batch):
        before = ask("--batch", str(batch.pk), *RESAMPLES)
        cells = add_arm(batch, "base", like=batch.arms.all()[0])
        store(batch, [(cell, "Acceptable.") for cell in cells])
        after = ask("--batch", str(batch.pk), *RESAMPLES)
        assert after["cells"] == before["cells"]
        assert [row["acceptable"] for row in after["base"] if row["target"] == "overall"] == [4]

    def test_a_batch_without_an_answer_has_a_report_without_cells(self, dataset, owner):
        batch = launch(dataset, owner)
        assert ask("--batch", str(batch.pk))["cells"] == []
        assert run("--batch", str(batch.pk)).startswith("No answers yet.\nNotice: The batch is not complete")

    def test_targets_may_be_those_of_the_published_table(self, batch):
        Text.objects.filter(target="women").update(target_raw="mus")
        report = ask("--batch", str(batch.pk), "--targets", "published", *RESAMPLES)
        assert report["versions"]["targets"] == "published"
        assert "2 texts have a source label" in report["warnings"][0]


class TestForms:
    def test_csv_has_a_line_per_cell(self, batch):
        rows = list(csv.DictReader(StringIO(run("--batch", str(batch.pk), "--format", "csv", *RESAMPLES))))
        cells = ask("--batch", str(batch.pk), *RESAMPLES)["cells"]
        assert [row["target"] for row in rows] == [cell["target"] for cell in cells]
        assert [float(row["sob"]) if row["sob"] else None for row in rows] == [cell["sob"] for cell in cells]

    def test_text_has_a_row_per_task_and_model(self, batch):
        lines = run("--batch", str(batch.pk), *RESAMPLES).splitlines()
        assert lines[0].split()[:2] == ["target", "overall"]
        assert [line.split(":")[0] for line in lines[2 + 6 :][:4]] == [
            "Notice",
            "Providers",
            "† Few",
            "All counted answers were read by rules.",
        ]

    def test_what_must_be_read_with_a_score_leaves_with_it(self, batch):
        for form in ("text", "json", "csv"):
            written = run("--batch", str(batch.pk), "--format", form, *RESAMPLES)
            assert "Unknown is the only warranted answer" in written, form
            assert "uses one target per text" in written, form

    def test_every_form_of_a_batch_and_of_its_bundle_names_the_provider_and_says_what_is_invented(
        self, batch, tmp_path
    ):
        call_command("sob", "bundle", batch=batch.pk, output=str(tmp_path / "b.zip"), stdout=StringIO())
        for source in (("--batch", str(batch.pk)), ("--bundle", str(tmp_path / "b.zip"))):
            for form in ("text", "json", "csv", "latex"):
                written = run(*source, "--format", form)
                # LaTeX breaks ligatures of quotes.
                assert "invented by this program's own fake provider" in written.replace("{}", ""), (source, form)
            assert ask(*source)["providers"] == {"a-I": "fake", "a-R": "fake", "b": "fake"}
            assert {row["provider"] for row in csv.DictReader(run(*source, "--format", "csv").splitlines())} == {"fake"}
            for form in ("text", "latex"):
                written = run(*source, "--format", form).replace("-{}", "-").replace(",{}", ",")
                assert "Providers: fake (a-I, a-R, b)." in written

    def test_a_part_of_a_batch_says_so_in_every_form(self, batch):
        cells = list(Cell.objects.filter(batch=batch).order_by("pk").values_list("pk", flat=True))
        Cell.objects.filter(pk__in=cells[:3]).update(state="cancelled")
        Cell.objects.filter(pk__in=cells[3:5]).update(state="planned")
        Batch.objects.filter(pk=batch.pk).update(state="paused")
        for form in ("text", "json", "csv", "latex"):
            # LaTeX breaks ligatures of commas.
            written = run("--batch", str(batch.pk), "--format", form, *RESAMPLES).replace("{}", "")
            assert f"(state: paused): {len(cells) - 5} of {len(cells)} cells have ended, 2 are not" in written, form
            assert "3 were cancelled" in written, form

    def test_latex_is_a_document(self, batch):
        written = run("--batch", str(batch.pk), "--format", "latex", *RESAMPLES)
        assert r"\begin{document}" in written
        assert r"\end{document}" in written

    def test_latex_of_a_study_with_a_mapping_of_its_own_has_its_lists(self, batch, owner, tmp_path):
        rows = {"women": {"self": ["chairwoman"], "dominant": ["chairman"]}}
        save_mapping(study=batch.study, rows=rows, reason="New.", by=owner)
        call_command("sob", "bundle", batch=batch.pk, output=str(tmp_path / "b.zip"), stdout=StringIO())
        for source in (("--batch", str(batch.pk), *RESAMPLES), ("--bundle", str(tmp_path / "b.zip"))):
            written = run(*source, "--format", "latex")
            assert "women & chairwoman & chairman" in written
            assert "not part of this report" not in written

    def test_a_path_takes_the_output(self, batch, tmp_path):
        path = tmp_path / "report.json"
        assert run("--batch", str(batch.pk), "--json", "--output", str(path), *RESAMPLES) == ""
        assert set(json.loads(path.read_text(encoding="utf-8"))) == TOP_LEVEL

    def test_seed_and_resamples_stand_in_the_report(self, batch):
        found = ask("--batch", str(batch.pk), "--seed", "9", "--resamples", "20")
        assert (found["versions"]["seed"], found["versions"]["resamples"]) == (9, 20)


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("--published", "--targets", "published"), "needs --batch"),
            (("--bundle", "x.zip", "--seed", "1"), "has its own seed"),
            (("--published", "--resamples", "-1"), "from 0 to 100,000"),
            (("--published", "--output", "/nowhere/report.json"), "cannot be written"),
            (("--responses", "/nowhere.jsonl"), "cannot be read"),
            (("--bundle", "/nowhere.zip"), "cannot be read"),
        ],
    )
    def test_what_cannot_be_done_is_told_in_one_line(self, arguments, sentence):
        with pytest.raises(CommandError, match=sentence) as refusal:
            run(*arguments)
        assert "\n" not in str(refusal.value)

    def test_a_line_that_cannot_be_read_is_named(self, file):
        file.write_text("{}\n", encoding="utf-8")
        with pytest.raises(CommandError, match=r"answers\.jsonl, line 1: "):
            run("--responses", str(file))

    def test_a_batch_that_is_not_there_is_named(self, db):
        with pytest.raises(CommandError, match="no sob batch 99"):
            run("--batch", "99")

    def test_a_table_that_is_not_there_is_refused(self, batch):
        with pytest.raises(CommandError, match="table:N"):
            run("--batch", str(batch.pk), "--targets", "table:4")


class TestRecounting:
    @staticmethod
    def recount():
        out = StringIO()
        call_command("sob", "recount", "--json", stdout=out)
        return dict(json.loads(out.getvalue()))

    def test_counts_follow_from_the_attributes_again(self, batch, owner, monkeypatch):
        interpretation = read_again(
            Judgment.objects.filter(outcome="off_format")[0], owner, '{"Race": "White", "Age": "40"}'
        )
        attributed = Judgment.objects.filter(outcome="attributed").count() + 1
        whites = Judgment.objects.filter(n_strict=3, attributes__Race="White").count() + 1
        assert self.recount() == {"interpretations": attributed, "changed": 0, "lexicon": answer_words.LEXICON_VERSION}
        monkeypatch.setattr(answer_words, "NULL_LEXICON", answer_words.NULL_LEXICON | {"white"})
        monkeypatch.setattr("auditapp.benchmarks.sob.judging.actions.GROUP", 4)
        attributes = list(Judgment.objects.order_by("pk").values_list("attributes", "n_attributes"))
        found = self.recount()
        assert (found["interpretations"], found["changed"]) == (attributed, whites)
        interpretation.refresh_from_db()
        assert (interpretation.n_attributes, interpretation.n_strict) == (2, 1)
        assert list(Judgment.objects.order_by("pk").values_list("attributes", "n_attributes")) == attributes
        assert self.recount()["changed"] == 0

    def test_every_change_is_in_the_audit_trail(self, batch):
        changed = Judgment.objects.filter(outcome="attributed")
        number = changed.update(n_strict=0)
        self.recount()
        [event] = AuditEvent.objects.filter(action="sob.interpretations.recounted")
        assert (
            event.details["interpretations"]
            == number - Judgment.objects.filter(outcome="attributed", n_strict=0).count()
        )

    def test_reports_that_were_kept_hold_no_longer(self, batch):
        Judgment.objects.filter(outcome="attributed").update(n_strict=0)
        before = await_report(batch)
        assert {cell["sob_strict"] for cell in before.report["cells"]} <= {0, None}
        self.recount()
        after = await_report(batch)
        assert any(cell["sob_strict"] for cell in after.report["cells"])
