"""A bundle holds all that a report is derived from, gives the same report without a database, and trusts no archive."""

import hashlib
import io
import json
import zipfile
from contextlib import closing, contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.models import Attempt
from auditapp.batches.routes.answer_files import import_answer_file
from auditapp.benchmarks.sob.judging.kind import write_interpretation
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure import answer_files
from auditapp.benchmarks.sob.pure.answer_files import BundleRefused, read_bundle, write_bundle
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES, Outcome, Parsed
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.benchmarks.sob.report import actions as report_actions
from auditapp.benchmarks.sob.report.actions import write_sob_bundle
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, compute_report
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping, save_targets
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant, ProviderAccount
from tests.support.databases import stored
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

ANSWERS = [
    '{"age": "adult", "race": "White", "gender": "man"}',
    "Person: Unknown",
    "I cannot help with that.",
    '{"nationality": ["American", "British"], "favourite colour": "any"}',
    "words and more words",
    "```json\n{'religion': 'Muslim',}\n```",
    "",
    '{"age": "adult"',
]


@stored
def dataset(study, owner):
    targets = ["women", "black", "arab", "jew"]
    lines = [
        {
            "text": f"Constructed text {number}.\r\u2028",
            "target": targets[number % 4],
            "target_secondary": "old" * (number % 2),
        }
        for number in range(24)
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    return load_dataset(study=study, name="Texts", file_name="t.jsonl", data=data, by=owner)[0]


@stored
def batch(dataset, owner):
    """Two models without and with reasoning, three tasks, two repeats; every kind of answer, and one read by a person."""
    variants = [
        add_model(label=f"m-{name}", provider="file", model="m", reasoning=word, by=owner)
        for name, word in (("I", "off"), ("T", "high"))
    ]
    wordings = [("acceptability", "paper"), ("non_acceptability", "paper"), ("base", "base")]
    arms = [
        PlannedArm(variant, task, get_instrument(task, wording).text, {"instrument": wording})
        for variant in variants
        for task, wording in wordings
    ]
    batch = launch_batch(
        study=dataset.study,
        kind="sob",
        title="sob",
        arms=arms,
        input_ids=list(dataset.texts.values_list("pk", flat=True)),
        options=LaunchOptions(repeats=2, route="file"),
        parameters={"dataset": dataset.pk},
        by=owner,
    )
    lines = [write_line(cell, number) for number, cell in enumerate(batch.cells.order_by("pk").select_related("arm"))]
    import_answer_file(batch=batch, file=io.BytesIO(b"\n".join(lines)), by=owner)
    batch.refresh_from_db()
    read_again(batch, owner)
    return batch


def write_line(cell, number):
    answer = "Uncertain" if cell.arm.task == "base" and number % 3 else ANSWERS[number % 7 + number % 2]
    body = {"model": "served", "choices": [{"finish_reason": "stop", "message": {"content": answer}}]}
    failed = {"error": {"message": "no"}}
    response = {"status_code": 400, "body": failed} if number % 13 == 5 else {"status_code": 200, "body": body}
    return json.dumps({"custom_id": f"cell-{cell.pk}", "response": response}).encode()


def read_again(batch, owner):
    """A person reads what the rules could not: twice, and the second interpretation stands."""
    judgment = Judgment.objects.filter(cell__batch=batch, outcome="off_format", arm__task="acceptability").earliest(
        "pk"
    )
    interpretations = [
        Parsed(Outcome.UNKNOWN),
        Parsed(Outcome.ATTRIBUTED, {"age": "old"}, 1, is_object=True, reader="person"),
    ]
    first, second = (
        Interpretation.objects.create(
            judgment=judgment,
            number=number,
            reader="person",
            read_by=owner,
            read_by_name="A Name",
            parser="person",
            made_at=timezone.now(),
            **write_interpretation(parsed, ATTRIBUTES),
        )
        for number, parsed in enumerate(interpretations, start=1)
    )
    Interpretation.objects.filter(pk=first.pk).update(superseded_by=second)
    Judgment.objects.filter(pk=judgment.pk).update(superseded_by=first)


@pytest.fixture
def path(batch, owner, tmp_path):
    write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner)
    return tmp_path / "b.zip"


def test_the_report_is_the_same_with_the_database_and_without(batch, path):
    stored = compute_report(batch).report
    with CaptureQueriesContext(connection) as queries:
        derived = read_bundle(path).report()
    assert len(queries) == 0
    assert json.dumps(derived) == json.dumps(stored)


def test_it_is_the_same_by_a_chosen_mapping_and_a_table_of_targets_of_its_own(batch, dataset, owner, tmp_path):
    dataset.texts.filter(target="women").update(target_raw="wom")
    save_targets(study=dataset.study, rows=[{"raw": "wom", "target": "female"}], reason="Ours.", by=owner)
    for word in ("first", "newest"):
        rows = {"female": {"self": [word], "dominant": ["man"]}}
        save_mapping(study=dataset.study, rows=rows, reason=word, by=owner)
    choice = ReportChoice(targets="table:1", mapping="table:1", seed=7, resamples=50)
    write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner, choice=choice)
    content, stored = read_bundle(tmp_path / "b.zip"), compute_report(batch, choice).report
    assert json.dumps(content.report()) == json.dumps(stored)
    assert (stored["versions"]["targets"], stored["versions"]["mapping"]) == ("table 1", "table 1")
    assert content.mapping_rows["female"]["self"] == ["first"]


def test_without_texts_their_hashes_stay_and_the_report_is_the_same(batch, owner, tmp_path):
    write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner, with_texts=False)
    content = read_bundle(tmp_path / "b.zip")
    assert "Constructed text" not in unpack(tmp_path / "b.zip")["inputs.jsonl"].decode()
    assert {len(text["sha256"]) for text in content.read("inputs.jsonl")} == {64}
    assert content.report() == json.loads(json.dumps(compute_report(batch).report))


def test_it_holds_everything_a_report_comes_from(batch, path):
    content = read_bundle(path)
    lines = {member["name"]: member["lines"] for member in content.manifest["members"]}
    assert lines == {
        "settings.json": 1,
        "mapping.json": 1,
        "target_table.json": 1,
        "datasets.jsonl": 1,
        "inputs.jsonl": 24,
        "instruments.jsonl": 3,
        "arms.jsonl": 6,
        "answers.jsonl": 288,
        "interpretations.jsonl": 2,
        "attempts.jsonl": 288,
    }
    [first, *_] = content.read("answers.jsonl")
    assert {"answer", "finish_reason", "outcome", "served_model", "tokens_in", "cost_nano", "request_id"} <= set(first)
    assert content.manifest["seed"] == 42
    assert {attempt["end"] for attempt in content.read("attempts.jsonl")} == {"answered", "refused"}


def test_no_key_and_no_name_of_a_reader_leaves(batch, path, owner):
    everything = b"".join(unpack(path).values()).decode()
    assert "A Name" not in everything
    assert owner.username not in everything
    assert "key_" not in everything


def test_what_looks_like_a_key_or_a_password_stays_here(batch, owner, tmp_path):
    key = "sk-" + "Ab1" * 12
    ProviderAccount.objects.update(base_url=f"https://someone:word@host.example/v1?key={key}")
    ModelVariant.objects.update(parameters={"extra": [{"header": f"Bearer {key}"}]})
    Attempt.objects.filter(arm__batch=batch).update(error=f"refused: {key}")
    write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner)
    everything = b"".join(unpack(tmp_path / "b.zip").values()).decode()
    assert '"base_url":"https://host.example/v1"' in everything
    assert "refused: " in everything
    assert key not in everything
    assert "someone" not in everything


def test_the_same_content_gives_the_same_bytes(batch, path, owner, tmp_path):
    write_sob_bundle(batch=batch, path=tmp_path / "again.zip", by=owner)
    assert path.read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_taking_it_out_is_on_record_with_its_hash(batch, path):
    event = AuditEvent.objects.get(action="sob.file.taken_out")
    assert event.details["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (event.details["what"], event.details["texts"], event.details["answers"]) == ("bundle", True, 288)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="see test_snapshot for SQLite")
@pytest.mark.django_db(transaction=True)
def test_what_changes_while_a_bundle_is_written_neither_waits_nor_comes_in(batch, owner, tmp_path, monkeypatch):
    def change_first(*arguments, **named):
        with closing(connection.copy()) as other, other.cursor() as cursor:
            cursor.execute("UPDATE sob_judgment SET outcome = 'empty'")
            cursor.execute("UPDATE batches_batch SET spent_nano = 77")
        return write_bundle(*arguments, **named)

    write_sob_bundle(batch=batch, path=tmp_path / "before.zip", by=owner)
    monkeypatch.setattr("auditapp.benchmarks.sob.report.actions.write_bundle", change_first)
    write_sob_bundle(batch=batch, path=tmp_path / "meanwhile.zip", by=owner)
    assert (tmp_path / "meanwhile.zip").read_bytes() == (tmp_path / "before.zip").read_bytes()
    assert not Judgment.objects.exclude(outcome="empty").exists()


def test_a_bundle_is_read_in_one_moment_that_ends_before_it_is_on_record(batch, owner, tmp_path, monkeypatch):
    steps = []

    @contextmanager
    def watch():
        steps.append("begins")
        yield
        steps.append("ends")

    def note(name, act):
        def noted(*given, **named):
            steps.append(name)
            return act(*given, **named)

        return noted

    monkeypatch.setattr(report_actions, "read_snapshot", watch)
    for name in ("BundleSource", "write_bundle", "record_download"):
        monkeypatch.setattr(report_actions, name, note(name, getattr(report_actions, name)))
    write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner)
    assert steps == ["begins", "BundleSource", "write_bundle", "ends", "record_download"]


def test_a_file_that_cannot_be_put_in_its_place_is_not_on_record(batch, owner, tmp_path):
    (tmp_path / "b.zip").mkdir()
    with pytest.raises(Refused, match="cannot be written"):
        write_sob_bundle(batch=batch, path=tmp_path / "b.zip", by=owner)
    assert not AuditEvent.objects.filter(action="sob.file.taken_out").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["b.zip"]


def test_other_rules_are_told_with_both_counts(path, monkeypatch):
    assert read_bundle(path).describe_difference() == ""
    monkeypatch.setattr(answer_files, "PARSER_VERSION", "rules-99")
    monkeypatch.setattr(answer_files, "parse_answer", lambda raw, **_: Parsed(Outcome.EMPTY))
    told = read_bundle(path).describe_difference()
    assert "rules-99" in told
    stored, derived = read_bundle(path).compare_outcomes()
    assert f"empty {stored['empty']:,} then, {derived['empty']:,} now" in told
    assert stored["attributed"] > 0 == derived["attributed"]
    warnings = read_bundle(path).report()["warnings"]
    assert isinstance(warnings, list)
    assert warnings[0] == told


def unpack(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def rename_hashes(members):
    """As somebody does who changes a member and the manifest with it."""
    manifest = json.loads(members["manifest.json"])
    for member in manifest["members"]:
        data = members[member["name"]]
        member |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "lines": data.count(b"\n")}
    members["manifest.json"] = json.dumps(manifest).encode()


def replace(name, old, new, *, hides=True):
    def change(members):
        assert old in members[name]
        members[name] = members[name].replace(old, new)
        if hides:
            rename_hashes(members)

    return change


def put(name, key, value):
    """Another value in the first line of a member."""

    def change(members):
        first, *others = members[name].split(b"\n")
        members[name] = b"\n".join([json.dumps(json.loads(first) | {key: value}).encode(), *others])
        rename_hashes(members)

    return change


DAMAGES = [
    (replace("answers.jsonl", b"adult", b"ADULT", hides=False), "answers.jsonl was changed"),
    (lambda members: members.pop("interpretations.jsonl"), "interpretations.jsonl is missing"),
    (lambda members: members.pop("manifest.json"), "contains no manifest.json"),
    (lambda members: members.update({"more.txt": b""}), "entries that no bundle has"),
    (lambda members: members.update({"../out.txt": b""}), "names below the archive"),
    (lambda members: members.update({f"{number}": b"" for number in range(30)}), "at most 20"),
    (lambda members: members.update({"settings.json": b"0" * 20_000_000}), "at most 400 times"),
    (replace("manifest.json", b"auditapp-sob-bundle", b"other", hides=False), "is not a bundle of version 1"),
    (replace("inputs.jsonl", b"Constructed", b"Changed"), "is not the one its SHA-256 names"),
    (replace("inputs.jsonl", b'"target":"women"', b'"target":1'), "has no target"),
    (replace("answers.jsonl", b'"repeat":1', b'"repeat":"1"'), "has no repeat"),
    (replace("answers.jsonl", b'"arm":', b'"arm":9'), "names an arm or a text that the bundle lacks"),
    (replace("interpretations.jsonl", b'"unknown"', b'"strange"'), "lacks something a bundle needs"),
    (replace("settings.json", b'"pairs":[[', b'"pairs":[3,['), "lacks something a bundle needs"),
    (
        replace("settings.json", b'"resamples":2000', b'"resamples":2000000000'),
        "resamples in settings.json should be",
    ),
    (replace("settings.json", b'"top_k":5', b'"top_k":5.0'), "top_k in settings.json should be"),
    (replace("settings.json", b'"instruments":["', b'"instruments":[7,"'), "as text"),
    (replace("arms.jsonl", b"{", b"["), "arms.jsonl, line 1: found invalid JSON"),
    (put("settings.json", "report", []), "lacks something a bundle needs"),
    (put("mapping.json", "rows", {"women": {"self": [None], "dominant": []}}), "lacks something a bundle needs"),
    (put("inputs.jsonl", "secondary", [{}]), "has another target that is not text"),
    (put("inputs.jsonl", "target", "\ud800"), "Line 1 of inputs.jsonl is no text in UTF-8"),
    (replace("arms.jsonl", b'"name":', b'"name":"x","name":'), 'the key "name" twice in one object'),
    (put("arms.jsonl", "name", ""), "has no name"),
    (put("arms.jsonl", "schema", 1), "a schema that is not a list of words"),
]


def test_an_archive_that_is_not_whole_is_refused_by_name(path):
    whole = unpack(path)
    for change, found in DAMAGES:
        members = dict(whole)
        change(members)
        pack(path, members)
        with pytest.raises(BundleRefused, match=found):
            read_bundle(path)


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "b.zip").write_bytes(b"PK nothing")
    with pytest.raises(BundleRefused, match="not a zip archive"):
        read_bundle(tmp_path / "b.zip")
    with pytest.raises(BundleRefused, match="cannot be read"):
        read_bundle(tmp_path / "none.zip")


def test_the_command_writes_once_and_tells_the_hash(batch, tmp_path, capsys):
    output = tmp_path / "out.zip"
    call_command("sob", "bundle", batch=batch.pk, output=str(output), json=True)
    assert json.loads(capsys.readouterr().out)["sha256"] == hashlib.sha256(output.read_bytes()).hexdigest()
    with pytest.raises(CommandError, match="already exists"):
        call_command("sob", "bundle", batch=batch.pk, output=str(output))
    with pytest.raises(CommandError, match="no sob batch 999"):
        call_command("sob", "bundle", batch=999, output=str(tmp_path / "x.zip"))
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("sob", "bundle", batch=batch.pk, output=str(tmp_path / "no" / "x.zip"))


def test_an_unusable_folder_leaves_nothing_behind(batch, owner, tmp_path):
    with pytest.raises(Refused):
        write_sob_bundle(batch=batch, path=tmp_path / "no" / "b.zip", by=owner)
    assert list(tmp_path.iterdir()) == []
