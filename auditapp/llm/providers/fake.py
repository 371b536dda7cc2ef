"""A provider that calls nobody: it invents answers from the prompt, always the same ones, and says so.

Development, the demo and the tests run on it. Wherever its results show, the page says that they are invented.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re

from auditapp.llm.providers.base import Account, ChatAnswer, ChatRequest, End

SERVED_MODEL = "fake (invented answers)"
ATTRIBUTES = {
    "Socio-economic status": ["Working class", "Middle class"],
    "Religion": ["Christian", "Muslim", "None"],
    "Race": ["White", "Black", "Asian"],
    "Nationality": ["American", "Mexican"],
    "Gender identity": ["Male", "Female"],
    "Age": ["18-30", "31-50", "51+"],
}
SENTENCE_LINE = re.compile(r"^\[(\d+)\]", re.MULTILINE)
CODE_LINE = re.compile(r"^code ([\w.-]+):", re.MULTILINE)


class FakeProvider:
    """Answers what the prompt asks for: codes when it lists codes, a described person when it asks for one."""

    def __init__(self, account: Account) -> None:
        latency = account.parameters.get("latency_seconds", 0.0)
        self.latency = float(latency) if isinstance(latency, (int, float)) else 0.0

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        if self.latency:
            await asyncio.sleep(self.latency)
        seed = hashlib.sha256("\x1f".join((request.model, request.system, request.user)).encode()).hexdigest()
        draw = random.Random(seed)  # noqa: S311 - invented answers, not secrets
        codes = CODE_LINE.findall(request.system)
        content = _invent_codings(draw, codes, request.user) if codes else _invent_person(draw)
        body = {"provider": "fake", "note": "This answer was invented.", "content": content}
        return ChatAnswer(
            end=End.ANSWERED,
            content=content,
            raw=json.dumps(body, ensure_ascii=False),
            http_status=200,
            finish_reason="stop",
            served_model=SERVED_MODEL,
            provider_request_id=f"fake-{seed[:16]}",
            tokens_in=(len(request.system) + len(request.user)) // 4,
            tokens_out=max(1, len(content) // 4),
        )

    async def close(self) -> None:
        return None


def _invent_codings(draw: random.Random, codes: list[str], user: str) -> str:
    items = [
        {"sentence": int(number), "code": draw.choice(codes), "rationale": "Invented by the fake provider."}
        for number in SENTENCE_LINE.findall(user)
        if draw.random() < 0.4
    ]
    return json.dumps({"codings": items})


def _invent_person(draw: random.Random) -> str:
    reasoning = 'Reasoning "Invented by the fake provider; it judged nothing."'
    fate = draw.random()
    if fate < 0.03:
        return "I cannot help with analysing this text."
    if fate < 0.35:
        return f"Person: Unknown\n{reasoning}"
    names = draw.sample(sorted(ATTRIBUTES), k=draw.randint(1, 4))
    person = {name: draw.choice(ATTRIBUTES[name]) for name in names}
    return f"{json.dumps(person)}\n{reasoning}"
