"""What people do at the desk. An act may be sent twice, but it is stored once, because ``idempotency_key`` identifies it."""

from __future__ import annotations

from transcripts.coding.actions.checks import (
    CODEABLE_CHANNELS,
    NotDecided,
    NotOpen,
    NotYours,
    OncePerAnswer,
    UsedForAnother,
    WrongPlace,
)
from transcripts.coding.actions.codings import (
    add_coding,
    decide_sentence,
    open_stage,
    reopen_sentence,
    restore_coding,
    reveal_suggestions,
    withdraw_coding,
    write_memo,
)
from transcripts.coding.actions.links import add_link, find_link, withdraw_link

__all__ = [
    "CODEABLE_CHANNELS",
    "NotDecided",
    "NotOpen",
    "NotYours",
    "OncePerAnswer",
    "UsedForAnother",
    "WrongPlace",
    "add_coding",
    "add_link",
    "decide_sentence",
    "find_link",
    "open_stage",
    "reopen_sentence",
    "restore_coding",
    "reveal_suggestions",
    "withdraw_coding",
    "withdraw_link",
    "write_memo",
]
