"""What both clients know of HTTP: addresses, who may, and what is a problem."""

import ipaddress
import json
import ssl
from typing import Any

import httpx

from eagre.errors import Problem

Verify = bool | str | ssl.SSLContext


def options(url: str, token: str | None, verify: Verify, timeout_s: float) -> dict[str, Any]:
    """Arguments of an HTTP client. What is on this machine is never asked through a proxy."""
    if isinstance(verify, str):
        verify = ssl.create_default_context(cafile=verify)
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        "verify": verify,
        "timeout": httpx.Timeout(timeout_s),
        "trust_env": not is_local(url),
    }


def is_local(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def problem(response: httpx.Response) -> Problem:
    """What a response refuses; its body has been read."""
    text = response.text
    try:
        document: Any = json.loads(text)
    except ValueError:
        document = text
    return Problem.of(response.status_code, response.reason_phrase, document)
