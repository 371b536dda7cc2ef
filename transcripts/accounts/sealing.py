"""Secrets: those that have to be read again are encrypted ("sealed") with FIELD_KEY; for others only a hash is stored."""

from __future__ import annotations

import hashlib
import json
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class SealBroken(Exception):
    """FIELD_KEY cannot decrypt a value."""


def seal(content: dict[str, str]) -> str:
    """Encrypt ``content`` with the first key of FIELD_KEY. It must contain its purpose, so that one encrypted value cannot be used
    in place of another."""
    return _open_box(tuple(settings.FIELD_KEYS)).encrypt(json.dumps(content).encode()).decode("ascii")


def open_seal(sealed: str) -> dict[str, str]:
    """The content of an encrypted value, decrypted with any key of FIELD_KEY. Raises ``SealBroken``."""
    from cryptography.fernet import InvalidToken

    try:
        content = json.loads(_open_box(tuple(settings.FIELD_KEYS)).decrypt(sealed.encode()))
    except InvalidToken:
        raise SealBroken from None
    return {str(name): str(value) for name, value in content.items()}


@lru_cache(maxsize=4)
def _open_box(keys: tuple[str, ...]) -> MultiFernet:
    # Loaded on first use, because many sites have no encrypted values and it takes a tenth of a web server's memory.
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(key) for key in keys])


def make_secret() -> str:
    """A new secret of 256 random bits, usable in an address or a header."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 of a random secret of at least 256 bits, which needs no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()
