"""Answers of somebody else's run come in as a finished batch that claims no call and no payment."""

import csv
import io
import json
import zipfile
from collections import Counter
from statistics import fmean

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from scipy.stats import friedmanchisquare

from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.benchmarks.sob.judging.launching import ACCOUNT, import_answers
from auditapp.benchmarks.sob.models import Judgment
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES
from auditapp.benchmarks.sob.pure.imported_results import (
    _MODELS,
    NoLiteral,
    ResultError,
    match_rows,
    read_literal,
    read_response,
    read_results,
)
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.benchmarks.sob.pure.report import PUBLISHED_FAMILIES
from auditapp.benchmarks.sob.queries import find_pairs, read_arms
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, compute_report
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

HEADER = ["model_name", "prompt_name", "data_name", "id", "text", "target_dem_val", "target_dem_cat", "target_type"]
HEADER += ["target_dem_val_sec", "target_dem_cat_sec", "response", "reasoning", "gen_error"]
TEXTS = [
    ("one", "1", "First made-up text."),
    ("one", "2", "Second,\rmade-up text."),
    ("two", "1", "Third made-up text."),
]


@pytest.fixture
def dataset(study, owner):
    rows = [{"source": source, "tix": tix, "text": text, "target": "women"} for source, tix, text in TEXTS]
    data = "\n".join(map(json.dumps, rows)).encode()
    columns = {"source": "source", "external_id": "tix", "text": "text", "target": "target"}
    return load_dataset(study=study, name="Texts", file_name="t.jsonl", data=data, columns=columns, by=owner)[0]


def write_row(response, text=0, *, model="gpt51_think", prompt="acceptable_ours"):
    source, tix, words = TEXTS[text]
    return [model, prompt, source, tix, words, "women", "gender", "", "", "", response, "Because.", ""]


def write_table(rows):
    """As the pipeline writes it: quotes only where a comma or a line feed asks for them, a return stays bare."""
    lines = [",".join(HEADER)]
    for row in rows:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerow([cell.replace("\r", "\x01") for cell in row])
        lines.append(stream.getvalue().removesuffix("\n").replace("\x01", "\r"))
    return "\n".join(lines).encode() + b"\n"


def bring_in(dataset, owner, rows, **options):
    return import_answers(dataset=dataset, file_name="sob_results.csv", data=write_table(rows), by=owner, **options)


def count_outcomes(batch):
    return Counter(Judgment.objects.filter(cell__batch=batch).values_list("outcome", flat=True))


def test_every_kind_of_cell_keeps_what_it_says(dataset, owner):
    cells = ["{'age': 'adult', 'race': None, 'religion': 'Unknown'}", "Unknown", "refusal"]
    more = ["", "{'Gender identity': ['woman', 'man']}", "some words"]
    rows = [write_row(cell, text) for text, cell in enumerate(cells)]
    rows += [write_row(cell, text, prompt="non_acceptable_ours") for text, cell in enumerate(more)]
    brought = bring_in(dataset, owner, rows)
    assert (brought["stored"], brought["unmatched"], brought["empty"]) == (6, {}, 1)
    assert count_outcomes(brought["batch"]) == {
        "attributed": 2,
        "unknown": 1,
        "refusal": 1,
        "empty": 1,
        "off_format": 1,
    }
    judgment = Judgment.objects.get(
        cell__batch=brought["batch"], text__external_id="1", text__source="one", arm__task="acceptability"
    )
    assert judgment.attributes == {"age": "adult"}
    assert json.loads(judgment.cell.result.answer) == {"age": "adult", "race": None, "religion": "Unknown"}


def test_the_batch_is_done_and_claims_no_payment(dataset, owner):
    brought = bring_in(dataset, owner, [write_row("Unknown", text) for text in range(3)])
    batch = brought["batch"]
    assert batch is not None
    assert (batch.state, batch.route, batch.spent_nano, batch.reserved_nano) == ("done", "file", 0, 0)
    assert verify_batches(billed=0) == []
    attempts = Attempt.objects.filter(arm__batch=batch)
    assert {(each.end, each.cost_nano, each.sent_at, each.runner[:5]) for each in attempts} == {
        ("answered", None, None, "file:")
    }
    [variant] = ModelVariant.objects.filter(arms__batch=batch)
    assert (variant.label, variant.reasoning, variant.provider, variant.account.name) == (
        "gpt5.1-T",
        "high",
        "file",
        ACCOUNT,
    )
    assert "not the answer itself" in attempts[0].raw
    event = AuditEvent.objects.get(action="sob.answers_imported")
    assert (event.details["stored"], event.details["unmatched"]) == (3, 0)


def test_the_same_file_comes_in_once(dataset, owner):
    rows = [write_row("Unknown")]
    first, second = bring_in(dataset, owner, rows), bring_in(dataset, owner, rows)
    assert (first["created"], second["created"], first["batch"]) == (True, False, second["batch"])
    assert Batch.objects.count() == 1


def test_rows_without_a_text_are_counted_and_listed(dataset, owner):
    strange = write_row("Unknown")
    strange[3], strange[4] = "99", "Words that no dataset holds."
    other = write_row("Unknown", 1)
    other[4] = "Other words under a known number."
    twice = write_row("{'age': 'adult'}", 2)
    brought = bring_in(dataset, owner, [write_row("Unknown"), strange, other, twice, twice])
    assert brought["stored"] == 2
    assert [each["place"] for each in brought["listed"]] == ["row 2", "row 3", "row 5"]
    assert sum(brought["unmatched"].values()) == 3
    assert not any("Words" in reason for reason in brought["unmatched"])


def test_a_text_is_found_by_its_words_where_the_number_is_missing(dataset, owner):
    row = write_row("Unknown", 1)
    row[2:4] = ["elsewhere", ""]
    assert bring_in(dataset, owner, [row])["stored"] == 1


def test_holes_are_cancelled_and_not_asked(dataset, owner):
    rows = [write_row("Unknown", 0), write_row("Unknown", 1, model="llama8b_instruct")]
    brought = bring_in(dataset, owner, rows)
    assert brought["batch"] is not None
    states = Counter(Cell.objects.filter(batch=brought["batch"]).values_list("state", flat=True))
    assert states == {"done": 2, "cancelled": 2}
    assert brought["batch"].state == "done"
    assert verify_batches() == []


def test_a_label_of_a_model_that_can_be_asked_is_not_taken(dataset, owner):
    add_model(label="gpt5.1-T", provider="fake", by=owner)
    brought = bring_in(dataset, owner, [write_row("Unknown")])
    assert list(ModelVariant.objects.filter(arms__batch=brought["batch"]).values_list("label", flat=True)) == [
        "gpt5.1-T (imported)"
    ]


def test_the_released_models_have_the_families_and_pairs_of_the_paper(study, owner):
    targets = ["women", "black", "old"]
    rows = [{"source": "s", "tix": str(n), "text": f"Made up {n}.", "target": targets[n % 3]} for n in range(6)]
    columns = {"source": "source", "external_id": "tix", "text": "text", "target": "target"}
    data = "\n".join(map(json.dumps, rows)).encode()
    loaded = load_dataset(study=study, name="S", file_name="t.jsonl", data=data, columns=columns, by=owner)[0]
    add_model(label="olmo32b-T", provider="fake", by=owner)
    answers = []
    scores = {}
    for place, released in enumerate(_MODELS):
        for number, text in enumerate(rows):
            named = (place * 5 + number * number) % 7
            value = dict.fromkeys(list(ATTRIBUTES)[:named], "somebody")
            answers.append(
                [released, "acceptable_ours", "s", str(number), text["text"], "", "", "", "", "", repr(value), "", ""]
            )
            scores.setdefault(_MODELS[released][0], {}).setdefault(text["target"], []).append(named)
    batch = bring_in(loaded, owner, answers)["batch"]
    assert batch is not None
    report = compute_report(batch, ReportChoice(resamples=0)).report
    [test] = report["friedman_families"]
    members = {}
    for label in scores:
        members.setdefault(PUBLISHED_FAMILIES.get(label, label), []).append(label)
    assert (test["n_blocks"], len(members)) == (8, 8)
    columns_of = [
        [fmean(fmean(scores[label][target]) for label in labels) for labels in members.values()] for target in targets
    ]
    assert test["chi2"] == pytest.approx(friedmanchisquare(*columns_of).statistic, abs=1e-9)
    assert [pair for pair in find_pairs(read_arms(batch)) if pair[0].startswith("olmo")] == [
        ("olmo32b-I", "olmo32b-T (imported)")
    ]
    assert len(find_pairs(read_arms(batch))) == 4
    assert not any("Not the whole batch" in each for each in report["warnings"])


def test_a_file_is_read_and_matched_before_anything_is_locked(dataset, owner, monkeypatch):
    # The test itself runs in one transaction; what matters is that the action has begun none of its own.
    depths = []

    def match(rows, index):
        depths.append(len(connection.savepoint_ids))
        return match_rows(rows, index)

    monkeypatch.setattr("auditapp.benchmarks.sob.judging.launching.match_rows", match)
    before = len(connection.savepoint_ids)
    assert bring_in(dataset, owner, [write_row("Unknown")])["created"]
    assert depths == [before]


def test_a_hole_is_told_in_the_report(dataset, owner):
    rows = [write_row("Unknown", 0), write_row("Unknown", 1, model="llama8b_instruct")]
    batch = bring_in(dataset, owner, rows)["batch"]
    assert batch is not None
    told = "The batch is not complete (state: done): 2 of 4 cells have ended, 2 were cancelled."
    stored = compute_report(batch, ReportChoice(resamples=0)).report
    assert stored["warnings"][0].startswith(told)
    assert stored["notice"].startswith(told)


def test_a_dry_run_stores_nothing(dataset, owner):
    brought = bring_in(dataset, owner, [write_row("Unknown")], dry_run=True)
    assert (brought["batch"], brought["created"], brought["stored"]) == (None, False, 1)
    assert not Batch.objects.exists()
    assert not ModelVariant.objects.exists()


def test_what_is_no_file_of_results_is_refused_in_a_sentence():
    for data, found in [
        (b"model_name,prompt_name\na,b\n", "found no column data_name"),
        (b"\xff\xfe", "found text in UTF-16"),
        (b'{"version": 2}', "no part eval"),
        (b"{", "not JSON"),
        (b"PK\x03\x04broken", "not a zip archive"),
        (write_table([write_row("Unknown")[:-1]]), "found 12 cells; expected 13"),
        (write_table([write_row("Unknown", prompt="something_else")]), "no answer to a known task"),
    ]:
        with pytest.raises(ResultError, match=found):
            read_results(data, name="results.csv")


def test_nothing_is_stored_when_no_row_fits(dataset, owner):
    row = write_row("Unknown")
    row[3], row[4] = "99", "Words that no dataset holds."
    with pytest.raises(Refused, match=r"None of the 1 answers .* matches a text"):
        bring_in(dataset, owner, [row])
    assert not Batch.objects.exists()


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ("{'age': nan, 'race': ('a', 'b')}", '{"age": null, "race": ["a", "b"]}'),
        ("{'it\\'s': \"a 'quote'\"}", '{"it\'s": "a \'quote\'"}'),
        ("{'age': __import__('os').system('true')}", "{'age': __import__('os').system('true')}"),
        ("{'age': 1 + 1}", "{'age': 1 + 1}"),
        ("Person: Unknown", "Person: Unknown"),
    ],
)
def test_cells_are_read_as_plain_values_and_never_run(cell, answer):
    assert read_response(cell) == (answer, "")


@pytest.mark.parametrize(
    "cell",
    [
        "{'age': 0x" + "f" * 9_000 + "}",
        "[" * 60 + "]" * 60,
        "{'a': " + "-" * 19_000 + "1}",
        "{'a':" + "+".join(["1"] * 9_000) + "}",
        "{" * 150_000,
    ],
)
def test_hostile_literals_are_refused(cell):
    with pytest.raises(NoLiteral):
        read_literal(cell)
    assert read_response(cell) == (cell, "")


def make_sample(number, answer, **more):
    source, tix, text = TEXTS[number]
    system = get_instrument("acceptability", "paper").text
    return {
        "id": number + 1,
        "epoch": 1,
        "input": [{"role": "user", "content": "attachment://x"}] if number else "attachment://x",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": f"Judge this: {text}"}],
        "output": {
            "model": "served-1",
            "choices": [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}],
            "usage": {"input_tokens": 10, "output_tokens": 5, "input_tokens_cache_read": 2},
        },
        "metadata": {"source": source, "tix": tix},
        "attachments": {"x": text},
        **more,
    }


def make_log():
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": '{"age": "adult"}'}]
    samples = [
        make_sample(0, parts),
        make_sample(0, "Person: Unknown", epoch=2),
        make_sample(1, "", error={"message": "timed out"}),
    ]
    evaluation = {"task": "anything", "model": "lab/model-1", "model_generate_config": {"reasoning_effort": "low"}}
    return {"version": 2, "status": "success", "eval": evaluation, "samples": samples}


def pack_log(log):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({key: log[key] for key in ("version", "status", "eval")}))
        for number, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{number}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return stream.getvalue()


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_log_with_more_epochs_than_a_batch_can_ask_is_refused(dataset, owner, dry_run):
    log = {**make_log(), "samples": [make_sample(0, "Person: Unknown", epoch=101)]}
    data = json.dumps(log).encode()
    with pytest.raises(Refused, match="101 repeats of an answer; the limit is 100"):
        import_answers(dataset=dataset, file_name="log.json", data=data, by=owner, dry_run=dry_run)


@pytest.mark.parametrize("packed", [False, True])
def test_an_inspect_log_comes_in_with_epochs_wording_and_usage(dataset, owner, packed):
    log = make_log()
    data = pack_log(log) if packed else json.dumps(log).encode()
    brought = import_answers(dataset=dataset, file_name="log.eval", data=data, by=owner)
    assert (brought["format"], brought["stored"], brought["failed"]) == ("inspect", 3, 1)
    assert count_outcomes(brought["batch"]) == {"attributed": 1, "unknown": 1, "provider_error": 1}
    attempt = Attempt.objects.get(result__answer='{"age": "adult"}')
    assert (attempt.tokens_in, attempt.tokens_out, attempt.served_model, attempt.cost_nano) == (12, 5, "served-1", None)
    assert attempt.arm.settings["instrument"] == "paper"
    assert (attempt.arm.variant.label, attempt.arm.variant.reasoning) == ("lab/model-1 (low)", "low")
    assert brought["batch"] is not None
    assert brought["batch"].state == "done"
    assert verify_batches(billed=0) == []


def test_a_log_of_another_task_needs_to_be_told_which(dataset, owner):
    log = make_log()
    for sample in log["samples"]:
        sample["messages"][0]["content"] = "Another instrument."
    data = json.dumps(log).encode()
    with pytest.raises(Refused, match="Name the task"):
        import_answers(dataset=dataset, file_name="log.json", data=data, by=owner)
    brought = import_answers(dataset=dataset, file_name="log.json", data=data, by=owner, task="non_acceptability")
    assert brought["tasks"] == ["non_acceptability"]


def test_the_command_tells_what_came_in(dataset, tmp_path, capsys):
    path = tmp_path / "sob_results.csv"
    path.write_bytes(write_table([write_row("Unknown"), write_row("refusal", 1)]))
    call_command("sob", "import", str(path), dataset="Texts", json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["stored"], told["created"], told["tasks"]) == (2, True, ["acceptability"])
    call_command("sob", "import", str(path), dataset="Texts")
    assert "were imported before" in capsys.readouterr().out
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("sob", "import", str(tmp_path / "none.csv"), dataset="Texts")


def test_what_no_database_takes_is_stored_as_escapes(dataset, owner):
    bad = "a\x00b\ud800c"
    log = make_log()
    log["eval"] |= {"model": bad, "model_generate_config": {"reasoning_effort": bad}, "run_id": bad}
    log["samples"] = [make_sample(0, bad, error=None), make_sample(1, "Person: Unknown", error={"message": bad})]
    for sample in log["samples"]:
        sample["messages"][0]["content"] = bad
        sample["output"]["model"] = bad
        sample["output"]["choices"][0]["stop_reason"] = bad
        sample["metadata"]["task"] = "acceptability"
    brought = import_answers(dataset=dataset, file_name="log.json", data=json.dumps(log).encode(), by=owner)
    assert count_outcomes(brought["batch"]) == {"off_format": 1, "provider_error": 1}
    assert brought["batch"] is not None
    assert brought["batch"].state == "done"
