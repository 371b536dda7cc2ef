"""Settings from the environment: each reader refuses nonsense with a sentence that names the variable."""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject

SECRET_LENGTH = 50
SECONDS_TO_WRITE_A_SECRET = 2.0
FIELD_KEY_BYTES = 32
FIELD_KEY_FORM = "32 random bytes in base64, as `openssl rand -base64 32` prints them"
# Where the variables go that vendors name in their own documents.
VENDORS = {
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "DEEPSEEK_API_KEY": "api.deepseek.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com",
    "GROQ_API_KEY": "api.groq.com",
    "MISTRAL_API_KEY": "api.mistral.ai",
    "OPENAI_API_KEY": "api.openai.com",
    "OPENROUTER_API_KEY": "openrouter.ai",
    "TOGETHER_API_KEY": "api.together.xyz",
}
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
OWN_SECRETS = re.compile(r"(SECRET_KEY|FIELD_KEY|DATABASE_URL|REDIS_URL|(POSTGRES|REDIS|PG)_?[A-Z0-9_]+)(_FILE)?")
# Says that the database of this data folder holds data.
MARKER = "has-data"
PORT = re.compile(r":[0-9]+$")
HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def env_bool(name: str, *, default: bool) -> bool:
    """``True`` or ``False``, written just so; anything else stops the start."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value not in {"True", "False"}:
        raise ImproperlyConfigured(f"{name} must be True or False, not {value!r}.")
    return value == "True"


def env_int(name: str, *, default: int, minimum: int = 0) -> int:
    """A whole number of at least ``minimum``."""
    value = os.environ.get(name, str(default))
    if not value.isdecimal() or int(value) < minimum:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    return int(value)


def env_data_folder(default: Path) -> Path:
    """The path of the data folder (AUDITAPP_DATA). ``make_data_folder`` makes the folder when something needs it."""
    return Path(os.environ.get("AUDITAPP_DATA", str(default))).expanduser().resolve()


def make_data_folder(folder: Path) -> None:
    """Make the data folder, for its owner only, unless it exists."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"AUDITAPP_DATA points to {folder}, which cannot be used ({error.strerror}). Name a folder that you can write to."
        ) from error


def mark_data_folder() -> None:
    """Note in the data folder that its database holds data, once it does."""
    make_data_folder(settings.DATA)
    (settings.DATA / MARKER).write_text("A database was here: see docs/operations.md.\n", encoding="ascii")


def refuse_lost_database() -> None:
    """Stop the start where the database was and is gone: an empty site would look as if all work were lost.

    A database that does not answer says nothing about what it holds; the start goes on and waits for it.
    """
    marker = settings.DATA / MARKER
    if not marker.exists():
        return
    from django.db import DatabaseError, connection

    was_open = connection.connection is not None
    try:
        if connection.introspection.table_names():
            return
    except DatabaseError:
        return
    finally:
        if not was_open:
            connection.close()
    wanted = connection.settings_dict["NAME"]
    raise ImproperlyConfigured(
        f"The database {wanted} is gone or empty, and this data folder ({settings.DATA}) had data. "
        f"Check AUDITAPP_DATA and DATABASE_URL, or restore a backup: "
        f"manage.py restore FILE --verify. To start anew on purpose, delete {marker}."
    )


def make_site_files() -> None:
    """Make what a web server or a worker needs in the data folder: the folder itself, the keys and the static folder.

    An unusable key in the data folder stops the start here.
    """
    make_data_folder(settings.DATA)
    refuse_lost_database()
    str(settings.SECRET_KEY)
    tuple(settings.FIELD_KEYS)
    settings.STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns about a missing folder


def env_base_url(default: str) -> str:
    """The address people use (BASE_URL), without a closing slash; links are built from it, never from a request."""
    url = os.environ.get("BASE_URL", default).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path:
        raise ImproperlyConfigured(f"BASE_URL must look like https://coding.example.org, not {url!r}.")
    return url


def read_last_address(data_folder: Path, default: str) -> str:
    """The address at which this data was last served by `make run`, so that commands print links that lead there."""
    try:
        return (data_folder / "address").read_text(encoding="ascii").strip() or default
    except (OSError, UnicodeDecodeError):
        return default


def env_secret_key(data_folder: Path) -> str:
    """SECRET_KEY, or the file named by SECRET_KEY_FILE, or a key kept in the data folder.

    A given key is checked at once. The data folder is read, and a missing key made, when the key is first used.
    """
    value = os.environ.get("SECRET_KEY", "")
    file = os.environ.get("SECRET_KEY_FILE", "")
    if file:
        value = Path(file).read_text(encoding="utf-8").strip()
    if not value:
        return cast(str, SimpleLazyObject(partial(_read_stored_secret_key, data_folder)))
    if len(value) < SECRET_LENGTH:
        raise ImproperlyConfigured(f"SECRET_KEY needs at least {SECRET_LENGTH} characters; it has {len(value)}.")
    return value


def env_field_keys(data_folder: Path) -> tuple[str, ...]:
    """FIELD_KEY, or the file named by FIELD_KEY_FILE, or a key kept in the data folder.

    Several are separated by commas: the first encrypts, every one decrypts. Given keys are checked at once. The data
    folder is read, and a missing key made, when the keys are first used.
    """
    value, source = os.environ.get("FIELD_KEY", ""), "FIELD_KEY"
    if file := os.environ.get("FIELD_KEY_FILE", ""):
        try:
            value, source = Path(file).read_text(encoding="utf-8"), f"The file {file} (FIELD_KEY_FILE)"
        except OSError as error:
            raise ImproperlyConfigured(
                f"FIELD_KEY_FILE names {file}, which cannot be read ({error.strerror})."
            ) from None
    if not value.strip():
        return cast(tuple[str, ...], SimpleLazyObject(partial(_read_stored_field_keys, data_folder)))
    return _split_field_keys(value, source)


def env_addresses(name: str) -> frozenset[str]:
    """Addresses written ``host:port``, separated by commas; anything else stops the start."""
    found: set[str] = set()
    for part in os.environ.get(name, "").split(","):
        if not part.strip():
            continue
        match = HOST_AND_PORT.fullmatch(part.strip())
        if match is None or not 0 < int(match[2]) < 65536:
            raise ImproperlyConfigured(
                f"{name} holds {part.strip()!r}, which is not an address. Write host:port, such as 127.0.0.1:11434, "
                "without http:// and without a path. Separate several addresses by commas."
            )
        found.add(f"{match[1].lower()}:{int(match[2])}")
    return frozenset(found)


def env_provider_keys(name: str) -> dict[str, frozenset[str]]:
    """Variables that may hold the key of a model provider, each with the addresses (``host:port``) it may be sent to.

    Written ``VARIABLE=host`` or ``VARIABLE=host:port``, separated by commas, in addition to the usual variables of vendors.
    Anything else stops the start, and so does the name of a variable with a secret of this program.
    """
    found = {variable: {f"{host}:443"} for variable, host in VENDORS.items()}
    for number, part in enumerate(os.environ.get(name, "").split(","), start=1):
        variable, _, place = part.strip().partition("=")
        if not variable:
            continue
        if OWN_SECRETS.fullmatch(variable):
            raise ImproperlyConfigured(
                f"{name} names {variable}, which holds a secret of this program and is never sent."
            )
        match = HOST_AND_PORT.fullmatch(place if PORT.search(place) else f"{place}:443")
        if not VARIABLE.fullmatch(variable) or match is None or not 0 < int(match[2]) < 65536:
            raise ImproperlyConfigured(
                f"Entry {number} of {name} does not say which variable holds a key and where it may be sent. "
                "Write VARIABLE=host:port, such as OUR_KEY=models.example.org:443, without https:// and without a path. "
                "Separate several by commas; write the name of the variable, never the key."
            )
        found.setdefault(variable, set()).add(f"{match[1].lower()}:{int(match[2])}")
    return {variable: frozenset(places) for variable, places in found.items()}


def _read_stored_secret_key(data_folder: Path) -> str:
    path = data_folder / "secret_key"
    value = _read_or_make(path, "SECRET_KEY", make=lambda: secrets.token_urlsafe(SECRET_LENGTH))
    if len(value) < SECRET_LENGTH:
        raise ImproperlyConfigured(f"{path} is damaged. Delete it; a new key signs everyone out.")
    return value


def _read_stored_field_keys(data_folder: Path) -> tuple[str, ...]:
    path = data_folder / "field_key"
    return _split_field_keys(_read_or_make(path, "FIELD_KEY", make=_make_field_key), f"The file {path}")


def _split_field_keys(value: str, source: str) -> tuple[str, ...]:
    keys = tuple(part for part in re.split(r"[,\s]+", value) if part)
    for number, key in enumerate(keys, start=1):
        if not _is_field_key(key):
            raise ImproperlyConfigured(
                f"{source} does not hold a usable key (number {number} in it). A key is {FIELD_KEY_FORM}."
            )
    if not keys:
        raise ImproperlyConfigured(f"{source} is empty. Put back the key from your copy: {FIELD_KEY_FORM}.")
    return keys


def _make_field_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(FIELD_KEY_BYTES)).decode("ascii")


def _is_field_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key.translate(str.maketrans("-_", "+/")), validate=True)) == FIELD_KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _read_or_make(path: Path, variable: str, *, make: Callable[[], str]) -> str:
    """The secret kept in ``path``; two processes that start together end up with the same one."""
    make_data_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_when_written(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot write {path} ({error.strerror}). Set {variable} or another AUDITAPP_DATA."
        ) from error
    value = make()
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(value)
    return value


def _read_when_written(path: Path) -> str:
    """The content of a file that another process may have created a moment ago and not yet filled."""
    end = time.monotonic() + SECONDS_TO_WRITE_A_SECRET
    while not (value := path.read_text(encoding="ascii").strip()) and time.monotonic() < end:
        time.sleep(0.01)
    return value
