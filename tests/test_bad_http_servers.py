"""Servers of HTTP/2 and HTTP/3 that misbehave: a counted reason each, and nothing hangs."""

import pytest
from bad_http_server import PORTS, WAYS2, WAYS3
from hosts import PYTHON, TESTS, Host
from servers import certificate
from sessions import all_failed, all_through, of
from test_dns_quic import packages

__all__ = ["packages"]
REASONS = {
    "stall": ("response_timeout", ""),
    "reset": ("stream_reset", "INTERNAL_ERROR"),
    "goaway": ("goaway", "GOAWAY"),
}
REASONS2 = {
    **REASONS,
    "block": ("http2_protocol", ""),
    "settings": ("http2_protocol", "flood"),
    "headers": ("http2_protocol", ""),
}
REASONS3 = {
    **REASONS,
    "block": ("http3_protocol", ""),
    "settings": ("http3_protocol", "too many settings"),
    "headers": ("bad_response", "too large"),
}


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def started(host, *more):
    process = host.lab.start(PYTHON, TESTS / "bad_http_server.py", host.address(), *more, ns=host.host)
    assert process.stdout.readline().strip() == "ready", process.stderr.read()


def asked(host, version, ways, **rest):
    """Two sessions to each port, of one request each; the result."""
    app = {"http": {"version": version, "response": "1000B"}}
    entries = [
        host.client(app, name=way, server_port=PORTS[way], open="20/s", count=2, response_timeout="1s", **rest) for way in ways
    ]
    return host.run(*entries, duration="5s")


def failed_as(done, reasons):
    for way, (reason, why) in reasons.items():
        one = all_failed(of(done, way), 2, **{reason: 2})
        said = one["client"]["failure_details"]
        assert not why or any(why in text for text in said), (way, said)


def test_http2(host):
    started(host)
    failed_as(asked(host, 2, WAYS2), REASONS2)


def test_http3(host, packages):
    *files, _ = certificate(host.lab.folder(), "a.test")
    started(host, packages, *files)
    done = asked(host, 3, WAYS3)
    failed_as(done, REASONS3)
    # Datagrams that are none belong to no connection: what is whole arrives.
    all_through(of(done, "datagram"), 2, 2)
