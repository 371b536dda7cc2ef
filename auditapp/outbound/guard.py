"""Where calls may go: to public addresses over https, and to private ones that are on the list.

Each connection is checked against the IP address it actually goes to, so a name that resolves differently the next time
cannot get around the check.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

CONNECTIONS_KEPT_SECONDS = 4.0
"""Shorter than servers usually keep idle connections (uvicorn: 5 s), so that no call uses one that is being closed."""

# IPv4 addresses embedded in IPv6 (RFC 6052, RFC 3056, RFC 4380): the final destination counts.
TRANSLATED = IPv6Network("64:ff9b::/96")
REFUSED = (
    "Calls to {place} are refused: {why}. If this is intended, the person who runs the server can add {place} "
    "to the list of allowed addresses (`manage.py address allow`, or the setting ALLOW_PRIVATE_PROVIDERS); then resume "
    "the batch."
)
PRIVATE = "it leads to a private, loopback or link-local address"
PLAIN = "they would travel without encryption (http)"
ODD = "it is not a valid host name or address"


class AddressRefused(OSError):
    """The connection was not opened. The message says how to allow it."""


class Guard:
    """What may be called under one base URL. ``allowed`` are addresses as typed, ``host:port``."""

    def __init__(self, base_url: str, allowed: frozenset[str]) -> None:
        url = URL(base_url)
        self.place = write_place(url)
        self.is_allowed = self.place in {read_place(each) for each in allowed}
        self.is_plain = url.scheme != "https"

    def check_scheme(self) -> None:
        """Refuse an unencrypted address that is not on the list."""
        if self.is_plain and not self.is_allowed:
            raise AddressRefused(REFUSED.format(place=self.place, why=PLAIN))

    def check(self, address: str) -> None:
        """Refuse an address that is not public, unless its base URL is on the list."""
        if not self.is_allowed and not is_public(address):
            raise AddressRefused(REFUSED.format(place=self.place, why=PRIVATE))

    def refuse_odd_address(self) -> str:
        """The message for a host that the HTTP client rejects as an address, such as http://2130706433/."""
        return REFUSED.format(place=self.place, why=ODD)

    def make_socket(self, info: tuple[Any, ...]) -> socket.socket:
        """The socket of a new connection: the last point at which the address is known and nothing has been sent."""
        family, kind, protocol, _name, address = info
        self.check(str(address[0]))
        return socket.socket(family=family, type=kind, proto=protocol)


class GuardedResolver(AbstractResolver):
    """Refuses a name if any of its addresses is not public: a mixed answer is not an accident."""

    def __init__(self, guard: Guard, resolver: AbstractResolver) -> None:
        self.guard, self.resolver = guard, resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self.resolver.resolve(host, port, family)
        for each in found:
            self.guard.check(each["host"])
        return found

    async def close(self) -> None:
        await self.resolver.close()


def make_connector(guard: Guard, resolver: AbstractResolver | None = None) -> aiohttp.TCPConnector:
    """Connections that cannot go where the guard does not let them. Needs a running event loop."""
    return aiohttp.TCPConnector(
        limit=0,
        keepalive_timeout=CONNECTIONS_KEPT_SECONDS,
        resolver=GuardedResolver(guard, resolver or aiohttp.DefaultResolver()),
        socket_factory=guard.make_socket,
    )


def write_place(url: URL) -> str:
    """``host:port`` of a URL as written in lists of allowed addresses."""
    host = (url.raw_host or "").lower()
    return f"[{host}]:{url.port}" if ":" in host else f"{host}:{url.port}"


def read_place(entry: str) -> str:
    """An entry of the list in the form of ``write_place``; "" if it is invalid."""
    try:
        return write_place(URL(f"http://{entry.strip()}"))
    except ValueError:
        return ""


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet. Invalid addresses do not."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    for inner in find_embedded(ip):
        if not is_public(str(inner)):
            return False
    if isinstance(ip, IPv6Address) and (ip.ipv4_mapped or ip in TRANSLATED):
        return True
    odd = ip.is_multicast or ip.is_reserved or ip.is_unspecified or (isinstance(ip, IPv6Address) and ip.is_site_local)
    return ip.is_global and not odd


def find_embedded(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses inside an IPv6 one."""
    if not isinstance(ip, IPv6Address):
        return []
    inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    if ip in TRANSLATED:
        inner.append(IPv4Address(int(ip) & 0xFFFFFFFF))
    return [each for each in inner if each is not None]
