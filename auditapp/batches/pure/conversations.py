"""Conversations: what is sent when a call continues an earlier one, and how an attempt keeps it. Texts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transcripts.corpus.pure.thinking import split_thinking

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
# A question and the words of the answer to it.
Exchange = tuple[str, str]
# A message as attempts keep it, and as chat APIs take it: ``role`` and ``content``.
Message = Mapping[str, str]


class Conversation(NamedTuple):
    """One call's messages: the instructions, what was said before, and the user message that is to be answered."""

    system: str
    history: Sequence[Exchange]
    user: str


def read_words(answer: str) -> str:
    """The words of a stored answer that later calls send back: all of it, byte for byte, but for reasoning that a server left
    in the text between marks."""
    pieces = split_thinking(answer)
    return "".join(words for is_thought, words in pieces if not is_thought)


def keep_messages(conversation: Conversation, instructions: str) -> list[Message] | None:
    """The messages before the user's, in order, as an attempt keeps them; ``None`` where they are the arm's ``instructions``
    alone."""
    if not conversation.history and conversation.system == instructions:
        return None
    system: list[Message] = [{"role": SYSTEM, "content": conversation.system}] if conversation.system else []
    said: list[Message] = [
        {"role": role, "content": content}
        for exchange in conversation.history
        for role, content in zip((USER, ASSISTANT), exchange, strict=True)
    ]
    return system + said


def revive_conversation(messages: Sequence[Message] | None, prompt: str, instructions: str) -> Conversation:
    """The conversation of an attempt from its ``history`` and its ``prompt``; the opposite of ``keep_messages``."""
    if messages is None:
        return Conversation(instructions, (), prompt)
    has_system = bool(messages) and messages[0]["role"] == SYSTEM
    said = [each["content"] for each in messages[has_system:]]
    exchanges = tuple(zip(said[::2], said[1::2], strict=True))
    return Conversation(messages[0]["content"] if has_system else "", exchanges, prompt)
