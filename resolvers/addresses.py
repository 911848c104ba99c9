"""Where models may be called: the form of base URLs, and the addresses that nothing here may talk to."""

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit

Address = IPv4Address | IPv6Address

PORTS = {"http": 80, "https": 443}

# Machines of the large clouds learn their own credentials there.
METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "instance-data"}
)
METADATA_SUFFIXES = (".metadata.google.internal", ".metadata.goog", ".ec2.internal")
FORBIDDEN = tuple(
    ip_network(network)
    for network in (
        "169.254.0.0/16",
        "fe80::/10",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
        "fd00:ec2::/32",
        "fd20:ce::254/128",
    )
)
# An IPv4 address stands in the last four bytes of these.
TRANSLATED = tuple(IPv6Network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96"))

_VISIBLE = re.compile(r"[!-~]+")
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


def fault_of_base_url(url: str, allowed: Sequence[str] | None = None) -> str | None:
    """What is wrong with a base URL; `allowed` are the URLs that it must be or lie under, None allows any."""
    parts = _split(url)
    if parts is None or parts.scheme not in PORTS or not parts.hostname:
        return "A base URL is an address such as https://models.example/v1."
    if "@" in parts.netloc:
        return "A base URL holds no credentials."
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "A base URL has no query and no fragment."
    if any(segment in (".", "..") for segment in unquote(parts.path).split("/")) or "\\" in url:
        return "A base URL has a plain path."
    if _is_forbidden_host(parts.hostname):
        return "Link-local and metadata addresses cannot be called."
    if allowed is not None and not any(_lies_under(parts, each) for each in allowed):
        return "This base URL is not among those that may be called (ASSAY_MODEL_URLS)."
    return None


def is_forbidden(address: str) -> bool:
    """Whether an address, as resolved, is link-local or tells machines their credentials."""
    found = ip_address(address.partition("%")[0])
    return any(each in network for each in _meant(found) for network in FORBIDDEN)


def _split(url: str) -> SplitResult | None:
    """The parts of a URL of visible ASCII whose host and port have a form."""
    if not _VISIBLE.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if port == 0 or not (_address(host) or _NAME.fullmatch(host)):
            return None
    except ValueError:
        return None
    return parts


def _is_forbidden_host(host: str) -> bool:
    name = host.rstrip(".")
    address = _address(name)
    if address is not None:
        return is_forbidden(str(address))
    return name in METADATA_NAMES or name.endswith(METADATA_SUFFIXES)


def _address(host: str) -> Address | None:
    """The address that a host is, in whatever spelling a resolver takes: 0xA9FEA9FE and 2852039166 are ones."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _meant(address: Address) -> list[Address]:
    """An address, and the IPv4 address that it carries."""
    if isinstance(address, IPv4Address):
        return [address]
    carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in TRANSLATED):
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(each for each in carried if each is not None)]


def _lies_under(parts: SplitResult, allowed: str) -> bool:
    root = _split(allowed)
    if root is None or _origin(root) != _origin(parts):
        return False
    return f"{parts.path.rstrip('/')}/".startswith(f"{root.path.rstrip('/')}/")


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or PORTS.get(parts.scheme, 0)
