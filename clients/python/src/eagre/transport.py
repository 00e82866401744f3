"""HTTP for both clients: addresses, tokens, problem responses."""

import ipaddress
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from eagre.errors import Problem

Verify = bool | str | ssl.SSLContext


def options(url: str, token: str | None, verify: Verify, timeout_s: float) -> dict[str, Any]:
    """Arguments of an HTTP client. Requests to this machine never use a proxy."""
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
    """Whether an address is on this machine."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Adds to an `httpx.ConnectError` which server did not respond, and how to start one."""
    try:
        yield
    except httpx.ConnectError as error:
        remedy = "; 'eagre serve' or eagre.serve() starts a server" if is_local(url) else ""
        raise httpx.ConnectError(f"{url}: {error}{remedy}") from error


def problem(response: httpx.Response) -> Problem:
    """The problem in a response whose body has been read."""
    text = response.text
    try:
        document: Any = json.loads(text)
    except ValueError:
        document = text
    return Problem.of(response.status_code, response.reason_phrase, document)
