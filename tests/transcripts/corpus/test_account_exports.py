"""Exports of chatbot accounts and collections of conversations, recognised by what is in them."""

import io
import json
import zipfile

import pytest

from tests.support.shared import shared
from transcripts.formats.interviews import ReadError, read_bytes
from transcripts.formats.interviews.documents import FROM_WORD


def read(content, name="conversations.json", *, indent=2):
    return read_bytes(json.dumps(content, indent=indent).encode(), name=name)


def show(turns):
    return [f"{turn.role} {turn.channel}{f' {turn.speaker}' if turn.speaker else ''}: {turn.text}" for turn in turns]


def say(role, *parts, at=None, **more):
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, **({"name": more.pop("name")} if "name" in more else {})}
    return {"author": author, "content": content, "create_time": at, **more}


def make_tree(*nodes, **more):
    """A conversation of nodes: each a key, the key of its parent, and its message."""
    mapping = {
        key: {
            "id": key,
            "parent": parent,
            "children": [child for child, its_parent, _ in nodes if its_parent == key],
            "message": message,
        }
        for key, parent, message in nodes
    }
    return {"id": "c1", "title": "Talk", "mapping": mapping, **more}


TREE = (
    ("root", None, None),
    ("hidden", "root", say("system", "Be kind.", metadata={"is_visually_hidden_from_conversation": True})),
    ("ask", "hidden", say("user", "Why?", at=10)),
    ("first", "ask", say("assistant", "Because.", at=11, metadata={"model_slug": "m-1"})),
    ("second", "ask", say("assistant", "I would ask first.", at=12, metadata={"model_slug": "m-2"})),
)


class TestChatGpt:
    def test_the_path_to_the_current_message_is_the_thread_and_what_was_made_anew_a_branch(self):
        file = read([make_tree(*TREE, current_node="first", create_time=1_700_000_000, gizmo_id="g-1")])
        [interview, branch] = file.interviews
        assert show(interview.turns) == ["interviewer utterance: Why?", "model utterance: Because."]
        assert (interview.external_id, interview.title, interview.period) == ("c1", "Talk", "2023-11-14")
        assert (interview.model_label, interview.surface) == ("m-1", "ChatGPT")
        assert interview.metadata == {"gizmo_id": "g-1"}
        assert interview.turns[1].details == {"at": "1970-01-01T00:00:11Z", "model": "m-1"}
        assert show(branch.turns) == ["model utterance: I would ask first."]
        assert (branch.relation, branch.hangs_on, branch.model_label) == ("branch", ("c1", 1), "m-2")
        assert (branch.external_id, branch.title) == ("c1/branch-2", "Talk (branch-2)")
        assert file.warnings == ["A message that ChatGPT hides was left out."]

    @pytest.mark.parametrize("current", [None, "gone", 7])
    def test_without_a_current_message_the_leaf_written_last_is_one(self, current):
        interview, _ = read([make_tree(*TREE, current_node=current)]).interviews
        assert interview.turns[-1].text == "I would ask first."
        assert interview.model_label == "m-2"

    def test_without_parents_messages_are_in_order_of_time(self):
        # Neither as they stand in the file, nor as their ids go.
        nodes = [("a", None, say("assistant", "It depends.", at=2)), ("b", None, say("user", "Always?", at=1))]
        [interview] = read([make_tree(*nodes)]).interviews
        assert show(interview.turns) == ["interviewer utterance: Always?", "model utterance: It depends."]

    def test_a_circle_of_parents_ends(self):
        nodes = [("a", "b", say("user", "One.")), ("b", "a", say("assistant", "Two."))]
        [interview] = read([make_tree(*nodes, current_node="b")]).interviews
        assert [turn.text for turn in interview.turns] == ["One.", "Two."]

    def test_thoughts_calls_results_and_pictures(self):
        thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Weighing", "content": "Who asks?"}]}
        code = {"content_type": "code", "language": "unknown", "text": "search('x')"}
        output = {"content_type": "execution_output", "text": "42"}
        picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-1"}
        said = (
            say("user", "Look.", picture, content={"content_type": "multimodal_text", "parts": ["Look.", picture]}),
            say("assistant", content=thoughts),
            say("assistant", content={"content_type": "reasoning_recap", "content": "Thought for 3 seconds"}),
            say("assistant", content=code, recipient="web"),
            say("tool", content=output, name="web"),
            say("assistant", "42."),
        )
        keys = [str(number) for number in range(len(said))]
        nodes = [
            (key, str(int(key) - 1) if key != "0" else None, message) for key, message in zip(keys, said, strict=True)
        ]
        file = read([make_tree(*nodes, current_node=keys[-1])])
        assert show(file.interviews[0].turns) == [
            "interviewer utterance: Look.",
            "model reasoning: Weighing\nWho asks?",
            "model tool_call web: search('x')",
            "tool tool_result web: 42",
            "model utterance: 42.",
        ]
        assert file.warnings == ['A part of type "image_asset_pointer" was left out because it has no text.']

    def test_a_conversation_that_was_only_begun_is_left_out(self):
        file = read([make_tree(("root", None, None)), {**make_tree(*TREE), "id": "c2"}])
        assert [interview.external_id for interview in file.interviews] == ["c2", "c2/branch-2"]
        assert "A conversation without any messages was left out." in file.warnings


class TestClaude:
    def test_parts_come_before_the_text_and_attachments_have_their_own_turn(self):
        messages = [
            {
                "sender": "human",
                "content": [{"type": "text", "text": "What is in it?"}],
                "text": "What is in it?",
                "attachments": [{"file_name": "notes.txt", "extracted_content": "All of it."}],
                "files": [{"file_name": "photo.png"}],
            },
            {
                "sender": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I should read it."},
                    {"type": "tool_use", "name": "read", "input": {"file": "notes.txt"}},
                    {"type": "tool_result", "name": "read", "content": [{"type": "text", "text": "All of it."}]},
                    {"type": "text", "text": "All of it is in it."},
                ],
                "text": "I should read it. All of it is in it.",
            },
            {"sender": "human", "content": [], "text": "Thanks."},
        ]
        file = read([{"uuid": "u1", "name": "Notes", "created_at": "2026-03-01T10:00:00Z", "chat_messages": messages}])
        [interview] = file.interviews
        assert show(interview.turns) == [
            "interviewer utterance notes.txt: All of it.",
            "interviewer utterance: What is in it?",
            "model reasoning: I should read it.",
            'model tool_call read: {"file": "notes.txt"}',
            "tool tool_result read: All of it.",
            "model utterance: All of it is in it.",
            "interviewer utterance: Thanks.",
        ]
        assert (interview.external_id, interview.title, interview.period) == ("u1", "Notes", "2026-03-01")
        assert file.warnings == [
            "The file does not name the model; enter it on the page of the interview.",
            "A file that was attached was left out because the export has no text of it.",
        ]


def test_sharegpt_conversations_with_a_function_call():
    said = [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Weather?"},
        {"from": "function_call", "value": '{"name": "weather"}'},
        {"from": "observation", "value": "Rain."},
        {"from": "gpt", "value": "It rains."},
    ]
    [interview] = read([{"id": 7, "model": "M", "conversations": said}]).interviews
    assert (interview.external_id, interview.model_label) == ("7", "M")
    assert [f"{turn.role} {turn.channel}" for turn in interview.turns] == [
        "system utterance",
        "interviewer utterance",
        "model tool_call",
        "tool tool_result",
        "model utterance",
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_interviews_and_messages_are_read_from_a_list_or_a_spread_object_too(indent):
    first = {"id": "a", "turns": [{"role": "model", "text": "One."}]}
    assert [each.external_id for each in read([first, {**first, "id": "b"}], indent=indent).interviews] == ["a", "b"]
    assert [each.external_id for each in read(first, indent=indent).interviews] == ["a"]
    [talk] = read([{"id": "m", "messages": [{"role": "user", "content": "Hi"}]}], indent=indent).interviews
    assert show(talk.turns) == ["interviewer utterance: Hi"]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("[]", 1, "nothing in the list"),
        ("[ [1] ]", 1, "a list"),
        ('[{"id": 1}]', 1, 'an object with the keys "id"'),
        ('[\n{"id": "a", "text": "a"},\n{"text"', 3, "JSON that breaks off at the end of the file"),
        ('[\n{"id": "a", "text": "a"}\n', 2, "the end of the file after an object of a list"),
        ('[{"id": "a", "text": "a"}\n{"id": "b"}]', 1, "something else after an object of a list"),
        ('[{"id": "a", "text": "a"}] and more', 1, "more text after the end of the list"),
        ('{\n "id": "a",\n "text": oops\n}', 3, "invalid JSON"),
        ('{\n "id": "a",\n "id": "b"\n}', 1, 'the key "id" twice in one object'),
        ('[{"mapping": 1}]', 1, 'a "mapping" that is not an object of messages'),
        ('[{"chat_messages": 1}]', 1, 'a number as "chat_messages"'),
        ('[{"chat_messages": [{"sender": "x"}]}]', 1, "no sender known in message 1"),
        ('[{"conversations": [{"from": "x", "value": "y"}]}]', 1, '"x" as the speaker of turn 1'),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, found):
    with pytest.raises(ReadError) as refused:
        read_bytes(text.encode(), name="conversations.json")
    assert refused.value.line == line
    assert found in refused.value.found


@pytest.mark.parametrize("make", [lambda: [make_tree(*TREE)], lambda: [{"uuid": "u", "chat_messages": []}]])
def test_a_file_that_is_cut_off_anywhere_is_refused_in_a_sentence(make):
    text = json.dumps(make(), indent=1)
    for end in range(1, len(text) - 1):
        with pytest.raises(ReadError) as refused:
            read_bytes(text[:end].encode(), name="conversations.json")
        assert str(refused.value).startswith("conversations.json")


@pytest.mark.parametrize(
    ("name", "format", "conversations", "turns"),
    [
        ("chatgpt_export/context_carry_conversations.json", "chatgpt_export", 3, 5),
        ("chatgpt_export/ctxray_conversations.json", "chatgpt_export", 2, 7),
        ("chatgpt_export/demoConversations.json", "chatgpt_export", 80, 160),
        ("claude_export/context_carry_claude_web_conversations.json", "claude_export", 1, 5),
        ("claude_export/ctxray_claude_chat_export.json", "claude_export", 2, 7),
        ("sharegpt/fastchat_dummy_120.json", "sharegpt", 120, 480),
        ("sharegpt/sharegpt_original_example.json", "sharegpt", 5, 28),
    ],
)
def test_real_files_come_in(name, format, conversations, turns):
    path = shared(f"data/conversations/{name}")
    file = read_bytes(path.read_bytes(), name=path.name)
    assert (file.format, len(file.interviews)) == (format, conversations)
    assert sum(len(interview.turns) for interview in file.interviews) == turns


TALKS = (
    "Of two talks\n======\nUser: Why?\nModel: It depends.\n======\nNobody here.\n===\nUser: And now?\nModel: Still.\n"
)


def test_dialogues_that_lines_of_equals_signs_part_are_interviews_each():
    file = read_bytes(TALKS.encode(), name="talks.txt")
    assert [(each.external_id, each.line, show(each.turns)[1]) for each in file.interviews] == [
        ("talks-1", 3, "model utterance Model: It depends."),
        ("talks-2", 8, "model utterance Model: Still."),
    ]
    assert file.warnings == [
        "Lines of = part the file into 2 interviews.",
        "A part between lines of = in which nobody speaks was left out. (2 times)",
    ]


def test_a_line_of_equals_signs_below_a_heading_parts_nothing():
    file = read_bytes(b"A heading\n=========\nUser: Why?\nModel: It depends.\n", name="talk.txt")
    assert [each.external_id for each in file.interviews] == ["talk"]


WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>{}</w:body></w:document>'
)
TALK_IN_WORD = (
    "<w:p><w:r><w:t>Interviewer: Why</w:t></w:r><w:r><w:t>?</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>Model:</w:t><w:tab/><w:t>It</w:t><w:br/><w:t>depends.</w:t><w:delText>Gone.</w:delText></w:r></w:p>"
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>In a table.</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></mc:Choice>"
    "<mc:Fallback><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
)


def pack(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return stream.getvalue()


class TestArchives:
    def test_paragraphs_of_a_word_document_are_lines(self):
        file = read_bytes(pack({"word/document.xml": WORD.format(TALK_IN_WORD)}), name="talk.docx")
        assert [turn.text for turn in file.interviews[0].turns] == ["Why?", "It\ndepends.\nIn a table.\nIn a box."]
        assert file.warnings == [FROM_WORD, "A deleted passage was left out."]

    def test_the_archive_of_an_account_is_read_as_it_comes(self):
        data = pack({"export/conversations.json": json.dumps([make_tree(*TREE)]), "export/chat.html": "<html>"})
        assert [each.external_id for each in read_bytes(data, name="export.zip").interviews] == [
            "c1",
            "c1/branch-2",
        ]

    @pytest.mark.parametrize(
        ("data", "found"),
        [
            (pack({}), "an empty zip archive"),
            (
                pack({"a.txt": "a"}),
                "an archive with a.txt; expected a document (.docx, .odt), a log (.eval), the archive of",
            ),
            (pack({"Project.qde": "a"}), "a REFI-QDA project; expected it on the page Import a study"),
            (pack({"a/conversations.json": "[]", "b/conversations.json": "[]"}), "an archive with a/conv"),
            (pack({"conversations.json": pack({"a": "b"}).decode("latin-1")}), "a zip archive within"),
            (pack({"word/document.xml": "<a/>"}), "the root element"),
            (pack({"word/document.xml": WORD.format("<w:p>")}), "not well-formed XML"),
            (pack({"word/document.xml": WORD.format("")}), "an empty file"),
            (pack({"word/document.xml": "<!DOCTYPE a><a/>"}), "a document type declaration"),
            (pack({"../conversations.json": "[]"}), "conversations.json"),
            (pack({"conversations.json": "[" + " " * 60_000_000 + "]"}), "conversations.json"),
            (pack({"conversations.json": "[]"})[:-30], "archive"),
        ],
    )
    def test_other_archives_are_refused_in_a_sentence(self, data, found):
        with pytest.raises(ReadError) as refused:
            read_bytes(data, name="x.zip")
        assert found in str(refused.value)


@pytest.mark.parametrize(("name", "turns"), [("BSR09", 74), ("DC03", 71)])
def test_a_real_word_document_has_the_turns_of_its_text(name, turns):
    files = [shared(f"data/conversations/interviews/{name}_transcript_deidentified.{kind}") for kind in ("docx", "txt")]
    document, text = (read_bytes(file.read_bytes(), name=file.name).interviews[0] for file in files)
    assert len(document.turns) == turns
    assert [turn.role for turn in document.turns] == [turn.role for turn in text.turns]


def test_conversations_of_a_list_on_one_line_have_ids_of_their_own():
    messages = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "So."}]
    read = read_bytes(json.dumps([{"messages": messages}] * 3).encode(), name="list.json")
    assert [interview.external_id for interview in read.interviews] == ["list-1", "list-1-2", "list-1-3"]
    with pytest.raises(ReadError, match="the same id"):
        read_bytes(json.dumps([{"id": "a", "messages": messages}] * 2).encode(), name="list.json")
