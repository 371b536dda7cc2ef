"""Settings from the environment: each reader refuses nonsense with a sentence that names the variable."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

SECRET_LENGTH = 50


def env_bool(name: str, *, default: bool) -> bool:
    """``True`` or ``False``, written just so; anything else stops the start."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value not in {"True", "False"}:
        raise ImproperlyConfigured(f"{name} must be True or False, not {value!r}.")
    return value == "True"


def env_int(name: str, *, default: int, least: int = 0) -> int:
    """A whole number of at least ``least``."""
    value = os.environ.get(name, str(default))
    if not value.isdecimal() or int(value) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def env_data_folder(default: Path) -> Path:
    """The data folder (AUDITAPP_DATA), made when it is not there."""
    folder = Path(os.environ.get("AUDITAPP_DATA", str(default))).expanduser().resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"AUDITAPP_DATA points to {folder}, which cannot be used ({error.strerror}). Name a folder you may write to."
        ) from error
    return folder


def env_base_url(default: str) -> str:
    """The address people use (BASE_URL), without a closing slash; links are built from it, never from a request."""
    url = os.environ.get("BASE_URL", default).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path:
        raise ImproperlyConfigured(f"BASE_URL must look like https://coding.example.org, not {url!r}.")
    return url


def env_secret_key(data_folder: Path) -> str:
    """SECRET_KEY, or the file named by SECRET_KEY_FILE, or a key made at the first start and kept in the data folder."""
    value = os.environ.get("SECRET_KEY", "")
    file = os.environ.get("SECRET_KEY_FILE", "")
    if file:
        value = Path(file).read_text(encoding="utf-8").strip()
    if value:
        if len(value) < SECRET_LENGTH:
            raise ImproperlyConfigured(f"SECRET_KEY needs at least {SECRET_LENGTH} characters; it has {len(value)}.")
        return value
    return read_or_make_secret(data_folder / "secret_key")


def read_or_make_secret(path: Path) -> str:
    """The secret kept in ``path``; two processes that start together end up with the same one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        value = path.read_text(encoding="ascii").strip()
        if len(value) < SECRET_LENGTH:
            raise ImproperlyConfigured(f"{path} is damaged. Delete it; a new key signs everyone out.") from None
        return value
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot write {path} ({error.strerror}). Set SECRET_KEY or another AUDITAPP_DATA."
        ) from error
    value = secrets.token_urlsafe(SECRET_LENGTH)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(value)
    return value
