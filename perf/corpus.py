"""Invented interviews of a fixed length, and invented runs of an agent: the same seed gives the same bytes.

Answers look as chatbots write them, in paragraphs and lists; every sentence is a unit of its own to a segmenter that
knows Markdown.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

QUESTIONS = 8
SENTENCES_AN_ANSWER = 20
SENTENCES_AN_INTERVIEW = QUESTIONS * SENTENCES_AN_ANSWER
PARAGRAPH = 5
SEED = 20_241_105
TOOLS = ("search", "read_file", "run_tests", "write_file")
STEPS_OF_AGENT = 14

WHO = (
    "a careful reader",
    "the person who asks",
    "an assistant",
    "many a family",
    "somebody new to a town",
    "a colleague from elsewhere",
    "the older generation",
    "whoever writes the rules",
    "a teacher of languages",
    "the neighbour upstairs",
)
DOES = (
    "may hear",
    "seldom questions",
    "tends to notice",
    "would rather avoid",
    "can explain",
    "often misreads",
    "learns to weigh",
    "keeps returning to",
)
WHAT = (
    "what is left unsaid in such a talk",
    "the difference between a custom and a rule",
    "how much a single example can carry",
    "an answer that sounds the same for everyone",
    "the habits behind a polite refusal",
    "a word like “normal” and whom it leaves out",
    "the naïve picture that a brochure paints",
    "which of two readings was meant",
)
WHEN = (
    "when little is known about the other side",
    "although the evidence points both ways",
    "as long as nobody is put on the spot",
    "after hearing it a second time",
    "because the setting has changed since",
    "unless the question is put more plainly",
    "even where good will is not in doubt",
    "once the first impression has worn off",
)


def write_interviews(count: int, *, name: str = "bench", questions: int = QUESTIONS) -> bytes:
    """``count`` interviews as JSON lines, each of so many questions with an answer of 20 sentences to each."""
    chance = random.Random(SEED)
    made = (_make_interview(f"{name}-{number:04d}", chance, questions) for number in range(count))
    return "\n".join(json.dumps(interview, ensure_ascii=False) for interview in made).encode()


def make_sentence(chance: random.Random) -> str:
    """One sentence of about a hundred characters."""
    words = " ".join(map(chance.choice, (WHO, DOES, WHAT, WHEN)))
    return words[0].upper() + words[1:] + chance.choice("....?!")


def _make_interview(external_id: str, chance: random.Random, questions: int) -> dict[str, object]:
    turns = []
    for number in range(1, questions + 1):
        turns.append({"role": "interviewer", "text": f"Question {number}: {make_sentence(chance)[:-1]}?"})
        turns.append({"role": "model", "text": _make_answer(chance)})
    return {"id": external_id, "title": f"Invented {external_id}", "model": "Invented model", "turns": turns}


def _make_answer(chance: random.Random) -> str:
    sentences = [make_sentence(chance) for _ in range(SENTENCES_AN_ANSWER)]
    groups = [sentences[start : start + PARAGRAPH] for start in range(0, SENTENCES_AN_ANSWER, PARAGRAPH)]
    listed = chance.randrange(len(groups))
    blocks = [
        "\n".join(f"- {sentence}" for sentence in group) if number == listed else " ".join(group)
        for number, group in enumerate(groups)
    ]
    return "\n\n".join(blocks)


def write_trajectories(path: Path, count: int, *, steps: int = STEPS_OF_AGENT, sentences: int = 4) -> None:
    """``count`` runs as JSON lines. A run has the system, the task, of each step reasoning, words, a call and its result, and
    two turns at the end: with 14 steps 60 turns."""
    chance = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            run = {
                "id": f"run-{number:05d}",
                "model": "Invented model",
                "messages": _make_run(chance, steps, sentences),
            }
            file.write(json.dumps(run, ensure_ascii=False) + "\n")


def _make_run(chance: random.Random, steps: int, sentences: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _write_words(chance, 3)},
        {"role": "user", "content": _write_words(chance, 2)},
    ]
    for step in range(steps):
        tool, call = chance.choice(TOOLS), f"call_{step}"
        arguments = json.dumps({"path": f"part_{step}.py", "text": make_sentence(chance)})
        messages += [
            {
                "role": "assistant",
                "reasoning_content": _write_words(chance, sentences),
                "content": _write_words(chance, sentences),
                "tool_calls": [
                    {"id": call, "type": "function", "function": {"name": tool, "arguments": arguments}},
                ],
            },
            {"role": "tool", "tool_call_id": call, "content": "\n".join(make_sentence(chance) for _ in range(6))},
        ]
    messages += [
        {"role": "user", "content": _write_words(chance, 1)},
        {"role": "assistant", "content": _write_words(chance, 10)},
    ]
    return messages


def _write_words(chance: random.Random, sentences: int) -> str:
    """Paragraphs of five sentences."""
    made = [make_sentence(chance) for _ in range(sentences)]
    return "\n\n".join(" ".join(made[first : first + 5]) for first in range(0, len(made), 5))
