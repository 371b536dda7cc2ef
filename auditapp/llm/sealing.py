"""Stored keys of providers, encrypted ("sealed") with FIELD_KEY, which is never in the database.

The encrypted text also contains the address that the key is for. If the address is changed in the database in any other way, the
key can no longer be decrypted.
"""

from __future__ import annotations

from transcripts.accounts import sealing


class SealBroken(Exception):
    """A stored key cannot be opened. The message says why and what to do; it never contains the key."""


def seal_key(key: str, *, address: str) -> str:
    """``key`` encrypted with the first key of FIELD_KEY, for the account with this address."""
    return sealing.seal({"address": address, "key": key})


def open_key(sealed: str, *, address: str) -> str:
    """The decrypted key. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    if content.get("address") != address:
        raise SealBroken("The stored key was set for another address, so it is not used. Set the key again.")
    return content["key"]


def seal_again(sealed: str) -> str:
    """The same key, encrypted with the first key of FIELD_KEY. Raises ``SealBroken``."""
    content = _open_seal(sealed)
    return seal_key(content["key"], address=content["address"])


def _open_seal(sealed: str) -> dict[str, str]:
    try:
        return sealing.open_seal(sealed)
    except sealing.SealBroken:
        raise SealBroken(
            "FIELD_KEY does not decrypt the stored key, which was encrypted with another one. Put the former FIELD_KEY back (it "
            "can contain several keys, separated by commas), or set the key of the account again."
        ) from None
