"""Calls that continue others: the order in which they are planned, which earlier messages are sent, and how an attempt stores
them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from transcripts.formats.thinking import split_thinking

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
# A question and the words of the answer to it.
Exchange = tuple[str, str]
# A message as attempts keep it, and as chat APIs take it: ``role`` and ``content``.
Message = Mapping[str, str]


class OutOfOrder(ValueError):
    """An input continues one that is not asked before it under the same arm; the message names both."""


def list_conversations(inputs: Sequence[int], after: Mapping[int, int]) -> list[list[int]]:
    """The inputs of an arm in conversations, each in the order in which it is asked.

    An input that neither continues another nor is continued is a conversation of one. ``after`` names the input that another one
    continues. Several may continue the same one. Raises ``OutOfOrder``.
    """
    if not after:
        return [[each] for each in inputs]
    conversation_of: dict[int, list[int]] = {}
    conversations: list[list[int]] = []
    for each in inputs:
        previous = after.get(each)
        if previous is None:
            conversation_of[each] = []
            conversations.append(conversation_of[each])
        elif previous in conversation_of:
            conversation_of[each] = conversation_of[previous]
        else:
            raise OutOfOrder(f"Input {each} continues input {previous}, which is not asked before it.")
        conversation_of[each].append(each)
    return conversations


def list_depths(conversation: Sequence[int], after: Mapping[int, int]) -> dict[int, Sequence[int]]:
    """The inputs that are asked before each input of a conversation, oldest first."""
    before: dict[int, Sequence[int]] = {}
    for each in conversation:
        previous = after.get(each)
        before[each] = () if previous is None else (*before[previous], previous)
    return before


def count_drawn(conversations: int, cells: int, calls: int) -> int:
    """How many whole conversations make a pilot of at least ``calls`` calls, given the mean length of a conversation."""
    return math.ceil(calls * conversations / cells) if cells else 0


def cut_by_length(conversations: Sequence[Sequence[int]], at_most: int) -> list[list[Sequence[int]]]:
    """The conversations in groups of about ``at_most`` inputs. No conversation is divided."""
    groups: dict[int, list[Sequence[int]]] = defaultdict(list)
    place = 0
    for conversation in conversations:
        groups[place // at_most].append(conversation)
        place += len(conversation)
    return list(groups.values())


class Conversation(NamedTuple):
    """One call's messages: the instructions, the earlier messages, and the user message to be answered."""

    system: str
    history: Sequence[Exchange]
    user: str


def read_words(answer: str) -> str:
    """The words of a stored answer that later calls send back: all of it, byte for byte, except for reasoning that a server left
    in the text between marks."""
    pieces = split_thinking(answer)
    return "".join(words for is_thought, words in pieces if not is_thought)


def keep_messages(conversation: Conversation, instructions: str) -> list[Message] | None:
    """The messages before the user message, in order, as an attempt stores them; ``None`` if they are only the arm's
    ``instructions``."""
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
    """The conversation of an attempt, rebuilt from its ``history`` and its ``prompt``; the inverse of ``keep_messages``."""
    if messages is None:
        return Conversation(instructions, (), prompt)
    has_system = bool(messages) and messages[0]["role"] == SYSTEM
    said = [each["content"] for each in messages[has_system:]]
    exchanges = tuple(zip(said[::2], said[1::2], strict=True))
    return Conversation(messages[0]["content"] if has_system else "", exchanges, prompt)
