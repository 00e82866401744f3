"""Common clients against our servers: right answers, and equal counts on both sides."""

import json
import re
import time

import pytest
from hosts import Capture, Host
from lab import LONG, WEST4, WEST6, call, need
from servers import certificate
from sessions import check

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
TIMES = 10 if LONG else 1


@pytest.fixture
def host(lab):
    return Host(lab)


def url(path, v6=False, scheme="http", port=""):
    return f"{scheme}://{f'[{WEST6}]' if v6 else WEST4}{port}{path}"


def curl(host, *arguments, **options):
    """What curl says of each transfer: status, bytes of the body, connections it opened for it."""
    need("curl")
    form = "%{http_code} %{size_download} %{num_connects}\n"
    said = host.host.run("curl", "-sS", "-m", 20, "-w", form, *arguments, **options)
    return [tuple(map(int, line.split())) for line in said.splitlines()]


def http(host, *sessions, **options):
    """An HTTP server, started."""
    return host.serving(*(sessions or [host.server({"http": {"response": "1KB"}})]), **options)


def served(host, process, name="s"):
    """What our server counted."""
    one = check(host.served(process)["sessions"][name])
    assert one["failed"] == {}, one["failed"]
    return one


# curl.


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_curl_gets_objects_of_every_size(host, kind, v6):
    """A path that is a number is an object of so many bytes; one connection for all of them."""
    process = http(host, host.server({"http": {"response": "1KB"}}, v6), kind=kind)
    sizes = [0, 1, 1000, 1460, 65_535, 100_000, 3_000_000]
    urls = [word for size in sizes for word in ("-o", "/dev/null", url(f"/{size}", v6))]
    assert curl(host, *urls) == [(200, size, int(size == 0)) for size in sizes]
    assert curl(host, "-o", "/dev/null", url("/anything", v6)) == [(200, 1000, 1)]
    one = served(host, process)
    assert (one["attempted"], one["completed"], one["transactions"]) == (2, 2, len(sizes) + 1), one
    assert one["tx_bps_goodput"] > 0 and one["server"]["tcp"]["bytes_out"] > sum(sizes)


def test_curl_asks_for_nothing_but_the_head(host):
    """HEAD: the length of the object, and not a byte of it; the connection goes on."""
    process = http(host)
    assert curl(host, "-I", "-o", "/dev/null", url("/5000"), "-o", "/dev/null", url("/6000")) == [
        (200, 0, 1),
        (200, 0, 0),
    ]
    heads = host.host.run("curl", "-sS", "-I", url("/5000"))
    assert re.search(r"^content-length: 5000\r?$", heads, re.IGNORECASE | re.MULTILINE), heads
    assert served(host, process)["transactions"] == 3


def test_curl_posts(host):
    """A body with its length, in chunks, and after `Expect: 100-continue`; each is read to its end."""
    process = http(host)
    body = host.lab.folder() / "body"
    body.write_bytes(bytes(range(256)) * 8000)
    sent = ["-o", "/dev/null", "--data-binary", f"@{body}", url("/100")]
    assert curl(host, "-H", "Expect:", *sent) == [(200, 100, 1)]
    assert curl(host, "-H", "Transfer-Encoding: chunked", "-H", "Expect:", *sent) == [(200, 100, 1)]
    assert curl(host, "-H", "Expect: 100-continue", "--expect100-timeout", "0.2", *sent) == [(200, 100, 1)]
    assert curl(host, "-X", "PUT", *sent, *sent) == [(200, 100, 1), (200, 100, 0)]
    one = served(host, process)
    assert one["transactions"] == 5 and one["server"]["tcp"]["bytes_in"] > 5 * body.stat().st_size


RULES = [
    {"path": "/gone", "status": 404, "response": "20B"},
    {"path": "/broken", "status": 503, "close": True},
    {"path": "/moved", "status": 301, "headers": {"Location": "/1"}},
    {"path": "/chunks*", "response": "50000B", "chunked": "1000B"},
    {"path": "/open-ended", "response": "40000B", "until_close": True},
    {"path": "/slow", "response": "10B", "delay": "300ms"},
    {"methods": ["DELETE"], "status": 204},
]


def test_curl_and_a_server_with_rules(host):
    """Statuses, redirects, chunks, bodies that end with the connection, delays."""
    process = http(host, host.server({"http": {"response": "1KB", "server": {"rules": RULES, "name": "tide"}}}))
    out = ["-o", "/dev/null"]
    assert curl(host, *out, url("/gone"), *out, url("/7")) == [(404, 20, 1), (200, 7, 0)]
    assert curl(host, *out, url("/broken"), *out, url("/7")) == [(503, 0, 1), (200, 7, 1)]
    assert curl(host, "-L", *out, url("/moved"))[0][:2] == (200, 1)
    assert curl(host, *out, url("/chunks/a"), *out, url("/7")) == [(200, 50_000, 1), (200, 7, 0)]
    assert curl(host, *out, url("/open-ended"), *out, url("/7")) == [(200, 40_000, 1), (200, 7, 1)]
    begin = time.monotonic()
    assert curl(host, *out, url("/slow")) == [(200, 10, 1)] and time.monotonic() - begin >= 0.3
    assert curl(host, *out, "-X", "DELETE", url("/7")) == [(204, 0, 1)]
    head = host.host.run("curl", "-sS", "-I", url("/7"))
    assert re.search(r"^server: tide\r?$", head, re.IGNORECASE | re.MULTILINE), head
    one = served(host, process)
    assert one["server"]["http"] == {"2xx": 10, "3xx": 1, "4xx": 1, "5xx": 1}, one["server"]["http"]


def test_requests_that_are_sent_without_waiting(host):
    """200 in one go: all answered, in order, none twice."""
    process = http(host, host.server({"http": {"response": "1KB"}}))
    said = host.kernel_client("pipelined", address=WEST4, port=80, count=200, path="/3000")
    assert said["answers"] == 200 and said["bytes"] > 200 * 3000, said
    one = served(host, process)
    assert (one["attempted"], one["transactions"]) == (1, 200)


# Load generators.


def test_wrk(host):
    """As many requests as it reports, each answered, all on 20 connections."""
    need("wrk")
    process = http(host)
    said = host.host.run("wrk", "-t", 1, "-c", 20, "-d", f"{2 * TIMES}s", url("/1000"), timeout=60)
    requests = int(re.search(r"(\d+) requests in", said)[1])
    assert "Socket errors" not in said and "Non-2xx" not in said, said
    one = check(host.served(process)["sessions"]["s"])
    # What was on its way when the time was over is not in wrk's count; its connections may end by a reset.
    assert requests <= one["transactions"] <= requests + 20 * 2 and requests > 1000, (said, one)
    assert 20 <= one["attempted"] <= 21 and set(one["failed"]) <= {"reset"}, one


def test_wrk_with_a_connection_for_each_request(host):
    """A server that answers one request and closes: wrk counts no error."""
    need("wrk")
    app = {"http": {"response": "1KB", "server": {"keep_alive": 1}}}
    process = http(host, host.server(app, tcp={"time_wait": "10ms"}))
    said = host.host.run("wrk", "-t", 1, "-c", 20, "-d", "2s", url("/1000"), timeout=60)
    requests = int(re.search(r"(\d+) requests in", said)[1])
    assert "Socket errors" not in said and "Non-2xx" not in said, said
    one = check(host.served(process)["sessions"]["s"])
    assert requests <= one["transactions"] <= requests + 40 and requests > 500, (said, one)
    assert one["attempted"] >= one["transactions"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_h2load_with_http_1_1(host, scheme):
    """It reports each of its requests as succeeded; so do we."""
    need("h2load")
    count = 10_000 * TIMES
    tls = {"tls": True} if scheme == "https" else {}
    process = http(host, host.server({"http": {"response": "1KB"}}, **tls))
    said = host.host.run("h2load", "--h1", "-n", count, "-c", 50, url("/1000", scheme=scheme), timeout=120)
    assert f"requests: {count} total, {count} started, {count} done, {count} succeeded, 0 failed" in said, said
    assert f"status codes: {count} 2xx" in said, said
    one = served(host, process)
    assert (one["attempted"], one["transactions"], one["server"]["http"]) == (50, count, {"2xx": count}), one


# TLS.


def s_client(host, *arguments, asks="GET /100 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"):
    need("openssl")
    command = ["openssl", "s_client", "-connect", f"{WEST4}:443", "-ign_eof", *arguments]
    return host.host.run(*command, input=asks, check=False, timeout=20, errors="replace")


@pytest.fixture
def over_tls(host):
    """An HTTPS server with a certificate for a.test; and the root that signed it."""
    chain, key, root = certificate(host.lab.folder())
    tls = {"certificate": {"chain": str(chain), "key": str(key)}, "alpn": ["http/1.1"]}
    return http(host, host.server({"http": {"response": "1KB"}}, tls=tls)), root


@pytest.mark.parametrize("version, flag", [("TLSv1.2", "-tls1_2"), ("TLSv1.3", "-tls1_3")])
def test_openssl_handshakes(host, over_tls, version, flag):
    """The version it asks for, with ALPN and SNI, and a certificate it trusts."""
    process, root = over_tls
    trust = ["-CAfile", root, "-verify_return_error", "-verify_hostname", "a.test", "-servername", "a.test"]
    said = s_client(host, flag, "-alpn", "h2,http/1.1", *trust)
    assert "Verify return code: 0 (ok)" in said and version in said, said
    assert "ALPN protocol: http/1.1" in said and "HTTP/1.1 200" in said, said
    one = served(host, process)
    assert (one["completed"], one["transactions"]) == (1, 1)
    [agreed] = one["server"]["tls"]
    assert (agreed["version"], agreed["resumed"], agreed["handshakes"]) == (version[4:], False, 1), agreed
    assert one["server"]["handshake_ns"]["samples"] == 1


@pytest.mark.parametrize("version, flag", [("1.2", "-tls1_2"), ("1.3", "-tls1_3")])
def test_openssl_resumes(host, over_tls, version, flag):
    """With the ticket of the first session the second needs no full handshake."""
    process, _ = over_tls
    ticket = host.lab.folder() / "ticket"
    assert "HTTP/1.1 200" in s_client(host, flag, "-sess_out", ticket)
    said = s_client(host, flag, "-sess_in", ticket)
    assert "HTTP/1.1 200" in said and re.search(r"^Reused, TLSv1", said, re.MULTILINE), said
    counts = {entry["resumed"]: entry["handshakes"] for entry in served(host, process)["server"]["tls"]}
    assert counts == {False: 1, True: 1}, counts


def test_handshakes_that_can_not_be(host):
    """A version, a cipher or a protocol we do not have is an alert to the client and a reason with us."""
    chain, key, _ = certificate(host.lab.folder())
    tls = {"versions": ["1.3"], "certificate": {"chain": str(chain), "key": str(key)}, "alpn": ["http/1.1"]}
    process = http(host, host.server({"http": {"response": "1KB"}}, tls=tls))
    assert "alert" in s_client_errors(host, "-tls1_2")
    assert "alert" in s_client_errors(host, "-alpn", "h2")
    assert "alert" in s_client_errors(host, "-groups", "X448")
    result = host.served(process)
    one = check(result["sessions"]["s"])
    assert one["attempted"] == 3 == sum(one["failed"].values()), one
    assert one["failed"] == {"tls_protocol": 2, "no_alpn": 1}, one["failed"]


@pytest.mark.parametrize("version, flag", [("1.2", "-tls1_2"), ("1.3", "-tls1_3")])
def test_openssl_by_p_521(host, version, flag):
    """Keys are exchanged by P-521, and the certificate's key is on it as well."""
    folder = host.lab.folder()
    chain, key = folder / "chain.pem", folder / "key.pem"
    call("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521", "-nodes", "-subj", "/CN=a.test", "-days", "2", "-keyout", key, "-out", chain)
    tls = {"certificate": {"chain": str(chain), "key": str(key)}, "groups": "secp521r1"}
    process = http(host, host.server({"http": {"response": "1KB"}}, tls=tls))
    said = s_client(host, flag, "-groups", "P-521")
    assert "HTTP/1.1 200" in said and "ECDH, secp521r1, 521 bits" in said, said
    [agreed] = served(host, process)["server"]["tls"]
    assert (agreed["version"], agreed["group"]) == (version, "secp521r1"), agreed


def s_client_errors(host, *arguments):
    command = f"openssl s_client -connect {WEST4}:443 {' '.join(arguments)} </dev/null 2>&1; true"
    return host.host.run("sh", "-c", command, timeout=20, errors="replace")


def test_a_client_that_speaks_no_tls(host, over_tls):
    """HTTP in the clear to the port of TLS: one failed session, and the server goes on."""
    process, _ = over_tls
    host.host.run("curl", "-sS", "-m", 5, "-o", "/dev/null", f"http://{WEST4}:443/1", check=False)
    assert "HTTP/1.1 200" in s_client(host)
    one = check(host.served(process)["sessions"]["s"])
    assert one["failed"] == {"tls_protocol": 1} and one["completed"] == 1, one


@FAMILIES
def test_curl_over_tls(host, v6):
    """Megabytes, exactly as in the clear."""
    process = http(
        host,
        host.server({"http": {"response": "1KB"}}, v6, name="plain"),
        host.server({"http": {"response": "1KB"}}, v6, name="secure", tls=True),
    )
    plain, secure = (
        host.host.run("sh", "-c", f"curl -sS -k -m 20 '{url('/2000000', v6, scheme)}' | sha256sum", timeout=30)
        for scheme in ("http", "https")
    )
    sessions = host.served(process)["sessions"]
    assert plain == secure
    assert [sessions[name]["transactions"] for name in ("plain", "secure")] == [1, 1]


# DNS.


def dig(host, *arguments):
    need("dig")
    return host.host.run("dig", f"@{WEST4}", "+tries=1", "+time=3", *arguments)


DNS_RULES = [
    {"suffix": "a.test", "answers": ["192.0.2.7", "2001:db8::7"], "ttl": "99s"},
    {"suffix": "text.test", "answers": [{"type": "TXT", "text": "an eagre is a tidal bore"}]},
    {"suffix": "refused.test", "code": 5},
    {"suffix": "silent.test", "silent": True},
]
DNS = {"names": "a.test", "rules": DNS_RULES}


def test_servers_need_not_know_what_is_asked(host):
    """Applications of servers whose clients are someone else's say only what servers do."""
    apps = [
        {"dns": {"rules": DNS_RULES}},
        {"http": {"response": "1KB"}},
        {"program": {"server": ["expect_end"]}},
        "echo",
    ]
    entries = [host.server(app, name=f"s{number}", server={"ports": 1000 + number}) for number, app in enumerate(apps)]
    host.lab.eagre("check", host.profile(*entries, kind="afpacket", duration="1s", ports=None)).ok()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_dig(host, transport):
    """Addresses of both families, a text, no such name, a refusal; as many queries as it asked."""
    app = {"dns": DNS}
    process = host.serving(host.server(app, transport=transport))
    over = ["+tcp"] if transport == "tcp" else ["+notcp"]
    assert dig(host, *over, "+short", "www.a.test", "A").split() == ["192.0.2.7"]
    assert dig(host, *over, "+short", "WWW.a.TEST", "AAAA").split() == ["2001:db8::7"]
    assert dig(host, *over, "+short", "text.test", "TXT").strip() == '"an eagre is a tidal bore"'
    whole = dig(host, *over, "a.test")
    assert "status: NOERROR" in whole and re.search(r"a\.test\.\s+99\s+IN\s+A\s+192\.0\.2\.7", whole), whole
    assert "QUERY: 1, ANSWER: 1, AUTHORITY: 0" in whole and "WARNING" not in whole, whole
    assert "status: NXDOMAIN" in dig(host, *over, "other.test")
    assert "status: REFUSED" in dig(host, *over, "x.refused.test")
    empty = dig(host, *over, "a.test", "MX")
    assert "status: NOERROR" in empty and "ANSWER: 0" in empty, empty
    one = check(host.served(process)["sessions"]["s"])
    assert one["transactions"] == 7 and one["failed"] == {}, one
    assert one["server"]["dns"] == {"noerror": 5, "nxdomain": 1, "refused": 1}, one["server"]["dns"]


def test_dig_is_not_answered_where_silence_is_asked_for(host):
    """It gives up; a query after it is answered."""
    process = host.serving(host.server({"dns": DNS}))
    said = host.host.run("dig", f"@{WEST4}", "+tries=1", "+time=1", "silent.test", check=False)
    assert "timed out" in said or "no servers could be reached" in said, said
    assert dig(host, "+short", "a.test").split() == ["192.0.2.7"]
    assert check(host.served(process)["sessions"]["s"])["transactions"] == 1


def test_answers_are_well_formed(host):
    """An analyser reads each of them to its end and finds nothing wrong."""
    process = host.serving(host.server({"dns": DNS}))
    capture = Capture(host.lab, host.host, "h0", snap=2000, rule="udp port 53")
    for name, kind in (("a.test", "A"), ("a.test", "AAAA"), ("text.test", "TXT"), ("other.test", "A")):
        dig(host, name, kind)
    rows = capture.fields(f"dns && ip.src == {WEST4}", "dns.count.answers", "dns.flags.rcode", "_ws.expert.message")
    assert [row[:2] for row in rows] == [("1", "0"), ("1", "0"), ("1", "0"), ("0", "3")], rows
    assert not any("Malformed" in row[2] for row in rows if len(row) > 2), rows
    host.served(process)


# Several at once, and those who come uninvited.


def test_several_servers_on_one_port(host):
    """HTTP, HTTPS, DNS and echo beside each other, each with its own counts."""
    process = host.serving(
        host.server({"http": {"response": "1KB"}}, name="web"),
        host.server({"http": {"response": "2KB"}}, name="secure", tls=True),
        host.server({"dns": DNS}, name="names"),
        host.server("echo", name="echo"),
    )
    assert curl(host, "-o", "/dev/null", url("/")) == [(200, 1000, 1)]
    assert curl(host, "-k", "-o", "/dev/null", url("/", scheme="https")) == [(200, 2000, 1)]
    assert dig(host, "+short", "a.test").split() == ["192.0.2.7"]
    said = host.kernel_client("many", address=WEST4, port=7, count=10, concurrent=5, size=1000)
    assert said == {"ok": 10}
    sessions = host.served(process)["sessions"]
    assert {name: one["transactions"] for name, one in sessions.items() if name != "echo"} == {
        "web": 1,
        "secure": 1,
        "names": 1,
    }
    assert (sessions["echo"]["completed"], sessions["echo"]["failed"]) == (10, {})


def test_ports_without_a_server_refuse(host):
    """As a host does: a reset, at once, and nothing counted as a session."""
    process = host.serving(host.server("echo"))
    begin = time.monotonic()
    said = host.host.run("curl", "-sS", "-m", 10, url("/"), check=False)
    assert said == "" and time.monotonic() - begin < 3
    assert check(host.served(process)["sessions"]["s"])["attempted"] == 0


def test_a_request_that_is_none(host):
    """Garbage to our HTTP server: bad_request, and the next client is served."""
    process = http(host)
    host.host.run("/usr/bin/python3", "-c", GARBAGE, WEST4)
    assert curl(host, "-o", "/dev/null", url("/10")) == [(200, 10, 1)]
    one = check(host.served(process)["sessions"]["s"])
    assert one["failed"] == {"bad_request": 1} and one["completed"] == 1, one


GARBAGE = """
import socket, sys
one = socket.create_connection((sys.argv[1], 80), 5)
one.sendall(bytes(range(128, 256)) * 4 + b"\\r\\n\\r\\n")
while one.recv(4096):
    pass
"""


def test_a_pool_of_servers(host):
    """Every address of the range answers; the host asks for each by ARP."""
    pool = {"addresses": f"{WEST4}..10.0.0.250"}
    process = http(host, host.server({"http": {"response": "1KB"}}, server=pool))
    for last in (2, 3, 77, 250):
        assert curl(host, "-o", "/dev/null", f"http://10.0.0.{last}/50") == [(200, 50, 1)]
    neighbours = {
        one["dst"] for one in json.loads(call("ip", "-n", host.host.name, "-j", "neigh", "show", "dev", "h0"))
    }
    assert {"10.0.0.77", "10.0.0.250"} <= neighbours
    assert served(host, process)["completed"] == 4
