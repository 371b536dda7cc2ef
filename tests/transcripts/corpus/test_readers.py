import json
import pickle
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.shared import shared
from transcripts.formats import interviews as readers
from transcripts.formats import json_lines
from transcripts.formats.interviews import (
    FORMATS,
    ReadError,
    ReadInterview,
    ReadTurn,
    checks,
    contents,
    read_bytes,
)

DATA = Path(__file__).resolve().parents[2] / "data" / "readers"


def read_file(path, **options):
    return read_bytes(path.read_bytes(), name=path.name, **options)


def read_lines(*lines, **options):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return read_bytes("\n".join(texts).encode(), name="notes.jsonl", **options)


def read_message(message, role="assistant"):
    """The turns of one message, behind an opening question."""
    read = read_lines({"messages": [{"role": "user", "content": "Hi"}, {"role": role, **message}]})
    return list(read.interviews[0].turns[1:])


def read_talk(text, **options):
    return read_bytes(text.encode(), name="talk.txt", format="speaker_text", **options)


def refuse(data, **options):
    content = data.encode() if isinstance(data, str) else data
    with pytest.raises(ReadError) as refused:
        read_bytes(content, name="notes.jsonl", **options)
    return refused.value


GOOD = '{"id": "a", "text": "One."}'


class TestInterviewLines:
    def test_turns_and_details_are_read(self):
        read = read_file(DATA / "interviews.jsonl")
        assert read.format == "interview_jsonl"
        assert read.warnings == []
        assert read.interviews[0] == ReadInterview(
            external_id="i-01",
            title="Who may rent here",
            turns=(
                ReadTurn("interviewer", "utterance", "N. N.", "May a landlord ask where I come from?", "open"),
                ReadTurn("model", "reasoning", "", "They want a direct answer."),
                ReadTurn("model", "utterance", "", "Usually not.  \r\n\r\n- It depends on the place.\u2028 "),
            ),
            model_label="Model A",
            vendor="Maker",
            surface="public chat page",
            period="2024-11",
            interviewer="N. N.",
            tier="comprehensive",
            inclusion="included",
            inclusion_reason="complete",
            opening_prompt="Variant 2",
            language="en",
            metadata={"section": "2.1", "note": "Invented.", "score": "3", "tags": '["a", "ü"]'},
            line=1,
        )

    def test_text_in_place_of_turns_is_one_turn_of_the_model(self):
        second = read_file(DATA / "interviews.jsonl").interviews[1]
        assert second.turns == (ReadTurn("model", "utterance", "", "One line of a model."),)
        assert (second.external_id, second.title, second.period, second.line) == ("2", "2", "2024-12", 2)

    def test_unknown_key_of_a_turn_is_left_out_with_a_warning(self):
        turn = {"role": "model", "text": "x", "sentences": []}
        read = read_lines({"id": "a", "turns": [turn, turn]})
        assert read.warnings == ['The key "sentences" of a turn was left out. (2 times)']

    def test_a_kind_of_question_that_no_count_knows_is_told(self):
        turns = [{"role": "interviewer", "text": "Why?", "prompt_kind": kind} for kind in ("open", "challange", "")]
        read = read_lines({"id": "a", "turns": turns})
        assert [turn.prompt_kind for turn in read.interviews[0].turns] == ["open", "challange", ""]
        [warning] = read.warnings
        assert warning.startswith(
            'The prompt_kind "challange" was kept, but no count knows it. Known are open, expand,'
        )

    def test_published_excerpts_are_read(self):
        read = read_file(shared("data/interviews/excerpts.jsonl"))
        assert len(read.interviews) == 20
        assert Counter(turn.role for interview in read.interviews for turn in interview.turns) == {
            "model": 20,
            "interviewer": 3,
        }
        assert read.interviews[0].metadata == {"section": "3.2.1", "theme": "Models and Metamodels"}

    def test_published_inline_quotes_are_read(self):
        read = read_file(shared("data/interviews/inline_quotes.jsonl"))
        assert len(read.interviews) == 22
        assert all(len(interview.turns) == 1 for interview in read.interviews)


class TestChatMessages:
    def test_roles_channels_and_speakers_are_told_apart(self):
        read = read_file(DATA / "chat.jsonl")
        assert read.format == "chat_messages"
        assert read.warnings == ['A part of type "image_url" was left out because it has no text.']
        first = read.interviews[0]
        assert (first.external_id, first.model_label) == ("run-1", "model-c")
        assert first.turns == (
            ReadTurn("system", "utterance", "", "Be brief."),
            ReadTurn(
                "interviewer", "utterance", "", "What is open now?\nLook it up.", details={"left_out": ["image_url"]}
            ),
            ReadTurn("model", "reasoning", "", "\nI need the hours.\n"),
            ReadTurn("model", "utterance", "", "\n\nOne moment. "),
            ReadTurn("model", "tool_call", "get_hours", '{"day": "Mon"}', call_id="c1"),
            ReadTurn("tool", "tool_result", "get_hours", '{"open": true}', call_id="c1"),
            ReadTurn("model", "reasoning", "", "It is open."),
            ReadTurn("model", "utterance", "", "The library is open."),
        )

    def test_conversation_without_id_is_named_after_file_and_line(self):
        second = read_file(DATA / "chat.jsonl").interviews[1]
        assert (second.external_id, second.title, second.metadata) == ("chat-2", "chat-2", {"source": "kiosk"})

    def test_message_that_says_nothing_stays_an_empty_turn(self):
        assert read_message({"content": None}) == [ReadTurn("model", "utterance", "", "")]
        assert read_message({"content": " "}) == [ReadTurn("model", "utterance", "", " ")]

    def test_thought_that_is_never_closed_is_all_reasoning(self):
        assert read_message({"content": "<think>Hm, so"}) == [ReadTurn("model", "reasoning", "", "Hm, so")]

    @pytest.mark.parametrize(
        ("content", "pieces"),
        [
            ("[THINK]Hm.[/THINK]Yes.", [("reasoning", "Hm."), ("utterance", "Yes.")]),
            ("\n<reasoning>Hm.</reasoning>\nYes.", [("reasoning", "Hm."), ("utterance", "\nYes.")]),
            ("Hm, so.\n</think>\n\nYes.", [("reasoning", "Hm, so.\n"), ("utterance", "\n\nYes.")]),
            (
                "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
                [("reasoning", "Hm."), ("utterance", "Yes.")],
            ),
            ("analysisWe think. assistantfinalYes.", [("reasoning", "We think. "), ("utterance", "Yes.")]),
            (
                "<think>a</think>Yes.<think>b</think>No.",
                [("reasoning", "a"), ("utterance", "Yes."), ("reasoning", "b"), ("utterance", "No.")],
            ),
            # Words of an answer that only look like an announcement of reasoning.
            (
                "Here is my thought process: first culture.",
                [("utterance", "Here is my thought process: first culture.")],
            ),
            ("Models write [THINK]x[/THINK].", [("utterance", "Models write [THINK]x[/THINK].")]),
            ('The tag "</think>" ends it.', [("utterance", 'The tag "</think>" ends it.')]),
        ],
    )
    def test_reasoning_that_a_message_begins_with_is_no_utterance(self, content, pieces):
        assert [(turn.channel, turn.text) for turn in read_message({"content": content})] == pieces

    def test_thought_of_a_user_and_one_inside_an_answer_are_text(self):
        assert read_message({"content": "<think>x</think>"}, role="user")[0].channel == "utterance"
        assert [turn.text for turn in read_message({"content": "It prints <think>x</think>."})] == [
            "It prints <think>x</think>."
        ]

    @pytest.mark.parametrize(
        "message",
        [
            {"content": None, "tool_calls": [{"function": {"name": "look", "arguments": {"at": "ü"}}}]},
            {"content": "", "function_call": {"name": "look", "arguments": '{"at": "ü"}'}},
            {"content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"at": "ü"}}]},
            {"tool_calls": [{"type": "custom", "custom": {"name": "look", "input": '{"at": "ü"}'}}]},
        ],
    )
    def test_tool_call_in_any_shape_keeps_name_and_arguments(self, message):
        [turn] = read_message(message)
        assert (turn.role, turn.channel, turn.speaker, turn.text) == ("model", "tool_call", "look", '{"at": "ü"}')

    def test_typed_parts_keep_their_order(self):
        parts = [
            {"type": "reasoning", "value": "Hm."},
            {"type": "text", "value": "One."},
            {"type": "tool_call", "value": '{"name": "look", "arguments": {}}'},
            {"type": "tool_result", "content": [{"type": "text", "text": "Found."}]},
        ]
        assert read_message({"content": parts}) == [
            ReadTurn("model", "reasoning", "", "Hm."),
            ReadTurn("model", "utterance", "", "One."),
            ReadTurn("model", "tool_call", "look", "{}"),
            ReadTurn("tool", "tool_result", "look", "Found."),
        ]

    @pytest.mark.parametrize(
        ("call", "arguments"),
        [
            ('{"name": "look", "arguments": {"at":  1.50, "of": "\\u0061"}}', '{"at":  1.50, "of": "\\u0061"}'),
            ('{"arguments": "{\\"at\\": 1}", "name": "look"}', '{"at": 1}'),
            ('{"name": "look", "arguments": {"arguments": [1]}}', '{"arguments": [1]}'),
            ('{"name": "look", "arguments": ""}', "{}"),
            ('{"name": "look"}', '{"name": "look"}'),
            ('{"name": "look", "arguments": {}, "why": "x"}', '{"name": "look", "arguments": {}, "why": "x"}'),
            ("look(1)", "look(1)"),
        ],
    )
    def test_arguments_in_the_text_of_a_call_are_kept_as_they_are_written(self, call, arguments):
        [turn] = read_message({"content": [{"type": "tool_call", "value": call}]})
        assert (turn.channel, turn.text) == ("tool_call", arguments)

    def test_refusal_is_an_utterance(self):
        assert read_message({"content": None, "refusal": "No."}) == [ReadTurn("model", "utterance", "", "No.")]

    def test_call_without_arguments_is_kept(self):
        assert read_message({"tool_calls": [{"function": {"name": "now", "arguments": ""}}]})[0].text == "{}"

    @pytest.mark.parametrize(
        ("path", "conversations", "channels"),
        [
            ("conversations/openai_messages/chat_messages_120.jsonl", 120, {"utterance": 390}),
            (
                "trajectories/openai_messages/airline_chat_tools_12.jsonl",
                12,
                {"utterance": 247, "tool_call": 60, "tool_result": 60},
            ),
            (
                "trajectories/typed_messages/reason_tool_use_50.jsonl",
                50,
                {"utterance": 179, "reasoning": 112, "tool_call": 68, "tool_result": 48},
            ),
        ],
    )
    def test_published_conversations_are_read(self, path, conversations, channels):
        read = read_file(shared(f"data/{path}"))
        assert len(read.interviews) == conversations
        assert Counter(turn.channel for interview in read.interviews for turn in interview.turns) == channels


class TestSpeakerText:
    def test_labels_begin_turns_and_other_colons_do_not(self):
        read = read_file(DATA / "labels.txt")
        assert read.format == "speaker_text"
        interview = read.interviews[0]
        assert interview.turns == (
            ReadTurn("interviewer", "utterance", "Interviewer", "May I start?"),
            ReadTurn(
                "model",
                "utterance",
                "Model A",
                "Yes. \r\nNote: this line is part of the answer.\r\n\r\nSo is this one.",
            ),
            ReadTurn("interviewer", "utterance", "Interviewer", "Why?"),
            ReadTurn("model", "utterance", "Model A", "- Because."),
        )
        assert interview.metadata == {"preamble": "Recorded in the library, invented."}
        assert (interview.external_id, interview.title, interview.line) == ("labels", "labels", 3)

    def test_head_lines_with_times_begin_turns(self):
        read = read_file(DATA / "heads.txt")
        assert [(turn.role, turn.speaker, turn.text) for turn in read.interviews[0].turns] == [
            ("interviewer", "Sara Lind", "Where did you work?"),
            ("model", "P7", "At the harbour: nights only.\nThen days."),
            ("interviewer", "Sara Lind", "And now?"),
        ]
        assert (
            read.warnings[0]
            == 'The names do not show who the interviewer is. "Sara Lind" was assumed to be the interviewer.'
        )

    @pytest.mark.parametrize(
        "names", ["User: a\nAssistant: b", "Q: a\nA: b", "I: a\nClaude 3 Opus: b", "HUMAN: a\ngpt-4o: b"]
    )
    def test_usual_names_tell_who_asks_without_a_warning(self, names):
        read = read_talk(names)
        assert [turn.role for turn in read.interviews[0].turns] == ["interviewer", "model"]
        assert read.warnings == []

    def test_who_is_only_named_as_a_model_does_not_ask(self):
        read = read_talk("Assistant: Hello.\nSara: Hi.")
        assert [turn.role for turn in read.interviews[0].turns] == ["model", "interviewer"]

    def test_prose_with_one_colon_is_no_conversation(self):
        assert "no format that is known here" in refuse("Note: it rained.\nThen it stopped.").found

    @pytest.mark.parametrize(
        ("name", "speakers"), [("BSR09", 74), ("DC03", 71)], ids=["first interview", "second interview"]
    )
    def test_published_research_interviews_are_read(self, name, speakers):
        read = read_file(shared(f"data/conversations/interviews/{name}_transcript_deidentified.txt"))
        assert len(read.interviews[0].turns) == speakers


class TestRecordings:
    """What AssemblyAI and its like write of a recording."""

    SAID = [
        {"speaker": "A", "text": "How?", "start": 250, "end": 3_661_900, "words": [{"text": "How?"}]},
        {"speaker": "B", "text": "So."},
        {"speaker": "A", "text": "Why?"},
    ]

    def tell(self, **more):
        return {"id": "r1", "text": "How? So. Why?", "punctuate": True, "utterances": self.SAID, **more}

    def test_each_utterance_is_a_turn_of_who_says_it(self):
        file = read_lines(self.tell(language_code="en", words=[{"text": "How?"}], chapters=[]))
        [interview] = file.interviews
        assert (file.format, interview.external_id, interview.metadata) == ("utterances", "r1", {"language_code": "en"})
        assert [(turn.role, turn.speaker, turn.text) for turn in interview.turns] == [
            ("interviewer", "Speaker A", "How?"),
            ("model", "Speaker B", "So."),
            ("interviewer", "Speaker A", "Why?"),
        ]
        assert interview.turns[0].details == {"from": "00:00:00.250", "to": "01:01:01.900"}
        assert '"Speaker A" was assumed to be the interviewer' in file.warnings[0]
        assert file.left_out == {'The key "words" of a recording was left out.': 1}

    def test_a_text_that_says_something_else_is_counted(self):
        assert "has other words than the utterances" in read_lines(self.tell(text="How? So.")).warnings[-1]

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            (None, 'null as "utterances"'),
            ([{"text": "How?"}], "utterance 1 without a speaker or words"),
            ([{"speaker": "A", "text": "How?"}, "So."], "utterance 2 without a speaker or words"),
        ],
    )
    def test_a_recording_whose_speakers_are_not_told_apart_is_no_answer_of_the_model(self, given, found):
        line = json.dumps(self.tell(utterances=given))
        error = refuse(line)
        assert error.found == found
        assert "transcribe with speakers told apart" in error.expected
        assert len(read_bytes(line.encode(), name="a.json", format="interview_jsonl").interviews[0].turns) == 1

    def test_utterances_beside_turns_are_metadata(self):
        turns = [{"role": "model", "text": "So."}]
        assert read_lines({"id": "a", "turns": turns, "utterances": []}).format == "interview_jsonl"


class TestRefusals:
    def test_error_names_file_line_found_and_expected(self):
        error = refuse(f"{GOOD}\n\n[1]\n")
        assert str(error) == "notes.jsonl, line 3: found a list; expected one JSON object on each line."
        assert (error.file, error.line) == ("notes.jsonl", 3)

    def test_error_survives_being_sent_between_processes(self):
        error = refuse("{")
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    @pytest.mark.parametrize(
        ("data", "line", "found"),
        [
            (b"", None, "an empty file"),
            (b" \n\t\n", None, "an empty file"),
            (b"\xef\xbb\xbf", None, "an empty file"),
            (b"PK\x03\x04rest", None, "something that is not a zip archive"),
            (b"MZ\x90\x00\x03\x00", None, "a program"),
            (b"%PDF-1.7", None, "a PDF file"),
            (b"\n <!DOCTYPE html><html>", 1, "a web page"),
            ("Hä".encode("utf-32"), 1, "text in UTF-32"),
            (b"\xff\xfeH\x00\xe4", 1, "byte 0xE4 at offset 4, which is not UTF-16 as the rest is"),
            ('{"id": 1}'.encode("utf-16-le"), 1, "U+0000; the file looks like UTF-16"),
            (
                b'{"id": "a"}\n{"t": "caf\xe9"}',
                2,
                "byte 0xE9 at offset 22, which is not UTF-8; the file looks like Latin-1",
            ),
            (
                b'{"id": "It\x92s \xe9"}',
                1,
                "byte 0x92 at offset 10, which is not UTF-8; the file looks like Windows-1252",
            ),
            ("User: Привет\nBot: Да".encode("cp1251"), 1, "encoding of another language"),
            (f'{GOOD}\n{{"id": "b", "text": "a\0b"}}'.encode(), 2, "the character U+0000"),
        ],
        ids=lambda value: repr(value)[:24],
    )
    def test_what_is_no_utf8_text_is_refused(self, data, line, found):
        error = refuse(data)
        assert error.line == line
        assert found in error.found

    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ('{"id": "b", "turns": [', "JSON that breaks off at the end of the line (character 23)"),
            ('{"id": "b"} {"id": "c"}', "more text after the first JSON value (character 13)"),
            ("{'id': 1}", "invalid JSON at character 2"),
            ('{"id": "b", "id": "c", "text": "x"}', 'the key "id" twice in one object'),
            ('{"id": "b", "text": "x", "score": NaN}', "NaN, which is not a JSON number"),
            ('{"id": "b", "text": "x", "score": -Infinity}', "-Infinity, which is not a JSON number"),
            ('{"id": "b", "text": "x", "score": 1e999}', "a number too large to keep"),
            ('{"id": "b", "text": "x", "score": ' + "9" * 5000 + "}", "a number with thousands of digits"),
            ('{"id": "b", "text": "x", "deep": ' + "[" * 64 + "]" * 64 + "}", "nested deeper than 64"),
            ('{"id": "b", "text": "x", "deep": ' + "[" * 99_999 + "]" * 99_999 + "}", "nested deeper than 64"),
            ('{"text": "x"}', "no id"),
            ('{"id": " ", "text": "x"}', "no id"),
            ('{"id": true, "text": "x"}', "no id"),
            ('{"id": "b"}', 'neither "turns" nor "text"'),
            ('{"id": "b", "text": "x", "turns": []}', 'both "turns" and "text"'),
            ('{"id": "b", "text": 5}', 'a number as "text"'),
            ('{"id": "b", "turns": {}}', 'an object as "turns"'),
            ('{"id": "b", "turns": []}', "an interview without turns"),
            ('{"id": "b", "turns": ["x"]}', "text as turn 1"),
            ('{"id": "b", "turns": [{"text": "x"}]}', 'no "role" in turn 1'),
            ('{"id": "b", "turns": [{"role": "model", "text": null}]}', 'null as "text" in turn 1'),
            ('{"id": "b", "turns": [{"role": "user", "text": "x"}]}', 'the role "user" in turn 1'),
            (
                '{"id": "b", "turns": [{"role": "model", "channel": "aside", "text": "x"}]}',
                'the channel "aside" in turn 1',
            ),
            ('{"id": "b", "turns": [{"role": "model", "text": " \\n"}]}', "an interview without text"),
            ('{"id": "b", "text": "x", "title": ["t"]}', 'a list as "title"'),
            ('{"id": "b", "text": "x", "model": "m", "model_label": "n"}', "two different values for the model label"),
            ('{"id": "b", "text": "x", "title": "' + "t" * 301 + '"}', "a title of 301 characters"),
            ('{"id": "b", "text": "' + "é" * 500_001 + '"}', "turn 1 of 1,000,002 bytes"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_wrong_interview_line_refuses_the_whole_file(self, line, found):
        error = refuse(f"{GOOD}\n{line}\n")
        assert error.line == 2
        assert found in error.found

    @pytest.mark.parametrize(
        ("line", "found"),
        [
            ('{"id": "b"}', 'no "messages"'),
            ('{"messages": "x"}', 'text as "messages"'),
            ('{"messages": []}', "an interview without turns"),
            ('{"id": "", "messages": []}', "an id that is empty or of another kind"),
            ('{"messages": ["x"]}', "text in message 1"),
            ('{"messages": [{"content": "x"}]}', "no role in message 1"),
            ('{"messages": [{"role": 7, "content": "x"}]}', "a number as the role in message 1"),
            ('{"messages": [{"role": "narrator", "content": "x"}]}', 'the role "narrator" in message 1'),
            ('{"messages": [{"role": "user"}]}', 'no "content" in message 1'),
            ('{"messages": [{"role": "user", "content": 5}]}', 'a number as "content" in message 1'),
            ('{"messages": [{"role": "user", "content": [5]}]}', "a number as a part of the content in message 1"),
            ('{"messages": [{"role": "assistant", "tool_calls": "x"}]}', 'text as "tool_calls" in message 1'),
            ('{"messages": [{"role": "assistant", "tool_calls": ["x"]}]}', "text as a tool call in message 1"),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_wrong_chat_line_refuses_the_whole_file(self, line, found):
        error = refuse('{"messages": [{"role": "user", "content": "x"}]}\n' + line)
        assert error.line == 2
        assert found in error.found

    def test_all_clashing_ids_are_listed(self):
        lines = [json.dumps({"id": name, "text": "x"}) for name in ("a", "b", "A", "e\u0301", "c", "é", " b ")]
        error = refuse("\n".join(lines))
        assert error.found == (
            'the same id more than once: "a" on lines 1, 3; "b" on lines 2, 7; "e\u0301" on lines 4, 6'
        )

    def test_an_unknown_object_names_its_keys_and_what_formats_look_like(self):
        error = refuse('{"prompt": "x", "answer": "y"}')
        assert error.found == 'an object with the keys "prompt", "answer"'
        assert error.expected == (
            'the keys of a format that is known; the nearest are interview_jsonl ("id" and "turns", a list of {"role": '
            '"interviewer", "text": "…"}, or "id" and "text", one answer of the model); chat_messages ("messages", a list of '
            '{"role": "user", "content": "…"})'
        )

    @pytest.mark.parametrize(
        ("content", "nearest"),
        [
            # whisper, Slack, Prodigy, WildChat, a log without its agent, a slip of the pen.
            (
                {"text": "Why?", "segments": [{"id": 0, "start": 0, "end": 2, "text": "Why?"}], "language": "en"},
                [
                    "captions (WebVTT or SubRip, which",
                    'interview_jsonl ("id" is missing, and "text" would be one answer of the model)',
                ],
            ),
            (
                {"type": "message", "user": "U1", "text": "Why?", "ts": "1.0"},
                [
                    'speaker_table (a table with the columns speaker and text, here "user" and "text")',
                    'interview_jsonl ("id" is missing, and "text" would be one answer of the model)',
                ],
            ),
            (
                {"text": "Why?", "_input_hash": 1, "spans": []},
                ['interview_jsonl ("id" is missing, and "text" would be one answer of the model)'],
            ),
            (
                {"conversation_hash": "a", "conversation": [{"role": "user", "content": "Why?"}]},
                [
                    'chat_messages ("messages" in place of "conversation")',
                    'interview_jsonl ("id" and "turns"',
                ],
            ),
            # Nothing that Alpaca's keys share with answers of OpenAI's Responses makes them these.
            ({"instruction": "Why?", "output": "So."}, ["interview_jsonl (", "chat_messages ("]),
            ({"schema_version": "ATIF-v1.4", "steps": []}, ['atif ("agent" is missing)']),
            ({"id": "a", "mesages": []}, ['chat_messages ("messages" in place of "mesages")']),
        ],
    )
    def test_an_unknown_object_names_the_formats_that_come_nearest(self, content, nearest):
        told = refuse(json.dumps(content)).expected.removeprefix("the keys of a format that is known; the nearest are ")
        assert [each.startswith(start) for each, start in zip(told.split("; "), nearest, strict=False)] == [True] * len(
            nearest
        )
        assert len(told.split("; ")) <= 3

    def test_a_later_line_without_an_id_names_its_keys(self):
        assert refuse(f'{GOOD}\n{{"text": "x", "score": 1}}').found == 'no id among the keys "text", "score"'

    def test_a_conversation_with_too_many_turns_is_refused_with_its_place_and_its_name(self, monkeypatch):
        monkeypatch.setattr(checks, "MAX_TURNS", 1)
        assert read_lines(GOOD, '{"id": "b", "text": "x"}').interviews[1].external_id == "b"
        turns = [{"role": "model", "text": "One."}] * 2
        error = refuse(f"{GOOD}\n{json.dumps({'id': 'long', 'turns': turns})}")
        assert str(error) == (
            'notes.jsonl, line 2: found the conversation "long" of 2 turns; expected at most 1 turns in one conversation '
            "(divide it, or take it out)."
        )

    def test_a_file_that_is_too_large_is_refused_before_it_is_read(self, monkeypatch):
        monkeypatch.setattr(contents, "MAX_FILE_SIZE", 5)
        assert refuse(GOOD).found == "27 bytes"

    def test_a_large_file_of_a_format_that_cannot_be_divided_is_refused(self, monkeypatch):
        monkeypatch.setattr(readers, "MAX_WHOLE_SIZE", 20)
        assert read_lines(GOOD).format == "interview_jsonl"
        error = refuse('[{"role": "user", "content": "x"}]')
        assert error.found == "34 bytes in a format that is read as a whole, message_list"

    def test_an_object_that_is_too_large_is_refused_where_it_begins(self, monkeypatch):
        monkeypatch.setattr(contents, "CHUNK_BYTES", 10)
        monkeypatch.setattr(readers, "KEPT_SIZE", 0)
        monkeypatch.setattr(json_lines, "MAX_OBJECT_SIZE", 50)
        objects = ['{"id": "a", "text": "A."}', f'{{"id": "b", "text": "{"x" * 200}"}}']
        for text, line in (("\n".join(objects), 2), ("[\n" + ",\n".join(objects) + "]", 3)):
            error = refuse(text)
            assert (error.line, error.found) == (line, "an object of more than 50 characters")


class TestFilesReadInPieces:
    """However a file is cut on its way in, it reads as a whole one does."""

    TEXTS = (
        GOOD + '\r\n\r\n{"id": "b", "text": "naïve “words” \\ud83d\\ude00 \\n 😀"}\r{"id": "c", "text": "1e5"}\n',
        '\ufeff  [\n{"id": "a", "text": "One.", "n": [1.5e3, true, null]}\n,{"id": "b", "text": "\\u00e9"} ]\n ',
        '{\n"id": "a",\n"text": "Über"}\n{"id": "b", "text": "y"}',
    )

    @pytest.mark.parametrize("size", [3, 4, 7, 40])
    @pytest.mark.parametrize("text", TEXTS)
    def test_pieces_of_any_size(self, text, size, monkeypatch):
        whole = read_bytes(text.encode(), name="notes.jsonl")
        monkeypatch.setattr(contents, "CHUNK_BYTES", size)
        monkeypatch.setattr(readers, "KEPT_SIZE", 0)
        assert read_bytes(text.encode(), name="notes.jsonl") == whole

    @pytest.mark.parametrize("size", [1, 5, 30])
    @pytest.mark.parametrize(
        ("data", "line"),
        [
            (GOOD.encode() + b'\n{"id": "b", "text": "\xe9"}', 2),
            (GOOD.encode() + b'\n{"id": "b", "text": "\x00"}', 2),
            (b'[{"id": "a", "text": "x"},\n{"id": "b" "text": "x"}]', 2),
            (b'[{"id": "a", "text": "x"},\n{"id": "b", "te', 2),
            (GOOD.encode() + b'\n{"id": "b", "text": "\xe2\x82', 2),
            (b" \n \n ", None),
        ],
    )
    def test_errors_name_the_same_place(self, data, line, size, monkeypatch):
        whole = refuse(data)
        monkeypatch.setattr(contents, "CHUNK_BYTES", size)
        monkeypatch.setattr(readers, "KEPT_SIZE", 0)
        in_pieces = refuse(data)
        assert (in_pieces.line, in_pieces.expected) == (whole.line, whole.expected) == (line, whole.expected)
        assert in_pieces.found.split(";")[0] == whole.found.split(";")[0]

    def test_what_is_left_out_is_counted_over_all_pieces(self, monkeypatch):
        lines = [
            json.dumps({"id": str(at), "turns": [{"role": "model", "text": "One.", "mood": "calm"}]}) for at in range(4)
        ]
        whole = read_lines(*lines)
        monkeypatch.setattr(readers, "KEPT_SIZE", 0)
        assert read_lines(*lines) == whole
        assert whole.warnings == ['The key "mood" of a turn was left out. (4 times)']


class TestRefusalsOfCallers:
    def test_format_there_is_not_is_a_mistake_of_the_caller(self):
        with pytest.raises(ValueError, match="There is no format 'docx'"):
            read_bytes(b"x", name="x", format="docx")


def test_byte_order_mark_is_dropped_and_a_blank_last_line_is_fine():
    read = read_bytes(b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n\r\n", name="a.jsonl")
    assert read.interviews[0].turns[0].text == "One."


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=50))
def test_text_comes_out_as_it_went_in(text):
    if text.strip():
        assert read_lines({"id": "a", "text": text}).interviews[0].turns[0].text == text
        assert read_message({"content": f"-{text}"})[0].text == f"-{text}"
        line = f"-{text.replace(':', ';')}".rstrip("\r\n")
        assert read_talk(f"User: {line}\nAssistant: ok\n").interviews[0].turns[0].text == line


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "user", "\ud800", "a\0b", "<think>"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "turns",
                    "text",
                    "messages",
                    "role",
                    "content",
                    "tool_calls",
                    "function",
                    "type",
                    "value",
                    "name",
                    "model",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=5,
)
WORDS = st.sampled_from(["Yes.", "<think>a</think>b", "", " \r\n", "é\u2028"])
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"]), "content": WORDS | VALUES},
    optional={"tool_calls": VALUES, "function_call": VALUES, "reasoning": WORDS | VALUES},
)
TURNS = st.fixed_dictionaries(
    {"role": st.sampled_from(["interviewer", "model", "tool"]), "text": WORDS},
    optional={"speaker": VALUES, "x": VALUES},
)
CONVERSATIONS = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, max_size=3)}, optional={"id": VALUES, "title": WORDS, "x": VALUES}
) | st.fixed_dictionaries(
    {"id": st.integers(), "turns": st.lists(TURNS, max_size=3)}, optional={"title": WORDS | VALUES, "x": VALUES}
)
FILES = (
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(CONVERSATIONS | VALUES, max_size=2).map(lambda lines: "\n".join(map(json.dumps, lines)).encode())
    | st.lists(st.sampled_from(["User:", "A: ", "B:x", "**C:** ", "D  0:10\n", " y", "\n", "\r", "{", "[", "\0"])).map(
        lambda parts: "".join(parts).encode()
    )
)


@given(FILES, st.sampled_from(["auto", *FORMATS]))
def test_any_file_is_read_whole_or_refused(data, format):
    try:
        read = read_bytes(data, name="x", format=format)
    except ReadError:
        return
    assert read.format in FORMATS
    for interview in read.interviews:
        assert interview.turns
        assert interview.external_id
        json.dumps(interview.metadata, ensure_ascii=False).encode()
        "".join(turn.text + turn.speaker for turn in interview.turns).encode()


@pytest.mark.parametrize("data", [b"P\xe4rt\x00no\xff\xfe" * 20, b"abc\x00def" * 9, b"PK\x03\x04rest"])
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Talk.DOCX", "a Word document"),
        ("talk.odt", "an OpenDocument text"),
        ("log.eval", "a log of Inspect"),
        ("study.qdpx", "a REFI-QDA project"),
        ("talks.zip", "a zip archive"),
    ],
)
def test_a_file_that_is_not_what_its_name_promises_is_said_so(name, what, data):
    with pytest.raises(ReadError) as caught:
        read_bytes(data, name=name)
    assert str(caught.value).startswith(
        f"{name}: found bytes that are not {what}; expected {what}, as its name ends in ."
    )
    assert "UTF" not in str(caught.value)


def test_text_under_the_name_of_a_document_is_still_read():
    assert len(read_bytes(b"Interviewer: Why?\nAnna: So.\n", name="talk.docx").interviews) == 1
