"""Clients of HTTP follow redirects and keep cookies, like curl on the same server."""

import json

import pytest
from hosts import PYTHON, Host
from lab import BAD_INPUT, FAILED, wait_until
from servers import Caddy, Nginx
from test_http_command import entry, http, prepared, url

NGINX = """
    location = /old { return 302 /new?x=1; }
    location = /new { return 301 http://$http_host/1k; }
    location = /loop { return 307 /loop; }
    location = /secure { return 301 https://$host/1k; }
    location = /away { return 302 http://other.example/; }
    location = /login { add_header Set-Cookie "id=7; Path=/; HttpOnly" always; add_header Set-Cookie "far=1; Domain=example.org" always;
                        return 303 /home; }
    location = /home { if ($cookie_id != "7") { return 403; } return 200 "$http_cookie"; }
"""

CADDY = """
    redir /old /new 302
    redir /new /1k 308
    redir /login /home 303
    header /login Set-Cookie "id=7; Path=/; Max-Age=60"
    @stranger {
        path /home
        not header Cookie *id=7*
    }
    respond @stranger 403
    respond /home 200
"""

# A server of HTTP/1.0: it closes the connection after each response, redirects too.
CLOSING = """
import socket
listener = socket.create_server(("0.0.0.0", 80), backlog=64)
while True:
    one, _ = listener.accept()
    one.recv(65536)
    one.sendall(b"HTTP/1.0 302 Found\\r\\nLocation: /new\\r\\nContent-Length: 0\\r\\n\\r\\n")
    one.close()
"""


@pytest.fixture
def host(lab):
    return prepared(Host(lab, offloads=True))


def curl(host, path, *options):
    """Status, redirects and last method of curl on the same server."""
    line = ["curl", "-s", "-L", "-b", "", "-o", "/dev/null", "-w", "%{http_code} %{num_redirects} %{method}", *options]
    code, redirects, method = host.host.run(*line, url(host, path)).split()
    return int(code), int(redirects), method


def loaded(host, path, *options, count=20, scheme="http"):
    done = http(host, url(host, path, scheme=scheme), "-n", count, "-c", 4, "-L", "--cookies", "--max-failed", "100%", "--json", "-", *options)
    return entry(done.ok())


@pytest.mark.parametrize("path, method", [("/old", "GET"), ("/login", "POST"), ("/login", "GET")])
def test_nginx_is_followed_as_curl_does(host, path, method):
    nginx = Nginx(host.lab, host.host, NGINX)
    data = ["-d", "name=me"] if method == "POST" else []
    code, redirects, last = curl(host, path, *data)
    assert (code, redirects) == (200, 2 if path == "/old" else 1)
    before = nginx.requests(redirects + 1)[-1]
    one = loaded(host, path, *data)
    sent = 20 * (redirects + 1)
    assert (one["requests"], one["transactions"], one["failed_requests_ratio"]) == (sent, sent, 0), one
    assert one["client"]["http"] == {"2xx": 20, "3xx": 20 * redirects}, one
    assert one["client"]["redirects"] == {"followed": 20 * redirects}, one
    logged = nginx.requests(redirects + 1 + sent)[redirects + 1 :]
    ends = [line for line in logged if line["status"] == 200]
    assert {(line["path"], line["method"]) for line in ends} == {(before["path"], before["method"])} and len(ends) == 20, logged
    assert {line["method"] for line in ends} == {last}
    if path == "/login":
        cookies = one["client"]["cookies"]
        # Each connection has cookies of its own, so that its first request has none.
        assert (cookies["stored"], cookies["rejected"], cookies["sent"]) == (20, 20, sent - 4), cookies


def test_without_cookies_nginx_refuses(host):
    """The same login fails where cookies are not kept, as with curl."""
    Nginx(host.lab, host.host, NGINX)
    line = ("curl", "-s", "-L", "-o", "/dev/null", "-w", "%{http_code}", url(host, "/login"))
    assert host.host.run(*line) == "403"
    done = http(host, url(host, "/login"), "-n", 10, "-L", "--max-failed", "0%", "--json", "-")
    assert done.exit == FAILED and done.json["sessions"]["http"]["client"]["http"] == {"3xx": 10, "4xx": 10}, str(done)


@pytest.mark.parametrize(
    "path, reason, followed", [("/loop", "limit", 5), ("/secure", "other_scheme", 0), ("/away", "other_host", 0)]
)
def test_redirects_that_cannot_be_followed_are_counted(host, path, reason, followed):
    Nginx(host.lab, host.host, NGINX)
    done = http(host, url(host, path), "-n", 10, "--max-redirects", 5, "--json", "-")
    one = done.json["sessions"]["http"]
    redirects = one["client"]["redirects"]
    assert (redirects["unfollowed"], redirects["followed"]) == ({reason: 10}, 10 * followed), one
    assert one["failed_requests_ratio"] == pytest.approx(1 / (1 + followed)) and done.exit == (0 if followed else FAILED), str(done)
    assert "10 redirects were not followed" in json.dumps(done.json["verdict"]["notes"]), str(done)


def test_a_server_that_closes_is_a_reason(host):
    host.lab.start(PYTHON, "-c", CLOSING, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    one = http(host, url(host, "/old"), "-n", 10, "-L", "--max-failed", "100%", "--json", "-").ok().json["sessions"]["http"]
    assert one["client"]["redirects"] == {"followed": 0, "unfollowed": {"closed": 10}}, one
    assert one["failed_requests_ratio"] == 1, one


@pytest.mark.parametrize("version", ["--http1.1", "--h2", "--h3"])
def test_caddy_in_every_version(host, version):
    Caddy(host.lab, host.host, more=CADDY)
    streams = [] if version == "--http1.1" else ["--streams", 5]
    common = ("-H", "Host: server.eagre.test", "-k", version, *streams)
    one = loaded(host, "/old", *common, scheme="https", count=40)
    assert (one["requests"], one["failed"], one["failed_requests_ratio"]) == (120, {}, 0), one
    assert one["client"]["redirects"] == {"followed": 80} and one["client"]["http"] == {"2xx": 40, "3xx": 80}, one
    one = loaded(host, "/login", *common, "-d", "name=me", scheme="https", count=40)
    assert one["client"]["http"] == {"2xx": 40, "3xx": 40} and one["failed_requests_ratio"] == 0, one
    assert one["client"]["cookies"]["stored"] == 40 and one["client"]["cookies"]["sent"] >= 40, one


def test_close_by_server_takes_no_redirects(lab):
    profile = lab.folder() / "profile.yaml"
    profile.write_text("""
ports: {west: {device: "ring:a", ip: 10.0.0.1/24}, east: {device: "ring:b", ip: 10.0.0.2/24}}
sessions:
  - {name: s, client: {port: west}, server: {port: east}, app: {http: {redirects: 5, close_by: server}}, open: 10/s}
load: {duration: 1s}
""")
    done = lab.eagre("check", profile)
    assert done.exit == BAD_INPUT and "whose redirect could not be followed" in done.err, str(done)
