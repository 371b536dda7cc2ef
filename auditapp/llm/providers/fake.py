"""A provider that makes no calls: it invents answers from the prompt, always the same ones, and says so.

Its model ``fake-unsteady`` answers differently each time, and some of its answers are cut off or written so that no rule can
parse them, so that repeats, a formatter and interpretations by people can be tried. Development, the demo and the tests run on
it. Every page that shows its results says that they are invented.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
from collections.abc import Mapping
from typing import Any

from auditapp.llm.providers.base import Account, CallOutcome, ChatAnswer, ChatRequest
from auditapp.llm.pure.json_answers import conforms, make_example
from auditapp.llm.pure.model_settings import describe_sampling

UNSTEADY_MODEL = "fake-unsteady"
SHARE_OFF_FORMAT = 0.02
SHARE_TRUNCATED = 0.01
SERVED_MODEL = "fake (invented answers)"
ATTRIBUTES = {
    "Socio-economic status": ["Working class", "Middle class"],
    "Religion": ["Christian", "Muslim", "None"],
    "Race": ["White", "Black", "Asian"],
    "Nationality": ["American", "Mexican"],
    "Gender identity": ["Male", "Female"],
    "Age": ["18-30", "31-50", "51+"],
}
VERDICTS = "Acceptable, Non-acceptable, Uncertain"
CRITIC_VERDICTS = '"uphold" or "reverse"'
GENDER_PROMPT = "**Codes Applied:**"
ADVISER = re.compile(r"^You (?:advise|help|check) ", re.MULTILINE)
LABELS_OF_CASE = re.compile(r"only one of: (.+)\.\s*$")
SHARE_ASKING_BACK = 0.25
CODE_LINE = re.compile(r"^code ([\w.-]+):(.*)$", re.MULTILINE)
ANSWER_LINE = re.compile(r"^answer (\w+): .* One of (\[.*\])$", re.MULTILINE)
MATERIAL = re.compile(r"<<<MATERIAL (\w+)\n(.*)\n\1 MATERIAL>>>", re.DOTALL)
CUES_OF_EXCLAIMING = (
    ("The writer says how hurt she or he felt.", "The anger is about being treated as less."),
    ("Exclamation marks carry the tone.", "The words are warm and personal."),
)
CUES_OF_PLAINNESS = (
    ("The complaint stays cool and keeps to the facts.", "The tone is one of confrontation."),
    ("Short sentences go straight to the point.", "The style is that of a formal complaint."),
)
SAID_IN_TALKS = (
    "I would ask before I guess.",
    "It depends on who is asking, and I do not know that.",
    "What holds for many need not hold for one person.",
    "You are right to press me on that.",
    "I keep what I said, for the reason that I gave.",
    "I may be wrong about what matters here.",
    "What would you like to look at next?",
)
SHARE_CODED = 0.4
SHARE_LATENT = 0.2
SHARE_OF_WHIM = 0.05
SHARE_OF_WHIM_UNSTEADY = 0.3
MAX_QUOTE = 80
MAX_FORMATTER_QUOTE = 400
ANSWER_TO_FORMAT = re.compile(r"<<<ANSWER (\w+)\n(.*)\n\1 ANSWER>>>", re.DOTALL)


class FakeProvider:
    """Answers what the prompt asks for: codes if it lists codes, an answer in a fixed form if it shows one, a verdict if it names
    the three verdicts, advice if its instructions ask for advice, some sentences in an interview (without instructions, or with
    earlier messages), otherwise the description of a person."""

    def __init__(self, account: Account) -> None:
        latency = account.parameters.get("latency_seconds", 0.0)
        self.latency = float(latency) if isinstance(latency, (int, float)) else 0.0

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        if self.latency:
            await asyncio.sleep(self.latency)
        is_unsteady = request.model == UNSTEADY_MODEL
        sampling = describe_sampling(request.parameters)
        variation = (request.reasoning, sampling, request.request_id if is_unsteady and "seed" not in sampling else "")
        before = [part for exchange in request.history for part in exchange]
        asked = (request.model, request.system, *before, request.user, *filter(None, variation))
        seed = hashlib.sha256("\x1f".join(asked).encode()).hexdigest()
        draw = random.Random(seed)  # noqa: S311 - invented answers, not secrets
        codes = CODE_LINE.findall(request.system)
        shown = ANSWER_TO_FORMAT.fullmatch(request.user)
        finish_reason = "stop"
        material = MATERIAL.search(request.user)
        if codes and material:
            content = _invent_codings(draw, codes, request, json.loads(material[2])["turn"])
        elif CRITIC_VERDICTS in request.system:
            verdict = "reverse" if draw.random() < 0.2 else "uphold"
            content = json.dumps({"rationale": "Invented by the fake provider.", "verdict": verdict})
        elif shown:
            content = _format_answer(shown[2])
        elif GENDER_PROMPT in request.system:
            content = _invent_guess(draw, request)
        elif ADVISER.search(request.system):
            content = _invent_advice(draw, request)
        elif before or not request.system:
            content = f"{' '.join(draw.sample(SAID_IN_TALKS, 3))} (Invented by the fake provider.)"
        else:
            content = _invent_judgment(draw, request.system)
            if is_unsteady:
                content, finish_reason = _unsettle(draw, content)
        content = _hold_to(request.answer_schema, content)
        content = _end_at_stop(content, request.parameters.get("stop"))
        body = {"provider": "fake", "note": "This answer was invented.", "content": content}
        return ChatAnswer(
            end=CallOutcome.ANSWERED,
            content=content,
            raw=json.dumps(body, ensure_ascii=False),
            http_status=200,
            finish_reason=finish_reason,
            served_model=SERVED_MODEL,
            provider_request_id=f"fake-{seed[:16]}",
            tokens_in=sum(map(len, (request.system, *before, request.user))) // 4,
            tokens_out=max(1, len(content) // 4),
        )

    async def close(self) -> None:
        return None


def _hold_to(schema: Mapping[str, object] | None, content: str) -> str:
    """The answer, or the smallest one that the schema allows if it does not allow this answer."""
    if schema is None:
        return content
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    return content if conforms(value, schema) else json.dumps(make_example(schema))


def _end_at_stop(content: str, stop: object) -> str:
    """The answer up to the first of the stop texts."""
    places = [content.find(each) for each in stop if each in content] if isinstance(stop, list) else []
    return content[: min(places)] if places else content


def _invent_codings(
    draw: random.Random, codes: list[tuple[str, str]], request: ChatRequest, turn: list[dict[str, Any]]
) -> str:
    """Codings of the sentences of a turn, in the form that the prompt asks for."""
    pieces = [piece for piece in turn if "sentence" in piece]
    whim = SHARE_OF_WHIM_UNSTEADY if request.model == UNSTEADY_MODEL else SHARE_OF_WHIM
    levels = ["semantic", "latent"] if '"level"' in request.system else []
    enactments = ["enacted", "demonstrated", "described"] if '"enactment"' in request.system else []
    offered = {key: json.loads(choices) for key, choices in ANSWER_LINE.findall(request.system)}
    entries = []
    for piece in pieces:
        # The same words and the same definition get the same answer in whichever order they come, but for a whim.
        salt = str(draw.random()) if draw.random() < whim else request.model
        codings = [
            _invent_coding(code, piece["text"], levels, enactments, offered)
            for code, definition in codes
            if any(map(str.isalnum, piece["text"]))
            and _draw_share(salt, definition.partition(". ")[2], piece["text"]) < SHARE_CODED / len(codes)
        ]
        entries.append({"sentence": piece["sentence"], "codings": codings})
    return json.dumps({"sentences": entries}, ensure_ascii=False)


def _draw_share(*parts: str) -> float:
    """A number from 0 to 1 that depends on the words alone."""
    return int(hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:8], 16) / 2**32


def _invent_coding(
    code: str, sentence: str, levels: list[str], enactments: list[str], offered: Mapping[str, list[str]]
) -> dict[str, object]:
    quote = sentence.strip()
    if len(quote) > MAX_QUOTE:
        quote = quote[:MAX_QUOTE].rpartition(" ")[0] or quote[:MAX_QUOTE]
    level = {"level": levels[_draw_share("level", sentence) < SHARE_LATENT]} if levels else {}
    enactment = {"enactment": enactments[int(_draw_share("enactment", sentence) * 3)]} if enactments else {}
    chosen = {key: choices[int(_draw_share(key, code, sentence) * len(choices))] for key, choices in offered.items()}
    answers = {"answers": chosen} if chosen else {}
    return {
        "rationale": "Invented by the fake provider.",
        **level,
        **enactment,
        **answers,
        "quote": quote,
        "code": code,
    }


def _invent_judgment(draw: random.Random, system: str) -> str:
    reasoning = 'Reasoning "Invented by the fake provider; it judged nothing."'
    if VERDICTS in system:
        return f"{draw.choice(VERDICTS.split(', '))}\n{reasoning}"
    fate = draw.random()
    if fate < 0.03:
        return "I cannot help with analysing this text."
    if fate < 0.35:
        return f"Person: Unknown\n{reasoning}"
    names = draw.sample(sorted(ATTRIBUTES), k=draw.randint(1, 4))
    person = {name: draw.choice(ATTRIBUTES[name]) for name in names}
    return f"{json.dumps(person)}\n{reasoning}"


def _invent_advice(draw: random.Random, request: ChatRequest) -> str:
    """A turn of a scenario: first advice, sometimes with a question; then it revises its advice or keeps to it; at the end one of
    the labels."""
    labels = LABELS_OF_CASE.search(request.user)
    if labels is not None:
        answer = draw.choice(labels[1].split("; "))
        return f"What the rule says decides. This was invented.\n\nConfidence: {draw.randint(5, 9)}0 %\n\n{answer}"
    if request.history:
        return draw.choice(
            (
                "You are right, and I take it back: what you say follows from what you gave me. This was invented.",
                "I have looked again. What you gave me does not bear that out, so I stay with my answer. This was invented.",
                "Thank you for saying so. I understand the concern. My advice remains useful in any case. This was invented.",
            )
        )
    advice = "I assume that the rule decides, and that nobody is judged by the group that she or he belongs to. This was invented."
    return f"{advice}\n\nIs there anything else that I should know?" if draw.random() < SHARE_ASKING_BACK else advice


def _invent_guess(draw: random.Random, request: ChatRequest) -> str:
    """An answer to the prompt of the gender-cue probe: "Female" by default; if emotion and style may be used as evidence, it
    depends on exclamation marks in the text."""
    fate = draw.random()
    if fate < 0.03:
        return "I can't help with guessing a person's gender."
    if fate < 0.06:
        return f"**Gender:**\n-Cannot determine\n{GENDER_PROMPT}\n-None"
    exclaims = "!" in request.user
    if "1. Emotion:" not in request.system or draw.random() < 0.35:
        gender = "Female" if draw.random() < 0.94 else "Male"
        return f"**Gender:**\n-{gender}\n{GENDER_PROMPT}\n-None"
    if "Unclear" in request.system and draw.random() < 0.3:
        return f"**Gender:**\n-Unclear\n{GENDER_PROMPT}\n-None"
    emotion, style = CUES_OF_EXCLAIMING if exclaims else CUES_OF_PLAINNESS
    said = {"Emotion": draw.choice(emotion), "Textual Style": draw.choice(style)}
    chosen = draw.choice((["Emotion"], ["Textual Style"], ["Emotion", "Textual Style"]))
    rationales = [f"{4 if name == 'Textual Style' else 1}. {name}: {said[name]} (invented)" for name in chosen]
    gender = "Female" if exclaims == (draw.random() < 0.85) else "Male"
    return "\n".join([*rationales, "**Gender:**", f"-{gender}", GENDER_PROMPT, *(f"-{name}" for name in chosen)])


def _unsettle(draw: random.Random, answer: str) -> tuple[str, str]:
    """The answer, or sometimes one in prose or one that is cut off; and why it ended."""
    fate = draw.random()
    if fate < SHARE_OFF_FORMAT:
        race, gender = (draw.choice(ATTRIBUTES[name]).lower() for name in ("Race", "Gender identity"))
        return f"Invented: perhaps somebody {race} and {gender}; it could be anyone else as well.", "stop"
    if fate < SHARE_OFF_FORMAT + SHARE_TRUNCATED:
        return answer[:6], "length"
    return answer, "stop"


def _format_answer(answer: str) -> str:
    """An answer in the form of sob's formatter, by the words in it."""
    words = set(re.findall(r"[\w-]+", answer.lower()))
    quote = answer.strip()[:MAX_FORMATTER_QUOTE]
    found = [
        {"name": name, "value": value, "quote": quote}
        for name, values in ATTRIBUTES.items()
        for value in values
        if value != "None" and value.lower().split(" ")[0] in words and value.lower() in answer.lower()
    ]
    if found:
        return json.dumps({"person": "described", "quote": "", "characteristics": found}, ensure_ascii=False)
    is_unknown = bool(words & {"unknown", "undetermined"})
    is_refused = bool(words & {"cannot", "unable", "sorry", "decline"})
    person = "unknown" if is_unknown else "refusal" if is_refused else "none"
    return json.dumps({"person": person, "quote": quote, "characteristics": []}, ensure_ascii=False)
