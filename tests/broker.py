"""A NATS server for tests: the package's program in a namespace, with its store in a folder of its own."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from lab import REPO, call, missing, wait_until
from server import inside

PLACES = [os.environ.get("NATS_SERVER"), shutil.which("nats-server"), "/usr/sbin/nats-server"]


def program():
    """The server's program."""
    for place in PLACES:
        if place and Path(place).is_file():
            return place
    return missing("needs nats-server")


# A newer server than Debian's, which differs in what it does when a key ends.
NEWER, NEWER_PLACE = "2.15.3", REPO / "target/peers/nats-server-2.15.3"


def newer():
    """The program of the newer server, which Go's toolchain builds once."""
    place = Path(os.environ.get("NATS_SERVER_NEWER", NEWER_PLACE))
    if not place.is_file():
        if not shutil.which("go"):
            pytest.skip(f"needs nats-server {NEWER}, or go to build it")
        with tempfile.TemporaryDirectory() as folder:
            command = ["go", "install", f"github.com/nats-io/nats-server/v2@v{NEWER}"]
            made = subprocess.run(command, env={**os.environ, "GOBIN": folder}, capture_output=True, text=True, timeout=900, check=False)
            if made.returncode:
                pytest.skip(f"needs nats-server {NEWER}, which go can't build here: {made.stderr[-300:]}")
            place.parent.mkdir(parents=True, exist_ok=True)
            # Another process of the tests may build it, too: whoever is last replaces it whole.
            made = Path(shutil.copy(f"{folder}/nats-server", f"{place}.{os.getpid()}"))
            made.rename(place)
    assert call(place, "--version").split()[1] == f"v{NEWER}"
    return str(place)


class Nats:
    """A running server."""

    def __init__(self, lab, ns, address, *, port=4222, config="", server=None):
        self.server = server or program()
        self.lab, self.ns, self.address, self.port = lab, ns, address, port
        self.folder = lab.folder()
        self.config = self.folder / "nats.conf"
        self.config.write_text(f"listen: '{address}:{port}'\njetstream: {{store_dir: '{self.folder}/store'}}\n{config}")
        self.start()

    @property
    def url(self):
        """Where clients reach it."""
        return f"nats://{self.address}:{self.port}"

    def start(self):
        """Starts it, maybe again."""
        log = (self.folder / "nats.log").open("a")
        self.process = self.lab.start(self.server, "-c", self.config, ns=self.ns, stdout=log, stderr=subprocess.STDOUT)
        wait_until(self._answers, "nats-server", 20)

    def _answers(self):
        assert self.process.poll() is None, (self.folder / "nats.log").read_text()
        try:
            with inside(self.ns):
                made = socket.create_connection((self.address, self.port), 1)
        except OSError:
            return False
        with made:
            return made.recv(4) == b"INFO"

    def kill(self):
        """Kills it."""
        self.process.kill()
        self.process.wait()


class Client:
    """A client of NATS's text protocol, enough to send a request by hand."""

    def __init__(self, nats):
        with inside(nats.ns):
            self.socket = socket.create_connection((nats.address, nats.port), 5)
        self.file, self.requests = self.socket.makefile("rwb"), 0
        self.info = json.loads(self.file.readline().split(b" ", 1)[1])
        self._send(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\nSUB > 1\r\nPING\r\n')
        while self.file.readline() != b"PONG\r\n":
            pass

    def _send(self, data):
        self.file.write(data)
        self.file.flush()

    def publish(self, subject, payload, reply=""):
        """Publishes a message."""
        self._send(f"PUB {subject} {reply + ' ' if reply else ''}{len(payload)}\r\n".encode() + payload + b"\r\n")

    def next(self, wanted):
        """The payload of the next message whose subject begins so."""
        while True:
            line = self.file.readline().split()
            if not line:
                raise EOFError
            if line[0] == b"PING":
                self._send(b"PONG\r\n")
            if line[0] in (b"MSG", b"HMSG"):
                whole = self.file.read(int(line[-1]) + 2)[:-2]
                body = whole[int(line[-2]) :] if line[0] == b"HMSG" else whole
                if line[1].decode().startswith(wanted):
                    return body

    def request(self, subject, payload):
        """The reply to a request."""
        self.requests += 1
        inbox = f"inbox.{self.requests}."
        self.publish(subject, payload, inbox + "reply")
        return self.next(inbox)

    def close(self):
        """Ends the connection."""
        self.socket.close()
