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
    assert one["client"]["redirects"] == {"followed": 20 * redirects, "new_connections": 0, "repeated": 0}, one
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
    assert one["failed_requests_ratio"] == 1 and done.exit == FAILED, str(done)
    assert "10 redirects were not followed" in json.dumps(done.json["verdict"]["notes"]), str(done)


def curl_connects(host, path, *options, scheme="http"):
    """Status, redirects and connections of curl on the same server."""
    line = ["curl", "-s", "-L", "-k", "-o", "/dev/null", "-w", "%{http_code} %{num_redirects} %{num_connects}", *options]
    return tuple(int(value) for value in host.host.run(*line, url(host, path, scheme=scheme)).split())


def test_a_server_of_http_1_0_is_followed_on_new_connections(host):
    """Python's server closes after each response; a folder without its slash is a redirect."""
    folder = host.lab.folder()
    (folder / "pages").mkdir()
    (folder / "pages" / "index.html").write_text("x" * 3000)
    host.lab.start(PYTHON, "-m", "http.server", "80", "--directory", folder, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    assert curl_connects(host, "/pages") == (200, 1, 2)
    one = entry(http(host, url(host, "/pages"), "-n", 20, "-c", 4, "-L", "--json", "-").ok())
    client = one["client"]
    assert (client["http"], client["redirects"]) == ({"2xx": 20, "3xx": 20}, {"followed": 20, "new_connections": 20, "repeated": 0}), one
    assert (one["requests"], one["transactions"], one["failed"], one["failed_requests_ratio"]) == (40, 40, {}, 0), one
    assert one["completed"] == one["established"] == one["attempted"], one


@pytest.mark.parametrize("version", ["http", "https", "h2"])
def test_nginx_without_keepalive_is_followed_on_new_connections(host, version):
    """Cookies of the first connection go along to the second. With HTTP/2 nginx closes by GOAWAY after each request."""
    scheme = "http" if version == "http" else "https"
    locations = NGINX.replace("http://$http_host", "$scheme://$http_host")
    if version == "h2":
        nginx = Nginx(host.lab, host.host, locations, http2=True, keepalive=1)
    else:
        nginx = Nginx(host.lab, host.host, locations + "keepalive_timeout 0;")
    options = {"http": [], "https": ["-k"], "h2": ["-k", "--h2"]}[version]
    assert curl_connects(host, "/old", scheme=scheme) == (200, 2, 3)
    nginx.requests(3)
    one = loaded(host, "/login", *options, "-d", "name=me", scheme=scheme)
    assert (one["client"]["http"], one["failed_requests_ratio"]) == ({"2xx": 20, "3xx": 20}, 0), one
    assert one["client"]["redirects"] == {"followed": 20, "new_connections": 20, "repeated": 0}, one
    assert one["client"]["cookies"]["sent"] == 20 and one["completed"] == one["attempted"], one
    one = loaded(host, "/old", *options, scheme=scheme)
    assert one["client"]["redirects"] == {"followed": 40, "new_connections": 40, "repeated": 0}, one


def test_a_loop_of_a_server_that_closes_ends_at_the_limit(host):
    host.lab.start(PYTHON, "-c", CLOSING, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    done = http(host, url(host, "/old"), "-n", 10, "--max-redirects", 5, "--max-failed", "100%", "--json", "-")
    one = done.ok().json["sessions"]["http"]
    assert one["client"]["redirects"] == {"followed": 50, "new_connections": 50, "repeated": 0, "unfollowed": {"limit": 10}}, one
    assert one["failed_requests_ratio"] == 1, one


def test_a_server_that_is_gone_after_its_redirect_is_a_reason(host):
    """It stops listening before it responds."""
    host.lab.start(PYTHON, "-c", CLOSING.replace("one.recv", "listener.close(); one.recv"), ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    done = http(host, url(host, "/old"), "-n", 1, "-c", 1, "-L", "--max-failed", "100%", "--json", "-")
    one = done.json["sessions"]["http"]
    assert one["client"]["redirects"]["unfollowed"] == {"closed": 1} and one["failed"] == {"refused": 1}, str(done)


def simulated(lab, http, load):
    """Both ends of ours in virtual time."""
    profile = lab.folder() / "profile.yaml"
    profile.write_text(f"""
ports: {{west: {{device: "ring:a", ip: 10.0.0.1/24}}, east: {{device: "ring:b", ip: 10.0.0.2/24}}}}
sessions:
  - {{name: s, client: {{port: west}}, server: {{port: east, ports: 80}}, app: {{http: {http}}}, {load}}}
load: {{duration: 2s}}
""")
    done = lab.eagre("sim", profile, "--json", "-")
    assert done.exit in (0, 1), str(done)
    return done.json["sessions"]["s"]


@pytest.mark.parametrize("version", ["2", "3"])
def test_requests_above_a_goaway_are_sent_after_its_redirect(lab, version):
    """Of four requests at a time the server processes three, of which one is a redirect: the fourth follows that to the next connection."""
    rules = "[{path: /a, status: 302, headers: {Location: /b}}, {path: /*, response: 2KB}]"
    http = (
        f"{{version: {version}, redirects: 3, requests: 4, streams_per_connection: 4, objects: [{{path: /c}}, {{path: /a}}, {{path: /d}}, {{path: /e}}], "
        f"server: {{keep_alive: 3, rules: {rules}}}}}"
    )
    one = simulated(lab, http, "open: 100/s, count: 50")
    assert (one["completed"], one["established"], one["failed"]) == (50, 50, {}), one
    assert one["client"]["redirects"] == {"followed": 50, "new_connections": 50, "repeated": 0}, one
    assert (one["transactions"], one.get("unasked", 0)) == (250, 0), one
    # The request after the redirect may cross with the GOAWAY, too.
    assert one["client"][f"http{version}"]["unprocessed"] >= 50, one["client"]


@pytest.mark.parametrize("version, more", [("1.1", "pipeline: 2"), ("2", "streams_per_connection: 2"), ("3", "streams_per_connection: 2")])
def test_a_rate_loses_nothing_with_a_change_of_connection(lab, version, more):
    """A session waits for the turn of its next request when its server ends the connection after a redirect: it is not lost with that."""
    limit = "date: true" if version == "1.1" else "keep_alive: 1"
    rules = "[{path: /a, status: 302, headers: {Location: /b}, close: true}, {path: /b, response: 2KB}]"
    http = f"{{version: {version}, redirects: 3, path: /a, requests: endless, {more}, server: {{{limit}, rules: {rules}}}}}"
    one = simulated(lab, http, "concurrent: 1, request_rate: 100/s")
    assert one["failed"] == {} and one["client"]["redirects"]["new_connections"] >= 195, one
    assert one["client"]["http"]["3xx"] >= 195 and one["unsent_requests"] <= 2, one


@pytest.mark.parametrize("version", ["1.1", "2", "3"])
def test_both_ends_close_after_redirects(lab, version):
    """Eagre's server closes with each redirect, with HTTP/2 and HTTP/3 by GOAWAY after each request."""
    profile = lab.folder() / "profile.yaml"
    limit = "date: true" if version == "1.1" else "keep_alive: 1"
    profile.write_text(f"""
ports: {{west: {{device: "ring:a", ip: 10.0.0.1/24}}, east: {{device: "ring:b", ip: 10.0.0.2/24}}}}
sessions:
  - name: s
    client: {{port: west}}
    server: {{port: east, ports: 80}}
    app:
      http:
        version: {version}
        redirects: 3
        path: /a
        requests: 1
        server: {{{limit}, rules: [{{path: /a, status: 302, headers: {{Location: /b}}, close: true}}, {{path: /b, response: 2KB}}]}}
    open: 100/s
    count: 50
load: {{duration: 2s}}
""")
    one = lab.eagre("sim", profile, "--json", "-").ok().json["sessions"]["s"]
    assert one["completed"] == one["established"] == 50 and one["failed"] == {}, one
    assert one["client"]["redirects"] == {"followed": 50, "new_connections": 50, "repeated": 0}, one
    assert one["server"]["completed"] == 100, one["server"]


@pytest.mark.parametrize("version, limit", [("1.1", "date: true"), ("2", "keep_alive: 1"), ("3", "keep_alive: 1")])
def test_new_connections_of_many_sessions_have_ports(lab, version, limit):
    """Sessions that all follow a redirect on a new connection at a time, from one address: the ports beside theirs are in use."""
    rules = "[{path: /a, status: 302, headers: {Location: /b}, close: true}, {path: /b, response: 2KB}]"
    http = f"{{version: {version}, redirects: 3, path: /a, requests: 1, server: {{{limit}, rules: {rules}}}}}"
    one = simulated(lab, http, "concurrent: 300, count: 900")
    assert (one["completed"], one["established"], one["failed"]) == (900, 900, {}), one
    assert one["client"]["redirects"] == {"followed": 900, "new_connections": 900, "repeated": 0}, one


@pytest.mark.parametrize("version", ["--http1.1", "--h2", "--h3"])
def test_caddy_in_every_version(host, version):
    Caddy(host.lab, host.host, more=CADDY)
    streams = [] if version == "--http1.1" else ["--streams", 5]
    common = ("-H", "Host: server.eagre.test", "-k", version, *streams)
    one = loaded(host, "/old", *common, scheme="https", count=40)
    assert (one["requests"], one["failed"], one["failed_requests_ratio"]) == (120, {}, 0), one
    assert one["client"]["redirects"] == {"followed": 80, "new_connections": 0, "repeated": 0} and one["client"]["http"] == {"2xx": 40, "3xx": 80}, one
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
