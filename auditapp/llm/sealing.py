"""Keys of providers at rest: sealed with FIELD_KEY, which is never in the database.

A seal holds the address its key is for, so that a row whose address was changed behind the program's back does not open.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class SealBroken(Exception):
    """A stored key cannot be opened here; the sentence says why and what to do. It never holds the key."""


def seal_key(key: str, *, address: str) -> str:
    """``key`` as it may lie in the database, for the account with this address. Sealed with the first key of FIELD_KEY."""
    content = json.dumps({"address": address, "key": key}).encode()
    return _open_box(tuple(settings.FIELD_KEYS)).encrypt(content).decode("ascii")


def open_key(sealed: str, *, address: str) -> str:
    """The key inside a seal. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    if content["address"] != address:
        raise SealBroken("The stored key was given for another address, so it is not used. Set the key again.")
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
            "FIELD_KEY does not open the stored key: it is not the one that sealed it. Put the former FIELD_KEY back "
            "(several may stand in it, parted by commas), or set the key of the account again."
        ) from None
    return {"address": str(content["address"]), "key": str(content["key"])}


@lru_cache(maxsize=4)
def _open_box(keys: tuple[str, ...]) -> MultiFernet:
    # Loaded with the first stored key: many sites have none, and it takes a tenth of a web server's memory.
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(key) for key in keys])
