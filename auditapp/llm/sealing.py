"""Stored keys of providers, encrypted ("sealed") with FIELD_KEY, which is never in the database.

A seal contains the address that its key is for. If something else changes the address in the database, the seal no
longer opens.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class SealBroken(Exception):
    """A stored key cannot be opened. The message says why and what to do; it never contains the key."""


def seal_key(key: str, *, address: str) -> str:
    """``key`` encrypted with the first key of FIELD_KEY, for the account with this address."""
    content = json.dumps({"address": address, "key": key}).encode()
    return _open_box(tuple(settings.FIELD_KEYS)).encrypt(content).decode("ascii")


def open_key(sealed: str, *, address: str) -> str:
    """The key inside a seal. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    if content["address"] != address:
        raise SealBroken("The stored key was set for another address, so it is not used. Set the key again.")
    return content["key"]


def seal_again(sealed: str) -> str:
    """The same key under the first key of FIELD_KEY. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    return seal_key(content["key"], address=content["address"])


def _open_seal(sealed: str) -> dict[str, str]:
    from cryptography.fernet import InvalidToken

    try:
        content = json.loads(_open_box(tuple(settings.FIELD_KEYS)).decrypt(sealed.encode()))
    except InvalidToken:
        raise SealBroken(
            "FIELD_KEY does not decrypt the stored key, which was encrypted with another one. Put the former FIELD_KEY back "
            "(it can hold several, separated by commas), or set the key of the account again."
        ) from None
    return {"address": str(content["address"]), "key": str(content["key"])}


@lru_cache(maxsize=4)
def _open_box(keys: tuple[str, ...]) -> MultiFernet:
    # Loaded with the first stored key: many sites have none, and it takes a tenth of a web server's memory.
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(key) for key in keys])
