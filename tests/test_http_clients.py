"""HTTP clients nobody here wrote against our server, and servers nobody here wrote against our clients."""

import email.utils
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hosts import PYTHON, Host
from lab import call, missing, need, wait_until
from servers import Nginx, Plain
from sessions import all_through, check, of

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
RULES = [
    {"path": "/chunks", "response": "5KB", "chunked": "1KB"},
    {"path": "/form", "status": 201, "response": "10B"},
    {"path": "/*", "response": "1KB"},
]
SERVER = {"http": {"server": {"rules": RULES}}}

# Says each text on a connection of its own, and what came back until the other end closed or said no more.
TALK = """
import json, socket, sys
address, texts = json.loads(sys.argv[1])
answers = []
for text in texts:
    with socket.create_connection((address, 80), timeout=1) as one:
        one.sendall(text.encode())
        got = b""
        try:
            while part := one.recv(1 << 16):
                got += part
        except TimeoutError:
            pass
        answers.append(got.decode("latin-1"))
print(json.dumps(answers))
"""

JAVA = """
import java.net.URI;
import java.net.http.*;
public class Put {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int round = 0; round < 20; round++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0])).expectContinue(true)
                .version(HttpClient.Version.HTTP_1_1)
                .PUT(HttpRequest.BodyPublishers.ofByteArray(new byte[100000])).build();
            HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            System.out.println(answer.statusCode() + " " + answer.body().length);
        }
    }
}
"""


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def serving(host, v6=False, kind="afpacket", app=SERVER):
    return host.serving(host.server(app, v6, server={"ports": 80}), kind=kind)


def served(host, process):
    return check(host.served(process)["sessions"]["s"])


def url(host, v6=False, path="/"):
    address = host.tester_address(v6)
    return f"http://[{address}]{path}" if v6 else f"http://{address}{path}"


def talk(host, *texts):
    said = host.host.run(PYTHON, "-c", TALK, json.dumps([host.tester_address(), texts]))
    return json.loads(said)


@FAMILIES
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_apachebench_keeps_its_connections(host, kind, v6):
    """`ab -k` speaks HTTP/1.0: 1,000 requests go over as many connections as it has at a time."""
    need("ab")
    process = serving(host, v6, kind)
    said = host.host.run("ab", "-q", "-k", "-n", "1000", "-c", "10", url(host, v6))
    numbers = {name: int(count) for name, count in re.findall(r"(\w[\w -]+\w): +(\d+)", said)}
    assert (numbers["Complete requests"], numbers["Failed requests"], numbers["Keep-Alive requests"]) == (1000, 0, 1000), said
    assert "Non-2xx" not in said
    one = served(host, process)
    assert (one["transactions"], one["failed"]) == (1000, {}) and one["attempted"] <= 12, one


def test_apachebench_without_keep_alive_and_with_chunks(host):
    """A client of HTTP/1.0 gets a body of chunks as it is, up to the end of the connection."""
    need("ab")
    process = serving(host)
    said = host.host.run("ab", "-q", "-k", "-n", "50", "-c", "5", url(host, path="/chunks"))
    assert re.search(r"HTML transferred: +250000 bytes", said), said
    assert (one := served(host, process))["transactions"] == 50 and one["failed"] == {}, one


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_curl_waits_for_a_100_and_gets_it(host, kind, v6):
    """curl sends a body of 2 MB at once when told to, instead of after its second of patience."""
    process = serving(host, v6, kind)
    line = ["curl", "-s", "-g", "-o", "/dev/null", "-w", "%{http_code} %{time_total} %{size_upload}", "-H", "Expect: 100-continue"]
    body = host.lab.folder() / "body"
    body.write_bytes(bytes(2_000_000))
    code, seconds, size = host.host.run(*line, "--expect100-timeout", "10", "-T", body, url(host, v6, "/form"), timeout=15).split()
    assert (code, size) == ("201", "2000000") and float(seconds) < 5, (code, seconds)
    server = served(host, process)["server"]
    assert (server["http"]["1xx"], server["http"]["2xx"], server["transactions"], server["failed"]) == (1, 1, 1, {}), server


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_java_waits_for_a_100_and_gets_it(host, kind, v6):
    """`expectContinue(true)` of java.net.http, twenty times on one connection."""
    if not shutil.which("java") or "jdk.compiler" not in subprocess.run(["java", "--list-modules"], capture_output=True, text=True).stdout:
        missing("needs a Java development kit")
    process = serving(host, v6, kind)
    source = host.lab.folder() / "Put.java"
    source.write_text(JAVA)
    said = host.host.run("java", "-XX:TieredStopAtLevel=1", source, url(host, v6, "/form"), timeout=60)
    assert said.split() == ["201", "10"] * 20, said
    server = served(host, process)["server"]
    assert (server["http"]["1xx"], server["http"]["2xx"], server["failed"]) == (20, 20, {}), server


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
@pytest.mark.parametrize(
    "line",
    [
        ["siege", "-q", "-b", "-c", "5", "-r", "40", "-H", "Connection: keep-alive"],
        ["hey", "-n", "200", "-c", "5"],
    ],
    ids=["siege", "hey"],
)
def test_load_tools_run(host, line, kind, v6):
    """Every request is answered; nothing fails on either side."""
    need(line[0])
    process = serving(host, v6, kind)
    folder = host.lab.folder()
    host.host.run("env", f"HOME={folder}", *line, url(host, v6))
    one = served(host, process)
    assert one["transactions"] == 200 and one["failed"] == {}, one


K6 = """
import http from "k6/http";
import { check } from "k6";
export const options = { vus: 5, iterations: 200 };
export default function () {
    const bytes = { responseType: "binary" };
    const form = http.post(__ENV.URL + "form", "x".repeat(20000), bytes);
    const answers = [http.get(__ENV.URL, bytes), form, http.get(__ENV.URL + "chunks", bytes)];
    const lengths = [1000, 10, 5000];
    answers.forEach((answer, i) => check(answer, { fine: (one) => one.status < 300 && one.body.byteLength === lengths[i] }));
}
"""
K6_VERSION = "v0.52.0"


@pytest.fixture(scope="module")
def k6():
    """k6 through the Go module proxy, kept for the next time: to compile it takes minutes."""
    need("go")
    folder = Path(tempfile.gettempdir()) / f"eagre-k6-{K6_VERSION}-{os.getuid()}"
    if not (folder / "k6").exists():
        call("go", "install", f"go.k6.io/k6@{K6_VERSION}", env={**os.environ, "GOBIN": str(folder)}, timeout=900)
    return folder / "k6"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_k6_runs(host, k6, kind, v6):
    """Gets, posts and chunks of five users: k6 finds nothing wrong, and counts as many requests as we do."""
    process = serving(host, v6, kind)
    folder = host.lab.folder()
    (folder / "script.js").write_text(K6)
    environment = [f"HOME={folder}", "K6_NO_USAGE_REPORT=true", f"URL={url(host, v6)}"]
    summary = folder / "summary.json"
    line = (k6, "run", "--quiet", "--address", "", "--summary-export", summary, folder / "script.js")
    host.host.run("env", *environment, *line, timeout=60)
    metrics = json.loads(summary.read_text())["metrics"]
    assert (metrics["checks"]["passes"], metrics["checks"]["fails"]) == (600, 0), metrics
    one = served(host, process)
    assert one["transactions"] == metrics["http_reqs"]["count"] == 600 and one["failed"] == {}, one
    assert one["attempted"] <= 10, "k6 keeps its connections"


def test_what_requests_may_say(host):
    """Odd requests get the answers RFC 9110 and RFC 9112 ask for."""
    process = serving(host)
    end = "Connection: close\r\n\r\n"
    cases = {
        "two hosts": (f"GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n{end}", "400"),
        "no host": (f"GET / HTTP/1.1\r\n{end}", "400"),
        "folded": (f"GET / HTTP/1.1\r\nHost: a.test\r\nX-Long: a\r\n b\r\n{end}", "400"),
        "absolute": (f"GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n{end}", "200"),
        "about the server": (f"OPTIONS * HTTP/1.1\r\nHost: a.test\r\n{end}", "200"),
        "patch": (f"PATCH /form HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n{end}ok", "201"),
        "unknown": (f"BREW / HTTP/1.1\r\nHost: a.test\r\n{end}", "501"),
        "version": (f"GET / HTTP/2.0\r\nHost: a.test\r\n{end}", "505"),
        "old": ("GET / HTTP/1.0\r\n\r\n", "200"),
        "kept": ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "200"),
        "no wait with the body there": (
            f"PUT /form HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n{end}ok",
            "201",
        ),
    }  # fmt: skip
    answers = dict(zip(cases, talk(host, *(text for text, _ in cases.values())), strict=True))
    for name, (_, status) in cases.items():
        assert answers[name].startswith(f"HTTP/1.1 {status} "), (name, answers[name])
    assert "connection: keep-alive\r\n" in answers["kept"].lower() and "connection: close\r\n" in answers["old"].lower()
    served(host, process)


# Answers three requests on a connection and closes after them; its heads are folded.
CLOSING = """
import asyncio
HEAD = b"HTTP/1.1 200 OK\\r\\nX-Long: one,\\r\\n two\\r\\nContent-Length:\\r\\n 2\\r\\n"

async def talk(reader, writer):
    for number in range(3):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(HEAD + (b"Connection: close\\r\\n" if number == 2 else b"") + b"\\r\\nok")
    await writer.drain()
    writer.close()

async def serve():
    await asyncio.start_server(talk, None, 80)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_a_server_that_closes_leaves_requests_unasked(host, kind, v6):
    """Of ten requests three are answered on each connection: seven were not asked, and both result and summary say so."""
    process = host.lab.start(PYTHON, "-c", CLOSING, ns=host.host, stderr=subprocess.DEVNULL)
    assert process.stdout.readline().strip() == "ready"
    done = host.run(host.client({"http": {"requests": 10}}, v6, 80, open="200/s", count=20), kind=kind)
    one = all_through(of(done), 20, 60)
    assert (one["unasked"], one["requests"]) == (140, 60), one
    assert any("140 requests were not sent" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_responses_have_the_date(host, kind, v6):
    """curl reads it; two seconds later it is two seconds later. Without the option there is none."""
    app = {"http": {"server": {"date": True, "name": "x"}}}
    process = serving(host, v6, kind, app)
    dates = []
    for _ in range(2):
        before = time.time()
        said = host.host.run("curl", "-s", "-D", "-", "-o", "/dev/null", url(host, v6))
        date = email.utils.parsedate_to_datetime(re.search(r"^Date: (.*)\r?$", said, re.MULTILINE).group(1)).timestamp()
        assert before - 2 <= date <= time.time() + 1, said
        dates.append(date)
        time.sleep(2)
    assert dates[1] - dates[0] >= 2, dates
    assert served(host, process)["transactions"] == 2


def test_without_the_option_there_is_no_date(host):
    process = serving(host)
    said = host.host.run("curl", "-s", "-D", "-", "-o", "/dev/null", url(host))
    assert "200 OK" in said and "Date" not in said, said
    served(host, process)


SQUID = """
http_port 3128
acl all src all
http_access {access} all
access_log stdio:{folder}/access.log
cache deny all
cache_log {folder}/cache.log
pid_filename {folder}/pid
coredump_dir {folder}
shutdown_lifetime 0 seconds
pinger_enable off
"""
TINYPROXY = """
Port 3128
Listen {listen}
Timeout 60
LogFile "{folder}/access.log"
LogLevel Connect
MaxClients 200
ConnectPort 443
ConnectPort 80
"""


def proxy(host, which, v6=False, access="allow"):
    """squid or tinyproxy on the host; and how many tunnels it says it made."""
    need(which)
    folder = host.lab.folder()
    config = folder / "proxy.conf"
    text = SQUID if which == "squid" else TINYPROXY
    config.write_text(text.format(folder=folder, access=access, listen="::" if v6 else "0.0.0.0"))
    folder.chmod(0o777)
    # The name keeps what several have in shared memory apart.
    name = "".join(filter(str.isalnum, folder.name))
    command = ("squid", "-N", "-n", name, "-f", config) if which == "squid" else ("tinyproxy", "-d", "-c", config)
    process = Plain(host.lab, host.host, 3128, *command)
    pattern = r" TCP_TUNNEL/200 .* CONNECT " if which == "squid" else r"Request .*CONNECT "
    return process, lambda: len(re.findall(pattern, (folder / "access.log").read_text()))


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@pytest.mark.parametrize("which", ["squid", "tinyproxy"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@FAMILIES
def test_a_client_goes_through_a_proxy_by_connect(host, which, kind, tls, v6):
    """40 sessions of three requests to nginx, each in a tunnel of its own; proxy and nginx count the same."""
    host.host.ip("link", "set", "lo", "up")
    nginx = Nginx(host.lab, host.host)
    process, tunnels = proxy(host, which, v6)
    app = {"http": {"path": "/100k", "host": "a.test", "requests": 3, "response": "102400B"}}
    inner = f"[{host.address(True)}]" if v6 else host.address()
    rest = {"tunnel": {"to": f"{inner}:{443 if tls else 80}", "headers": {"Proxy-Connection": "keep-alive"}}}
    if tls:
        rest["tls"] = {"server_name": "a.test", "verify": {"roots": str(nginx.root)}}
    one = all_through(of(host.run(host.client(app, v6, 3128, open="40/s", count=40, **rest), kind=kind)), 40, 120)
    assert one["rx_bytes_goodput"] >= 120 * 102_400, one
    assert len(nginx.requests(120)) == 120
    wait_until(lambda: tunnels() == 40, "the proxy's log")
    process.stop()


def test_a_proxy_that_refuses_is_told(host):
    """squid answers 403: the session fails, and the details say by whom."""
    process, _ = proxy(host, "squid", access="deny")
    app = {"http": {"path": "/"}}
    entry = host.client(app, False, 3128, open="20/s", count=20, tunnel={"to": "192.0.2.1:443"})
    one = of(host.run(entry))
    assert one["failed"] == {"http_4xx": 20}, one
    assert one["client"]["failure_details"] == {"CONNECT: the proxy returned 403": 20}, one["client"]
    process.stop()


def test_a_tunnel_needs_a_proxy_of_someone_else(lab):
    entry = {
        "name": "s", "client": {"port": "a"}, "server": {"port": "b"}, "app": {"http": {}}, "open": "1/s",
        "tunnel": {"to": "a.test:443"},
    }  # fmt: skip
    ports = {"a": {"device": "ring:a", "ip": "10.0.0.1/24"}, "b": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and "sessions[0].tunnel" in done.err and "external proxy" in done.err, str(done)


def test_a_client_asks_a_proxy(host):
    """Whole URIs, `OPTIONS *` and PATCH are asked as they are written."""
    texts = host.lab.start(PYTHON, "-c", SEEN, ns=host.host)
    assert texts.stdout.readline().strip() == "ready"
    objects = [
        {"path": "http://www.example.com/page", "host": "www.example.com"},
        {"path": "*", "method": "OPTIONS"}, {"path": "/x", "method": "PATCH", "body": "10B"},
    ]  # fmt: skip
    app = {"http": {"objects": objects, "requests": 3}}
    all_through(of(host.run(host.client(app, False, 80, open="10/s", count=1))), 1, 3)
    texts.terminate()
    lines = json.loads(texts.communicate(timeout=10)[0])
    assert lines == ["GET http://www.example.com/page HTTP/1.1", "OPTIONS * HTTP/1.1", "PATCH /x HTTP/1.1"], lines


SEEN = """
import http.server, json, signal, socketserver, sys
lines = []

class Any(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        lines.append(self.requestline)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = do_OPTIONS = do_PATCH = answer
    def log_message(self, *_):
        pass

def end(*_):
    json.dump(lines, sys.stdout)
    sys.stdout.flush()
    import os
    os._exit(0)

signal.signal(signal.SIGTERM, end)
server = socketserver.ThreadingTCPServer(("", 80), Any)
print("ready", flush=True)
server.serve_forever()
"""
