"""Servers on the Linux kernel's TCP, for clients under test. Runs in a namespace; each port behaves in its own way.

Says `ready`; on SIGTERM it says in JSON what each port saw.
"""

import asyncio
import contextlib
import hashlib
import json
import random
import resource
import signal
import socket
import struct
import sys

ECHO, SINK, SOURCE, SLOW, DIGEST, LEAVER, RESETTER = 7, 9, 19, 1009, 1010, 1011, 1012
# What the source sends, and how long the slow sink sleeps at first, s.
KNOWN_BYTES, SLEEP_S = 4_000_000, 1.5
SMALL_BUFFER = 8192
# After so many bytes the resetter has had enough.
ENOUGH_BYTES = 35_000


def known():
    """The source's bytes."""
    return random.Random(SOURCE).randbytes(KNOWN_BYTES)


class Server(asyncio.Protocol):
    """One connection; counts for its port."""

    def __init__(self, seen):
        self.seen, self.received, self.digest = seen, 0, hashlib.sha256()

    def connection_made(self, transport):
        self.transport = transport
        self.seen["accepted"] += 1
        self.seen["open"] += 1
        self.seen["open_max"] = max(self.seen["open_max"], self.seen["open"])
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data):
        self.received += len(data)
        self.seen["bytes"] += len(data)
        self.digest.update(data)

    def eof_received(self):
        self.seen["ends"] += 1

    def connection_lost(self, wrong):
        self.seen["open"] -= 1
        self.seen["reset" if wrong else "closed"] += 1
        if self.received and len(self.seen["received"]) < 100:
            self.seen["received"].append([self.received, self.digest.hexdigest()])


class Echo(Server):
    """Sends back what it gets."""

    def data_received(self, data):
        super().data_received(data)
        self.transport.write(data)


class Source(Server):
    """Sends what is known and closes."""

    def connection_made(self, transport):
        super().connection_made(transport)
        transport.write(known())
        transport.close()


class Slow(Server):
    """Reads nothing for a while, into a small buffer, and then everything."""

    def connection_made(self, transport):
        super().connection_made(transport)
        loop = asyncio.get_running_loop()
        # The transport begins to read after this.
        loop.call_soon(transport.pause_reading)
        loop.call_later(SLEEP_S, transport.resume_reading)


class Digest(Server):
    """Reads until the other end has closed its half, says what it got, and closes its own."""

    def eof_received(self):
        super().eof_received()
        self.transport.write(self.digest.hexdigest().encode())


class Leaver(Server):
    """Sends back what it gets, and closes soon after the first of it."""

    def data_received(self, data):
        super().data_received(data)
        self.transport.write(data)
        asyncio.get_running_loop().call_later(0.4, self.transport.close)


class Resetter(Server):
    """Resets once it has read enough."""

    def data_received(self, data):
        super().data_received(data)
        if self.received >= ENOUGH_BYTES:
            reset = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            self.transport.abort()


PORTS = {ECHO: Echo, SINK: Server, SOURCE: Source, SLOW: Slow, DIGEST: Digest, LEAVER: Leaver, RESETTER: Resetter}


async def serve():
    seen, loop = {}, asyncio.get_running_loop()
    for port, kind in PORTS.items():
        counts = dict.fromkeys(("accepted", "open", "open_max", "bytes", "ends", "reset", "closed"), 0)
        seen[port] = counts | {"received": []}
        listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=4096, dualstack_ipv6=True)
        if kind is Slow:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        await loop.create_server(lambda kind=kind, counts=seen[port]: kind(counts), sock=listener, backlog=4096)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    await stop.wait()
    # What is still in its last packets may come to its end.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            while any(counts["open"] for counts in seen.values()):
                await asyncio.sleep(0.02)
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    # Many connections at once need many files.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(serve())
