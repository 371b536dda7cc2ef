"""Addresses of providers as people type them: which are valid, and which look private; and variables that may hold their keys.

Where an address leads is known only when a call is made. It is checked again then, after its name was resolved.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Set
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
# An entry of the list: a name, an IPv4 address, or an IPv6 address in brackets, and a port.
LISTED = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+):([1-9][0-9]{0,4})")
# No lower-case letters: with them, many keys would pass for a name.
NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


class NoAddress(ValueError):
    """Not an address that calls can go to. The message says what one looks like."""


def check_base_url(base_url: str) -> str:
    """The base URL without a trailing slash. Raises ``NoAddress`` for anything but a plain http(s) address."""
    if not base_url.strip():
        raise NoAddress(
            "The base URL is missing. Enter the address that calls go to, such as http://127.0.0.1:11434/v1, without a key."
        )
    try:
        parts = urlsplit(base_url)
        # A name that DNS cannot represent would fail at every call.
        usable = (
            bool((parts.hostname or "").encode("idna")) and parts.port != 0 and not re.search(r"[\s\\?#]", base_url)
        )
    except ValueError:
        usable = False
    if (
        not usable
        or parts.scheme not in DEFAULT_PORTS
        or parts.username is not None
        or parts.password is not None
        or parts.query
        or parts.fragment
    ):
        raise NoAddress(
            f"{hide_login(base_url)!r} is not a valid base URL. Use the form http://127.0.0.1:11434/v1, without a key."
        )
    return base_url.rstrip("/")


def hide_login(base_url: str) -> str:
    """The address without the part before an @, which may be a password."""
    return re.sub(r"//[^/]*@", "//…@", base_url)


def name_address(base_url: str) -> str:
    """``host:port`` of a base URL, as the list of allowed addresses writes it."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or DEFAULT_PORTS[parts.scheme]}"


def read_listed(address: str) -> str:
    """An address for the list, as typed: ``host:port``. Raises ``NoAddress``."""
    found = LISTED.fullmatch(address.strip().lower())
    if found is None or int(found[2]) > 65535:
        raise NoAddress(f"{address!r} is not a valid address. Write host:port, such as 127.0.0.1:11434.")
    return found[0]


def looks_private(base_url: str) -> bool:
    """Whether a base URL names this machine or a private network, judged by its text."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    numbers = read_numbers(host)
    if numbers is not None:
        inner = getattr(numbers, "ipv4_mapped", None) or numbers
        return not inner.is_global or inner.is_multicast
    return "." not in host or host.endswith(PRIVATE_ENDINGS)


def is_open_http(base_url: str) -> bool:
    """Whether texts and key would travel unencrypted over the public network."""
    return urlsplit(base_url).scheme == "http" and not looks_private(base_url)


def read_numbers(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a host means in any notation: a connection takes 2130706433 and 0x7f.1 as 127.0.0.1."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+)){0,3}", host):
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    return None


def is_variable(text: str) -> bool:
    """Whether this is the name of a variable and cannot be a key."""
    return NAME.fullmatch(text) is not None


def may_be_sent(name: str, base_url: str, places: Mapping[str, Set[str]]) -> bool:
    """Whether the key in the variable ``name`` may be sent to ``base_url``.

    ``places``: of each variable that may hold a key, the addresses (``host:port``) it may be sent to.
    """
    return name_address(base_url) in places.get(name, frozenset())
