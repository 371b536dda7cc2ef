"""Logs of agents and traces of programs, read into threads."""

import io
import json
import sys
import weakref
from collections import Counter
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from tests.transcripts.corpus import told
from transcripts.corpus import planning
from transcripts.corpus.actions import import_files
from transcripts.corpus.pure.previews import Choices
from transcripts.formats.interviews import (
    FORMATS,
    ReadError,
    ReadTurn,
    join_files,
    read_bytes,
    threads,
)
from transcripts.formats.interviews.base import Links, Start
from transcripts.formats.interviews.chat_content import pair_results
from transcripts.formats.interviews.loose_messages import find_messages
from transcripts.formats.interviews.threads import FileOutline, Outline

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile


def read(content, *, name="run.json"):
    return read_bytes(json.dumps(content).encode(), name=name)


def read_lines(*objects, name="run.jsonl"):
    return read_bytes("\n".join(map(json.dumps, objects)).encode(), name=name)


def list_turns(thread):
    return [
        (turn.role, turn.channel, turn.speaker, turn.text, call)
        for turn, call in zip(thread.turns, pair_results(thread.turns), strict=True)
    ]


def list_texts(thread):
    return [turn.text for turn in thread.turns]


def answer_calls(result, *calls):
    """A conversation in which the model makes calls, and one message tells what they gave."""
    parts = [{"type": "tool_call", **call} for call in calls]
    messages = [
        {"role": "user", "content": "How large?"},
        {"role": "assistant", "content": parts},
        {"role": "tool", "content": result},
    ]
    return read({"id": "m", "messages": messages}, name="m.json").interviews[0]


class TestResultsInOneMessage:
    AREA = {"value": '{"name": "area", "arguments": {"radius": 2}}'}
    SIZE = {"value": '{"name": "size", "arguments": {}}'}

    def test_each_is_a_turn_under_its_own_call(self):
        told = '[{"tool_call_id": "c1", "name": "area", "content": "12.6"}, {"name": "size", "content": {"cm": 3}}]'
        thread = answer_calls(told, self.AREA, self.SIZE)
        assert list_turns(thread)[1:] == [
            ("model", "tool_call", "area", '{"radius": 2}', None),
            ("model", "tool_call", "size", "{}", None),
            ("tool", "tool_result", "area", "12.6", 2),
            ("tool", "tool_result", "size", '{"cm": 3}', 3),
        ]
        # No call bears the id, so it is kept beside the turn.
        assert thread.turns[3].details == {"other": {"tool_call_id": "c1"}}

    def test_ids_that_calls_bear_join_them(self):
        told = '[{"tool_call_id": "a", "name": "area", "content": "1"}, {"tool_call_id": "b", "name": "area", "content": "2"}]'
        calls = [{"id": each, "name": "area", "arguments": {}} for each in ("a", "b")]
        thread = answer_calls(told, *calls)
        assert [(turn.text, turn.call_id, turn.details) for turn in thread.turns[3:]] == [
            ("1", "a", {}),
            ("2", "b", {}),
        ]

    @pytest.mark.parametrize(
        "told",
        [
            '[{"name": "notes.txt", "content": "Milk"}, {"name": "list.txt", "content": "Eggs"}]',
            '[{"name": "area", "content": "1"}, {"name": "size", "content": "2"}, {"name": "area", "content": "3"}]',
            '[{"name": "area", "content": "1", "size": 3}]',
            '["area", "size"]',
            "[]",
            "[1, 2",
        ],
    )
    def test_a_list_that_is_itself_a_result_is_left_whole(self, told):
        assert list_turns(answer_calls(told, self.AREA, self.SIZE))[3:] == [("tool", "tool_result", "area", told, 2)]


class TestOneConversationInAllFormats:
    @pytest.mark.parametrize(
        ("content", "format"),
        [
            ({"id": "r1", "messages": told.tell_as_messages()}, "chat_messages"),
            (told.tell_as_anthropic(), "chat_messages"),
            (told.tell_as_messages(thoughts="reasoning"), "message_list"),
            (told.tell_as_inspect(), "inspect"),
            (told.tell_as_atif(), "atif"),
            (told.tell_as_swe_agent(), "swe_agent"),
            ([{"task_id": 3, "trial": 0, "reward": 1.0, "traj": told.tell_as_messages()}], "tau_bench"),
            (told.tell_as_langfuse(), "langfuse"),
            (told.tell_as_otel(), "otel_genai"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_gives_the_same_turns(self, content, format):
        file = read(content)
        [thread] = file.interviews
        assert file.format == format
        assert list_turns(thread) == told.TURNS
        assert thread.kind == "trajectory"

    def test_a_session_of_claude_code_gives_them_too(self):
        lines = []
        for number, message in enumerate(told.tell_as_anthropic()["messages"]):
            lines.append(
                {
                    "type": message["role"],
                    "uuid": f"u{number}",
                    "parentUuid": f"u{number - 1}" if number else None,
                    "sessionId": "s",
                    "isSidechain": False,
                    "timestamp": "2026-05-01T10:00:00.000Z",
                    "message": message,
                }
            )
        [thread] = read_lines({"type": "summary", "summary": "Lease", "leafUuid": "u5"}, *lines).interviews
        # It does not keep the system prompt.
        assert [turn[:4] for turn in list_turns(thread)] == [turn[:4] for turn in told.TURNS[1:]]
        assert thread.turns[0].details["at"] == "2026-05-01T10:00:00.000Z"


class TestTraces:
    """Calls that repeat what was said before."""

    FIRST = {"role": "user", "parts": [{"type": "text", "content": "How do I refuse?"}]}
    ASKED = {"role": "assistant", "parts": [{"type": "text", "content": "Whom, and what?"}]}
    AUNT = {"role": "user", "parts": [{"type": "text", "content": "My aunt, more cake."}]}
    ADVICE = {"role": "assistant", "parts": [{"type": "text", "content": "Praise it."}]}
    BOSS = {"role": "user", "parts": [{"type": "text", "content": "My boss, overtime."}]}
    OTHER = {"role": "assistant", "parts": [{"type": "text", "content": "Name another day."}]}
    WHOLE = ["How do I refuse?", "Whom, and what?", "My aunt, more cake.", "Praise it."]

    def test_what_equals_the_thread_so_far_is_passed_over(self):
        spans = told.make_spans(
            ([self.FIRST], [self.ASKED]), ([self.FIRST, self.ASKED, self.AUNT], [self.ADVICE]), conversation="c"
        )
        [thread] = read(spans).interviews
        assert list_texts(thread) == self.WHOLE

    def test_new_messages_alone_are_appended(self):
        spans = told.make_spans(([self.FIRST], [self.ASKED]), ([self.AUNT], [self.ADVICE]), conversation="c")
        [thread] = read(spans).interviews
        assert list_texts(thread) == self.WHOLE

    def test_a_copy_inside_its_own_parent_is_dropped_and_counted(self):
        spans = told.make_spans(
            ([self.FIRST], [self.ASKED]),
            ([self.FIRST], [self.ASKED]),
            ([self.FIRST, self.ASKED, self.AUNT], [self.ADVICE]),
            conversation="c",
            nested=True,
        )
        file = read(spans)
        assert list_texts(file.interviews[0]) == self.WHOLE
        assert [warning for warning in file.warnings if "was skipped" in warning] == [
            "A call to a model was skipped because it adds nothing to an earlier one."
        ]

    def test_a_shared_beginning_with_other_words_hangs_a_branch(self):
        spans = told.make_spans(
            ([self.FIRST], [self.ASKED]),
            ([self.FIRST, self.ASKED, self.AUNT], [self.ADVICE]),
            ([self.FIRST, self.ASKED, self.BOSS], [self.OTHER]),
            conversation="c",
        )
        main, branch = read(spans).interviews
        assert list_texts(main) == self.WHOLE
        assert list_texts(branch) == ["My boss, overtime.", "Name another day."]
        assert (branch.relation, branch.hangs_on) == ("branch", (main.external_id, 2))

    def test_a_call_that_shares_nothing_is_a_run_of_a_sub_agent(self):
        spans = told.make_spans(([self.FIRST], [self.ASKED]), ([self.BOSS], [self.OTHER]))
        main, other = read(spans).interviews
        assert (other.relation, other.hangs_on) == ("subagent", (main.external_id, 2))

    def test_another_system_prompt_does_not_part_them(self):
        def instruct(words):
            return {"role": "system", "parts": [{"type": "text", "content": words}]}

        spans = told.make_spans(
            ([instruct("It is ten."), self.FIRST], [self.ASKED]),
            ([instruct("It is eleven."), self.FIRST, self.ASKED, self.AUNT], [self.ADVICE]),
        )
        [thread] = read(spans).interviews
        assert list_texts(thread) == ["It is ten.", *self.WHOLE]

    def test_numbered_attributes_of_older_programs_are_read(self):
        told_by_program = {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Weather?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"at": "Oslo"}',
        }
        tool = {
            "openinference.span.kind": "TOOL",
            "tool.name": "weather",
            "input.value": '{"at": "Oslo"}',
            "output.value": "Rain.",
        }
        spans = [
            {
                "traceId": "a",
                "spanId": str(number),
                "startTimeUnixNano": str(number),
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
            }
            for number, attributes in enumerate((told_by_program, tool), 1)
        ]
        [thread] = read({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).interviews
        assert list_turns(thread) == [
            ("interviewer", "utterance", "", "Weather?", None),
            ("model", "tool_call", "weather", '{"at": "Oslo"}', None),
            ("tool", "tool_result", "weather", "Rain.", 2),
        ]

    def test_events_of_messages_are_read(self):
        events = [
            {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Why?"}}]},
            {
                "name": "gen_ai.choice",
                "attributes": [{"key": "message", "value": {"stringValue": '{"content": "Because."}'}}],
            },
        ]
        spans = [{"traceId": "a", "spanId": "1", "startTimeUnixNano": "1", "attributes": [], "events": events}]
        [thread] = read({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).interviews
        assert list_texts(thread) == ["Why?", "Because."]

    def test_spans_without_messages_are_refused_with_the_reason(self):
        spans = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "a", "attributes": []}]}]}]}
        with pytest.raises(ReadError, match=r"spans without messages.*recording them is off by default"):
            read(spans)


def pack(entries, *, method=zipfile.ZIP_ZSTANDARD):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return stream.getvalue()


class TestInspect:
    LOG = told.tell_as_inspect()
    HEAD = {key: value for key, value in LOG.items() if key != "samples"}

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_ZSTANDARD])
    def test_an_archive_gives_what_its_json_gives(self, method):
        data = pack({"header.json": self.HEAD, "samples/s1_epoch_1.json": self.LOG["samples"][0]}, method=method)
        assert read_bytes(data, name="x.eval").interviews == read(self.LOG).interviews

    def test_run_and_scores_are_known(self):
        scores = {"match": {"value": "C", "answer": "Yes"}, "length": {"value": 0.5}}
        [thread] = read(told.tell_as_inspect(scores=scores, metadata={"topic": "lease"}, target="no")).interviews
        assert (thread.external_id, thread.model_label, thread.period) == ("r1-s1-1", "vendor/m", "2026-05-01")
        assert thread.run == {
            "task": "lease",
            "sample": "s1",
            "epoch": "1",
            "status": "success",
            "scores": {"match": "C", "length": 0.5},
        }
        assert thread.metadata == {"topic": "lease", "target": "no"}

    def test_texts_that_are_kept_apart_are_put_back(self):
        messages = [
            {"role": "user", "content": "attachment://abc"},
            {"role": "assistant", "content": "attachment://no"},
        ]
        file = read(told.tell_as_inspect(messages=messages, attachments={"abc": "A long question."}))
        assert list_texts(file.interviews[0]) == ["A long question.", "attachment://no"]
        assert "stores separately is missing" in file.warnings[0]

    def test_words_put_into_the_models_mouth_are_the_systems(self):
        messages = [
            {"role": "user", "content": "Go on.", "source": "input"},
            {"role": "assistant", "content": "I agree that", "source": "input"},
            {"role": "assistant", "content": "I do not.", "source": "generate"},
        ]
        [thread] = read(told.tell_as_inspect(messages=messages)).interviews
        assert [turn.role for turn in thread.turns] == ["interviewer", "system", "model"]

    def test_reasoning_in_cipher_is_a_turn_without_text_or_with_its_summary(self):
        content = [
            {"type": "reasoning", "reasoning": "gAAAB", "redacted": True},
            {"type": "reasoning", "reasoning": "gAAAC", "redacted": True, "summary": "Weighing."},
            {"type": "text", "text": "Yes."},
        ]
        [thread] = read(told.tell_as_inspect(messages=[{"role": "assistant", "content": content}])).interviews
        assert [(turn.channel, turn.text, turn.details) for turn in thread.turns] == [
            ("reasoning", "", {"redacted": True}),
            ("reasoning", "Weighing.", {"redacted": True, "is_summary": True}),
            ("utterance", "Yes.", {}),
        ]

    def test_a_run_that_crashed_is_read_as_far_as_it_is_whole(self):
        entries = {
            "_journal/start.json": {"version": 2, "eval": self.LOG["eval"]},
            "samples/s1_epoch_1.json": self.LOG["samples"][0],
            "samples/s2_epoch_1.json": '{"id": "s2", "mess',
        }
        file = read_bytes(pack(entries), name="x.eval")
        assert [thread.run["status"] for thread in file.interviews] == ["started"]
        assert len(file.warnings) == 2
        assert "not finished, or crashed" in file.warnings[0]
        assert "breaks off" in file.warnings[1]

    def test_a_sample_without_messages_is_what_its_last_model_call_was_sent_and_answered(self):
        def call(asked, answered):
            output = {"choices": [{"message": {"role": "assistant", "content": answered}}]}
            return {"event": "model", "input": [{"role": "user", "content": asked}], "output": output}

        events = [call("One?", "First."), call("Two?", "Second."), {"event": "tool"}, {"event": "state"}]
        [thread] = read(told.tell_as_inspect(messages=[], events=events)).interviews
        assert list_texts(thread) == ["Two?", "Second."]

    def test_a_sample_in_pieces_is_joined(self):
        sample = self.LOG["samples"][0]
        entries = {
            "header.json": self.HEAD,
            "samples/s1_epoch_1/sample.json": {"id": "s1", "epoch": 1},
            "samples/s1_epoch_1/messages/0.json": [{"role": "user", "content": "attachment://0"}],
            "samples/s1_epoch_1/messages/1.json": sample["messages"][2:],
            "samples/s1_epoch_1/attachments/0.json": [told.QUESTION],
        }
        [thread] = read_bytes(pack(entries), name="x.eval").interviews
        assert list_texts(thread)[:2] == [told.QUESTION, told.THOUGHT]
        assert len(thread.turns) == len(told.TURNS) - 1

    def test_an_error_is_the_status_and_told(self):
        file = read(told.tell_as_inspect(error={"message": "out of memory"}))
        assert file.interviews[0].run["status"] == "error"
        assert file.interviews[0].metadata == {"error": "out of memory"}
        assert "ended in an error" in file.warnings[0]


class TestAtif:
    def test_a_gap_in_the_numbers_is_refused_with_its_place(self):
        run = told.tell_as_atif()
        run["steps"][2]["step_id"] = 4
        with pytest.raises(ReadError) as refused:
            read(run, name="gap.json")
        assert str(refused.value).startswith("gap.json, line 1: found step 4 in place 3; expected step 3")

    def test_copied_steps_are_dropped_and_runs_inside_hang_on_their_turn(self):
        run, inner = told.tell_as_atif(), told.tell_as_atif()
        inner["trajectory_id"] = "inner"
        inner["steps"][1]["is_copied_context"] = True
        run["steps"][2]["observation"]["results"][0]["subagent_trajectory_ref"] = [{"trajectory_id": "inner"}]
        run["subagent_trajectories"] = [inner]
        file = read(run)
        main, started = file.interviews
        assert (started.relation, started.hangs_on) == ("subagent", (main.external_id, 6))
        assert len(started.turns) == len(main.turns) - 1
        assert "copied from an earlier run" in file.warnings[0]

    def test_step_time_and_tokens_are_kept(self):
        run = told.tell_as_atif()
        run["steps"][2] |= {
            "timestamp": "2026-05-01T10:00:00Z",
            "model_name": "m",
            "metrics": {"prompt_tokens": 9, "completion_tokens": 4},
        }
        [thread] = read(run).interviews
        assert thread.turns[2].details == {
            "step": 3,
            "at": "2026-05-01T10:00:00Z",
            "model": "m",
            "tokens": {"input": 9, "output": 4},
        }


def make_session(*lines):
    """Lines of a session: uuid, parent, type, words, and what else the line has."""
    return [
        {
            "type": kind,
            "uuid": key,
            "parentUuid": parent,
            "sessionId": "s",
            "isSidechain": False,
            "message": {"role": kind, "content": words},
            **more,
        }
        for key, parent, kind, words, more in lines
    ]


class TestClaudeCode:
    def test_other_lines_of_the_tree_are_branches(self):
        lines = make_session(
            ("a", None, "user", "One.", {}),
            ("b", "a", "assistant", "Two.", {}),
            ("c", "b", "user", "Other three.", {}),
            ("d", "b", "user", "Three.", {}),
            ("e", "d", "assistant", "Four.", {}),
        )
        main, branch = read_lines(*lines).interviews
        assert list_texts(main) == ["One.", "Two.", "Three.", "Four."]
        assert (list_texts(branch), branch.relation, branch.hangs_on) == (["Other three."], "branch", ("s", 2))

    def test_a_side_chain_hangs_on_the_call_that_started_it(self):
        lines = make_session(("a", None, "user", "Look around.", {}), ("b", "a", "assistant", "", {}))
        lines[1]["message"]["content"] = [
            {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "List the files."}},
        ]
        side = make_session(
            ("x", None, "user", "List the files.", {"isSidechain": True, "agentId": "7"}),
            ("y", "x", "assistant", "a.txt", {"isSidechain": True, "agentId": "7"}),
        )
        main, started = read_lines(*lines, *side).interviews
        assert (started.relation, started.hangs_on) == ("subagent", ("s", 2))
        assert (started.external_id, list_texts(started)) == ("s/subagent-7", ["List the files.", "a.txt"])
        assert [turn.channel for turn in main.turns] == ["utterance", "tool_call"]

    def test_behind_a_summary_the_session_goes_on_in_a_continuation(self):
        lines = make_session(
            ("a", None, "user", "One.", {}),
            ("b", "a", "assistant", "Two.", {}),
            ("c", None, "user", "So far: one, two.", {"isCompactSummary": True, "logicalParentUuid": "b"}),
            ("d", "c", "assistant", "Three.", {}),
        )
        main, behind = read_lines(*lines).interviews
        assert list_texts(main) == ["One.", "Two."]
        assert (behind.relation, behind.hangs_on) == ("continuation", ("s", 2))
        assert behind.turns[0].details["is_summary"] is True

    def test_what_the_program_wrote_for_itself_is_left_out_and_counted(self):
        lines = make_session(
            ("a", None, "user", "Caveat", {"isMeta": True}),
            ("b", "a", "user", "Hello.", {}),
        )
        file = read_lines({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, *lines)
        assert list_texts(file.interviews[0]) == ["Hello."]
        assert dict(file.left_out) == {
            'A line of type "file-history-snapshot" was left out.': 1,
            "A message that the program wrote for itself was left out.": 1,
        }


class TestLangfuse:
    """What a trace tells beside the calls to models."""

    def make_trace(self):
        def call(city):
            return {"type": "tool_use", "id": f"t-{city}", "name": "weather", "input": {"city": city}}

        answers = [
            {"role": "assistant", "content": [call("Rome"), call("Oslo")]},
            {"role": "assistant", "content": "So."},
        ]
        asked = [{"role": "user", "content": "How is it?"}]
        observations = [
            {"type": "AGENT", "startTime": "1", "input": {"system": "Be brief.", "prompt": "How is it?"}},
            {"type": "GENERATION", "startTime": "2", "input": asked, "output": answers[0]},
            {
                "type": "TOOL",
                "name": "weather",
                "startTime": "3",
                "input": {"city": "Rome"},
                "output": '{"sky":"blue"}',
            },
            {"type": "TOOL", "name": "weather", "startTime": "4", "input": {"city": "Oslo"}, "output": "Grey."},
            {"type": "GENERATION", "startTime": "5", "input": {}, "output": answers[1]},
        ]
        return {"trace": {"id": "t"}, "observations": observations}

    def test_results_follow_in_the_order_of_their_calls_and_as_the_file_writes_them(self):
        [thread] = read(self.make_trace()).interviews
        assert list_turns(thread)[2:] == [
            ("model", "tool_call", "weather", '{"city": "Rome"}', None),
            ("model", "tool_call", "weather", '{"city": "Oslo"}', None),
            ("tool", "tool_result", "weather", '{"sky":"blue"}', 3),
            ("tool", "tool_result", "weather", "Grey.", 4),
            ("model", "utterance", "", "So.", None),
        ]

    def test_instructions_around_the_calls_are_read_where_the_calls_do_not_tell_them(self):
        trace = self.make_trace()
        assert list_texts(read(trace).interviews[0])[:2] == ["Be brief.", "How is it?"]
        trace["observations"][1]["input"].insert(0, {"role": "system", "content": "Be long."})
        assert list_texts(read(trace).interviews[0])[:2] == ["Be long.", "How is it?"]


def test_a_logged_list_of_parts_is_one_message_and_other_lists_are_several():
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert find_messages(parts, role="user") == [{"role": "user", "content": parts}]
    several = find_messages([parts[0], {"role": "assistant", "content": "Three."}], role="user")
    assert [message["role"] for message in several] == ["user", "assistant"]


class TestPairsAndTrees:
    def test_the_rejected_answer_is_a_branch(self):
        file = read_lines(
            {"chosen": "\n\nHuman: Why?\n\nAssistant: Because.", "rejected": "\n\nHuman: Why?\n\nAssistant: No."}
        )
        chosen, rejected = file.interviews
        assert (list_texts(chosen), list_texts(rejected)) == (["Why?", "Because."], ["No."])
        assert (rejected.relation, rejected.hangs_on) == ("branch", (chosen.external_id, 1))
        assert [each.metadata for each in file.interviews] == [{"outcome": "chosen"}, {"outcome": "rejected"}]

    @pytest.mark.parametrize(
        ("chosen", "rejected", "own"),
        [
            ("\n\nHuman: Why?", "\n\nHuman: Why?\n\nAssistant: No.", [["Why?"], ["No."]]),
            ("\n\nHuman: Why?\n\nAssistant: So.", "\n\nHuman: Why?", [["Why?", "So."]]),
            ("\n\nHuman: Why?\n\nAssistant: So.", "\n\nHuman: Why?\n\nAssistant: So.", [["Why?", "So."]]),
        ],
    )
    def test_a_pair_of_which_one_begins_the_other_is_read(self, chosen, rejected, own):
        file = read_lines({"chosen": chosen, "rejected": rejected})
        assert list(map(list_texts, file.interviews)) == own

    def test_the_best_ranked_replies_are_the_thread(self):
        def reply(key, rank, *replies):
            return {"message_id": key, "text": key, "role": "assistant", "rank": rank, "replies": list(replies)}

        follow_up = {"message_id": "q2", "text": "And?", "role": "prompter", "replies": [reply("better", 0)]}
        prompt = {
            "message_id": "q1",
            "text": "Why?",
            "role": "prompter",
            "replies": [reply("worse", 1), reply("good", 0, follow_up)],
        }
        main, branch = read_lines({"message_tree_id": "t", "prompt": prompt}).interviews
        assert list_texts(main) == ["Why?", "good", "And?", "better"]
        assert (list_texts(branch), branch.hangs_on) == (["worse"], ("t", 1))

    def test_what_a_command_gave_back_is_no_question(self):
        said = [
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "```\nls\n```"},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>a.txt</output>"},
        ]
        [thread] = read(said).interviews
        assert [turn.channel for turn in thread.turns] == ["utterance", "utterance", "tool_result"]
        assert thread.kind == "trajectory"


class TestToolTraffic:
    def test_a_result_without_its_call_is_kept_with_a_warning(self):
        said = [{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "call_9", "content": "Found."}]
        file = read_lines({"id": "1", "messages": said})
        assert list_turns(file.interviews[0])[1] == ("tool", "tool_result", "", "Found.", None)
        assert "call_9" in file.warnings[0]

    def test_an_error_is_marked(self):
        result = {"type": "tool_result", "tool_use_id": "c", "content": "no such file", "is_error": True}
        file = read_lines({"id": "1", "messages": [{"role": "user", "content": [result]}]})
        assert file.interviews[0].turns[0].details == {"error": True}

    def test_a_result_that_is_too_large_keeps_its_head_size_and_hash(self):
        said = [{"role": "tool", "tool_call_id": "c", "content": "é" * 600_000}]
        file = read_lines({"id": "1", "messages": said})
        [turn] = file.interviews[0].turns
        assert turn.text == "é" * 50_000
        assert turn.details["truncated"]["bytes"] == 1_200_000
        assert any("its hash was kept." in warning for warning in file.warnings)

    def test_a_null_character_in_a_result_is_shown_as_its_symbol(self):
        file = read_lines({"id": "1", "messages": [{"role": "tool", "tool_call_id": "c", "content": "a\0b"}]})
        assert file.interviews[0].turns[0].text == "a\u2400b"
        assert file.interviews[0].turns[0].details == {"had_null": True}

    def test_keys_that_no_rule_names_stay_in_the_details(self):
        said = [{"role": "user", "content": "Hi", "mood": "calm", "blob": "x" * 5_000}]
        file = read_lines({"id": "1", "messages": said})
        assert file.interviews[0].turns[0].details == {"other": {"mood": "calm"}}
        assert dict(file.left_out) == {
            'The key "mood" of a message was kept in the details of its turn.': 1,
            'The key "blob" of a message was left out because it is long.': 1,
        }


class TestOutputOfCommands:
    """What a command printed is a tool's result, although the log says that a user wrote it."""

    HISTORY = [
        {"role": "system", "content": "You solve."},
        {"role": "user", "content": "Solve it."},
        {"role": "assistant", "content": "List.\n```\nls\n```", "thought": "List.", "action": "ls"},
        {"role": "user", "content": "a.txt\n(Open file: n/a)"},
        {"role": "assistant", "content": "```\nsubmit\n```", "action": "submit"},
    ]

    def test_swe_agent_without_types_of_messages(self):
        [thread] = read({"history": self.HISTORY, "info": {}}).interviews
        roles = [(turn.role, turn.channel) for turn in thread.turns]
        assert roles[:2] == [("system", "utterance"), ("interviewer", "utterance")]
        assert roles[2:] == [("model", "utterance"), ("tool", "tool_result"), ("model", "utterance")]

    def test_a_message_of_another_type_is_the_users(self):
        for last in ({"role": "user", "content": "Stop.", "message_type": "user"}, self.HISTORY[1]):
            history = [*self.HISTORY[:2], {"role": "assistant", "content": "Done."}, last]
            assert read({"history": history, "info": {}}).interviews[0].turns[-1].role == "interviewer"

    def read_mini(self, *messages, **more):
        return read({"messages": messages, "trajectory_format": "mini-swe-agent-1.1", **more}, name="a.traj.json")

    def test_mini_swe_agent_as_an_object(self):
        file = self.read_mini(
            *self.HISTORY[:2],
            {"role": "assistant", "content": "List.\n```\nls\n```"},
            {"role": "user", "content": "a.txt", "extra": {"returncode": 0, "raw_output": "a.txt"}},
            {"role": "exit", "content": "a patch", "extra": {"exit_status": "Submitted"}},
            info={
                "exit_status": "Submitted",
                "submission": "a patch",
                "config": {"model": {"model_name": "m"}},
                "mini_version": "2.1",
            },
        )
        [thread] = file.interviews
        assert (file.format, thread.kind, thread.model_label) == ("mini_swe_agent", "trajectory", "m")
        assert [turn.role for turn in thread.turns] == ["system", "interviewer", "model", "tool"]
        assert thread.run == {"agent": "mini-swe-agent", "status": "Submitted"}
        assert thread.metadata["submission"] == "a patch"
        assert thread.metadata["mini_version"] == "2.1"
        assert "exit" not in thread.metadata
        assert not file.warnings

    def test_what_a_person_says_between_commands_stays_hers(self):
        [thread] = self.read_mini(
            *self.HISTORY[:3],
            {"role": "user", "content": "Interrupted by user: look into b.txt"},
            {"role": "assistant", "content": "```\ncat b.txt\n```"},
            {"role": "user", "content": "Please write one command.", "extra": {"interrupt_type": "FormatError"}},
            {"role": "user", "content": "Not this.", "extra": {"interrupt_type": "UserRejection"}},
            {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded"}},
            info={"exit_status": "LimitsExceeded", "submission": ""},
        ).interviews
        assert [turn.role for turn in thread.turns[3:]] == ["interviewer", "model", "tool", "interviewer"]
        assert thread.metadata["exit"] == "LimitsExceeded"

    def test_whole_responses_as_answers(self):
        call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
        [thread] = self.read_mini(
            {"role": "user", "content": "Look."},
            {"object": "response", "output": [{"type": "reasoning", "summary": []}, said, call], "extra": {}},
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt", "extra": {"returncode": 0}},
        ).interviews
        assert list_turns(thread)[2:] == [
            ("model", "utterance", "", "I look.", None),
            ("model", "tool_call", "bash", '{"command": "ls"}', None),
            ("tool", "tool_result", "bash", "a.txt", 4),
        ]


def write_lines(*objects):
    return "\n".join(map(json.dumps, objects)).encode()


def say(uuid, parent, role, content, **more):
    """A line of a session of Claude Code."""
    message = {"role": role, "content": content}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
        "message": message,
        **more,
    }


BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "uuid": "b",
    "parentUuid": None,
    "logicalParentUuid": "2",
    "sessionId": "s",
    "content": "Conversation compacted",
}


class TestCompactedSessions:
    BEFORE = [say("1", None, "user", "Begin."), say("2", "1", "assistant", "Begun.")]

    @pytest.mark.parametrize(
        "between",
        [
            [BOUNDARY, say("3", "b", "user", "Summary.", isCompactSummary=True)],
            [{**BOUNDARY, "logicalParentUuid": None}, say("3", "b", "user", "Summary.", isCompactSummary=True)],
            [{**BOUNDARY, "logicalParentUuid": "lost"}, say("3", "b", "user", "Summary.", isCompactSummary=True)],
            [say("3", None, "user", "Summary.", isCompactSummary=True)],
            [say("3", "2", "user", "Summary.", isCompactSummary=True)],
        ],
        ids=["boundary", "boundary of nothing", "boundary of a lost line", "no boundary", "parent"],
    )
    def test_what_follows_the_summary_goes_on_where_the_session_was(self, between):
        file = read_lines(*self.BEFORE, *between, say("4", "3", "assistant", "Going on."))
        first, second = file.interviews
        assert list_texts(first) == ["Begin.", "Begun."]
        assert list_texts(second) == ["Summary.", "Going on."]
        assert (first.external_id, first.relation) == ("s", "")
        assert (second.relation, second.hangs_on) == ("continuation", ("s", 2))
        assert not file.warnings

    def test_lines_without_words_join_what_is_said_before_and_behind_them(self):
        progress = {"type": "progress", "uuid": "p", "parentUuid": "2", "sessionId": "s"}
        last = {"type": "system", "uuid": "z", "parentUuid": None, "sessionId": "s", "content": "12 s"}
        [thread] = read_lines(*self.BEFORE, progress, say("3", "p", "user", "More."), last).interviews
        assert list_texts(thread) == ["Begin.", "Begun.", "More."]


TASK = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "List the folders"}}
SESSION = [
    say("1", None, "user", "Look around."),
    say("2", "1", "assistant", [TASK]),
    say("3", "2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "two"}]),
]


def tell_agent(words="List the folders", agent="x1"):
    side = {"isSidechain": True, **({"agentId": agent} if agent else {})}
    return [say("c1", None, "user", words, **side), say("c2", "c1", "assistant", "Two folders.", **side)]


class TestFilesThatBelongTogether:
    @pytest.fixture(params=[None, 1], ids=["kept", "read again"], autouse=True)
    def kept_size(self, request, monkeypatch):
        if request.param:
            monkeypatch.setattr(planning, "KEPT_SIZE", request.param)

    def bring_all(self, study, lead, *files):
        """What the study has then: each thread with its relation and the turn that it hangs on."""
        told = [
            (name, write_lines(*content) if isinstance(content, list) else json.dumps(content).encode())
            for name, content in files
        ]
        self.reports = import_files(study=study, files=told, by=lead)
        rows = study.interviews.values_list(
            "external_id", "relation", "hangs_on__interview__external_id", "hangs_on__position"
        )
        return {own: (relation, above or "", position) for own, relation, above, position in rows}

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_sub_agent_hangs_on_the_call_of_its_session(self, study, lead, order):
        files = [("s.jsonl", SESSION), ("agent-x1.jsonl", tell_agent())][::order]
        assert self.bring_all(study, lead, *files) == {
            "s": ("", "", None),
            "s/subagent-x1": ("subagent", "s", 2),
        }
        assert not any(report.warnings for report in self.reports)

    def test_the_result_that_names_the_agent_decides_which_call_it_was(self, study, lead):
        again = {**TASK, "id": "t2"}
        session = [
            *SESSION,
            say("4", "3", "assistant", [again]),
            say(
                "5",
                "4",
                "user",
                [{"type": "tool_result", "tool_use_id": "t2", "content": "two"}],
                toolUseResult={"agentId": "x2"},
            ),
        ]
        told = self.bring_all(
            study,
            lead,
            ("s.jsonl", session),
            ("a.jsonl", tell_agent(agent="x2")),
            ("b.jsonl", tell_agent(agent="x1")),
        )
        assert told["s/subagent-x2"] == ("subagent", "s", 4)
        assert told["s/subagent-x1"] == ("subagent", "s", 2)

    def test_a_sub_agent_whose_session_the_study_has_hangs_on_it(self, study, lead):
        self.bring_all(study, lead, ("s.jsonl", SESSION))
        told = self.bring_all(study, lead, ("agent-x1.jsonl", tell_agent()))
        assert told["s/subagent-x1"] == ("subagent", "s", 2)

    def test_a_sub_agent_alone_is_a_thread_of_its_own_and_says_so(self, study, lead):
        assert self.bring_all(study, lead, ("agent-x1.jsonl", tell_agent(agent=None))) == {"s/agent-x1": ("", "", None)}
        assert 'sub-agent of the session "s"' in self.reports[0].warnings[0]

    def test_a_session_that_has_grown_by_the_call_of_a_sub_agent(self, study, lead):
        self.bring_all(study, lead, ("s.jsonl", SESSION[:1]))
        told = self.bring_all(study, lead, ("s.jsonl", SESSION), ("agent-x1.jsonl", tell_agent()))
        assert told["s/subagent-x1"] == ("subagent", "s", 2)
        # The same where both are in one file.
        more = [say("4", "3", "assistant", [{**TASK, "id": "t9", "input": {"prompt": "Count"}}])]
        told = self.bring_all(study, lead, ("s.jsonl", [*SESSION, *more, *tell_agent("Count", "x9")]))
        assert told["s/subagent-x9"] == ("subagent", "s", 4)

    def test_masked_threads_hang_together_too(self, study, lead):
        files = [("s.jsonl", write_lines(*SESSION)), ("agent-x1.jsonl", write_lines(*tell_agent()))]
        import_files(study=study, files=files, by=lead, choices=Choices(mask=True))
        [hung] = study.interviews.exclude(hangs_on=None)
        assert (hung.relation, hung.hangs_on and hung.hangs_on.position) == ("subagent", 2)

    def write_run(self, session, *words, **more):
        steps = [
            {"step_id": number, "source": "user" if number % 2 else "agent", "message": each}
            for number, each in enumerate(words, 1)
        ]
        return {"schema_version": "ATIF-v1.7", "session_id": session, "agent": {"name": "x"}, "steps": steps, **more}

    def test_runs_of_one_file_name_are_told_apart_by_their_session(self, study, lead):
        told = self.bring_all(
            study,
            lead,
            ("trajectory.json", self.write_run("a", "Home?", "Here.")),
            ("trajectory.json", self.write_run("b", "Home?", "There.")),
        )
        assert told.keys() == {"a", "b"}

    @pytest.mark.parametrize("session", ["a-cont-1", "a"], ids=["own id", "the same id"])
    def test_a_run_goes_on_in_the_file_that_it_names(self, study, lead, session):
        first = self.write_run("a", "Home?", "Here.", continued_trajectory_ref="trajectory.cont-1.json")
        told = self.bring_all(
            study,
            lead,
            ("trajectory.cont-1.json", self.write_run(session, "Go on.", "Gone on.")),
            ("trajectory.json", first),
        )
        [hung] = [each for each in told.values() if each[0]]
        assert hung[0] == "continuation"
        assert hung[2] == 2
        assert not any(report.warnings for report in self.reports)

    def test_a_run_of_another_agent_hangs_on_the_step_that_names_it(self, study, lead):
        outer = self.write_run("a", "Home?", "I ask.", "And?", "Done.")
        reference = {"session_id": "a-summary", "trajectory_path": "trajectory.summary.json"}
        outer["steps"][1]["observation"] = {"results": [{"subagent_trajectory_ref": [reference]}]}
        files = [("trajectory.json", outer), ("trajectory.summary.json", self.write_run("a-summary", "Sum.", "All."))]
        told = self.bring_all(study, lead, *files)
        assert told["a-summary"] == ("subagent", "a", 2)
        assert not any(report.warnings for report in self.reports)

    def test_a_file_that_is_missing_is_named(self):
        run = self.write_run("a", "Home?", "Here.", continued_trajectory_ref="trajectory.cont-1.json")
        assert "trajectory.cont-1.json" in read(run).warnings[0]

    def test_runs_that_name_each_other_do_not_hang_in_a_circle(self, study, lead):
        told = self.bring_all(
            study,
            lead,
            ("1.json", self.write_run("a", "Home?", "Here.", continued_trajectory_ref="2.json")),
            ("2.json", self.write_run("b", "Home?", "There.", continued_trajectory_ref="1.json")),
        )
        assert told == {"a": ("", "", None), "b": ("continuation", "a", 2)}


def test_of_many_files_that_are_joined_few_are_in_memory_as_they_were_read(study, lead, monkeypatch):
    monkeypatch.setattr(planning, "KEPT_SIZE", 1)
    reader, read_files, most = FORMATS["claude_code"], [], 0

    def read(source):
        nonlocal most
        file = reader.read(source)
        read_files.append(weakref.ref(file))
        most = max(most, sum(each() is not None for each in read_files))
        return file

    monkeypatch.setitem(FORMATS, "claude_code", replace(reader, read=read))
    agents = [(f"agent-x{number}.jsonl", write_lines(*tell_agent(agent=f"x{number}"))) for number in range(20)]
    import_files(study=study, files=[("s.jsonl", write_lines(*SESSION)), *agents], by=lead)
    assert study.interviews.filter(hangs_on__isnull=False).count() == 20
    # The session as the first file, one that is read, and one that is let go.
    assert most <= 3


def test_joining_takes_as_many_steps_more_as_there_are_more_files():
    def count_steps(size):
        steps = 0

        def note(frame, event, arg):
            nonlocal steps
            steps += event in {"call", "c_call"}

        starts = tuple(Start("subagent", 1, (f"x{number}",)) for number in range(size))
        threads = [Outline("s", "", "", Links(starts=starts), size, size)]
        threads += [
            Outline(f"s/x{number}", "", "", Links(ids=(f"x{number}",), within="s"), 2, 0) for number in range(size)
        ]
        files = [FileOutline(f"{number}.jsonl", (each,), bytes(number)) for number, each in enumerate(threads)]
        sys.setprofile(note)
        try:
            joined = join_files(files, lambda place: [])
        finally:
            sys.setprofile(None)
        assert sum(len(each.hung) for each in joined) == size
        return steps

    assert count_steps(400) < 3 * count_steps(200)


def trace(*calls, tools=()):
    """A trace of Langfuse: what each call to a model was sent and answered."""
    generations = [
        {"type": "GENERATION", "startTime": f"2026-01-01T10:00:0{at}Z", "input": sent, "output": answered}
        for at, (sent, answered) in enumerate(calls, 1)
    ]
    return {"trace": {"id": "t"}, "observations": [*generations, *({"type": "TOOL", **tool} for tool in tools)]}


class TestShapesOfTraces:
    USER = {"role": "user", "content": "Weather?"}
    CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    SAID = {"role": "assistant", "content": "It rains there."}

    @pytest.mark.parametrize("sent", ['{"args": ["What is home?"]}', {"args": ["What is home?"], "kwargs": {}}])
    def test_a_prompt_in_arguments(self, sent):
        [thread] = read(trace((sent, "A place."))).interviews
        assert [(turn.role, turn.text) for turn in thread.turns] == [
            ("interviewer", "What is home?"),
            ("model", "A place."),
        ]

    def test_a_prompt_in_no_form_that_is_known_is_counted(self):
        file = read(trace(({"odd": {"prompt_text": "Home?"}}, "A place.")))
        assert "The input of a call to a model was left out" in file.warnings[0]

    def test_a_result_whose_role_is_the_name_of_the_tool(self):
        told = {"role": "look", "content": "It rains."}
        [thread] = read(trace(([self.USER], self.ASKED), ([self.USER, self.ASKED, told], self.SAID))).interviews
        assert list_turns(thread)[1:] == [
            ("model", "tool_call", "look", "{}", None),
            ("tool", "tool_result", "look", "It rains.", 2),
            ("model", "utterance", "", "It rains there.", None),
        ]

    def test_a_result_that_is_there_is_not_told_as_lost(self):
        history = [self.USER, self.ASKED, {"role": "tool", "tool_call_id": "c1", "content": "It rains."}]
        calls = [([self.USER], self.ASKED), (history, self.SAID)]
        for name in ("running tool: look", "weather"):
            tool = {"name": name, "startTime": "2026-01-01T10:00:01.500Z", "input": {}, "output": "It rains."}
            assert not read(trace(*calls, tools=[tool])).warnings
        tool = {"name": "other", "input": {}, "output": "It snows."}
        assert "The result of a tool was left out" in read(trace(*calls, tools=[tool])).warnings[0]

    def test_the_result_of_a_last_call_is_found_by_the_end_of_its_name(self):
        tool = {"name": "running tool: look", "input": {}, "output": "It rains."}
        [thread] = read(trace(([self.USER], self.ASKED), tools=[tool])).interviews
        assert list_turns(thread)[-1] == ("tool", "tool_result", "look", "It rains.", 2)

    def test_calls_written_as_words_that_come_back_one_by_one(self):
        """As koog does."""

        def call(name):
            return json.dumps([{"function": {"name": name, "arguments": "{}"}, "id": name, "type": "function"}])

        made = [{"role": "assistant", "finish_reason": "tool_calls", "content": call(name)} for name in ("hi", "bye")]
        back = [{"role": "tool", "content": each} for name in ("hi", "bye") for each in (call(name), f"said {name}")]
        [thread] = read(trace(([self.USER], made), ([self.USER, *back], [self.SAID]))).interviews
        assert list_turns(thread)[1:] == [
            ("model", "tool_call", "hi", "{}", None),
            ("model", "tool_call", "bye", "{}", None),
            ("tool", "tool_result", "hi", "said hi", 2),
            ("tool", "tool_result", "bye", "said bye", 3),
            ("model", "utterance", "", "It rains there.", None),
        ]

    def test_words_that_are_a_list_of_functions_stay_words(self):
        words = json.dumps([{"type": "function", "function": {"name": "look"}}])
        [thread] = read(trace(([self.USER], {"role": "assistant", "content": words}))).interviews
        assert list_turns(thread)[1] == ("model", "utterance", "", words, None)


class TestMessagesThatPythonPrinted:
    """As agno logs them."""

    def show(self, role, content, calls=None, call_id=None, tail=""):
        named = f"name=None tool_call_id={call_id!r} tool_calls={calls!r} audio=None"
        return f"role={role!r} content={content!r} {named}{tail} timer=<agno.utils.timer.Timer object at 0x309c55a90>"

    def test_they_are_read_with_their_roles(self):
        calls = [{"id": "c1", "function": {"name": "look", "arguments": '{"q": "it\'s a=b c=d"}'}, "type": "function"}]
        begin = [self.show("system", "Be\nbrief."), self.show("user", 'What\'s "home"? name=None tool_calls=1')]
        asked = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
        thought = " thinking=None reasoning_content='So be it.'"
        more = [self.show("assistant", None, calls, tail=thought), self.show("tool", "It rains.", call_id="c1")]
        file = read(trace(({"messages": begin}, asked), ({"messages": begin + more}, "A place.")))
        [thread] = file.interviews
        assert list_turns(thread) == [
            ("system", "utterance", "", "Be\nbrief.", None),
            ("interviewer", "utterance", "", 'What\'s "home"? name=None tool_calls=1', None),
            ("model", "tool_call", "look", '{"q": "it\'s a=b c=d"}', None),
            ("tool", "tool_result", "look", "It rains.", 3),
            ("model", "utterance", "", "A place.", None),
        ]
        assert file.warnings == []

    def test_reasoning_is_read_too(self):
        said = self.show("assistant", "A place.", tail=" thinking=None reasoning_content='So be it.'")
        [thread] = read(trace(([self.show("user", "Home?"), said], "Indeed."))).interviews
        assert [(turn.channel, turn.text) for turn in thread.turns][1:3] == [
            ("reasoning", "So be it."),
            ("utterance", "A place."),
        ]

    @pytest.mark.parametrize(
        "broken", ["role='user' content='Home?' images=[]", "role='user' content='Home? name=None"]
    )
    def test_what_cannot_be_read_of_them_is_nobodys_turn_and_counted(self, broken):
        file = read(trace(([self.show("user", "Home?"), broken], "A place.")))
        assert list_texts(file.interviews[0]) == ["Home?", "A place."]
        assert "the text of a Python object" in file.warnings[0]

    def test_several_messages_in_one_text_are_told(self):
        file = read(trace(("system: Be brief.\nuser: Home?", "A place.")))
        assert file.interviews[0].turns[0].role == "interviewer"
        assert file.warnings == ["A prompt of several messages in one text was read as one turn of the interviewer."]
        assert read(trace(("user: Home?", "A place."))).warnings == []


class TestResponses:
    """What OpenAI's Responses give, one object a line; beside it stands ``text``, which is a setting."""

    def tell(self, *items, **more):
        return {"id": "r1", "object": "response", "model": "m", "output": items, "text": {"format": "text"}, **more}

    WORDS = {
        "type": "message",
        "id": "m1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "A place.", "annotations": []}],
    }

    def test_instructions_and_answers(self):
        told_once = self.tell(self.WORDS, created_at=1767261600, instructions="Be brief.", tools=[], temperature=0.5)
        file = read_lines(told_once, {**told_once, "id": "r2"})
        assert (file.format, [thread.external_id for thread in file.interviews]) == ("openai_responses", ["r1", "r2"])
        thread = file.interviews[0]
        assert [(turn.role, turn.text) for turn in thread.turns] == [("system", "Be brief."), ("model", "A place.")]
        assert (thread.kind, thread.model_label, thread.period) == ("interview", "m", "2026-01-01")
        assert thread.metadata == {"temperature": "0.5", "text": '{"format": "text"}'}
        assert file.warnings == ["An answer came without its question, which is not in the file. (2 times)"]

    @pytest.mark.parametrize(
        "asked", ["Home?", [{"role": "user", "content": [{"type": "input_text", "text": "Home?"}]}]]
    )
    def test_what_was_asked_stands_before_the_answer(self, asked):
        file = read_lines(self.tell(self.WORDS, input=asked))
        assert list_texts(file.interviews[0]) == ["Home?", "A place."]
        assert file.warnings == []

    def test_reasoning_and_calls_of_every_kind(self):
        search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "home"}}
        items = [
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Look."}]},
            search,
            {"type": "mcp_call", "id": "c", "name": "look", "arguments": "{}", "output": "It rains."},
            {"type": "function_call", "call_id": "f", "name": "ask", "arguments": '{"a": 1}'},
            {"type": "mcp_list_tools", "id": "l", "tools": []},
            self.WORDS,
        ]
        file = read_lines(self.tell(*items, input="Home?"))
        [thread] = file.interviews
        assert thread.kind == "trajectory"
        assert list_turns(thread)[1:] == [
            ("model", "reasoning", "", "Look.", None),
            ("model", "tool_call", "web_search", '{"action": {"query": "home"}}', None),
            ("model", "tool_call", "look", "{}", None),
            ("tool", "tool_result", "look", "It rains.", 4),
            ("model", "tool_call", "ask", '{"a": 1}', None),
            ("model", "utterance", "", "A place.", None),
        ]
        assert file.warnings == [
            'An item of type "mcp_list_tools" was left out because it is not a message, call or reasoning.'
        ]

    def test_reasoning_whose_summary_is_no_list_is_withheld(self):
        [thread] = read_lines(self.tell({"type": "reasoning", "summary": 7}, self.WORDS)).interviews
        assert thread.turns[0].details == {"redacted": True}

    def test_an_object_that_is_no_response_is_refused(self):
        with pytest.raises(ReadError, match=r'found an object of another kind, "list"; expected "object": "response"'):
            read_lines(self.tell(self.WORDS, object="list"))


class TestNumbersThatAreNone:
    """Python writes NaN where a number has no value."""

    @pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
    def test_a_score_of_a_log_that_is_no_number_is_not_known(self, value):
        log = json.dumps(told.tell_as_inspect(scores={"accuracy": {"value": "@"}})).replace('"@"', value)
        [thread] = read_bytes(log.encode(), name="run.json").interviews
        assert thread.run["scores"] == {"accuracy": None}
        assert len(thread.turns) == len(told.TURNS)

    def test_lines_of_a_log_may_have_them_too(self):
        lines = [json.dumps({**told.tell_as_langfuse(), "cost": "@", "trace": {"id": f"t{at}"}}) for at in (1, 2)]
        file = read_bytes("\n".join(lines).replace('"@"', "NaN").encode(), name="run.jsonl")
        assert [thread.external_id for thread in file.interviews] == ["t1", "t2"]


class TestCommand:
    def test_it_tells_threads_turns_stages_and_pairs_without_a_database(self, tmp_path, capsys):
        file = tmp_path / "run.json"
        file.write_text(json.dumps(told.tell_as_atif()))
        call_command("interview", "read", str(file), "--json")
        answer = json.loads(capsys.readouterr().out)
        [thread] = answer["threads"]
        assert (answer["format"], thread["id"], thread["hangs_on"]) == ("atif", "s", None)
        assert [(turn["stage"], turn["call"]) for turn in thread["turns"]] == [
            (None, None),
            (None, None),
            ("back", None),
            ("front", None),
            ("tool", None),
            ("tool", 5),
            ("front", None),
            (None, None),
            ("back", None),
            ("front", None),
        ]

    def test_a_refusal_is_one_line_with_file_and_place(self, tmp_path):
        file = tmp_path / "nan.jsonl"
        file.write_text('{"id": "1", "messages": [{"role": "user", "content": "x", "weight": NaN}]}\n')
        with pytest.raises(CommandError, match=r"\Anan\.jsonl, line 1: found NaN"):
            call_command("interview", "read", str(file))


def test_a_long_trace_of_single_calls_is_compared_in_time_that_grows_with_its_histories(monkeypatch):
    """Each call sends back all before it: twice as many calls are four times as much to compare, and not eight times."""
    compared = Counter()
    key = threads._key

    def count(turn):
        compared[length] += 1
        return key(turn)

    monkeypatch.setattr(threads, "_key", count)
    for length in (20, 40):
        history = [ReadTurn("interviewer", "utterance", "", "Look.")]
        calls = []
        for number in range(length):
            call = ReadTurn("model", "tool_call", "look", f'{{"at": {number}}}', "", f"c{number}")
            calls.append(threads.Call(tuple(history), (call,)))
            history += [call, ReadTurn("tool", "tool_result", "look", f"Found {number}.", "", f"c{number}")]
        assert len(threads.join_calls(calls)[0]) == 1
    assert compared[40] < 5 * compared[20]
