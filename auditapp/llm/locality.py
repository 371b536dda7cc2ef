"""Whether texts sent to a model leave the site, so that an interview needs consent to external models.

Only the text of the address decides; no name is looked up. In case of doubt the model counts as external: asking for a
consent too many does less harm than one too few.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from django.conf import settings

from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.addresses import looks_private, name_address, read_numbers
from auditapp.llm.queries import read_allowed_addresses

# This machine and private networks (RFC 1122, RFC 1918, RFC 4193).
OWN_NETWORKS = [IPv4Network(each) for each in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
OWN_NETWORKS_6 = [IPv6Network(each) for each in ("::1/128", "fc00::/7")]
OWN_ENDINGS = (".localhost", ".local")


def is_external(variant: ModelVariant) -> bool:
    """Whether texts sent to this model leave the site. Reads account; may query the list of allowed addresses."""
    account = variant.account
    if account.provider == "fake":
        return False
    if account.provider == "file" or not account.base_url:
        return True
    host = (urlsplit(account.base_url).hostname or "").rstrip(".")
    numbers = read_numbers(host)
    if numbers is not None:
        return not _is_own(numbers)
    if host == "localhost" or host.endswith(OWN_ENDINGS):
        return False
    # A name without a dot, or with an ending for private networks, may still be resolved by an outside name server,
    # unless it is on the list of allowed addresses. A public name on the list stays public.
    return not (looks_private(account.base_url) and _is_listed(account.base_url))


def _is_own(numbers: IPv4Address | IPv6Address) -> bool:
    inner = numbers.ipv4_mapped if isinstance(numbers, IPv6Address) and numbers.ipv4_mapped else numbers
    if isinstance(inner, IPv6Address):
        return any(inner in network for network in OWN_NETWORKS_6)
    return any(inner in network for network in OWN_NETWORKS)


def _is_listed(base_url: str) -> bool:
    return name_address(base_url) in read_allowed_addresses() | settings.ALLOW_PRIVATE_PROVIDERS
