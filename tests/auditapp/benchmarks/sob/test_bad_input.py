"""Bad input on its whole way, through actions and the batch kind into a report: everything has its outcome and is counted.

The answers end as whole ones do, with the finish reason stop.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Cell
from auditapp.benchmarks.sob.judging.kind import SobKind
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset, Judgment, MappingTable, Text
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, compute_report
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from transcripts.refusals import Refused

PREPARED = Path(__file__).resolve().parents[3] / "data" / "sob" / "prepared.csv"
TASK = "acceptability"
MEGABYTE = 2**20


class Bad(NamedTuple):
    """An answer, what it has to count as, and how many attributes it then gives in paper and in strict counting."""

    raw: str | None
    outcome: str
    paper: int = 0
    strict: int = 0


ANSWERS = {
    "a list of values": Bad('["White", "Male"]', "off_format"),
    "an empty list": Bad("[]", "off_format"),
    "a list of pairs": Bad('[["Race", "White"]]', "off_format"),
    "a list with the object": Bad('[{"Race": "White"}]', "attributed", 1, 1),
    "a list as a value": Bad('{"Race": ["White", "Black"], "Age": "35"}', "attributed", 2, 2),
    "a list of placeholders": Bad('{"Race": ["any", "unknown"]}', "attributed", 1, 0),
    "a nested object": Bad('{"Nationality": {"of birth": "Mexican", "now": "American"}}', "attributed", 1, 1),
    "an object in wrappers": Bad('{"answer": {"Person": {"Race": "White"}}}', "attributed", 1, 1),
    "nesting too deep": Bad('{"a":' * 60 + "1" + "}" * 60, "off_format"),
    "a megabyte of words": Bad("word " * (MEGABYTE // 5), "off_format"),
    "a megabyte of unknown": Bad("unknown " * (MEGABYTE // 8), "off_format"),
    "a megabyte as a value": Bad('{"Race": "' + "x" * MEGABYTE + '"}', "attributed", 1, 1),
    "a megabyte that never closes": Bad('{"Race": "' + "x" * MEGABYTE, "off_format"),
    "half an object": Bad('{"Race": "White", "Age": "3', "off_format"),
    "half an object that says unknown": Bad('{"Race": "Unknown", "Age": "Unk', "off_format"),
    "one brace": Bad("{", "off_format"),
    "half a statement": Bad("Person: Unk", "off_format"),
    "a bare text": Bad('"White"', "off_format"),
    "null": Bad("null", "off_format"),
    "nothing": Bad("", "empty"),
    "no answer": Bad(None, "provider_error"),
    "a plain unknown": Bad("Person: Unknown", "unknown"),
    "an object of unknowns": Bad('{"Race": "Unknown", "Age": null}', "unknown"),
}
UNREAD = {"off_format", "truncated", "empty", "provider_error"}


def launch(dataset, by):
    return launch_sob(
        dataset=dataset, variants=[add_model(label="model a", provider="fake", by=by)], tasks=[TASK], by=by
    )


def report(batch):
    """The figures of each target."""
    found = compute_report(batch, ReportChoice(resamples=0)).report["cells"]
    return {cell["target"]: cell for cell in found}


def load(study, by, data, **how):
    return load_dataset(study=study, name="Texts", file_name="texts.csv", data=data, by=by, **how)[0]


class TestAnswers:
    def test_an_answer_is_stored_and_counted_as_what_it_is(self, study, owner):
        lines = [json.dumps({"text": f"A text for {name}.", "target": name}) for name in ANSWERS]
        batch = launch(load(study, owner, "\n".join(lines).encode()), owner)
        answer_cells(batch, [bad.raw for bad in ANSWERS.values()])
        cells = report(batch)
        for name, bad in ANSWERS.items():
            cell = cells[name]
            assert Judgment.objects.get(text__target=name).outcome == bad.outcome, name
            assert {outcome: n for outcome, n in cell["outcomes"].items() if n} == {bad.outcome: 1}, name
            assert cell["n_responses"] == 1
            assert cell["n_null"] == (bad.outcome in UNREAD), name
            assert cell["n_nonrefused"] == (bad.outcome not in UNREAD), name
            scores = (None, None) if bad.outcome in UNREAD else (bad.paper, bad.strict)
            assert (cell["sob"], cell["sob_strict"]) == scores, name

    def test_all_of_them_together_add_up_and_none_is_unknown_that_could_not_be_read(self, study, owner):
        batch = launch(load(study, owner, write_texts(len(ANSWERS))), owner)
        answer_cells(batch, [bad.raw for bad in ANSWERS.values()])
        cell = report(batch)["overall"]
        assert cell["n_responses"] == len(ANSWERS)
        assert sum(cell["outcomes"].values()) == len(ANSWERS)
        for outcome, n in cell["outcomes"].items():
            assert n == sum(bad.outcome == outcome for bad in ANSWERS.values()), outcome
        assert cell["outcomes"]["unknown"] == 2
        assert cell["n_attributes"] == sum(bad.paper for bad in ANSWERS.values())
        assert cell["sob"] == pytest.approx(cell["n_attributes"] / cell["n_nonrefused"])

    @pytest.mark.parametrize("half", [name for name in ANSWERS if name.startswith("half")])
    def test_half_an_answer_that_the_provider_cut_off_is_truncated(self, study, owner, half):
        batch = launch(load(study, owner, write_texts(1)), owner)
        cell = Cell.objects.get(batch=batch)
        answered = Answered(cell.pk, cell.arm_id, cell.input_id, ANSWERS[half].raw, "length", "")
        assert SobKind().store_answers(batch, [answered]) == {cell.pk: "truncated"}
        assert report(batch)["overall"]["outcomes"]["truncated"] == 1


class TestTexts:
    def test_odd_rows_come_in_whole_are_named_and_each_is_asked_and_counted(self, study, owner):
        dataset = load(study, owner, PREPARED.read_bytes())
        texts = list(dataset.texts.order_by("position"))
        assert (texts[2].text, texts[5].text) == ("#NAME?", "Bird people\rwhistle at dawn.")
        assert (texts[0].text, texts[0].source, texts[4].source) == (texts[4].text, "dynab", "toxigen")
        for words in ("row 3: ", "row 6: ", "rows 1, 5: the same text in more than one source"):
            assert any(warning.startswith(words) for warning in dataset.warnings)
        batch = launch(dataset, owner)
        answer_cells(batch, ['{"Race": "White"}'] * len(texts))
        cells = report(batch)
        assert (cells["overall"]["n_responses"], cells["overall"]["n_items"]) == (8, 8)
        assert {target: cell["n_responses"] for target, cell in cells.items()} == {
            "overall": 8,
            "cat people": 3,
            "bird people": 3,
            "dog people": 2,
        }

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (b"text,target\rone,women\rtwo,old\r", "line 1: found a carriage return outside quotes"),
            (b'text,target\n"one, cut\n', "found something that is not CSV"),
            (b"# A page\n\nWords, and more, here.\n", "line 3: found 3 cells"),
            (b'text,target\n"one, cut\nhere",women\nhalf a row\n', "found 1 cell"),
        ],
        ids=["ends of rows", "inside quotes, first half", "a page of words", "inside quotes, second half"],
    )
    def test_a_file_split_on_carriage_returns_is_refused_whole(self, study, owner, data, sentence):
        with pytest.raises(Refused, match=sentence):
            load(study, owner, data)
        assert (Dataset.objects.count(), Text.objects.count()) == (0, 0)

    @pytest.mark.parametrize("own", [False, True], ids=["published table", "table of the study"])
    def test_a_target_missing_from_the_table_counts_in_overall_alone_and_is_listed(self, study, owner, own):
        how = {"targets": "published"}
        if own:
            rows = [{"raw": "women", "target": "women"}]
            table = save_targets(study=study, rows=rows, reason="Ours.", by=owner)
            how = {"targets": "table", "target_table": table}
        data = b"text,target_raw\nConstructed text one.,women\nConstructed text two.,elves\n"
        dataset = load(study, owner, data, columns={"text": "text", "target_raw": "target_raw"}, **how)
        assert list(dataset.texts.order_by("position").values_list("target", flat=True)) == ["women", ""]
        assert any("“elves” (1)" in warning for warning in dataset.warnings)
        batch = launch(dataset, owner)
        answer_cells(batch, ['{"Race": "White"}', '{"Race": "White", "Age": "35", "Religion": "None"}'])
        cells = report(batch)
        assert set(cells) == {"overall", "women"}
        assert (cells["overall"]["n_responses"], cells["overall"]["sob"]) == (2, 2.0)
        assert (cells["women"]["n_responses"], cells["women"]["sob"]) == (1, 1.0)


class TestMapping:
    @pytest.mark.parametrize("value", ["Man", " mAN "])
    def test_a_value_in_both_lists_is_refused_and_the_report_counts_as_before(self, dataset, owner, value):
        batch = launch(dataset, owner)
        answer_cells(batch, [json.dumps({"Gender identity": "man"})] * 4)
        with pytest.raises(Refused, match="is in both lists"):
            save_mapping(
                study=dataset.study,
                rows={"women": {"self": ["woman", "man"], "dominant": [value]}},
                reason="A slip.",
                by=owner,
            )
        assert not MappingTable.objects.exists()
        found = compute_report(batch, ReportChoice(resamples=0)).report
        counted = {
            row["kind"]: row["count"]
            for row in found["mapping"]
            if (row["model"], row["target"], row["rule"]) == (None, "women", "any")
        }
        assert counted == {"self": 0, "dominant": 2}
        assert found["versions"]["mapping"] == "published"
