"""Small files of every format, and ways to break them: cut, with other types, with circles, orphans and bombs."""

import copy
import io
import json
import sys
from typing import Any

from tests.transcripts.corpus import told
from transcripts.corpus.management.commands.interview import describe_file
from transcripts.corpus.pure.previews import Preview
from transcripts.corpus.pure.segmenting import prepare_interview
from transcripts.formats.interviews import FORMATS, ReadError, read_bytes

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

Seed = Any
"""JSON as values; lines of JSON as a tuple; the members of an archive as a dict whose keys are `Member`; text."""


class Member(str):
    """The name of a file in an archive."""

    __slots__ = ()


def make_node(parent, role, words, **more):
    content = {"content_type": "text", "parts": [words], **more.pop("content", {})}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content, "create_time": 1.5e9, **more}}


def make_line(key, parent, kind, content, **more):
    message = {"role": kind, "content": content, "model": "m", "id": f"m-{key}", "usage": {"input_tokens": 3}}
    line = {"uuid": key, "parentUuid": parent, "type": kind, "sessionId": "s", "isSidechain": False}
    return {**line, "timestamp": "2026-05-01T10:00:00Z", "message": message, **more}


TASK = [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Look."}}]
CLAUDE_CODE = (
    {"type": "summary", "summary": "A talk", "leafUuid": "d"},
    make_line("a", None, "user", "One."),
    make_line("b", "a", "assistant", TASK),
    make_line("x", None, "user", "Look.", isSidechain=True, agentId="7"),
    make_line("y", "x", "assistant", "Seen.", isSidechain=True, agentId="7"),
    make_line("c", "b", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "Seen."}]),
    make_line("d", None, "user", "So far.", isCompactSummary=True, logicalParentUuid="c"),
    make_line("e", "d", "assistant", "Two."),
    make_line("f", "d", "assistant", "Other two."),
)
CHATGPT = [
    {
        "id": "c1",
        "title": "A talk",
        "create_time": 1.5e9,
        "current_node": "n4",
        "mapping": {
            "n0": {"parent": None, "children": ["n1"], "message": None},
            "n1": make_node("n0", "user", "Why?"),
            "n2": make_node("n1", "assistant", "ls", recipient="python", content={"content_type": "code"}),
            "n3": make_node("n2", "tool", "a.txt", metadata={"model_slug": "m"}),
            "n4": make_node("n3", "assistant", {"content_type": "image", "asset_pointer": "data:;base64,iVBORw0"}),
            "n5": make_node("n3", "assistant", "Because."),
            "n6": {
                "parent": "n3",
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]},
                },
            },
        },
    }
]
CLAUDE = [
    {
        "uuid": "u",
        "name": "A talk",
        "created_at": "2026-05-01T10:00:00Z",
        "current_leaf_message_uuid": "m3",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Why?",
                "parent_message_uuid": "root",
                "attachments": [{"file_name": "a.txt", "extracted_content": "A."}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "parent_message_uuid": "m1",
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "So."}, *TASK],
            },
            {"uuid": "m3", "sender": "assistant", "parent_message_uuid": "m1", "content": [], "text": "Other."},
        ],
    }
]
OASST = (
    {
        "message_tree_id": "t",
        "prompt": {
            "message_id": "q",
            "text": "Why?",
            "role": "prompter",
            "created_date": "2026-05-01T10:00:00",
            "lang": "en",
            "replies": [
                {"message_id": "a", "text": "So.", "role": "assistant", "rank": 1, "replies": []},
                {"message_id": "b", "text": "No.", "role": "assistant", "rank": 0, "labels": {"spam": {"value": 0.1}}},
            ],
        },
    },
)
SHAREGPT = [
    {
        "id": "1",
        "conversations": [
            {"from": "system", "value": "Be kind."},
            {"from": "human", "value": "Why?"},
            {"from": "function_call", "value": '{"name": "search", "arguments": {}}'},
            {"from": "observation", "value": "Found."},
            {"from": "gpt", "value": "So."},
        ],
    }
]
INTERVIEWS = (
    {
        "id": "i1",
        "turns": [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "So.", "details": {"step": 1}}],
        "consent": {"external": True, "basis": "letter"},
        "run": {"scores": {"a": 1}},
    },
    {"id": "i2", "text": "No.", "relation": "branch", "hangs_on": {"id": "i1", "turn": 1}, "kind": "interview"},
    {"id": "i3", "text": "No.", "relation": "branch", "hangs_on": {"id": "i2", "turn": 1}},
)
INNER = {**told.tell_as_atif(), "trajectory_id": "inner"}
ATIF = {**told.tell_as_atif(), "subagent_trajectories": [INNER]}
ATIF["steps"][1]["observation"] = {"results": [{"subagent_trajectory_ref": [{"trajectory_id": "inner"}]}]}
NUMBERED = {
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "Why?",
    "gen_ai.completion.0.content": "So.",
    "gen_ai.completion.0.tool_calls.0.name": "search",
    "gen_ai.usage.input_tokens": 3,
}
EVENTS = [
    {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Why?"}}]},
    {"name": "gen_ai.choice", "attributes": [{"key": "message", "value": {"stringValue": '{"content": "So."}'}}]},
]
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.result": "Found."}
OLD_SPANS = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {"traceId": "a", "spanId": "1", "startTimeUnixNano": "17", "attributes": NUMBERED},
                        {"traceId": "a", "spanId": "2", "startTimeUnixNano": 18, "attributes": TOOL},
                        {"traceId": "b", "spanId": "3", "startTimeUnixNano": "19", "events": EVENTS},
                    ]
                }
            ]
        }
    ]
}
LOG = told.tell_as_inspect(attachments={"abc": "Long."}, scores={"match": {"value": "C"}}, metadata={"topic": "a"})
HEAD = {key: value for key, value in LOG.items() if key != "samples"}
SAMPLE = LOG["samples"][0]
EVENT_SAMPLE = {
    "id": "s2",
    "events": [
        {
            "event": "model",
            "input_refs": [[0, 1]],
            "output": {"choices": [{"message": {"role": "assistant", "content": "So."}}]},
        }
    ],
    "events_data": {"messages": [{"role": "user", "content": "Why?"}]},
    "error": {"message": "out of memory"},
}
WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>Interviewer: Why?</w:t><w:tab/></w:r></w:p><w:p><w:r><w:t>Model: So.</w:t></w:r></w:p>"
    "</w:body></w:document>"
)
FOOTNOTES = WORD.replace("w:document", "w:footnotes")
OPEN_TEXT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
    '<text:p>Interviewer: Why?<text:s text:c="2"/></text:p><text:p>Model: So.</text:p>'
    "</office:text></office:body></office:document-content>"
)

SEEDS = {
    "interview_jsonl": INTERVIEWS,
    "chat_messages": ({"id": "r1", "messages": told.tell_as_messages()}, told.tell_as_anthropic()),
    "openai_responses": (
        {
            "id": "r1",
            "object": "response",
            "created_at": 1767261600,
            "model": "m",
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Why?"}]}],
            "output": [
                {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
                {"type": "mcp_call", "id": "c2", "name": "look", "arguments": "{}", "output": "Found."},
                {"type": "web_search_call", "id": "c3", "action": {"query": "why"}, "status": "completed"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
            ],
            "text": {"format": {"type": "text"}},
        },
    ),
    "message_list": told.tell_as_messages(thoughts="thinking"),
    "chatgpt_export": CHATGPT,
    "claude_export": CLAUDE,
    "sharegpt": SHAREGPT,
    "oasst": OASST,
    "hh_rlhf": ({"chosen": "\n\nHuman: Why?\n\nAssistant: So.", "rejected": "\n\nHuman: Why?\n\nAssistant: No."},),
    "inspect": told.tell_as_inspect(attachments={"abc": "Long."}, scores={"match": {"value": "C"}}),
    "inspect .eval": {
        Member("header.json"): HEAD,
        Member("samples/s1_epoch_1.json"): SAMPLE,
        Member("samples/s2_epoch_1.json"): EVENT_SAMPLE,
    },
    "inspect .eval in pieces": {
        Member("_journal/start.json"): {"eval": LOG["eval"]},
        Member("samples/s1_epoch_1/sample.json"): {"id": "s1", "epoch": 1},
        Member("samples/s1_epoch_1/messages/0.json"): SAMPLE["messages"][:2],
        Member("samples/s1_epoch_1/messages/2.json"): SAMPLE["messages"][2:],
        Member("samples/s1_epoch_1/attachments/0.json"): ["Long."],
    },
    "atif": ATIF,
    "claude_code": CLAUDE_CODE,
    "swe_agent": told.tell_as_swe_agent(),
    "mini_swe_agent": {
        "messages": [
            *told.tell_as_messages(),
            {"object": "response", "output": [{"type": "reasoning", "summary": []}], "extra": {"timestamp": 1.5}},
            {"role": "user", "content": "ok", "extra": {"returncode": 0, "interrupt_type": "UserRejection"}},
            {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded"}},
        ],
        "info": {"exit_status": "LimitsExceeded", "config": {"model": {"model_name": "m"}}},
        "trajectory_format": "mini-swe-agent-1.1",
    },
    "tau_bench": [{"task_id": 3, "trial": 0, "reward": 1.0, "traj": told.tell_as_messages(), "info": {"a": 1}}],
    "langfuse": told.tell_as_langfuse(),
    "printed messages": {
        "observations": [
            {
                "type": "GENERATION",
                "input": {
                    "messages": [
                        "role='user' content='Why?' name=None tool_call_id=None tool_calls=None audio=None",
                        "role='assistant' content=None name=None tool_call_id=None tool_calls=[{'id': 'c'}] thinking='Hm.'",
                    ]
                },
                "output": "So.",
            }
        ]
    },
    "otel_genai": told.tell_as_otel(),
    "older spans": OLD_SPANS,
    "utterances": {
        "id": "r1",
        "language_code": "en",
        "text": "Why? So.",
        "utterances": [
            {"speaker": "A", "text": "Why?", "start": 250, "end": 900, "words": [{"text": "Why?"}]},
            {"speaker": 1, "text": "So.", "start": 1000.5, "end": None},
        ],
        "words": [{"text": "Why?", "start": 250}],
    },
    "captions": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>Why?\n\n00:02.500 --> 00:04.000\n<v Bo>So.\n",
    "captions .srt": "1\n00:00:01,000 --> 00:00:02,000\nAda: Why?\n\n2\n00:00:05,000 --> 00:00:06,000\nBo: So.\n",
    "captions .tsv": "start\tend\ttext\n0\t900\tWhy?\n5000\t5900\tSo.\n",
    "speaker_text": "A head\n\nInterviewer: Why?\nModel: So.\n\n=====\n\nInterviewer: And?\nModel: No.\n",
    "speaker_table": 'speaker,text,time\nAda,"Why, then?",2026-05-01T10:00:00\nBo,So.,\n',
    "heads": "Ada Lind  00:03\nWhy?\n\nP7  00:09\nSo.\n",
    "brackets": "[id1] Why?\n[id2] So.\n",
    "word": {Member("word/document.xml"): WORD, Member("word/footnotes.xml"): FOOTNOTES},
    "open document": {Member("content.xml"): OPEN_TEXT, Member("META-INF/manifest.xml"): "<a/>"},
    "account": {Member("export/conversations.json"): CHATGPT, Member("export/chat.html"): "<html>"},
}
"""A good file of each format and of each of its layouts."""

ODD = (
    *(None, True, False, 0, -1, 3, 2**70, 1e308, 0.5, "", " ", "x", "\ud800", "a\0b", "\u2028", "user", "NaN"),
    *([], {}, [None], [[]], [{}], {"a": 1}, {"role": "user"}, {"type": "text"}, {"type": "tool_use"}, "{", "[1]"),
    *("data:image/png;base64,iVBORw0KGgo!!", "attachment://abc", "attachment://" + "z" * 90, "2026-13-40T99:00:00Z"),
    *({"type": "tool_result", "content": [1]}, [{"type": "thinking"}], '{"a": ' * 70 + "1" + "}" * 70, "x" * 3_000),
)


def pack(seed, chance=None):
    """A seed as the bytes of a file."""
    if isinstance(seed, str):
        return seed.encode("utf-8", "surrogatepass")
    if isinstance(seed, tuple):
        return "\n".join(map(json.dumps, seed)).encode()
    if not isinstance(seed, dict) or not any(isinstance(key, Member) for key in seed):
        return json.dumps(seed, indent=chance.choice([None, None, 1]) if chance else None).encode()
    stream = io.BytesIO()
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_ZSTANDARD)
    with zipfile.ZipFile(stream, "w", chance.choice(methods) if chance else zipfile.ZIP_DEFLATED) as archive:
        for name, content in seed.items():
            whole = content if isinstance(content, bytes) else pack(content)
            archive.writestr(str(name), whole)
    return stream.getvalue()


def list_places(value):
    """Every container of a value with each of its keys or indexes."""
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in keys:
        yield value, key
        yield from list_places(inner)


def break_values(seed, chance):
    """The seed with one to three values changed, moved, doubled or taken away."""
    broken = copy.deepcopy(list(seed) if isinstance(seed, tuple) else seed)
    for _ in range(chance.randint(1, 3)):
        places = list(list_places(broken))
        if not places:
            break
        holder, key = chance.choice(places)
        if not (isinstance(holder, list) and key >= len(holder)) and not (
            isinstance(holder, dict) and key not in holder
        ):
            break_one(holder, key, places, chance)
    return tuple(broken) if isinstance(seed, tuple) else broken


def break_one(holder, key, places, chance):
    match chance.randrange(8):
        case 0 | 1 | 2:
            holder[key] = copy.deepcopy(chance.choice(ODD))
        case 3:
            del holder[key]
        case 4:
            # A value of elsewhere: parents that are children, ids that are there already.
            other, at = chance.choice(places)
            if (isinstance(other, list) and at >= len(other)) or (isinstance(other, dict) and at not in other):
                return
            holder[key] = copy.deepcopy(other[at])
        case 5 if isinstance(holder, list):
            holder.insert(chance.randint(0, len(holder)), copy.deepcopy(holder[key]))
        case 6 if isinstance(holder, list):
            chance.shuffle(holder)
        case 7:
            wrapped = holder[key]
            for _ in range(chance.choice([1, 2, 70])):
                wrapped = [wrapped]
            holder[key] = wrapped
        case _:
            others = [each for each, at in places if at == key and isinstance(each, dict)]
            if isinstance(holder, dict) and others:
                holder[key] = copy.deepcopy(chance.choice(others).get(key))


def break_bytes(data, chance):
    """The bytes cut, or with some changed, doubled or put in."""
    at, behind = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    match chance.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[behind:]
        case 2:
            return data[:behind] + data[at:]
        case 3:
            return (
                data[:at] + chance.choice([b"\0", b"\xff", b"\xed\xa0\x80", b"{", b'"', b"\n", b"PK\3\4"]) + data[at:]
            )
        case _:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def list_cuts(seed):
    """A file cut at the end of each of its blocks: lines, values, members."""
    data = pack(seed)
    ends = {at + 1 for at, byte in enumerate(data) if byte in b"\n},]"}
    if data.startswith(b"PK"):
        ends = {at for at in range(len(data)) if data[at : at + 2] == b"PK"} | set(range(0, len(data), 97))
    yield from (data[:end] for end in sorted(ends))


def break_file(seed, chance):
    """One way to break a seed."""
    if chance.random() < 0.2:
        return break_bytes(pack(seed, chance), chance)
    if isinstance(seed, dict) and any(isinstance(key, Member) for key in seed):
        name = chance.choice(list(seed))
        member = seed[name]
        whole = break_bytes(pack(member), chance) if chance.random() < 0.3 else break_values(member, chance)
        members = {**seed, name: whole}
        if chance.random() < 0.1:
            members = {chance.choice([*seed, Member("../x"), Member("a/b.json")]): " " * 2_000_000, **members}
        return pack(members, chance)
    if isinstance(seed, str):
        return break_bytes(pack(seed), chance)
    return pack(break_values(seed, chance), chance)


def check_file(data, format="auto"):
    """Read a file: the refusal in one sentence, or a reading that can be shown and stored. Anything else raises."""
    try:
        read = read_bytes(data, name="x", format=format)
    except ReadError as refused:
        sentence = str(refused)
        assert sentence.startswith("x")
        assert ": found " in sentence
        assert "; expected " in sentence
        assert len(sentence) < 6_000
        sentence.encode()
        return refused
    assert read.format in FORMATS
    assert read.interviews
    lengths = {thread.external_id: len(thread.turns) for thread in read.interviews}
    assert len(lengths) == len(read.interviews)
    for thread in read.interviews:
        assert (thread.hangs_on is None) == (not thread.relation)
        if thread.hangs_on:
            assert 1 <= thread.hangs_on[1] <= lengths[thread.hangs_on[0]]
        prepare_interview(thread)
    preview = Preview()
    for thread in read.interviews:
        preview.add(thread, thread.turns)
    shown = preview.describe(reason=read.reason, left_out=read.left_out)
    told_of = json.dumps([describe_file(read), shown], ensure_ascii=False, allow_nan=False)
    assert "\0" not in told_of
    told_of.encode()
    return read
