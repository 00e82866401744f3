"""HTTP clients nobody here wrote against our server, and servers nobody here wrote against our clients."""

import json
import re
import shutil
import subprocess

import pytest
from hosts import PYTHON, Host
from lab import missing, need
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


@FAMILIES
def test_curl_waits_for_a_100_and_gets_it(host, v6):
    """curl sends a body of 2 MB at once when told to, instead of after its second of patience."""
    process = serving(host, v6, "afxdp")
    line = ["curl", "-s", "-g", "-o", "/dev/null", "-w", "%{http_code} %{time_total} %{size_upload}", "-H", "Expect: 100-continue"]
    body = host.lab.folder() / "body"
    body.write_bytes(bytes(2_000_000))
    code, seconds, size = host.host.run(*line, "--expect100-timeout", "10", "-T", body, url(host, v6, "/form"), timeout=15).split()
    assert (code, size) == ("201", "2000000") and float(seconds) < 5, (code, seconds)
    server = served(host, process)["server"]
    assert (server["http"]["1xx"], server["http"]["2xx"], server["transactions"], server["failed"]) == (1, 1, 1, {}), server


def test_java_waits_for_a_100_and_gets_it(host):
    """`expectContinue(true)` of java.net.http, twenty times on one connection."""
    if not shutil.which("java") or "jdk.compiler" not in subprocess.run(["java", "--list-modules"], capture_output=True, text=True).stdout:
        missing("needs a Java development kit")
    process = serving(host, kind="afxdp")
    source = host.lab.folder() / "Put.java"
    source.write_text(JAVA)
    said = host.host.run("java", "-XX:TieredStopAtLevel=1", source, url(host, path="/form"), timeout=60)
    assert said.split() == ["201", "10"] * 20, said
    server = served(host, process)["server"]
    assert (server["http"]["1xx"], server["http"]["2xx"], server["failed"]) == (20, 20, {}), server


@pytest.mark.parametrize(
    "line",
    [
        ["siege", "-q", "-b", "-c", "5", "-r", "40", "-H", "Connection: keep-alive"],
        ["hey", "-n", "200", "-c", "5"],
    ],
    ids=["siege", "hey"],
)
def test_load_tools_run(host, line):
    """Every request is answered; nothing fails on either side."""
    need(line[0])
    process = serving(host)
    folder = host.lab.folder()
    host.host.run("env", f"HOME={folder}", *line, url(host))
    one = served(host, process)
    assert one["transactions"] == 200 and one["failed"] == {}, one


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


@FAMILIES
def test_a_server_that_closes_leaves_requests_unasked(host, v6):
    """Of ten requests three are answered on each connection: seven were not asked, and both result and summary say so."""
    process = host.lab.start(PYTHON, "-c", CLOSING, ns=host.host, stderr=subprocess.DEVNULL)
    assert process.stdout.readline().strip() == "ready"
    done = host.run(host.client({"http": {"requests": 10}}, v6, 80, open="200/s", count=20))
    one = all_through(of(done), 20, 60)
    assert (one["unasked"], one["requests"]) == (140, 60), one
    assert any("140 requests were not sent" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]


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
