"""A running `eagre serve` and a plain HTTP client for it."""

import contextlib
import ctypes
import http.client
import json
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

from lab import EAGRE, wait_until

LIBC, CLONE_NEWNET = ctypes.CDLL(None, use_errno=True), 0x40000000


@contextlib.contextmanager
def inside(namespace):
    """Sockets this thread makes meanwhile belong to a network namespace."""
    if namespace is None:
        yield
        return
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{namespace.name}", os.O_RDONLY)
    try:
        assert LIBC.setns(other, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert LIBC.setns(own, CLONE_NEWNET) == 0
        os.close(own)
        os.close(other)


class Answer:
    """Status, headers and body of an answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        """The body as a document."""
        return json.loads(self.body)

    @property
    def detail(self):
        """What a problem document says."""
        return self.json()["detail"]

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


def engines(process):
    """The processes in which engines run that a process of Eagre has started, by number."""
    found = set()
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        children = ""
        # A thread or a process may have ended meanwhile.
        with contextlib.suppress(OSError):
            children = (task / "children").read_text()
        for pid in children.split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == "eagre-agent":
                    found.add(int(pid))
    return sorted(found)


class Server:
    """A server in a folder of its own; `prefix` is a command that runs it."""

    def __init__(self, lab, *options, ns=None, folder=None, store=None, state="serve", prefix=(), token=None, context=None, process=None):
        self.lab, self.ns, self.token, self.context = lab, ns, token, context
        self.folder = Path(folder or lab.folder())
        listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        store = store or self.folder / "results.db"
        command = (*prefix, EAGRE, "serve", *listen, "--store", store, "--state", self.folder / state, *options)
        self.log = self.folder / f"{state}.log"
        self.process = lab.start(*command, ns=ns, stdout=self.log.open("w"), **(process or {}))
        self.url = wait_until(self._ready, "the server", 20)
        self.address = urlsplit(self.url)

    def _ready(self):
        assert self.process.poll() is None, f"the server ended: {self.process.communicate()[1]}"
        lines = self.log.read_text().splitlines()
        said = [line.removeprefix("eagre: serving at ") for line in lines if "serving at" in line]
        return said[0] if said else None

    def connect(self, timeout=30):
        """A connection of its own."""
        host, port = self.address.hostname, self.address.port
        if self.address.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=self.context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        with inside(self.ns):
            connection.connect()
        return connection

    def headers(self, token=None):
        """What every request has."""
        token = token or self.token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method, path, document=None, *, body=None, headers=None, token=None, timeout=30):
        """One request on a connection of its own."""
        sent = self.headers(token) | (headers or {})
        if document is not None:
            body, sent = json.dumps(document), {"Content-Type": "application/json"} | sent
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        """The document at a path, which must be there."""
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, answer
        return answer.json()

    def start(self, **new):
        """A run that must start."""
        answer = self.ask("POST", "/api/v1/runs", new)
        assert answer.status == 201, answer
        return answer.json()

    def run(self, run):
        """A run as it is now."""
        return self.get(f"/api/v1/runs/{run['id']}")

    def agents(self):
        """The processes of its runs and campaigns, by number."""
        return engines(self.process)

    def ended(self, run, timeout=30):
        """A run once it has ended."""
        over = {"done", "failed", "stopped", "interrupted"}
        wait_until(lambda: self.run(run)["state"] in over, f"the end of run {run['id']}", timeout, 0.05)
        return self.run(run)

    def sends(self, run, packets=1):
        """Waits until a run has sent."""

        def sent():
            ports = self.get(f"/api/v1/runs/{run['id']}/snapshot")["total"]["ports"]
            return sum(port["tx_packets"] for port in ports.values()) >= packets

        wait_until(sent, f"traffic of run {run['id']}", 15, 0.05)

    def events(self, path, most_s=30):
        """Server-sent events as (name, document), until the server ends them."""
        connection = self.connect(most_s)
        connection.request("GET", path, headers=self.headers())
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.getheader("Content-Type").startswith("text/event-stream")
        end, name = time.monotonic() + most_s, None
        try:
            for line in answer:
                assert time.monotonic() < end, "the events do not end"
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    yield name, json.loads(value)
        finally:
            connection.close()

    def stop(self):
        """Ends the server as an operator would."""
        self.process.terminate()
        return self.process.wait(20)


def rings(rate="20kpps", duration="30s", streams=1, **more):
    """A profile between the ends of an in-process link."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    packet = [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]
    one = {"from": "west", "to": "east", "packet": packet, "rate": rate}
    all_streams = [{"name": f"s{n}"} | one for n in range(streams)]
    return {"ports": ports, "streams": all_streams, "load": {"duration": duration, "drain": "200ms"}} | more
