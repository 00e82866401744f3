"""HTTP/3 to Envoy: bodies, streams, ports, keys, limits, and how it ends connections."""

import pytest
from envoy import Envoy
from hosts import Host
from sessions import all_failed, all_through, of


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def asking(envoy, **http):
    """What a client asks, its port, and what it verifies."""
    tls = {"server_name": "a.test", "verify": {"roots": str(envoy.root)}}
    return {"app": {"http": {"version": 3, **http}}, "server_port": 443, "tls": tls}


@pytest.mark.parametrize("streams", [1, 50])
def test_objects_of_every_size(host, streams):
    """Each compared by its length; Envoy has counted the same connections and requests."""
    envoy = Envoy(host.lab, host.host)
    requests = 0
    for path, size in envoy.OBJECTS.items():
        count = 3 if size > 1_000_000 else 20
        ask = asking(envoy, path=path, response=f"{size}B", requests=count, streams_per_connection=streams)
        one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 3 * count)
        assert one["rx_bytes_goodput"] > 3 * count * size, one
        quic = one["client"]["quic"]
        assert (quic["connections"], quic["retries"], quic["version_negotiations"]) == (3, 0, 0), one
        assert [(agreed["alpn"], agreed["handshakes"]) for agreed in one["client"]["tls"]] == [("h3", 3)], one
        requests += 3 * count
    counted = envoy.counters()
    of_server = [counted[f"http.h3.{name}"] for name in ("downstream_cx_http3_total", "downstream_rq_2xx")]
    assert of_server == [12, requests], counted


def test_ipv6_methods_and_objects_that_are_missing(host):
    """HEAD has no body; a body of its own is read; what is not there is a failure."""
    envoy = Envoy(host.lab, host.host)
    objects = [{"path": "/1k", "method": "HEAD"}, {"path": "/1k", "method": "POST", "body": "100KB", "response": "1000B"}]
    ask = asking(envoy, objects=objects, requests=10)
    all_through(of(host.run(host.client(**ask, v6=True, open="5/s", count=5))), 5, 50)
    missing = asking(envoy, path="/nothing")
    one = all_failed(of(host.run(host.client(**missing, open="5/s", count=5))), 5, http_4xx=5)
    assert one["client"]["http"]["4xx"] == 5, one


def test_resumed_sessions_and_early_data(host):
    """Sessions after the first have their first request answered before the handshake is done."""
    envoy = Envoy(host.lab, host.host)
    ask = asking(envoy, path="/1k", requests=3, early_data=True, key_update=5)
    ask["tls"]["resumption"] = 10
    one = all_through(of(host.run(host.client(**ask, open="5/s", count=5))), 5, 15)
    quic = one["client"]["quic"]
    assert sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"]) == 4, one
    assert quic["early_data_accepted"] == 4 and quic["early_requests"] == 4, one


@pytest.mark.parametrize("by", ["nat", "client"])
def test_ports_that_change(host, by):
    """Our client's port changes a dozen times: Envoy follows, and no request fails."""
    envoy = Envoy(host.lab, host.host)
    ask = asking(envoy, path="/1k", requests=40, think="30ms", key_update=20, migrate={"every": "100ms", "by": by})
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 120)
    quic = one["client"]["quic"]
    assert quic["migrated"] >= 20 and quic["connections"] == 3 and quic["key_updates"] > 0, one


def test_more_streams_than_it_takes(host):
    """Of a hundred wanted it takes ten at a time: the others wait, and none fails."""
    envoy = Envoy(host.lab, host.host, quic={"quic_protocol_options": {"max_concurrent_streams": 10}})
    ask = asking(envoy, path="/1k", response="1000B", requests=500, streams_per_connection=100)
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=2))), 2, 1_000)
    assert one["client"]["quic"]["connections"] == 2, one


def test_a_connection_that_it_finds_idle(host):
    """Envoy ends connections between requests by GOAWAY: what was not asked counts as that, and nothing fails."""
    envoy = Envoy(host.lab, host.host, http={"common_http_protocol_options": {"idle_timeout": "0.5s"}})
    ask = asking(envoy, path="/1k", response="1000B", requests=4, think="1s")
    one = of(host.run(host.client(**ask, open="10/s", count=3)))
    assert (one["transactions"], one["unasked"], one["completed"], one["failed"]) == (3, 9, 3, {}), one
    assert one["client"]["http3"]["goaways"] == 3, one


def test_connections_that_serve_some_requests_only(host):
    """After ten requests Envoy ends each connection by GOAWAY: others follow until all are answered."""
    envoy = Envoy(host.lab, host.host, http={"common_http_protocol_options": {"max_requests_per_connection": 10}})
    ask = asking(envoy, path="/1k", response="1000B", requests="endless")
    one = of(host.run(host.client(**ask, open="max", concurrent=2, request_count=100)))
    assert (one["transactions"], one["failed"]) == (100, {}), one
    # Sessions may begin while others wait for Envoy's word.
    connections = one["client"]["quic"]["connections"]
    assert connections == one["completed"] and 10 <= connections <= 13, one
    assert one["client"]["http3"]["goaways"] >= 9, one


def test_connections_that_have_a_longest_time(host):
    """Envoy ends each connection by GOAWAY after a second."""
    options = {"common_http_protocol_options": {"max_connection_duration": "1s"}, "drain_timeout": "0.2s"}
    envoy = Envoy(host.lab, host.host, http=options)
    ask = asking(envoy, path="/1k", response="1000B", requests="endless", think="100ms")
    one = of(host.run(host.client(**ask, open="max", concurrent=3, request_count=90)))
    assert (one["transactions"], one["failed"]) == (90, {}), one
    assert one["client"]["quic"]["connections"] == one["completed"] >= 6 and one["client"]["http3"]["goaways"] >= 6, one
