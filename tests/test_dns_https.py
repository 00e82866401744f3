"""DNS over HTTPS: clients and servers nobody here wrote against ours, both of ours where packets are lost, and usual ports."""

import json

import pytest
from hosts import PYTHON, TESTS, Host, installed
from lab import need
from servers import Caddy, Nginx, Process, certificate
from sessions import all_failed, all_through, check, of
from test_dns_quic import packages as doq_packages

LONG_TEXT = "x" * 200
RULES = [
    {"suffix": "long.test", "answers": [{"type": "TXT", "text": f"{number}{LONG_TEXT}"} for number in range(40)]},
    {"suffix": "slow.test", "answers": ["198.18.0.2"], "delay": "20ms", "ttl": "7s"},
    {"suffix": "test", "answers": [{"address": "198.18.0.1", "count": 4}]},
]
HTTPS = {"transport": "https"}
PACKAGES = [
    "anyio==4.9.0", "certifi==2025.6.15", "dnspython==2.7.0", "h11==0.16.0", "h2==4.2.0", "hpack==4.1.0", "httpcore==1.0.9", "httpx==0.28.1",
    "hyperframe==6.1.0", "idna==3.10", "sniffio==1.3.1", "typing-extensions==4.14.0",
]  # fmt: skip


@pytest.fixture(scope="module")
def packages():
    """dnspython and httpx, installed below target/."""
    return installed("doh-1", *PACKAGES)


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def serving(host, **rest):
    return host.serving(host.server({"dns": {"rules": RULES}}, **HTTPS, **rest))


def served(host, process):
    return check(host.served(process)["sessions"]["s"])


def kdig(host, *arguments, way="+https"):
    need("kdig")
    return host.host.run("kdig", f"@{host.tester_address()}", way, "+retry=0", "+time=5", *arguments)


@pytest.mark.parametrize("way", ["+https", "+https-get"])
def test_kdig_asks(host, way):
    """Responses of every kind, long ones too; kdig pads its queries, so ours pad their responses."""
    process = serving(host)
    whole = kdig(host, "long.test", "TXT", way=way)
    assert whole.count(LONG_TEXT) == 40 and "ANSWER: 40" in whole and "HTTP/2" in whole, whole
    assert "198.18.0.2" in kdig(host, "a.slow.test", way=way)
    assert "status: NXDOMAIN" in kdig(host, "x.invalid", way=way)
    padded = kdig(host, "a.test", "+padding=128", way=way)
    assert "PADDING" in padded and "Received 468 B" in padded, padded
    one = served(host, process)
    assert (one["attempted"], one["transactions"], one["failed"]) == (4, 4, {}), one
    side = one["server"]
    assert side["dns"] == {"noerror": 3, "nxdomain": 1} and side["http"] == {"2xx": 4}, side
    assert side["http2"]["connections"] == 4 and {agreed["alpn"] for agreed in side["tls"]} == {"h2"}, side


def test_kdig_asks_by_tls_at_its_port(host):
    """Clients of DNS over TLS and our servers meet at 853 (RFC 7858 section 3.1) without a word."""
    process = host.serving(host.server({"dns": {"rules": RULES}}, transport="tcp", tls=True))
    assert "198.18.0." in kdig(host, "a.test", way="+tls")
    assert served(host, process)["transactions"] == 1


def test_dnspython_asks(host, packages):
    """103 queries by GET and POST on one connection, and eight requests that are no queries: a status each, and the session goes on."""
    process = serving(host)
    client = [PYTHON, TESTS / "doh_client.py", packages, host.tester_address(), 443, "2"]
    heard = json.loads(host.host.run(*client, timeout=60))
    assert heard["codes"] == {"NOERROR": 102, "NXDOMAIN": 1} and heard["lengths"] > 8_000, heard
    assert len([address for address in heard["addresses"] if address.startswith("198.18.0.")]) == 4, heard
    assert heard["versions"] == ["HTTP/2"] and heard["fresh"] == ["max-age=0", "max-age=60"], heard
    statuses = {"path": 404, "method": 405, "type": 415, "long": 413, "none": 400, "padded": 400, "response": 400, "short": 400}
    assert heard["statuses"] == statuses, heard
    one = served(host, process)
    assert one["failed"] == {} and one["server"]["http"] == {"2xx": 103, "4xx": 8}, one
    assert one["server"]["dns"] == {"noerror": 102, "nxdomain": 1}, one
    details = one["server"]["failure_details"]
    assert details["a request that is no query: status 400"] == 4 and sum(details.values()) == 8, details


@pytest.mark.parametrize("version", ["1.1", "auto"])
def test_dnspython_asks_by_http1(host, packages, version):
    """The same one after the other by HTTP/1.1, which a server for both versions agrees on, too."""
    process = host.serving(host.server({"dns": {"rules": RULES, "version": version}}, **HTTPS))
    client = [PYTHON, TESTS / "doh_client.py", packages, host.tester_address(), 443]
    heard = json.loads(host.host.run(*client, "1.1", timeout=60))
    assert heard["codes"] == {"NOERROR": 102, "NXDOMAIN": 1} and heard["lengths"] > 8_000, heard
    assert heard["versions"] == ["HTTP/1.1"] and heard["fresh"] == ["max-age=0", "max-age=60"], heard
    statuses = {"path": 404, "method": 405, "type": 415, "long": 413, "none": 400, "padded": 400, "response": 400, "short": 400}
    assert heard["statuses"] == statuses, heard
    if version == "auto":
        assert "198.18.0." in kdig(host, "a.test"), "which comes by HTTP/2"
    one = served(host, process)
    asked = 103 + (version == "auto")
    assert one["failed"] == {} and one["server"]["http"] == {"2xx": asked, "4xx": 8}, one
    agreed = {each["alpn"] for each in one["server"]["tls"]}
    assert agreed == ({"http/1.1", "h2"} if version == "auto" else {"http/1.1"}), one


def test_dnspython_asks_by_http3(host, doq_packages):
    """Each query on a connection of aioquic: by both methods, a long response, and a path that is none."""
    process = host.serving(host.server({"dns": {"rules": RULES, "version": 3}}, **HTTPS))
    client = [PYTHON, TESTS / "doh3_client.py", doq_packages, host.tester_address(), 443]
    heard = json.loads(host.host.run(*client, timeout=60))
    assert heard == {"codes": {"NOERROR": 11, "NXDOMAIN": 1}, "records": 40, "other": 404}, heard
    one = served(host, process)
    side = one["server"]
    assert one["failed"] == {} and side["http"] == {"2xx": 12, "4xx": 1} and side["http3"]["streams"] == 13, one
    assert side["dns"] == {"noerror": 11, "nxdomain": 1} and side["tls"][0]["alpn"] == "h3", side


class Dnsdist(Process):
    """dnsdist with an address for every name below test., over TLS."""

    def __init__(self, lab, namespace, address, port=443):
        self.folder = lab.folder()
        chain, key, _ = certificate(self.folder)
        config = self.folder / "dnsdist.conf"
        config.write_text(f"""
addDOHLocal("{address}:{port}", "{chain}", "{key}", "/dns-query")
setACL("0.0.0.0/0")
addAction(makeRule("test."), SpoofAction("192.0.2.1"))
addAction(AllRule(), RCodeAction(DNSRCode.REFUSED))
""")
        self.start(lab, namespace, port, "dnsdist", "--supervised", "--disable-syslog", "-C", config)


class Unbound(Process):
    """unbound with an address for a.test, and no other, at port 443 over TLS, or at 80 in the clear."""

    def __init__(self, lab, namespace, address, port=443):
        self.folder = lab.folder()
        chain, key, _ = certificate(self.folder)
        config = self.folder / "unbound.conf"
        config.write_text(f"""
server:
  do-daemonize: no
  use-syslog: no
  chroot: ""
  username: ""
  directory: "{self.folder}"
  pidfile: "{self.folder}/pid"
  interface: {address}@{port}
  https-port: {port}
  http-notls-downstream: {"yes" if port == 80 else "no"}
  tls-service-key: "{key}"
  tls-service-pem: "{chain}"
  access-control: 0.0.0.0/0 allow
  local-zone: "test." static
  local-data: "a.test. 60 A 192.0.2.1"
remote-control:
  control-enable: no
""")
        self.start(lab, namespace, port, "unbound", "-d", "-c", config)


def asking(host, app=None, name="s", count=10, **rest):
    return host.client({"dns": {"names": "a.test", **(app or {})}}, name=name, **HTTPS, open="20/s", count=count, **rest)


def test_dnsdist_is_asked(host):
    """Many queries at a time by both methods, padded; resumed connections; and a name that is refused."""
    Dnsdist(host.lab, host.host, host.address())
    app = {"requests": 50, "streams_per_connection": 8}
    done = host.run(
        asking(host, {**app, "padding": True}, tls={"server_name": "a.test"}),
        asking(host, {**app, "method": "GET"}, name="get", tls={"resumption": 10}),
        asking(host, {"names": "b.invalid"}, name="refused", count=2),
        asking(host, {"path": "/other"}, name="other", count=2),
    )
    one = all_through(of(done), 10, 500)
    side = one["client"]
    assert side["dns"] == {"noerror": 500} and side["http"] == {"2xx": 500} and side["tls"][0]["alpn"] == "h2", side
    assert side["http2"]["streams"] == 500, side
    got = all_through(of(done, "get"), 10, 500)
    assert any(agreed["resumed"] for agreed in got["client"]["tls"]), got
    assert all_through(of(done, "refused"), 2, 2)["client"]["dns"] == {"refused": 2}
    other = all_failed(of(done, "other"), 2, http_4xx=2)
    assert other["client"]["failure_details"] == {"status 404": 2}, other


def test_dnsdist_is_asked_by_http1(host):
    """One query at a time on connections that stay open; a server for both versions chooses the better one."""
    Dnsdist(host.lab, host.host, host.address())
    one = {"version": 1.1, "requests": 50}
    done = host.run(
        asking(host, {**one, "padding": True}, tls={"server_name": "a.test"}),
        asking(host, {**one, "method": "GET"}, name="get"),
        asking(host, {"version": "auto", "requests": 50, "streams_per_connection": 5}, name="auto"),
        asking(host, {"version": 1.1, "names": "b.invalid"}, name="refused", count=2),
        asking(host, {"version": 1.1, "path": "/other"}, name="other", count=2),
    )
    for name in ("s", "get"):
        side = all_through(of(done, name), 10, 500)["client"]
        assert side["dns"] == {"noerror": 500} and side["http"] == {"2xx": 500}, side
    auto = all_through(of(done, "auto"), 10, 500)["client"]
    assert auto["http2"]["streams"] == 500 and auto["tls"][0]["alpn"] == "h2", auto
    assert all_through(of(done, "refused"), 2, 2)["client"]["dns"] == {"refused": 2}
    all_failed(of(done, "other"), 2, http_4xx=2)


def test_dnsdist_is_asked_by_http3_through_caddy(host):
    """Caddy in front of dnsdist: many queries at a time by both methods, updates of the keys, and a port that changes; a path that is none."""
    Dnsdist(host.lab, host.host, "127.0.0.1", 8443)
    proxy = "handle /dns-query* {\nreverse_proxy https://127.0.0.1:8443 {\ntransport http {\ntls_insecure_skip_verify\n}\n}\n}"
    Caddy(host.lab, host.host, more=proxy)
    app = {"version": 3, "requests": 50, "streams_per_connection": 8}
    done = host.run(
        asking(host, app, quic={"key_update": 20}),
        asking(host, {**app, "method": "GET"}, name="get", quic={"migrate": {"every": "100ms"}}),
        asking(host, {"version": 3, "path": "/other"}, name="other", count=2),
    )
    for name in ("s", "get"):
        side = all_through(of(done, name), 10, 500)["client"]
        assert side["dns"] == {"noerror": 500} and side["http"] == {"2xx": 500} and side["http3"]["streams"] == 500, side
        assert side["tls"][0]["alpn"] == "h3" and side["quic"]["connections"] == 10, side
    assert of(done)["client"]["quic"]["key_updates"] > 0
    all_failed(of(done, "other"), 2, http_4xx=2)


@pytest.mark.parametrize("port", [443, 80])
def test_unbound_is_asked(host, port):
    """Over TLS, and in the clear as behind a proxy that ends TLS."""
    Unbound(host.lab, host.host, host.address(), port)
    rest = {} if port == 443 else {"tls": False}
    app = {"requests": 50, "streams_per_connection": 20}
    done = host.run(
        asking(host, app, **rest),
        asking(host, {**app, "method": "GET"}, name="get", **rest),
        asking(host, {"names": "b.test"}, name="none", count=2, **rest),
    )
    for name in ("s", "get"):
        assert all_through(of(done, name), 10, 500)["client"]["dns"] == {"noerror": 500}
    assert all_through(of(done, "none"), 2, 2)["client"]["dns"] == {"nxdomain": 2}


def test_servers_that_are_none_have_a_reason(host):
    """A web server: pages, errors and redirections for DNS messages, and HTTP/1.1 alone; a note says where to look."""
    Nginx(
        host.lab,
        host.host,
        'location /page { default_type text/html; return 200 "hi"; } location /busy { return 503; } location /away { return 307 /page; }',
        http2=True,
    )
    paths = {"page": "doh_content_type", "busy": "http_5xx", "away": "http_status", "lost": "http_4xx"}
    done = host.run(*(asking(host, {"path": f"/{path}", "method": "GET"}, name=path, count=2) for path in paths))
    for path, reason in paths.items():
        all_failed(of(done, path), 2, **{reason: 2})
    assert of(done, "page")["client"]["failure_details"] == {"a response of the content type text/html": 2}
    assert any("does the server speak DNS over HTTPS" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]


def test_a_server_of_http_1_has_a_reason(host):
    """nginx without HTTP/2 refuses the handshake, and its HTTP/1.1 in the clear is none of HTTP/2."""
    Nginx(host.lab, host.host)
    done = host.run(asking(host, count=2), asking(host, name="clear", count=2, tls=False))
    refused = all_failed(of(done), 2, no_http2=2)
    assert refused["client"]["failure_details"] == {"ALPN: the other end supports none of the application protocols": 2}, refused
    all_failed(of(done, "clear"), 2, no_http2=2)


def simulated(lab, seed, app, **rest):
    """Both ends of ours in virtual time, where packets are lost."""
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east"},
        "app": {"dns": {"names": "host{1..1000}.test", "rules": RULES, **app}},
        **HTTPS,
        "open": "20/s",
        "count": 20,
        **rest,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    link = {"speed": "1Gbps", "delay": "1ms", "loss": "5%"}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "30s", "drain": "5s"}, sim={"link": link})
    return lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=60).result()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("rest", [{}, {"tls": False}, {"tls": {"resumption": 20}}], ids=["plain", "clear", "resumed"])
def test_ours_through_losses(lab, method, rest):
    """A twentieth of the packets is lost: every query has its response, and a seed repeats the run exactly."""
    app = {"requests": 50, "streams_per_connection": 10, "padding": rest != {"tls": False}, "method": method}
    results = [simulated(lab, seed, app, **rest) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 1_000) for result in results)
    assert one == again
    for side in (one["client"], one["server"]):
        assert side["dns"] == {"noerror": 1_000} and side["http"] == {"2xx": 1_000}, side
    assert one["client"]["http2"]["streams"] == 1_000 and one["retransmitted_segments"] > 0, one


@pytest.mark.parametrize("version", ["1.1", "auto", "3"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_versions_of_ours_through_losses(lab, version, method):
    app = {"version": version, "requests": 50, "padding": True, "method": method}
    if version != "1.1":
        app["streams_per_connection"] = 10
    results = [simulated(lab, seed, app) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 1_000) for result in results)
    assert one == again
    for side in (one["client"], one["server"]):
        assert side["dns"] == {"noerror": 1_000} and side["http"] == {"2xx": 1_000}, side
        alpn = {"1.1": "http/1.1", "auto": "h2", "3": "h3"}[version]
        assert {agreed["alpn"] for agreed in side["tls"]} == {alpn}, side


def test_early_data_of_ours(lab):
    """By HTTP/3: resumed sessions send their first queries with the handshake, whatever is lost; a seed repeats the run exactly."""
    app = {"version": 3, "method": "GET", "requests": 20, "streams_per_connection": 10}
    rest = {"tls": {"resumption": 100}, "quic": {"early_data": True}}
    results = [simulated(lab, seed, app, **rest) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 400) for result in results)
    assert one == again
    client, server = one["client"]["quic"], one["server"]["quic"]
    resumed = sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"])
    assert resumed >= 10 and client["early_data_accepted"] == server["early_data_accepted"] == resumed, (resumed, one)
    assert client["early_requests"] == 10 * resumed and 0 < server["early_requests"] <= client["early_requests"], one


@pytest.mark.parametrize(
    "change, place",
    [
        ({"quic": {"retry": True}}, "quic: these sessions do not go over QUIC"),
        ({"app": {"dns": {"names": "a.test", "retries": 1}}}, "retries: applies to UDP only"),
        ({"app": {"dns": {"names": "a.test", "path": "dns-query"}}}, "path: a path begins with '/'"),
        ({"app": {"dns": {"names": "a.test", "path": "/dns-query{?dns}"}}}, "path: a path begins with '/'"),
        ({"app": {"dns": {"names": "a.test", "method": "PUT"}}}, "method: "),
        ({"transport": "tcp", "app": {"dns": {"names": "a.test", "method": "GET"}}}, "method: applies to HTTPS only"),
        ({"transport": "udp", "app": {"dns": {"names": "a.test", "host": "a.test"}}}, "host: applies to HTTPS only"),
        ({"tls": False, "app": {"dns": {"names": "a.test", "padding": True}}}, "padding: hides the lengths"),
        ({"app": "http"}, "transport: http does not go over HTTPS"),
        ({"app": {"dns": {"names": "a.test", "version": 4}}}, "version: "),
        ({"transport": "udp", "app": {"dns": {"names": "a.test", "version": 3}}}, "version: applies to HTTPS only"),
        ({"tls": False, "app": {"dns": {"names": "a.test", "version": 3}}}, "tls: QUIC is always encrypted"),
        ({"app": {"dns": {"names": "a.test", "version": "1.1", "streams_per_connection": 2}}}, "HTTP/1.1 has no streams"),
        ({"quic": {"early_data": True}, "tls": {"resumption": 5}, "app": {"dns": {"names": "a.test", "version": 3}}}, "early_data: requests by POST are not"),
        ({"quic": {"early_data": True}, "app": {"dns": {"names": "a.test", "version": 3, "method": "GET"}}}, "early_data: only a resumed session"),
    ],
)
def test_what_can_not_be_is_refused(lab, change, place):
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": {"dns": {"names": "a.test"}}, **HTTPS, "open": "1/s", **change}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and place in done.out + done.err, done
