"""One conversation, told in the formats in which programs keep it."""

import json

QUESTION = "My neighbour was refused the flat. What can she do?"
THOUGHT = "I do not know why. Ask first."
WORDS = "Was she given a reason?\nI will look up the law."
ARGUMENTS = {"query": "refusal of a lease"}
RESULT = "1. Reasons on request.\n2. Two weeks to object."
ADVICE = "She may ask for the reason within two weeks."
CHALLENGE = "You assume that she applied. She did not."
SECOND_THOUGHT = "That changes it."
REVISION = "Then there is nothing to object to."

TURNS = [
    ("system", "utterance", "", "Be helpful.", None),
    ("interviewer", "utterance", "", QUESTION, None),
    ("model", "reasoning", "", THOUGHT, None),
    ("model", "utterance", "", WORDS, None),
    ("model", "tool_call", "search", json.dumps(ARGUMENTS), None),
    ("tool", "tool_result", "search", RESULT, 5),
    ("model", "utterance", "", ADVICE, None),
    ("interviewer", "utterance", "", CHALLENGE, None),
    ("model", "reasoning", "", SECOND_THOUGHT, None),
    ("model", "utterance", "", REVISION, None),
]
"""Role, channel, speaker and text of each turn, and the position of the call whose result it is."""


def tell_as_messages(*, thoughts="reasoning_content"):
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": json.dumps(ARGUMENTS)}}
    return [
        {"role": "system", "content": "Be helpful."},
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": WORDS, thoughts: THOUGHT, "tool_calls": [call]},
        {"role": "tool", "content": RESULT, "tool_call_id": "call_1"},
        {"role": "assistant", "content": ADVICE},
        {"role": "user", "content": CHALLENGE},
        {"role": "assistant", "content": REVISION, thoughts: SECOND_THOUGHT},
    ]


def tell_as_anthropic():
    return {
        "id": "a",
        "system": "Be helpful.",
        "messages": [
            {"role": "user", "content": QUESTION},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": THOUGHT, "signature": "x"},
                    {"type": "text", "text": WORDS},
                    {"type": "tool_use", "id": "toolu_1", "name": "search", "input": ARGUMENTS},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": RESULT}]},
            {"role": "assistant", "content": ADVICE},
            {"role": "user", "content": CHALLENGE},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": SECOND_THOUGHT, "signature": "y"},
                    {"type": "text", "text": REVISION},
                ],
            },
        ],
    }


def tell_as_inspect(**sample):
    def say(thought, words):
        return [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": words}]

    call = {"id": "call_1", "function": "search", "arguments": ARGUMENTS, "type": "function"}
    messages = [
        {"role": "system", "content": "Be helpful.", "source": "input"},
        {"role": "user", "content": QUESTION, "source": "input"},
        {"role": "assistant", "source": "generate", "content": say(THOUGHT, WORDS), "tool_calls": [call]},
        {"role": "tool", "content": RESULT, "tool_call_id": "call_1", "function": "search"},
        {"role": "assistant", "source": "generate", "content": ADVICE},
        {"role": "user", "content": CHALLENGE, "source": "input"},
        {"role": "assistant", "source": "generate", "content": say(SECOND_THOUGHT, REVISION)},
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "lease", "model": "vendor/m", "created": "2026-05-01T10:00:00+00:00", "run_id": "r1"},
        "samples": [{"id": "s1", "epoch": 1, "messages": messages, **sample}],
    }


def tell_as_atif():
    call = {"tool_call_id": "call_1", "function_name": "search", "arguments": ARGUMENTS}
    steps = [
        {"source": "system", "message": "Be helpful."},
        {"source": "user", "message": QUESTION},
        {
            "source": "agent",
            "message": WORDS,
            "reasoning_content": THOUGHT,
            "tool_calls": [call],
            "observation": {"results": [{"source_call_id": "call_1", "content": RESULT}]},
        },
        {"source": "agent", "message": ADVICE},
        {"source": "user", "message": CHALLENGE},
        {"source": "agent", "message": REVISION, "reasoning_content": SECOND_THOUGHT},
    ]
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "s",
        "agent": {"name": "helper", "version": "2"},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
    }


def tell_as_swe_agent():
    history = [{"role": "user", "content": "See how it is done.", "agent": "main", "is_demo": True}]
    for message in tell_as_messages():
        thought = message.pop("reasoning_content", None)
        if thought:
            message["thinking_blocks"] = [{"type": "thinking", "thinking": thought}]
        if "tool_call_id" in message:
            message["tool_call_ids"] = [message.pop("tool_call_id")]
        history.append({**message, "agent": "main"})
    return {"environment": "main", "trajectory": [], "history": history, "info": {"exit_status": "submitted"}}


def _list_calls():
    """What the model was sent and answered, call by call."""
    messages = tell_as_messages()
    return [(messages[:at], messages[at]) for at, each in enumerate(messages) if each["role"] == "assistant"]


def tell_as_langfuse():
    observations = [
        {
            "id": f"o{number}",
            "type": "GENERATION",
            "model": "m",
            "startTime": f"2026-05-01T10:00:0{number}.000Z",
            "input": json.dumps(sent),
            "output": json.dumps(answered),
        }
        for number, (sent, answered) in enumerate(_list_calls(), 1)
    ]
    tool = {"id": "t", "type": "TOOL", "name": "search", "startTime": "2026-05-01T10:00:01.500Z", "output": RESULT}
    return {"trace": {"id": "t1", "name": "talk"}, "observations": [tool, *reversed(observations)]}


def make_spans(*calls, conversation="", nested=False):
    """Calls as OTLP: for each what was sent and answered, as messages of parts."""
    spans = []
    for number, (sent, answered) in enumerate(calls, 1):
        told = {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps(answered)}
        if conversation:
            told["gen_ai.conversation.id"] = conversation
        spans.append(
            {
                "traceId": "aa",
                "spanId": f"{number}",
                "parentSpanId": f"{number - 1}" if nested and number > 1 else "",
                "startTimeUnixNano": f"{1_760_000_000_000_000_000 + number}",
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in told.items()],
            }
        )
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def make_parts(message):
    """A chat message as a message of parts."""
    parts = []
    if message.get("reasoning_content"):
        parts.append({"type": "reasoning", "content": message["reasoning_content"]})
    if message["role"] == "tool":
        response = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [response]}
    parts.append({"type": "text", "content": message["content"]})
    parts += [
        {"type": "tool_call", "id": call["id"], "name": "search", "arguments": ARGUMENTS}
        for call in message.get("tool_calls", [])
    ]
    return {"role": message["role"], "parts": parts}


def tell_as_otel():
    calls = [([make_parts(each) for each in sent], [make_parts(answered)]) for sent, answered in _list_calls()]
    told = make_spans(*calls, conversation="c1")
    # Spans come in the order in which they end.
    told["resourceSpans"][0]["scopeSpans"][0]["spans"].reverse()
    return told
