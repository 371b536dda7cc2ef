"""Addresses of providers as people write them: what is one, and which of them look private.

What an address leads to is only known at the time of the call, where it is checked again after its name was resolved.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
# What may stand on the list: a name, an IPv4 address, or an IPv6 address in brackets, and a port.
LISTED = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+):([1-9][0-9]{0,4})")


class NoAddress(ValueError):
    """Not an address calls can go to; the sentence says what one looks like."""


def check_base_url(base_url: str) -> str:
    """The base URL without a closing slash. Raises ``NoAddress`` for anything that is no plain http(s) address."""
    if not base_url.strip():
        raise NoAddress(
            "The base URL is missing: give the address calls go to, such as http://127.0.0.1:11434/v1. It holds no key."
        )
    try:
        parts = urlsplit(base_url)
        # A name that has no form in DNS could only fail at each call.
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
            f"{hide_login(base_url)!r} is no base URL. It looks like http://127.0.0.1:11434/v1 and holds no key."
        )
    return base_url.rstrip("/")


def hide_login(base_url: str) -> str:
    """The address without what stands before an @, which may be a password."""
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
        raise NoAddress(f"{address!r} is no address for the list. Write host:port, such as 127.0.0.1:11434.")
    return found[0]


def looks_private(base_url: str) -> bool:
    """Whether a base URL names this machine or its own network, as far as its text shows it."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    numbers = read_numbers(host)
    if numbers is not None:
        inner = getattr(numbers, "ipv4_mapped", None) or numbers
        return not inner.is_global or inner.is_multicast
    return "." not in host or host.endswith(PRIVATE_ENDINGS)


def is_open_http(base_url: str) -> bool:
    """Whether texts and key would cross the open network for all to read."""
    return urlsplit(base_url).scheme == "http" and not looks_private(base_url)


def read_numbers(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address a host spells, however: 2130706433 and 0x7f.1 are 127.0.0.1 to a connection."""
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
