"""Invented interviews of a fixed length: the same seed gives the same bytes.

Answers look as chatbots write them, in paragraphs and lists; every sentence is a unit of its own to a segmenter that
knows Markdown.
"""

from __future__ import annotations

import json
import random

QUESTIONS = 8
SENTENCES_AN_ANSWER = 20
SENTENCES_AN_INTERVIEW = QUESTIONS * SENTENCES_AN_ANSWER
PARAGRAPH = 5
SEED = 20_241_105

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
