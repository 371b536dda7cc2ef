"""What is right about the shared samples, read from their bytes in a few plain lines a format, without the readers.

A reading is the lines of each conversation from its beginning to each end: the first is the active path, the others are
branches. A line is a list of turns, (role, channel, text, position of the call whose result it is).
"""

import io
import json
import re
import zipfile

Turn = tuple[str, str, str, int | None]
Conversation = list[list[Turn]]

ROLES = {"system": "system", "user": "interviewer", "human": "interviewer", "assistant": "model", "gpt": "model"}


def read_lines(data):
    return [json.loads(line) for line in data.decode().split("\n") if line.strip()]


def say(role, text):
    return (ROLES[role], "utterance", text, None)


class Line:
    """A line of turns that grows, and knows the calls in it."""

    def __init__(self):
        self.turns = []
        self.calls = {}
        self.last = []

    def add(self, role, channel, text):
        if text.strip():
            self.turns.append((role, channel, text, None))

    def call(self, arguments, call_id):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        self.turns.append(("model", "tool_call", text, None))
        self.calls[call_id] = len(self.turns)

    def result(self, text, call_id):
        self.turns.append(("tool", "tool_result", text, self.calls.get(call_id)))


def read_openai(messages):
    line = Line()
    for message in messages:
        if message["role"] == "tool":
            line.result(message["content"], message.get("tool_call_id") or message["tool_call_ids"][0])
            continue
        line.add(ROLES[message["role"]], "utterance", message["content"] or "")
        for call in message.get("tool_calls") or []:
            line.call(call["function"]["arguments"], call["id"])
    return line.turns


def read_hh_rlhf(data):
    for row in read_lines(data):
        yield [read_pairs(row["chosen"]), read_pairs(row["rejected"])]


def read_pairs(text):
    _, *pieces = re.split(r"\n\n(Human|Assistant):", text)
    said = zip(pieces[::2], pieces[1::2], strict=True)
    return [say("human" if who == "Human" else "assistant", words.removeprefix(" ")) for who, words in said]


def read_oasst(data):
    for row in read_lines(data):
        lines = []
        follow(row["prompt"], [], lines)
        yield lines


def follow(message, before, lines):
    """The best ranked replies first, so that the first line is theirs."""
    here = [*before, say("human" if message["role"] == "prompter" else "assistant", message["text"])]
    replies = sorted(message["replies"], key=lambda reply: 99 if reply.get("rank") is None else reply["rank"])
    for reply in replies:
        follow(reply, here, lines)
    if not replies:
        lines.append(here)


def read_sharegpt(data):
    for row in json.loads(data):
        yield [[say(turn["from"], turn["value"]) for turn in row["conversations"]]]


def read_chat(data):
    for row in read_lines(data):
        yield [read_openai(row["messages"])]


def read_chatgpt(data):
    """These have no ``current_node``: the active path ends at the leaf that was written last."""
    for row in json.loads(data):
        nodes = row["mapping"]
        leaves = [key for key, node in nodes.items() if not node["children"]]
        leaves.sort(key=lambda key: nodes[key]["message"].get("create_time", 0), reverse=True)
        yield [climb(leaf, nodes) for leaf in leaves]


def climb(leaf, nodes):
    line = []
    key = leaf
    while key:
        if message := nodes[key]["message"]:
            line.insert(0, say(message["author"]["role"], "\n".join(message["content"]["parts"])))
        key = nodes[key].get("parent")
    return line


def read_claude(data):
    for row in json.loads(data):
        line = Line()
        for message in row["chat_messages"]:
            add_parts(line, ROLES[message["sender"]], message["content"])
        yield [line.turns]


def add_parts(line, role, parts):
    for part in parts:
        match part["type"]:
            case "text":
                line.add(role, "utterance", part.get("text") or part["value"])
            case "thinking" | "reasoning":
                line.add(role, "reasoning", part.get("thinking") or part["value"])
            case "tool_use":
                line.call(part["input"], part["id"])
            case "tool_result":
                told = part["content"]
                text = told if isinstance(told, str) else "\n".join(each["text"] for each in told)
                line.result(text, part["tool_use_id"])
            case other:
                raise AssertionError(other)


def read_heads(data):
    """ "Name  00:15" above what somebody says; the first asks."""
    text = data.decode("utf-8-sig") if not data.startswith(b"PK") else read_paragraphs(data)
    pieces = re.split(r"(?m)^([A-Z]\w+(?: [A-Z]\w+)?) {2,}\(?[\d:]{4,8}\)?[ \t]*\r?\n", text)
    turns = list(zip(pieces[1::2], pieces[2::2], strict=True))
    asks = turns[0][0]
    yield [[say("user" if name == asks else "assistant", said.rstrip("\r\n")) for name, said in turns]]


def read_paragraphs(data):
    document = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml").decode()
    entities = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
    lines = []
    for paragraph in re.findall(r"<w:p(?: [^>]*)?/>|<w:p[ >].*?</w:p>", document, re.DOTALL):
        words = re.sub(r"<w:tab/>", "\t", re.sub(r"<w:br[^>]*/>", "\n", paragraph))
        kept = "".join(
            part[1] or part[0] for part in re.findall(r"(?:(?<=>)([\t\n])(?=<))|<w:t(?: [^>]*)?>([^<]*)</w:t>", words)
        )
        for entity, sign in entities.items():
            kept = kept.replace(entity, sign)
        lines.append(kept + "\n")
    return "".join(lines)


def read_bracketed(data):
    pieces = re.split(r"(?m)^\[(id\d)\] ", data.decode())
    turns = list(zip(pieces[1::2], pieces[2::2], strict=True))
    yield [[say("user" if name == "id1" else "assistant", said.rstrip("\n")) for name, said in turns]]


def read_cues(data):
    """Cues are parted by empty lines; two seconds of silence begin a turn."""
    turns = []
    before = 0.0
    for block in data.decode().replace("\r\n", "\n").split("\n\n"):
        lines = block.strip("\n").split("\n")
        at = next((number for number, line in enumerate(lines) if "-->" in line), None)
        words = " ".join(" ".join(lines[at + 1 :]).split()) if at is not None else ""
        if at is None or not words:
            continue
        start, end = map(read_clock, lines[at].split("-->"))
        if turns and start - before < 2:
            turns[-1].append(words)
        else:
            turns.append([words])
        before = end
    yield [[say("assistant", " ".join(turn)) for turn in turns]]


def read_clock(time):
    *hours, minutes, seconds = time.strip().replace(",", ".").split(":")
    return int(hours[0] if hours else 0) * 3600 + int(minutes) * 60 + float(seconds)


def read_interviews(data):
    for row in read_lines(data):
        turns = row.get("turns") or [{"role": "model", "text": row["text"]}]
        yield [[(turn["role"], "utterance", turn["text"], None) for turn in turns]]


def read_atif(data):
    line = Line()
    for step in json.loads(data)["steps"]:
        if step.get("is_copied_context"):
            continue
        role = {"user": "interviewer", "system": "system", "agent": "model"}[step["source"]]
        line.add(role, "reasoning", step.get("reasoning_content") or "")
        line.add(role, "utterance", step["message"])
        for call in step.get("tool_calls") or []:
            line.call(call["arguments"], call["tool_call_id"])
        for result in (step.get("observation") or {}).get("results", []):
            if "content" in result:
                # Where it does not say whose it is, the step made one call.
                line.result(result["content"], result.get("source_call_id") or step["tool_calls"][0]["tool_call_id"])
    yield [line.turns]


def read_claude_code(data):
    line = Line()
    for row in read_lines(data):
        if row["type"] in {"user", "assistant"}:
            content = row["message"]["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            add_parts(line, ROLES[row["type"]], parts)
    yield [line.turns]


def read_inspect(data):
    if data.startswith(b"PK"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = [name for name in archive.namelist() if re.fullmatch(r"samples/[^/]+\.json", name)]
        samples = [json.loads(archive.read(name)) for name in names]
        # An archive has them in the order in which they ended; people read them by epoch and number.
        samples.sort(key=lambda each: (each["epoch"], len(str(each["id"])), str(each["id"])))
    else:
        samples = json.loads(data)["samples"]
    for sample in samples:
        line = Line()
        for message in sample["messages"]:
            content = message["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            text = "\n".join(parts)
            if text.startswith("attachment://"):
                text = sample["attachments"][text.removeprefix("attachment://")]
            if message["role"] == "tool":
                # Of a call that failed and gave nothing back the log has what went wrong.
                text = text or (message.get("error") or {}).get("message", "")
                line.result(text.replace("\0", "\u2400"), message["tool_call_id"])
                continue
            line.add(ROLES[message["role"]], "utterance", text)
            for call in message.get("tool_calls") or []:
                line.call(call["arguments"], call["id"])
        yield [line.turns]


def read_mini_swe(data):
    said = [(message["role"], message["content"]) for message in json.loads(data)]
    yield [
        [
            ("tool", "tool_result", text, None)
            if role == "user" and text.startswith("<returncode>")
            else say(role, text)
            for role, text in said
        ]
    ]


def read_swe(data):
    history = [message for message in json.loads(data)["history"] if not message.get("is_demo")]
    turns = read_openai(history)
    if not any(message["role"] == "tool" for message in history):
        # The first message of the user is the task; the others are what commands printed.
        task = next(turn for turn in turns if turn[0] == "interviewer")
        turns = [
            ("tool", "tool_result", turn[2], None) if turn[0] == "interviewer" and turn is not task else turn
            for turn in turns
        ]
    yield [turns]


def read_tau(data):
    for row in json.loads(data):
        yield [read_openai(row["traj"])]


def list_results(told):
    """What each of several calls gave, where one text tells of all."""
    try:
        results = json.loads(told)
        contents = [(each["name"], each["content"])[1] for each in results]
    except (ValueError, KeyError, TypeError):
        return [told]
    return [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in contents]


def read_typed(data):
    """A call is text with the whole call, of which the arguments count; a result goes with the first call of the group before it
    that has none, and one message may hold the results of several calls, each with the name of its tool."""
    for row in read_lines(data):
        line, waiting = Line(), list[int]()
        for message in row["messages"]:
            is_first = True
            for part in message["content"]:
                if part["type"] == "tool_call":
                    waiting = [] if is_first else waiting
                    is_first = False
                    # The arguments are all that stands between the key and the brace that closes the call.
                    arguments = part["value"].split('"arguments": ', 1)[1].removesuffix("}")
                    line.turns.append(("model", "tool_call", arguments, None))
                    waiting.append(len(line.turns))
                elif message["role"] == "tool":
                    for result in list_results(part["value"]):
                        at = waiting.pop(0) if waiting else None
                        line.turns.append(("tool", "tool_result", result, at))
                else:
                    add_parts(line, ROLES[message["role"]], [part])
        yield [line.turns]


SAMPLES = {
    "conversations/chatgpt_export/context_carry_conversations.json": ("chatgpt_export", read_chatgpt),
    "conversations/chatgpt_export/ctxray_conversations.json": ("chatgpt_export", read_chatgpt),
    "conversations/chatgpt_export/demoConversations.json": ("chatgpt_export", read_chatgpt),
    "conversations/claude_export/context_carry_claude_web_conversations.json": ("claude_export", read_claude),
    "conversations/claude_export/ctxray_claude_chat_export.json": ("claude_export", read_claude),
    "conversations/hh_rlhf/harmless_base_test_200.jsonl": ("hh_rlhf", read_hh_rlhf),
    "conversations/interviews/BSR09_transcript_deidentified.docx": ("speaker_text", read_heads),
    "conversations/interviews/BSR09_transcript_deidentified.txt": ("speaker_text", read_heads),
    "conversations/interviews/DC03_transcript_deidentified.docx": ("speaker_text", read_heads),
    "conversations/interviews/DC03_transcript_deidentified.txt": ("speaker_text", read_heads),
    "conversations/interviews/goodboy_galaxy.srt": ("captions", read_cues),
    "conversations/interviews/goodboy_galaxy.vtt": ("captions", read_cues),
    "conversations/interviews/q_cubed_interview.md": ("speaker_text", read_heads),
    "conversations/interviews/qualcoder_transcript.txt": ("speaker_text", read_bracketed),
    "conversations/oasst/oasst_trees_60.jsonl": ("oasst", read_oasst),
    "conversations/openai_messages/chat_messages_120.jsonl": ("chat_messages", read_chat),
    "conversations/sharegpt/fastchat_dummy_120.json": ("sharegpt", read_sharegpt),
    "conversations/sharegpt/sharegpt_original_example.json": ("sharegpt", read_sharegpt),
    "interviews/excerpts.jsonl": ("interview_jsonl", read_interviews),
    "interviews/inline_quotes.jsonl": ("interview_jsonl", read_interviews),
    **{
        f"trajectories/atif/{name}.json": ("atif", read_atif)
        for name in (
            "openhands_hello-world.trajectory",
            "terminus_2_hello-world-context-summarization.trajectory",
            "terminus_2_hello-world-context-summarization.trajectory.summarization-1-answers",
            "terminus_2_hello-world-context-summarization.trajectory.summarization-1-questions",
            "terminus_2_hello-world-context-summarization.trajectory.summarization-1-summary",
            "terminus_2_hello-world-timeout.trajectory",
        )
    },
    **{
        f"trajectories/claude_code/{name}.jsonl": ("claude_code", read_claude_code)
        for name in ("agent_session", "simple_conversation", "tool_call_conversation")
    },
    **{
        f"trajectories/inspect_eval/{name}": ("inspect", read_inspect)
        for name in (
            "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval",
            "2025-05-12T20-28-13-04-00_popularity.json",
            "2025-05-12T20-28-26-04-00_security-guide.json",
            "docent_sample_log.eval",
            "log_formats.eval",
            "log_formats.json",
            "log_read_sample.eval",
            "log_read_sample.json",
        )
    },
    "trajectories/mini_swe_agent/github_issue.traj.json": ("message_list", read_mini_swe),
    "trajectories/openai_messages/airline_chat_tools_12.jsonl": ("chat_messages", read_chat),
    **{
        f"trajectories/swe_agent/{name}.traj": ("swe_agent", read_swe)
        for name in ("function_calling_simple", "marshmallow_default", "marshmallow_function_calling")
    },
    "trajectories/tau_bench/gpt-4o-airline_first12.json": ("tau_bench", read_tau),
    "trajectories/typed_messages/reason_tool_use_50.jsonl": ("chat_messages", read_typed),
}
"""Every sample whose format says what was said: its format, and how it is read here. Traces of Langfuse are told by hand."""

TRACES = {
    "claude-agent-2025-12-22": [
        ("system", "utterance", "You are a friendly travel assistant who helps with weather information.", None),
        ("interviewer", "utterance", "What's the weather like in Berlin and New York?", None),
        ("model", "utterance", "I'll check the weather in both Berlin and New York for you.", None),
        ("model", "tool_call", '{"city": "Berlin"}', None),
        ("model", "tool_call", '{"city": "New York"}', None),
        ("tool", "tool_result", "Weather in Berlin: Cloudy, 59°F", 4),
        ("tool", "tool_result", "Weather in New York: Sunny, 75°F", 5),
        ("model", "utterance", "Great! Here's the current weather for both cities:…", None),
    ],
    "langgraph-python-2025-08-22": [
        ("interviewer", "utterance", "Be helpful!", None),
        ("interviewer", "utterance", "Search the web for 'example' and summarize.", None),
        ("model", "tool_call", '{"query":"example"}', None),
        ("tool", "tool_result", '[{"url": "https://example.com", "title": "Example Result", "q": "example"}]', 3),
        ("model", "utterance", 'The search for "example" primarily leads to the website…', None),
    ],
    "microsoft-agent-2025-12-17": [
        ("system", "utterance", "You are a helpful assistant.", None),
        ("interviewer", "utterance", "What's the weather in Tokyo?", None),
        ("model", "tool_call", '{"location":"Tokyo, Japan"}', None),
        ("tool", "tool_result", '{"type": "function_result", "call_id": "call_CwaJHuXTm9dmHFQPlVbqyzJ0", "result"…', 3),
        ("model", "utterance", "Current conditions in Tokyo, Japan: stormy, high around 23°C.", None),
    ],
    "openai-agents-2025-09-30": [
        ("system", "utterance", "You are a helpful agent.", None),
        ("interviewer", "utterance", "What's the weather in Tokyo?", None),
        ("model", "tool_call", '{"city":"Tokyo"}', None),
        ("tool", "tool_result", "The weather in Tokyo is sunny.", 3),
        ("model", "utterance", "The weather in Tokyo is currently sunny. If you need more details…", None),
    ],
    "pydantic-ai-2025-06-06": [
        (
            "system",
            "utterance",
            "You are a helpful assistant that answers questions clearly and concisely.",
            None,
        ),
        ("interviewer", "utterance", "What is Langfuse?", None),
        ("model", "utterance", "Langfuse is a tool designed for observability and monitoring of applications…", None),
    ],
    "vercel-aisdk-2025-11-17": [
        ("interviewer", "utterance", "What is the weather like today in San Francisco?", None),
        ("model", "tool_call", '{"location":"San Francisco"}', None),
        ("tool", "tool_result", '{"location":"San Francisco","temperature":64}', 2),
    ],
}
"""The one thread of each trace of Langfuse. A text that ends with … is its beginning."""
