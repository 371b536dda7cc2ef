"""Settings from the environment: each reader refuses invalid values with a sentence that names the variable."""

from __future__ import annotations

import base64
import binascii
import difflib
import ipaddress
import os
import re
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from zoneinfo import available_timezones

import environ
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import SimpleLazyObject

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SECRET_LENGTH = 50
SECONDS_TO_WRITE_A_SECRET = 2.0
FIELD_KEY_BYTES = 32
FIELD_KEY_FORM = "32 random bytes in base64, as `openssl rand -base64 32` prints them"
# The variables that vendors name in their documentation, with the hosts to which the keys may be sent.
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
# A file that marks a data folder whose database contains data.
MARKER = "has-data"
ACCOUNTS = "accounts_user"
PORT = re.compile(r":[0-9]+$")
# The exit status for a wrong configuration in sysexits.h.
WRONG_CONFIGURATION = 78
# The beginning of the keys that Django writes into new projects, and that people then publish in repositories.
EXAMPLE_KEY = "django-insecure-"
FEWEST_DIFFERENT_CHARACTERS = 5
LOG_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
# The settings that are whole numbers, each with its default and its minimum.
NUMBERS = {
    "CONN_MAX_AGE": (600, 0),
    "HSTS_SECONDS": (31_536_000, 0),
    "OUTAGE_PAUSE_SECONDS": (180, 1),
    "MAX_CELLS_PER_LAUNCH": (250_000, 1),
    "MAX_OPEN_BATCHES": (50, 1),
    "MAX_UPLOAD_MB_PER_DAY": (1_000, 1),
    "SESSION_IDLE_HOURS": (12, 1),
    "SESSION_DAYS": (14, 1),
    "API_REQUESTS_PER_MINUTE": (600, 1),
}
SECRETS = ("SECRET_KEY", "FIELD_KEY", "DATABASE_URL", "REDIS_URL")
KNOWN = frozenset(
    {"AUDITAPP_DATA", "BASE_URL", "DEBUG", "TIME_ZONE", "LOG_LEVEL", "ALLOW_PRIVATE_PROVIDERS", "PROVIDER_KEYS"}
    | {"ALLOW_PRIVATE_WEBHOOKS", "TRUSTED_PROXIES", "REQUIRE_SECOND_FACTOR"}
    | {*NUMBERS, *SECRETS}
    | {f"{name}_FILE" for name in SECRETS}
)
LIKENESS = 0.87
HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def check_environment(default_data_folder: Path) -> None:
    """Exit with a list of all faults of the settings, if there are any; warn about variables that look like misspelt settings."""
    for name, known in find_misspelt_names():
        sys.stderr.write(f"Warning: there is no setting {name}. Did you mean {known}?" + "\n")
    if faults := find_faults(default_data_folder):
        lines = [f"- {fault}" for fault in faults]
        sys.stderr.write("\n".join(["The settings are wrong (docs/reference/settings.md):", *lines, ""]))
        raise SystemExit(WRONG_CONFIGURATION)


def find_faults(default_data_folder: Path) -> list[str]:
    """The faults of the settings, each as a sentence that names the variable and contains no secret."""
    data_folder = default_data_folder

    def read_data_folder() -> None:
        nonlocal data_folder
        data_folder = env_data_folder(default_data_folder)

    readers: list[Callable[[], object]] = [
        read_data_folder,
        lambda: env_base_url("http://127.0.0.1:8000"),
        lambda: env_bool("DEBUG", default=False),
        refuse_debug_with_https,
        lambda: env_secret_key(data_folder),
        lambda: env_field_keys(data_folder),
        lambda: env_database_url("sqlite:///x.sqlite3"),
        env_redis_url,
        lambda: env_addresses("ALLOW_PRIVATE_PROVIDERS"),
        lambda: env_addresses("ALLOW_PRIVATE_WEBHOOKS"),
        lambda: env_provider_keys("PROVIDER_KEYS"),
        lambda: env_networks("TRUSTED_PROXIES", default=""),
        env_second_factor,
        env_time_zone,
        lambda: env_log_level("INFO"),
        *(partial(env_number, name) for name in NUMBERS),
    ]
    faults = []
    for read in readers:
        try:
            read()
        except ImproperlyConfigured as error:
            faults.append(str(error))
    return faults


def find_misspelt_names() -> list[tuple[str, str]]:
    """Variables whose names are nearly that of a setting, each with the name of that setting."""
    entries = os.environ.get("PROVIDER_KEYS", "").split(",")
    others = set(VENDORS) | {entry.partition("=")[0].strip() for entry in entries}
    return [
        (name, near[0])
        for name in sorted(set(os.environ) - KNOWN - others)
        if (near := difflib.get_close_matches(name.upper(), KNOWN, n=1, cutoff=LIKENESS))
    ]


def refuse_debug_with_https() -> None:
    """Refuse DEBUG on a site with https, because DEBUG shows settings and source code to everybody who gets an error page."""
    if os.environ.get("DEBUG") == "True" and os.environ.get("BASE_URL", "").startswith("https:"):
        raise ImproperlyConfigured(
            "DEBUG is True and BASE_URL is an https address. DEBUG shows the inside of the program to visitors: remove it."
        )


def env_number(name: str) -> int:
    """The value of a setting in NUMBERS."""
    default, minimum = NUMBERS[name]
    return env_int(name, default=default, minimum=minimum)


def env_second_factor() -> str:
    """Who must have a second factor (REQUIRE_SECOND_FACTOR): ``no`` for nobody, or ``owners`` for the owners of the site."""
    value = os.environ.get("REQUIRE_SECOND_FACTOR", "no")
    if value not in {"no", "owners"}:
        raise ImproperlyConfigured(f"REQUIRE_SECOND_FACTOR must be no or owners, not {value!r}.")
    if value == "owners" and not os.environ.get("BASE_URL", "").startswith("https:"):
        raise ImproperlyConfigured(
            "REQUIRE_SECOND_FACTOR is owners and BASE_URL is not an https address, so codes could be read in transit. Set an "
            "https BASE_URL, or remove it."
        )
    return value


def env_time_zone() -> str:
    """The time zone of pages (TIME_ZONE)."""
    name = os.environ.get("TIME_ZONE", "UTC")
    if name not in available_timezones():
        raise ImproperlyConfigured(f"TIME_ZONE must be a name such as Europe/Zurich or UTC, not {name!r}.")
    return name


def env_log_level(default: str) -> str:
    """The lowest level of log lines that are written (LOG_LEVEL)."""
    level = os.environ.get("LOG_LEVEL", default)
    if level not in LOG_LEVELS:
        raise ImproperlyConfigured(f"LOG_LEVEL must be one of {', '.join(LOG_LEVELS)}, not {level!r}.")
    return level


def env_database_url(default: str) -> str:
    """DATABASE_URL, or the content of the file named by DATABASE_URL_FILE."""
    url, source = _read_secret("DATABASE_URL")
    if not url:
        return default
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"postgres", "postgresql", "sqlite"} and parts.port != 0
        is_usable = is_usable and bool(environ.Env.db_url_config(url).get("NAME"))
    except Exception:  # the parser can raise any kind of exception
        is_usable = False
    if not is_usable:
        raise ImproperlyConfigured(
            f"{source} is not the address of a database. Write postgresql://user:password@host/name, with characters other "
            "than letters and digits in the password as %XX; remove it for SQLite in the data folder."
        )
    return url


def env_redis_url() -> str:
    """REDIS_URL, or the content of the file named by REDIS_URL_FILE; "" for none."""
    url, source = _read_secret("REDIS_URL")
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        if parts.scheme == "redis+socket":
            is_usable = parts.path.startswith("/")
        else:
            is_usable = parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and parts.port != 0
            is_usable = is_usable and re.fullmatch(r"/?|/[0-9]+", parts.path) is not None
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ImproperlyConfigured(
            f"{source} is not the address of a Redis server. Write redis://:password@host:6379/0, with characters other than "
            "letters and digits in the password as %XX; remove it to do without Redis."
        )
    return url


def _read_secret(name: str) -> tuple[str, str]:
    """The value of ``name``, or the content of the file that ``name``_FILE names; and what to call it in an error."""
    file = os.environ.get(f"{name}_FILE", "")
    if not file:
        return os.environ.get(name, "").strip(), name
    try:
        value = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ImproperlyConfigured(
            f"{name}_FILE names {file}, which cannot be read ({reason}). Name a file that this user may read."
        ) from None
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which is empty. Put the value of {name} into it.")
    return value, f"The file {file} ({name}_FILE)"


def env_bool(name: str, *, default: bool) -> bool:
    """The value ``True`` or ``False``, written exactly like this; anything else stops the start."""
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
    """The path of the data folder (AUDITAPP_DATA). The folder is made by ``make_data_folder`` when it is needed."""
    try:
        folder = Path(os.environ.get("AUDITAPP_DATA", str(default))).expanduser().resolve()
    except (RuntimeError, OSError):
        raise ImproperlyConfigured("AUDITAPP_DATA does not lead to a folder. Write its whole path.") from None
    if folder.exists() and not folder.is_dir():
        raise ImproperlyConfigured(f"AUDITAPP_DATA points to {folder}, which is a file. Name a folder.")
    return folder


def make_data_folder(folder: Path) -> None:
    """Make the data folder, readable by its owner only, unless it exists."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"AUDITAPP_DATA points to {folder}, which cannot be used ({error.strerror}). Name a folder that you can write to."
        ) from error


def mark_data_folder() -> None:
    """Mark the data folder as one whose database contains data, once it does."""
    make_data_folder(settings.DATA)
    (settings.DATA / MARKER).write_text("A database was here: see docs/operations.md.\n", encoding="ascii")


def _has_rows(table: str) -> bool:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608 - a name of ours
        return cursor.fetchone() is not None


def refuse_lost_database() -> None:
    """Stop the start if the database existed and is gone, because an empty site would look as if all work were lost.

    This also applies to tables without a single account: somebody ran ``migrate`` after the database was gone. If the database does
    not answer, it is not known what it contains; the start goes on and waits for it.
    """
    marker = settings.DATA / MARKER
    if not marker.exists():
        return
    from django.db import DatabaseError, connection

    was_open = connection.connection is not None
    try:
        tables = connection.introspection.table_names()
        if tables and (ACCOUNTS not in tables or _has_rows(ACCOUNTS)):
            return
    except DatabaseError:
        return
    finally:
        if not was_open:
            connection.close()
    wanted = connection.settings_dict["NAME"]
    raise ImproperlyConfigured(
        f"The database {wanted} is gone or empty, and this data folder ({settings.DATA}) had data. Check AUDITAPP_DATA and "
        f"DATABASE_URL, or restore a backup: manage.py restore FILE --verify. To start over on purpose, delete {marker}."
    )


def make_site_files() -> None:
    """Make everything that a web server or a worker needs in the data folder: the folder itself, the keys and the static folder.

    An unusable key in the data folder stops the start here.
    """
    make_data_folder(settings.DATA)
    refuse_lost_database()
    str(settings.SECRET_KEY)
    tuple(settings.FIELD_KEYS)
    settings.STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns about a missing folder


def env_base_url(default: str) -> str:
    """The address that people use (BASE_URL), without a slash at the end; links are built from it, never from a request."""
    url = os.environ.get("BASE_URL", default).rstrip("/")
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        is_usable = is_usable and not (parts.path or parts.query or parts.fragment or parts.username)
    except ValueError:
        is_usable = False
    if not is_usable:
        # The part before an @ may contain a password.
        shown = "an address with an @" if "@" in url else repr(url)
        raise ImproperlyConfigured(f"BASE_URL must look like https://coding.example.org, not {shown}.")
    return url


def read_last_address(data_folder: Path, default: str) -> str:
    """The address at which `make run` last served this data, so that commands print links to it."""
    try:
        return (data_folder / "address").read_text(encoding="ascii").strip() or default
    except (OSError, UnicodeDecodeError):
        return default


def env_secret_key(data_folder: Path) -> str:
    """SECRET_KEY, or the content of the file named by SECRET_KEY_FILE, or a key kept in the data folder.

    A given key is checked at once. A key in the data folder is read, or made if it is missing, when it is first used.
    """
    value, source = _read_secret("SECRET_KEY")
    if not value:
        return cast(str, SimpleLazyObject(partial(_read_stored_secret_key, data_folder)))
    if len(value) < SECRET_LENGTH:
        raise ImproperlyConfigured(f"{source} needs at least {SECRET_LENGTH} characters; it has {len(value)}.")
    if value.startswith(EXAMPLE_KEY):
        raise ImproperlyConfigured(f"{source} is an example of Django's. Make one with `openssl rand -base64 48`.")
    if len(set(value)) < FEWEST_DIFFERENT_CHARACTERS:
        raise ImproperlyConfigured(f"{source} repeats a few characters. Make one with `openssl rand -base64 48`.")
    return value


def env_field_keys(data_folder: Path) -> tuple[str, ...]:
    """FIELD_KEY, or the content of the file named by FIELD_KEY_FILE, or a key kept in the data folder.

    Several keys are separated by commas: the first one encrypts, all of them decrypt. Given keys are checked at once. A key in the
    data folder is read, or made if it is missing, when it is first used.
    """
    value, source = _read_secret("FIELD_KEY")
    if not value:
        return cast(tuple[str, ...], SimpleLazyObject(partial(_read_stored_field_keys, data_folder)))
    return _split_field_keys(value, source)


def env_addresses(name: str) -> frozenset[str]:
    """Addresses written ``host:port``, separated by commas; anything else stops the start."""
    found: set[str] = set()
    for number, part in enumerate(os.environ.get(name, "").split(","), start=1):
        if not part.strip():
            continue
        match = HOST_AND_PORT.fullmatch(part.strip())
        if match is None or not 0 < int(match[2]) < 65536:
            # The value is not repeated, because somebody may have entered a key here.
            raise ImproperlyConfigured(
                f"Entry {number} of {name} is not an address. Write host:port, such as 127.0.0.1:11434, "
                "without http:// and without a path. Separate several addresses by commas."
            )
        found.add(f"{match[1].lower()}:{int(match[2])}")
    return frozenset(found)


def env_networks(name: str, *, default: str) -> tuple[Network, ...]:
    """IP addresses and networks, separated by commas; anything else stops the start."""
    found = []
    for number, part in enumerate(os.environ.get(name, default).split(","), start=1):
        if not part.strip():
            continue
        try:
            found.append(ipaddress.ip_network(part.strip()))
        except ValueError:
            raise ImproperlyConfigured(
                f"Entry {number} of {name} is not the address of a machine or a network. Write an IP address such as 10.0.0.2, "
                "or a network such as 10.0.0.0/24. Separate several by commas."
            ) from None
    return tuple(found)


def env_provider_keys(name: str) -> dict[str, frozenset[str]]:
    """Variables that may contain the key of a model provider, each with the addresses (``host:port``) to which it may be sent.

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
    """The secret kept in ``path``, which is made if it is missing; two processes that start at once get the same one."""
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
    """The content of a file that another process may just have created and not yet written."""
    end = time.monotonic() + SECONDS_TO_WRITE_A_SECRET
    while not (value := path.read_text(encoding="ascii").strip()) and time.monotonic() < end:
        time.sleep(0.01)
    return value
