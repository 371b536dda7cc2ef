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


class ChainsMisplaced(ValueError):
    """An input waits for another one that is not asked before it in the same arm; the message names both."""


def list_chains(inputs: Sequence[int], after: Mapping[int, int]) -> list[list[int]]:
    """The inputs of an arm in chains, each in the order in which it is asked.

    An input that neither continues another nor is continued is a chain of one. ``after`` names the input that another one
    continues. Several may continue the same one. Raises ``ChainsMisplaced``.
    """
    if not after:
        return [[each] for each in inputs]
    chain_of: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    for each in inputs:
        previous = after.get(each)
        if previous is None:
            chain_of[each] = []
            chains.append(chain_of[each])
        elif previous in chain_of:
            chain_of[each] = chain_of[previous]
        else:
            raise ChainsMisplaced(f"Input {each} continues input {previous}, which is not asked before it.")
        chain_of[each].append(each)
    return chains


def list_depths(chain: Sequence[int], after: Mapping[int, int]) -> dict[int, Sequence[int]]:
    """The inputs that are asked before each input of a chain, oldest first."""
    before: dict[int, Sequence[int]] = {}
    for each in chain:
        previous = after.get(each)
        before[each] = () if previous is None else (*before[previous], previous)
    return before


def count_drawn(chains: int, cells: int, calls: int) -> int:
    """How many whole chains make a pilot of at least ``calls`` calls, given the mean length of a chain."""
    return math.ceil(calls * chains / cells) if cells else 0


def cut_by_length(chains: Sequence[Sequence[int]], at_most: int) -> list[list[Sequence[int]]]:
    """The chains in groups of about ``at_most`` inputs. No chain is divided."""
    groups: dict[int, list[Sequence[int]]] = defaultdict(list)
    place = 0
    for chain in chains:
        groups[place // at_most].append(chain)
        place += len(chain)
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
