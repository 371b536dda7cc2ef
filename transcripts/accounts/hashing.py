"""How the secrets of links and tokens are kept: as a hash, never as themselves."""

from __future__ import annotations

import hashlib
import secrets


def make_secret() -> str:
    """A new secret of 256 random bits, fit for an address or a header."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 of a random secret of at least 256 bits (no salt is needed for those)."""
    return hashlib.sha256(secret.encode()).hexdigest()
