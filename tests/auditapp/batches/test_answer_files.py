"""The route by file: requests out, answers in; every line is checked first, and nothing is stored twice."""

import io
import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from auditapp.batches import actions, kinds, launching
from auditapp.batches.ledger import statements
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.batches.routes import answer_files
from auditapp.batches.routes.answer_files import AnswerFileError, export_requests, import_answer_file
from auditapp.llm.actions import add_model
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent


class Echo(kinds.BatchKind):
    """A kind whose inputs are numbers."""

    name = "echo"

    def write_prompts(self, arm, input_ids):
        return {number: f"a hateful text {number}" for number in input_ids}

    def store_answers(self, batch, answers):
        return {each.cell_id: "said" if each.answer is not None else "silent" for each in answers}

    def reopen(self, cell_ids):
        return None


@pytest.fixture(autouse=True)
def echo(monkeypatch):
    monkeypatch.setitem(kinds._kinds, "echo", Echo())


@pytest.fixture
def launch(study):
    """A batch whose answers come from a file."""

    def launch_now(*, inputs=3, models=("m",), route="file", after=None):
        variants = [
            add_model(
                label=f"{model} of {route} {Batch.objects.count()}",
                provider="file" if route == "file" else "fake",
                model=model,
                max_tokens=100,
                price_in=Decimal(1),
                price_out=Decimal(2),
                by=trail.SYSTEM,
            )
            for model in models
        ]
        return launching.launch_batch(
            study=study,
            kind="echo",
            title="Echo",
            arms=[launching.PlannedArm(variant, "task", "Say it.") for variant in variants],
            input_ids=list(range(1, inputs + 1)),
            options=launching.LaunchOptions(route=route),
            by=trail.SYSTEM,
            after=after,
        )

    return launch_now


@pytest.fixture
def batch(launch):
    return launch()


def find_cells(batch):
    return list(Cell.objects.filter(batch=batch).order_by("pk").values_list("pk", flat=True))


def write_file(*lines):
    return io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())


def answer_plainly(cell, **more):
    return {"cell": cell, "answer": f"answer to {cell}", **more}


def import_lines(batch, *lines, dry_run=False):
    return import_answer_file(batch=batch, file=write_file(*lines), by=trail.SYSTEM, dry_run=dry_run)


def answer_as_openai(cell, status=200):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}
    body = {
        "id": "chatcmpl-1",
        "model": "m-served",
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }
    if status != 200:
        body = {"error": {"message": "no", "type": "server_error"}}
    response = {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": f"cell-{cell}", "response": response, "error": None}


def answer_as_anthropic(cell, kind="succeeded"):
    message = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-served",
        "content": [{"type": "text", "text": "no"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }
    result = {"type": kind}
    if kind == "succeeded":
        result["message"] = message
    return {"custom_id": f"cell-{cell}", "result": result}


class TestRequests:
    def test_every_waiting_cell_is_one_line_in_the_form_of_the_batch_service(self, batch):
        cells, written = export_requests(batch=batch, by=trail.SYSTEM)
        lines = [json.loads(line) for line in written]
        assert cells == 3
        assert [line["custom_id"] for line in lines] == [f"cell-{cell}" for cell in find_cells(batch)]
        assert (lines[0]["method"], lines[0]["url"]) == ("POST", "/v1/chat/completions")
        assert lines[0]["body"]["model"] == "m"
        assert lines[0]["body"]["messages"] == [
            {"role": "system", "content": "Say it."},
            {"role": "user", "content": "a hateful text 1"},
        ]

    def test_the_file_is_the_same_each_time(self, batch):
        first, second = (b"".join(export_requests(batch=batch, by=trail.SYSTEM)[1]) for _ in range(2))
        assert first == second

    def test_it_can_be_written_for_anthropic(self, batch):
        lines = [json.loads(line) for line in export_requests(batch=batch, by=trail.SYSTEM, form="anthropic")[1]]
        assert set(lines[0]) == {"custom_id", "params"}
        assert lines[0]["params"]["system"] == "Say it."

    def test_it_can_be_written_for_one_model_alone(self, launch):
        batch = launch(models=["a", "b"])
        arm = batch.arms.get(variant__model="b")
        cells, lines = export_requests(batch=batch, by=trail.SYSTEM, variant=arm.variant)
        assert cells == 3
        assert {json.loads(line)["body"]["model"] for line in lines} == {"b"}

    def test_answered_cells_are_left_out(self, batch):
        import_lines(batch, answer_plainly(find_cells(batch)[0]))
        cells, lines = export_requests(batch=batch, by=trail.SYSTEM)
        assert cells == len(list(lines)) == 2

    def test_what_went_out_is_recorded_by_its_number_and_not_by_its_words(self, batch, owner):
        list(export_requests(batch=batch, by=owner)[1])
        event = AuditEvent.objects.get(action="batch.requests_exported")
        assert (event.actor_name, event.details) == ("owner", {"cells": 3})

    def test_it_is_read_in_groups(self, launch, monkeypatch):
        monkeypatch.setattr(answer_files, "GROUP", 2)
        lines = list(export_requests(batch=launch(inputs=5), by=trail.SYSTEM)[1])
        assert len(lines) == len(set(lines)) == 5

    def test_a_batch_that_asks_by_itself_has_no_such_file(self, launch):
        with pytest.raises(AnswerFileError, match="calls its models itself"):
            export_requests(batch=launch(route="live"), by=trail.SYSTEM)

    def test_a_setting_the_model_cannot_take_is_refused_before_a_line_is_written(self, batch):
        type(batch.arms.get().variant).objects.update(parameters={"n": 3})
        with pytest.raises(AnswerFileError):
            export_requests(batch=batch, by=trail.SYSTEM)

    def test_no_worker_is_rung_for_it(self, batch):
        assert statements.find_queues_to_notify() == []


class TestAnswers:
    def test_all_three_forms_are_stored_as_answers_like_any_other(self, batch):
        first, second, third = find_cells(batch)
        plain = answer_plainly(third, model="mine", tokens_in=2, tokens_out=1)
        imported = import_lines(batch, answer_as_openai(first), answer_as_anthropic(second), plain)
        assert (imported.lines, imported.answered, imported.failed, imported.skipped, imported.waiting) == (
            3,
            3,
            0,
            0,
            0,
        )
        rows = Attempt.objects.order_by("cell").values_list("end", "served_model", "tokens_in", "cost_nano")
        assert list(rows) == [
            ("answered", "m-served", 10, 20_000),
            ("answered", "claude-served", 7, 13_000),
            ("answered", "mine", 2, 4_000),
        ]
        assert dict(Result.objects.values_list("cell", "answer")) == {
            first: "yes",
            second: "no",
            third: f"answer to {third}",
        }
        batch.refresh_from_db()
        assert (batch.state, batch.spent_nano, batch.reserved_nano) == ("done", 37_000, 0)
        attempt = Attempt.objects.order_by("cell")[0]
        assert attempt.runner == f"file:{imported.sha256[:12]}"
        assert attempt.prompt == "a hateful text 1"
        assert set(Cell.objects.values_list("state", "outcome", "lease_owner")) == {("done", "said", "")}

    def test_an_answer_without_usage_costs_nobody_knows_what(self, batch):
        import_lines(batch, answer_plainly(find_cells(batch)[0]))
        assert Attempt.objects.get().cost_nano is None

    def test_a_part_of_the_answers_leaves_the_rest_waiting(self, batch):
        imported = import_lines(batch, answer_plainly(find_cells(batch)[1]))
        assert (imported.answered, imported.waiting) == (1, 2)
        batch.refresh_from_db()
        assert batch.state == "running"

    def test_the_same_file_again_changes_nothing(self, batch):
        lines = [answer_plainly(find_cells(batch)[0]), answer_as_openai(find_cells(batch)[1], status=500)]
        import_lines(batch, *lines)
        before = (Attempt.objects.count(), AuditEvent.objects.count(), Cell.objects.order_by("pk").values_list("state"))
        imported = import_lines(batch, *lines)
        assert (imported.answered, imported.failed, imported.skipped) == (0, 0, 2)
        assert (Attempt.objects.count(), AuditEvent.objects.count()) == before[:2]

    def test_a_cell_that_has_its_answer_keeps_it(self, batch):
        cell = find_cells(batch)[0]
        import_lines(batch, answer_plainly(cell))
        imported = import_lines(batch, {"cell": cell, "answer": "another"})
        assert (imported.answered, imported.skipped) == (0, 1)
        assert Result.objects.get().answer == f"answer to {cell}"

    def test_an_error_leaves_its_cell_waiting_for_another_file(self, batch):
        cell = find_cells(batch)[0]
        imported = import_lines(batch, answer_as_anthropic(cell, "expired"))
        assert (imported.failed, imported.waiting) == (1, 3)
        assert Attempt.objects.get().error_class == "expired"
        assert import_lines(batch, answer_plainly(cell)).answered == 1

    def test_a_dry_run_says_what_would_happen_and_stores_nothing(self, batch):
        imported = import_lines(batch, *(answer_plainly(cell) for cell in find_cells(batch)), dry_run=True)
        assert (imported.answered, imported.waiting) == (3, 3)
        assert not Attempt.objects.exists()
        assert not AuditEvent.objects.filter(action="batch.answers_brought_in").exists()

    def test_each_stored_group_is_one_event_without_a_word_of_the_answers(self, launch, owner, monkeypatch):
        monkeypatch.setattr(answer_files, "GROUP", 2)
        batch = launch(inputs=3)
        lines = [answer_plainly(cell) for cell in find_cells(batch)]
        import_answer_file(batch=batch, file=write_file(*lines), by=owner)
        events = AuditEvent.objects.filter(action="batch.answers_brought_in").order_by("sequence")
        assert [event.details["answered"] for event in events] == [2, 1]
        assert "answer to" not in json.dumps([event.details for event in events])

    def test_a_file_that_was_stored_half_is_finished_by_bringing_it_in_again(self, launch, monkeypatch):
        monkeypatch.setattr(answer_files, "GROUP", 2)
        batch = launch(inputs=5)
        lines = [answer_plainly(cell) for cell in find_cells(batch)]
        stored = answer_files._store_group
        calls = []

        def die_at_the_second(*arguments):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            stored(*arguments)

        monkeypatch.setattr(answer_files, "_store_group", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            import_lines(batch, *lines)
        assert Result.objects.count() == 2
        monkeypatch.setattr(answer_files, "_store_group", stored)
        imported = import_lines(batch, *lines)
        assert (imported.answered, imported.skipped, imported.waiting) == (3, 2, 0)
        assert Attempt.objects.count() == 5


class TestLines:
    """What cannot be taken is named with its line, and then nothing at all is stored."""

    @pytest.mark.parametrize(
        ("line", "found"),
        [
            (b"{not json\n", "invalid JSON at character 2"),
            (b"\xff\xfe\n", "text that is not UTF-8"),
            (b"[1]\n", "found a list"),
            (b'{"cell": 1, "cell": 2, "answer": "x"}\n', 'the key "cell" twice in one object'),
            (b'{"cell": 1}\n', "without response, result or answer"),
            (b'{"answer": "x"}\n', "neither custom_id nor cell"),
            (b'{"cell": "dog", "answer": "x"}\n', "'dog'"),
            (b'{"cell": true, "answer": "x"}\n', "'True'"),
            (b'{"cell": 999999, "answer": "x"}\n', "cell 999999, which does not exist"),
            (b'{"custom_id": "cell-CELL", "answer": null}\n', "an answer that is null"),
            (b'{"cell": CELL, "answer": "x", "tokens_in": -1}\n', "tokens_in that is a number"),
            (b'{"cell": CELL, "answer": "x", "model": 5}\n', "a model that is a number"),
            (b'{"custom_id": "request-1", "result": {"type": "expired"}}\n', "the custom_id 'request-1'"),
            (b'{"custom_id": "cell-CELL", "result": {}}\n', "without the kind of its result"),
        ],
    )
    def test_a_line_that_cannot_be_taken_is_named(self, batch, line, found):
        first, second, _ = find_cells(batch)
        good = json.dumps(answer_plainly(second)).encode() + b"\n"
        file = io.BytesIO(good + b"\n" + line.replace(b"CELL", str(first).encode()))
        with pytest.raises(AnswerFileError) as caught:
            import_answer_file(batch=batch, file=file, by=trail.SYSTEM)
        assert "1 of 2 lines cannot be used, so nothing was stored. Line 3: found" in str(caught.value)
        assert found in str(caught.value)
        assert ", expected " in str(caught.value)
        assert not Attempt.objects.exists()

    def test_a_cell_named_twice_is_refused_with_both_lines(self, batch):
        cell = find_cells(batch)[0]
        with pytest.raises(AnswerFileError, match=rf"Line 2: found cell {cell} again \(as on line 1\)"):
            import_lines(batch, answer_plainly(cell), answer_plainly(cell))

    def test_a_cell_of_another_batch_is_refused(self, launch, batch):
        other = launch()
        with pytest.raises(AnswerFileError, match=f"which is of batch {other.pk}"):
            import_lines(batch, answer_plainly(find_cells(other)[0]))

    def test_no_more_than_twenty_problems_are_listed_and_all_are_counted(self, batch):
        with pytest.raises(AnswerFileError, match="700 of 700 lines") as caught:
            import_lines(batch, *({"cell": 10**9 + number, "answer": "x"} for number in range(700)))
        assert len(caught.value.problems) == 19, "the first stands in the sentence"

    def test_an_empty_file_is_refused(self, batch):
        with pytest.raises(AnswerFileError, match="The file is empty"):
            import_lines(batch)

    def test_a_line_without_end_is_not_read_into_memory(self, batch):
        file = io.BytesIO(b'{"cell": 1, "answer": "' + b"x" * (9 * 1024 * 1024))
        with pytest.raises(AnswerFileError, match="more than 8 MB"):
            import_answer_file(batch=batch, file=file, by=trail.SYSTEM)

    def test_nul_and_half_surrogates_are_kept_as_escapes(self, batch):
        import_lines(batch, {"cell": find_cells(batch)[0], "answer": "a\x00b\ud800"})
        assert Result.objects.get().answer == "a\\x00b\\ud800"

    def test_a_cancelled_batch_takes_no_answers(self, batch):
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        batch.refresh_from_db()
        with pytest.raises(AnswerFileError, match="cancelled and accepts no answers"):
            import_lines(batch, answer_plainly(find_cells(batch)[0]))


class TestCommands:
    def test_requests_go_out_and_their_answers_come_in(self, batch, tmp_path, capsys):
        out = tmp_path / "requests.jsonl"
        call_command("batch", "export-requests", str(batch.pk), "--output", str(out), "--json")
        assert json.loads(capsys.readouterr().out) == {"batch": batch.pk, "requests": 3, "path": str(out)}
        assert out.stat().st_mode & 0o077 == 0
        names = [json.loads(line)["custom_id"] for line in out.read_text().splitlines()]
        answers = tmp_path / "answers.jsonl"
        answers.write_text("".join(json.dumps({"custom_id": name, "answer": "x"}) + "\n" for name in names))
        call_command("batch", "import-answers", str(batch.pk), str(answers), "--json")
        told = json.loads(capsys.readouterr().out)
        assert (told["answered"], told["waiting"], told["state"]) == (3, 0, "done")

    def test_a_file_that_is_there_is_written_over_only_where_that_is_said(self, batch, tmp_path):
        out = tmp_path / "requests.jsonl"
        out.write_text("answers of a week")
        with pytest.raises(CommandError, match=r"already exists.* add --overwrite"):
            call_command("batch", "export-requests", str(batch.pk), "--output", str(out))
        assert out.read_text() == "answers of a week"
        call_command("batch", "export-requests", str(batch.pk), "--output", str(out), "--overwrite")
        assert len(out.read_text().splitlines()) == 3

    def test_a_wrong_file_is_told_line_by_line(self, batch, tmp_path):
        path = tmp_path / "answers.jsonl"
        path.write_text("{}\n[]\n")
        with pytest.raises(CommandError) as caught:
            call_command("batch", "import-answers", str(batch.pk), str(path))
        assert "2 of 2 lines" in str(caught.value)
        assert "Line 2: found" in str(caught.value)
        assert str(caught.value).count("Line 1: found") == 1

    def test_a_missing_file_or_batch_is_said_in_a_sentence(self, batch, tmp_path):
        with pytest.raises(CommandError, match="There is no batch 9999"):
            call_command("batch", "import-answers", "9999", "x")
        with pytest.raises(CommandError, match="cannot be read"):
            call_command("batch", "import-answers", str(batch.pk), str(tmp_path / "none"))
        with pytest.raises(CommandError, match="cannot be written"):
            call_command("batch", "export-requests", str(batch.pk), "--output", str(tmp_path / "no" / "where"))


class TestConversations:
    """The next question of a conversation is exported when the one before it is answered."""

    def test_one_question_at_a_time(self, launch):
        batch = launch(inputs=2, after={2: 1})
        first, second = find_cells(batch)
        count, lines = export_requests(batch=batch, by=trail.SYSTEM)
        assert (count, [json.loads(line)["custom_id"] for line in lines]) == (1, [f"cell-{first}"])
        assert import_lines(batch, answer_plainly(first)).waiting == 1
        _, lines = export_requests(batch=batch, by=trail.SYSTEM)
        [line] = map(json.loads, lines)
        assert [each["content"] for each in line["body"]["messages"]] == [
            "Say it.",
            "a hateful text 1",
            f"answer to {first}",
            "a hateful text 2",
        ]
        import_lines(batch, answer_plainly(second))
        batch.refresh_from_db()
        assert batch.state == "done"
        kept = Attempt.objects.get(cell=second).history or []
        assert [each["role"] for each in kept] == ["system", "user", "assistant"]

    def test_an_answer_to_a_question_that_nobody_could_ask_yet_is_refused(self, launch):
        batch = launch(inputs=2, after={2: 1})
        first, second = find_cells(batch)
        with pytest.raises(AnswerFileError, match="only known when the question before it is answered"):
            import_lines(batch, answer_plainly(first), answer_plainly(second))
        assert not Result.objects.exists()
