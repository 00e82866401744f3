"""Sessions to common servers and to servers that misbehave: exact counts, and a reason for every failure."""

import time
from collections import Counter

import pytest
from bad_server import PORTS as BAD
from bad_server import REFUSING
from hosts import PYTHON, TESTS, Host, Routed
from lab import EAST4, LONG
from servers import OBJECTS, Dnsmasq, Haproxy, Nginx, certificate
from sessions import all_failed, all_through, hinted, no_resets, of

MANY = 100_000 if LONG else 1_500
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])


@pytest.fixture
def host(lab):
    return Host(lab)


def mapping(requests, *keys):
    return Counter(tuple(one[key] for key in keys) for one in requests)


# nginx.


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_nginx_answers_a_request_on_each_new_connection(host, kind, v6):
    """As many in its log as we count, each the first of its connection."""
    nginx = Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k", "response": "1024B"}}
    done = host.run(host.client(app, v6, open="3000/s", count=MANY, concurrent=min(MANY, 3000)), kind=kind)
    one = all_through(of(done), MANY, MANY)
    logged = nginx.requests(MANY)
    assert mapping(logged, "status", "path", "bytes", "number") == {(200, "/1k", 1024, 1): MANY}
    assert one["client"]["http"]["2xx"] == MANY, one["client"]["http"]
    assert one["ttfb_ns"]["samples"] == one["ttlb_ns"]["samples"] == MANY
    assert one["ttfb_ns"]["p50"] <= one["ttlb_ns"]["p50"]


def test_nginx_answers_many_requests_on_few_connections(host):
    """Keep-alive: 20 connections with 500 requests each; all objects, every byte of them."""
    nginx = Nginx(host.lab, host.host)
    objects = [{"path": path, "response": f"{size}B"} for path, size in OBJECTS.items() if path != "/1m"]
    app = {"http": {"objects": objects, "requests": 500}}
    one = all_through(of(host.run(host.client(app, open="100/s", count=20))), 20, 10_000)
    logged = nginx.requests(10_000)
    sizes = mapping(logged, "path", "bytes")
    assert set(sizes) == {(path, size) for path, size in OBJECTS.items() if path != "/1m"}
    assert sum(sizes.values()) == 10_000 and max(sizes.values()) - min(sizes.values()) <= 60, sizes
    assert max(request["number"] for request in logged) == 500
    body = sum(request["bytes"] for request in logged)
    assert one["client"]["tcp"]["bytes_in"] > body and one["client"]["http"]["2xx"] == 10_000


@pytest.mark.parametrize("path", OBJECTS)
def test_nginx_objects_of_every_size(host, path):
    """Whole, whatever their size; a wrong expectation of it is a failure."""
    nginx = Nginx(host.lab, host.host)
    size = OBJECTS[path]
    right = host.client({"http": {"path": path, "response": f"{size}B"}}, name="right", open="200/s", count=40)
    wrong = host.client({"http": {"path": path, "response": f"{size + 1}B"}}, name="wrong", open="200/s", count=10)
    done = host.run(right, wrong)
    all_through(of(done, "right"), 40, 40)
    assert of(done, "wrong")["failed"] == {"wrong_content": 10}
    served = [one for one in nginx.requests(50) if one["bytes"] == size]
    assert len(served) >= 40


def test_nginx_takes_what_is_posted(host):
    """Bodies with a length and in chunks, answered by a status of their own."""
    nginx = Nginx(host.lab, host.host, "location /take { return 204; } location /made { return 201 'made'; }")
    plain = {"http": {"method": "POST", "path": "/take", "body": "20KB", "requests": 5, "status": 204}}
    chunked = {"http": {"method": "PUT", "path": "/made", "body": "30KB", "chunked": "4KB", "status": 201}}
    done = host.run(
        host.client(plain, name="plain", open="100/s", count=20),
        host.client(chunked, name="chunked", open="100/s", count=20),
    )
    all_through(of(done, "plain"), 20, 100)
    all_through(of(done, "chunked"), 20, 20)
    assert mapping(nginx.requests(120), "method", "status") == {("POST", 204): 100, ("PUT", 201): 20}


def test_nginx_answers_requests_without_a_body(host):
    """HEAD has a length and no body; 304 has neither."""
    nginx = Nginx(host.lab, host.host, "location /same { return 304; }")
    head = {"http": {"method": "HEAD", "path": "/100k", "requests": 10}}
    same = {"http": {"path": "/same", "requests": 10, "status": 304}}
    done = host.run(
        host.client(head, name="head", open="50/s", count=10), host.client(same, name="same", open="50/s", count=10)
    )
    all_through(of(done, "head"), 10, 100)
    all_through(of(done, "same"), 10, 100)
    assert mapping(nginx.requests(200), "method", "status") == {("HEAD", 200): 100, ("GET", 304): 100}


def test_nginx_answers_what_is_sent_without_waiting(host):
    """16 requests on the way at a time, answered in order."""
    nginx = Nginx(host.lab, host.host)
    objects = [{"path": path, "response": f"{size}B"} for path, size in OBJECTS.items() if path != "/1m"]
    app = {"http": {"objects": objects, "requests": 200, "pipeline": 16}}
    all_through(of(host.run(host.client(app, open="50/s", count=10))), 10, 2000)
    assert len(nginx.requests(2000)) == 2000


def test_nginx_closes_when_it_is_asked_to(host):
    """`Connection: close` on the last request; nobody resets."""
    Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k", "response": "1024B", "requests": 3, "close_by": "server"}}
    one = all_through(of(host.run(host.client(app, open="500/s", count=500))), 500, 1500)
    no_resets(one["client"]["tcp"])


# TLS.


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("resumption", [None, 1000], ids=["full", "resumed"])
def test_nginx_over_tls(host, version, resumption):
    """The version we ask for, resumed or not as we ask; nginx's log says the same as our counters."""
    nginx = Nginx(host.lab, host.host)
    tls = {"versions": [version], "server_name": "a.test", "verify": {"roots": str(nginx.root)}}
    if resumption:
        tls["resumption"] = resumption
    app = {"http": {"path": "/100k", "response": f"{OBJECTS['/100k']}B"}}
    one = all_through(
        of(host.run(host.client(app, server_port=443, tls=tls, open="50/s", count=100, concurrent=20))), 100, 100
    )
    logged = nginx.requests(100)
    assert mapping(logged, "status", "bytes", "tls") == {(200, OBJECTS["/100k"], f"TLSv{version}"): 100}
    resumed = sum(request["resumed"] for request in logged)
    agreed = one["client"]["tls"]
    assert {entry["version"] for entry in agreed} == {version} and sum(
        entry["handshakes"] for entry in agreed
    ) == 100, agreed
    assert sum(entry["handshakes"] for entry in agreed if entry["resumed"]) == resumed
    assert resumed >= 70 if resumption else resumed == 0, resumed


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_nginx_takes_key_shares_that_it_has_seen(host, version):
    """A share of the client serves 30 handshakes, each with a secret of its own."""
    nginx = Nginx(host.lab, host.host)
    tls = {"versions": [version], "verify": {"roots": str(nginx.root)}, "server_name": "a.test", "key_share": {"reuse": 30}}
    app = {"http": {"path": "/1k", "response": "1024B"}}
    one = all_through(of(host.run(host.client(app, server_port=443, tls=tls, open="50/s", count=100))), 100, 100)
    assert mapping(nginx.requests(100), "status", "tls") == {(200, f"TLSv{version}"): 100}
    assert [row["key_share_reuse"] for row in one["client"]["tls"]] == [30], one["client"]["tls"]


@FAMILIES
def test_bulk_over_tls_with_loss_is_exact(lab, v6):
    """The receiver's cipher would notice any byte of the megabytes that loss and recovery had changed."""
    routed = Routed(lab)
    nginx = Nginx(lab, routed.host)
    routed.lose(3)
    app = {"http": {"path": "/1m", "response": f"{OBJECTS['/1m']}B", "requests": 4}}
    tcp = {"rto_initial": "300ms"}
    one = all_through(of(routed.run(routed.client(app, v6, 443, tls=True, tcp=tcp, open="10/s", count=2))), 2, 8)
    assert routed.lost() > 50 and one["client"]["tcp"]["out_of_order"] > 0
    assert mapping(nginx.requests(8), "bytes") == {(OBJECTS["/1m"],): 8}


def test_a_certificate_that_is_not_trusted_is_told(host):
    """By name or by root; each session fails for it, none with another reason."""
    nginx = Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k"}}
    other = {"verify": {"roots": str(nginx.root)}, "server_name": "b.test"}
    _, _, stranger = certificate(host.lab.folder())
    generated = {"verify": {"roots": str(stranger)}, "server_name": "a.test"}
    done = host.run(
        host.client(app, server_port=443, tls=other, name="name", open="100/s", count=20),
        host.client(app, server_port=443, tls=generated, name="root", open="100/s", count=20),
    )
    for name in ("name", "root"):
        all_failed(of(done, name), 20, tls_certificate=20)


def test_tls_to_a_server_without_it_is_told(host):
    """And a version nobody speaks, as an alert."""
    Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k"}}
    weak = {"versions": ["1.2"], "suites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}
    done = host.run(
        host.client(app, server_port=80, tls=True, name="plain", open="100/s", count=20),
        # nginx has an ECDSA key only.
        host.client(app, server_port=443, tls=weak, name="suite", open="100/s", count=20),
    )
    all_failed(of(done, "plain"), 20, tls_protocol=20)
    all_failed(of(done, "suite"), 20, tls_alert=20)
    hinted(done, "plain: 20 of 20 negotiated no version of TLS: does the port use TLS")


# haproxy in between.


@pytest.fixture
def proxied(lab):
    return Routed(lab)


def through_haproxy(proxied, app, **rest):
    """Sessions to haproxy, which runs on the router."""
    return proxied.client(app, server_port=8080, server={"addresses": proxied.ports()["west"]["gateway"][0]}, **rest)


def test_haproxy_in_front_of_nginx(proxied):
    """Client, proxy and server count the same requests."""
    nginx = Nginx(proxied.lab, proxied.host)
    haproxy = Haproxy(proxied.lab, proxied.router, f"{EAST4}:80")
    app = {"http": {"path": "/1k", "response": "1024B", "requests": 4}}
    all_through(of(proxied.run(through_haproxy(proxied, app, open="500/s", count=500))), 500, 2000)
    assert mapping(nginx.requests(2000), "status", "path") == {(200, "/1k"): 2000}
    assert haproxy.statuses() == {200: 2000}


def test_haproxy_without_a_server_behind_it(proxied):
    """503 for each request, counted as such, and each session a failure."""
    haproxy = Haproxy(proxied.lab, proxied.router, f"{EAST4}:80")
    app = {"http": {"path": "/1k"}}
    one = of(proxied.run(through_haproxy(proxied, app, open="200/s", count=200)))
    all_failed(one, 200, http_5xx=200)
    assert one["client"]["http"]["5xx"] == 200 and haproxy.statuses() == {503: 200}


def test_haproxy_before_a_server_that_answers_nothing(proxied):
    """502 for each request."""
    proxied.kernel_server("bad_server.py")
    haproxy = Haproxy(proxied.lab, proxied.router, f"{EAST4}:{BAD['closes_at_once']}")
    app = {"http": {"path": "/1k", "response": "1KB"}}
    one = of(proxied.run(through_haproxy(proxied, app, open="200/s", count=200)))
    all_failed(one, 200, http_5xx=200)
    assert one["client"]["http"]["5xx"] == 200 and haproxy.statuses() == {502: 200}


def test_haproxy_that_loses_its_server_within_a_run(proxied):
    """Before it all is well, after it all fails; each session is one or the other."""
    nginx = Nginx(proxied.lab, proxied.host)
    haproxy = Haproxy(proxied.lab, proxied.router, f"{EAST4}:80")
    app = {"http": {"path": "/1k"}}
    process = proxied.start(through_haproxy(proxied, app, open="300/s", count=900))
    nginx.requests(200)
    nginx.stop()
    one = of(proxied.lab.finish(process))
    statuses = haproxy.statuses()
    assert one["completed"] == statuses[200] >= 200 and one["failed"] == {
        "http_5xx": one["attempted"] - one["completed"]
    }
    assert one["attempted"] == 900 == sum(statuses.values()), statuses


# DNS.


@pytest.mark.unsteady("dnsmasq starts a process for each connection over TCP; on a busy machine the last are still open at the end")
@pytest.mark.parametrize("transport", ["udp", "tcp"])
@FAMILIES
def test_dnsmasq_is_asked(host, transport, v6):
    """As many queries as we count, each answered."""
    dnsmasq = Dnsmasq(host.lab, host.host)
    app = {"dns": {"names": "host{1..500}.a.test", "type": "AAAA" if v6 else "A", "requests": 2}}
    entry = host.client(app, v6, transport=transport, open="1000/s", count=1000, concurrent=200)
    one = all_through(of(host.run(entry)), 1000, 2000)
    assert one["client"]["dns"]["noerror"] == 2000, one["client"]["dns"]
    assert dnsmasq.queries("AAAA" if v6 else "A") == 2000


def test_dnsmasq_knows_no_such_name(host):
    """Counted by code; a failure only if it shall be one."""
    dnsmasq = Dnsmasq(host.lab, host.host)
    done = host.run(
        host.client({"dns": {"names": "x.nx.test"}}, name="counted", open="200/s", count=100),
        host.client({"dns": {"names": "x.nx.test", "errors_fail": True}}, name="fails", open="200/s", count=100),
        host.client(
            {"dns": {"names": "x.elsewhere.example", "errors_fail": True}}, name="refused", open="200/s", count=50
        ),
    )
    counted = all_through(of(done, "counted"), 100, 100)
    assert counted["client"]["dns"] == {"nxdomain": 100}, counted["client"]["dns"]
    fails = of(done, "fails")
    assert fails["failed"] == {"dns_code": 100} and fails["client"]["dns"] == {"nxdomain": 100}
    refused = of(done, "refused")
    assert refused["failed"] == {"dns_code": 50} and refused["client"]["dns"] == {"refused": 50}
    assert dnsmasq.queries() == 250


def test_a_nameserver_that_is_not_there(host):
    """Port unreachable refuses; silence is a time-out after as many queries as allowed."""
    app = {"dns": {"names": "a.test", "retries": 1, "retry_after": "200ms"}}
    one = of(host.run(host.client(app, open="100/s", count=50)))
    all_failed(one, 50, refused=50)
    host.host.run("nft", "-f", "-", input=SILENT_DNS)
    one = of(host.run(host.client(app, open="100/s", count=50)))
    all_failed(one, 50, response_timeout=50)


SILENT_DNS = """
table inet silent {
  chain at_input {
    type filter hook input priority 0
    udp dport 53 drop
  }
}
"""


# Servers that misbehave.

ONCE = {"path": "/1k", "response": "1KB"}
POST = {"method": "POST", "body": "4MB"}

# What a server does, what is said to it, and what must come of it; nothing: it was right after all.
WRONG = {
    "silent": (ONCE, "response_timeout"),
    "resets_at_once": (ONCE, "reset"),
    "resets_after_request": (ONCE, "reset"),
    "resets_midway": (ONCE, "reset"),
    "closes_at_once": (ONCE, "closed_early"),
    "closes_midway": (ONCE, "closed_early"),
    "half_closes_midway": (ONCE, "closed_early"),
    "half_closes_after": (ONCE, None),
    "garbage": (ONCE, "bad_response"),
    "greets_with_garbage": (ONCE, "bad_response"),
    "endless_head": (ONCE, "bad_response"),
    "stops_midway": (ONCE, "response_timeout"),
    "says_too_much": (ONCE, "wrong_content"),
    "says_too_little": ({**ONCE, "requests": 2}, "bad_response"),
    "two_lengths": (ONCE, "bad_response"),
    "bad_chunks": (ONCE, "bad_response"),
    "reads_nothing": (POST, "response_timeout"),
    "slow_but_right": (ONCE, None),
}
SOME = 50


@pytest.mark.long  # The next test has all of them at once.
@pytest.mark.parametrize("way", WRONG)
def test_a_server_that_misbehaves(host, way):
    """Each session fails with the reason that fits, and in time; a good server beside it does not suffer."""
    bad, good = host.kernel_server("bad_server.py"), Nginx(host.lab, host.host)
    app, reason = WRONG[way]
    begin = time.monotonic()
    done = host.run(
        host.client({"http": app}, server_port=BAD[way], name="bad", open="500/s", count=SOME, response_timeout="1s"),
        host.client({"http": {"path": "/1k"}}, name="good", open="200/s", count=100),
        duration="15s",
    )
    assert time.monotonic() - begin < 15, "a bad server must not hold up the run"
    one = of(done, "bad")
    if reason:
        all_failed(one, SOME, **{reason: SOME})
    else:
        all_through(one, SOME, SOME)
    all_through(of(done, "good"), 100, 100)
    assert len(good.requests(100)) == 100 and bad.seen()[way] == SOME


def test_servers_that_refuse(host):
    """Nobody listens: one reset each."""
    one = of(host.run(host.client({"http": ONCE}, server_port=REFUSING, open="2000/s", count=1000)))
    all_failed(one, 1000, refused=1000)
    assert one["established"] == 0


def test_servers_that_misbehave_all_at_once(host):
    """Every kind of failure in one run, a good server beside them: no count goes to a wrong place, nothing hangs."""
    bad, good = host.kernel_server("bad_server.py"), Nginx(host.lab, host.host)
    entries = [
        host.client({"http": app}, server_port=BAD[way], name=way, open="25/s", count=SOME, response_timeout="3s")
        for way, (app, _) in WRONG.items()
    ]
    begin = time.monotonic()
    done = host.run(host.client({"http": {"path": "/1k"}}, name="good", open="100/s", count=200), *entries)
    assert time.monotonic() - begin < 15, "a bad server must not hold up the run"
    all_through(of(done, "good"), 200, 200)
    assert len(good.requests(200)) == 200
    seen = {way: of(done, way) for way in WRONG}
    failed = {way: one["failed"] for way, one in seen.items()}
    assert failed == {way: {reason: SOME} if reason else {} for way, (_, reason) in WRONG.items()}
    assert all((one["attempted"], one["active"]) == (SOME, 0) for one in seen.values())
    assert bad.seen() == {way: SOME if way in WRONG else 0 for way in BAD}


def test_pages_that_are_not_found(host):
    """404 is counted by its class, and fails a session or not, as it is asked for."""
    nginx = Nginx(host.lab, host.host)
    missing = {"path": "/nothing"}
    done = host.run(
        host.client({"http": missing}, name="fails", open="500/s", count=200),
        host.client({"http": {**missing, "response": "1KB"}}, name="expected", open="500/s", count=200),
        host.client(
            {"http": {**missing, "errors_fail": False, "requests": 2}}, name="counted", open="500/s", count=200
        ),
        host.client({"http": {**missing, "status": 404}}, name="wanted", open="500/s", count=200),
        host.client({"http": {"path": "/1k", "status": 404}}, name="unwanted", open="500/s", count=200),
    )
    for name in ("fails", "expected"):
        all_failed(of(done, name), 200, http_4xx=200)
        hinted(done, f"{name}: 200 of 200 got a status of 4xx: does the server have the requested resource?")
    all_through(of(done, "counted"), 200, 400)
    all_through(of(done, "wanted"), 200, 200)
    all_failed(of(done, "unwanted"), 200, http_status=200)
    assert of(done, "counted")["client"]["http"] == {"4xx": 400}
    assert mapping(nginx.requests(1200), "status") == {(404,): 1000, (200,): 200}


def test_a_server_that_is_ended_within_a_run(host):
    """Sessions before succeed, sessions after are refused, those in between are reset or closed early; all counted."""
    nginx = Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k", "requests": 3, "think": "20ms"}}
    process = host.start(host.client(app, open="300/s", count=900))
    nginx.requests(300)
    nginx.process.kill()
    nginx.process.wait(10)
    # Whether half of them were in time is a matter of when it ended.
    one = of(host.lab.finish(process))
    assert one["attempted"] == 900 and one["active"] == 0 and one["completed"] > 50
    assert set(one["failed"]) <= {"refused", "reset", "closed_early"} and one["failed"]["refused"] > 100, one["failed"]


def test_a_server_that_waits_for_acknowledgements(host):
    """With Nagle's algorithm a body waits until the head is acknowledged: at once on a new connection, as by Linux, which is as quick with
    the first response only."""
    server = host.lab.start(PYTHON, TESTS / "nagle_server.py", "80", ns=host.host)
    assert server.stdout.readline() == "ready\n"
    first = of(host.run(host.client({"http": {"response": "1000B"}}, open="50/s", count=100)))
    all_through(first, 100, 100)
    assert first["ttlb_ns"]["p50"] < 15e6, first["ttlb_ns"]
    more = of(host.run(host.client({"http": {"response": "1000B", "requests": 5}}, open="20/s", count=40)))
    all_through(more, 40, 200)
    assert more["ttlb_ns"]["p50"] > 30e6 > more["ttlb_ns"]["min"], more["ttlb_ns"]
