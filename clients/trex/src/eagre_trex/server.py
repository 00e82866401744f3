"""The HTTP API of `eagre serve`, as far as TRex's clients need it."""

import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from trex.common.trex_exceptions import TRexError

PORT = 8443
LEASE_S = 300
# Most bytes of a capture.
FILE_MAX = 256 << 20
ENDED = ("done", "failed", "stopped", "interrupted")


class Server:
    """A server: its address, the caller's token, and a lease that is renewed while it is needed."""

    def __init__(self, address, holder):
        url = os.environ.get("EAGRE_URL") or address
        if "://" not in url:
            url = f"http://{url}" if ":" in url.strip("[]") else f"http://{url}:{PORT}"
        self.url, self.holder = url.rstrip("/"), holder
        self.token = os.environ.get("EAGRE_TOKEN")
        authority = os.environ.get("EAGRE_CA")
        context = ssl.create_default_context(cafile=authority) if self.url.startswith("https") else None
        handlers = [urllib.request.ProxyHandler({})] if _is_local(self.url) else []
        self.opener = urllib.request.build_opener(*handlers, urllib.request.HTTPSHandler(context=context))
        self.lease, self.stopped = None, threading.Event()

    def ask(self, method, path, document=None, timeout=60):
        """The document in the response to a request.

        Raises:
            TRexError: the server cannot be reached, or refuses.

        """
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        body = json.dumps(document).encode() if document is not None else None
        request = urllib.request.Request(f"{self.url}/api/v1{path}", body, headers, method=method)
        try:
            with self.opener.open(request, timeout=timeout) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _detail(error)) from None
        except OSError as error:
            raise TRexError(f"no server at {self.url}: {getattr(error, 'reason', error)}; start 'eagre serve'") from None

    def read(self, path, quiet_s=None):
        """The bytes of a file: all of it, or of one that grows what comes until nothing does for `quiet_s`.

        Raises:
            TRexError: the server cannot be reached, or refuses; the file is too large.

        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", None, headers)
        data = bytearray()
        try:
            with self.opener.open(request, timeout=quiet_s or 60) as answer:
                while part := answer.read1(1 << 16):
                    data += part
                    if len(data) > FILE_MAX:
                        raise TRexError(f"{path} is larger than {FILE_MAX} bytes")
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _detail(error)) from None
        except OSError as error:
            if quiet_s and isinstance(error, TimeoutError):
                return bytes(data)
            raise TRexError(f"no response from {self.url}: {getattr(error, 'reason', error)}") from None
        return bytes(data)

    def take(self, devices, force):
        """Leases devices instead of those leased until now."""
        self.give_back()
        if not devices:
            return
        new = {"ports": devices, "ttl_s": LEASE_S, "holder": self.holder}
        try:
            self.lease = self.ask("POST", "/leases", new)
        except Refused as refused:
            if refused.status != 409 or not force:
                raise
            for lease in self.ask("GET", "/leases"):
                if lease.get("id") and set(lease["ports"]) & set(devices):
                    self.ask("DELETE", f"/leases/{lease['id']}")
            self.lease = self.ask("POST", "/leases", new)
        self.stopped = threading.Event()
        threading.Thread(target=self._renew, args=(self.lease["id"], self.stopped), daemon=True).start()

    def _renew(self, lease, stopped):
        while not stopped.wait(LEASE_S / 3):
            try:
                self.ask("POST", f"/leases/{lease}/renew", {"ttl_s": LEASE_S})
            except TRexError:
                return

    def give_back(self):
        """Releases the lease."""
        self.stopped.set()
        if self.lease:
            lease, self.lease = self.lease, None
            try:
                self.ask("DELETE", f"/leases/{lease['id']}")
            except Refused:
                # It has expired.
                return

    def ports(self):
        """Ports by TRex's numbers, each with its device and more of its keys, and what the server knows of it."""
        all_ports = self.ask("GET", "/ports")
        known = {port["name"]: port for port in all_ports} | {port["device"]: port for port in all_ports}
        text = os.environ.get("EAGRE_TREX_PORTS", "")
        given = [_port(word) for word in text.split()]
        if not given:
            usable = [port for port in all_ports if port["kind"] == "interface" and port["allowed"] and port["up"]]
            given = [(port["device"], []) for port in usable]
        return [(device, more, known.get(device) or known.get(device.rpartition(":")[2], {})) for device, more in given]

    @staticmethod
    def speed_bps(known):
        """Speed of a port: from EAGRE_TREX_SPEED, else from the server; None for a virtual link."""
        text = os.environ.get("EAGRE_TREX_SPEED")
        if not text:
            return known.get("speed_bps")
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGT]?)(?:bps|bit/s)?", text)
        if not found:
            raise TRexError(f"EAGRE_TREX_SPEED: '{text}' is not a speed; write 10Gbps")
        return float(found[1]) * 1000 ** " kMGT".index(found[2] or " ")


class Refused(TRexError):
    """A response of the server with a status other than 200."""

    def __init__(self, status, detail):
        super().__init__(detail)
        self.status = status


def _is_local(url):
    return urllib.parse.urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def _detail(error):
    text = error.read().decode(errors="replace")
    try:
        problem = json.loads(text)
        places = [f"{place['path']}: {place['reason']}" for place in problem.get("errors", [])]
        return "\n".join([problem["detail"], *places])
    except (ValueError, KeyError, TypeError):
        return f"the server returned {error.code}: {text[:200]}"


def _port(word):
    device, *more = word.split(",")
    return device, more


def profile(document, ports, mult, duration, more=()):
    """The text of the profile that sends a document's streams; `eagre` translates it.

    Raises:
        TRexError: the program is missing, or the streams cannot be sent.

    """
    program = os.environ.get("EAGRE", "eagre")
    with tempfile.TemporaryDirectory(prefix="eagre-trex-") as folder:
        path = Path(folder, "streams.json")
        path.write_text(json.dumps(document))
        command = [program, "trex", "convert", str(path), "-m", str(mult), "-d", str(duration), *more]
        for number, (device, more, known) in ports.items():
            command += ["--port", ",".join([f"{number}={device}", *more])]
            # A virtual link has none, and shares of one need it.
            speed = Server.speed_bps(known)
            if speed and "--speed" not in command:
                command += ["--speed", f"{speed:.0f}bps"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except OSError as error:
            raise TRexError(f"{program}: {error.strerror}; the program 'eagre' must be here, EAGRE names it") from None
    if done.returncode:
        raise TRexError(done.stderr.replace(f"eagre: {path}: ", "").strip())
    return done.stdout
