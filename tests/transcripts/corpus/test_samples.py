"""Every shared sample beside an independent reading of it: threads, roles, channels, order, active path, calls and results."""

import hashlib
import json

import pytest

from tests.support.shared import SHARED, shared
from tests.transcripts.corpus import plain_reading as plain
from transcripts.formats.interviews import ReadError, read_bytes
from transcripts.formats.interviews.chat_content import pair_results

NOT_A_CONVERSATION = "conversations/interviews/qualcoder_ID1.docx"


def read(path, **options):
    file = shared(f"data/{path}")
    return read_bytes(file.read_bytes(), name=file.name, **options)


def list_turns(thread):
    pairs = pair_results(thread.turns)
    return [(turn.role, turn.channel, turn.text, call) for turn, call in zip(thread.turns, pairs, strict=True)]


def follow(threads):
    """Each thread that begins a conversation, with its own line and those of its branches, from the beginning on."""
    lines = {}
    conversations = {}
    roots = {}
    for thread in threads:
        before = []
        if thread.hangs_on is not None:
            assert thread.relation == "branch"
            above, position = thread.hangs_on
            own = next(each for each in threads if each.external_id == above)
            before = lines[above][: len(lines[above]) - len(own.turns) + position]
        lines[thread.external_id] = [*before, *list_turns(thread)]
        root = roots[thread.hangs_on[0]] if thread.hangs_on else thread.external_id
        roots[thread.external_id] = root
        conversations.setdefault(root, []).append(lines[thread.external_id])
    for thread in threads:
        if thread.hangs_on is None:
            yield thread, conversations[thread.external_id]


def hash_line(line):
    return [(role, channel, hashlib.sha256(text.encode()).hexdigest(), call) for role, channel, text, call in line]


def test_every_sample_is_compared():
    files = {
        str(path.relative_to(SHARED / "data"))
        for folder in ("conversations", "interviews", "trajectories")
        for path in shared(f"data/{folder}").rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    told = {*plain.SAMPLES, *(f"trajectories/langfuse/{name}.trace.json" for name in plain.TRACES)}
    assert files == {*told, NOT_A_CONVERSATION}


@pytest.mark.parametrize("path", plain.SAMPLES)
def test_a_sample_is_read_as_an_independent_reading_reads_it(path):
    format, read_plainly = plain.SAMPLES[path]
    expected = list(read_plainly(shared(f"data/{path}").read_bytes()))
    file = read(path)
    told = list(follow(file.interviews))
    assert file.format == format
    assert len(told) == len(expected)
    for (_, lines), (active, *others) in zip(told, expected, strict=True):
        assert hash_line(lines[0]) == hash_line(active)
        assert sorted(map(hash_line, lines[1:]), key=str) == sorted(map(hash_line, others), key=str)


@pytest.mark.parametrize("path", plain.SAMPLES)
def test_nothing_is_in_two_threads(path):
    """The turns of all threads are as many as the tree has messages: what branches share stands in one of them."""
    _, read_plainly = plain.SAMPLES[path]
    shared_once = 0
    for lines in read_plainly(shared(f"data/{path}").read_bytes()):
        # Messages are told apart by all that was said before them; twins below one message are as many as there are.
        beginnings = {json.dumps(line[: end + 1]) for line in lines for end in range(len(line))}
        shared_once += len(beginnings)
    found = sum(len(thread.turns) for thread in read(path).interviews)
    assert found >= shared_once
    if path != "conversations/oasst/oasst_trees_60.jsonl":
        assert found == shared_once


@pytest.mark.parametrize("name", plain.TRACES)
def test_a_trace_is_read_as_it_was_told_by_hand(name):
    path = f"trajectories/langfuse/{name}.trace.json"
    file = read(path)
    [thread] = file.interviews
    assert file.format == "langfuse"
    told = list_turns(thread)
    assert [(role, channel, call) for role, channel, _, call in told] == [
        (role, channel, call) for role, channel, _, call in plain.TRACES[name]
    ]
    for (_, _, text, _), (_, _, expected, _) in zip(told, plain.TRACES[name], strict=True):
        begins, cut, _ = expected.partition("…")
        assert text.startswith(begins) if cut else text == expected
    # Nothing is told in other words than the file's.
    leaves = set(list_leaves(json.loads(shared(f"data/{path}").read_text())))
    for role, channel, text, _ in told:
        assert text in leaves or (channel == "tool_call" and any(is_same_json(text, leaf) for leaf in leaves)), role


def list_leaves(value):
    """Every text within, also of JSON that is written in a text; objects as JSON."""
    if isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        if inner != value:
            yield from list_leaves(inner)
    elif isinstance(value, dict):
        yield json.dumps(value)
        for each in value.values():
            yield from list_leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from list_leaves(each)


def is_same_json(text, other):
    try:
        return bool(json.loads(text) == json.loads(other))
    except ValueError:
        return False


def test_a_document_in_which_nobody_is_named_is_refused_with_the_way_out():
    with pytest.raises(ReadError, match="plain_text"):
        read(NOT_A_CONVERSATION)
    [interview] = read(NOT_A_CONVERSATION, format="plain_text").interviews
    assert [turn.text for turn in interview.turns] == [
        plain.read_paragraphs(shared(f"data/{NOT_A_CONVERSATION}").read_bytes())
    ]


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        ("trajectories/atif/terminus_2_hello-world-context-summarization.trajectory.summarization-1-answers.json", 5),
        ("trajectories/atif/terminus_2_hello-world-context-summarization.trajectory.summarization-1-summary.json", 3),
    ],
)
def test_copied_steps_are_counted_as_the_file_marks_them(path, left_out):
    steps = json.loads(shared(f"data/{path}").read_text())["steps"]
    assert sum(step.get("is_copied_context") is True for step in steps) == left_out
    assert read(path).left_out["A step that was copied from an earlier run was left out."] == left_out
