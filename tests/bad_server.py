"""A server that misbehaves, in a different way on each port, for clients under test.

Reads a request up to the empty line before it misbehaves, where nothing else is said. Says `ready`, and on SIGTERM in
JSON how many connections each port had.
"""

import asyncio
import contextlib
import json
import signal
import socket
import struct
import sys

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
BODY = b"x" * 1000


async def request(reader):
    await reader.readuntil(b"\r\n\r\n")


def reset(writer):
    """Ends a connection by a reset."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def until_gone(reader):
    """Until the other end is gone."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


async def silent(reader, writer):
    """Never answers."""
    await until_gone(reader)


async def resets_at_once(reader, writer):
    """Resets as soon as it has accepted."""
    reset(writer)


async def resets_after_request(reader, writer):
    """Resets instead of an answer."""
    await request(reader)
    reset(writer)


async def resets_midway(reader, writer):
    """Resets within the body."""
    await request(reader)
    writer.write(OK + BODY[:500])
    await writer.drain()
    await asyncio.sleep(0.05)
    reset(writer)


async def closes_at_once(reader, writer):
    """Closes without an answer."""
    await request(reader)
    writer.close()


async def closes_midway(reader, writer):
    """Closes within the body."""
    await request(reader)
    writer.write(OK + BODY[:500])
    writer.close()


async def half_closes_midway(reader, writer):
    """Closes its half within the body and goes on reading."""
    await request(reader)
    writer.write(OK + BODY[:500])
    writer.write_eof()
    await until_gone(reader)


async def half_closes_after(reader, writer):
    """Closes its half after a whole answer: nothing wrong with that."""
    await request(reader)
    writer.write(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + BODY)
    writer.write_eof()
    await until_gone(reader)


async def garbage(reader, writer):
    """Answers with what is no HTTP."""
    await request(reader)
    writer.write(bytes(range(128, 256)) * 8)
    await until_gone(reader)


async def greets_with_garbage(reader, writer):
    """Speaks first, and no sense."""
    writer.write(b"\0\1\2\3 mind the gap \r\n\r\n")
    await until_gone(reader)


async def endless_head(reader, writer):
    """Sends fields of a head without end."""
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(b"X-More: " + b"y" * 1000 + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0.001)


async def stops_midway(reader, writer):
    """Says no more within the body."""
    await request(reader)
    writer.write(OK + BODY[:500])
    await until_gone(reader)


async def says_too_much(reader, writer):
    """Announces a longer body than the one that is expected, and sends it."""
    await request(reader)
    writer.write(OK.replace(b"1000", b"1500") + BODY + BODY[:500])
    await until_gone(reader)


async def says_too_little(reader, writer):
    """Announces 1,000 bytes and sends more."""
    await request(reader)
    writer.write(OK + BODY + BODY[:500])
    await until_gone(reader)


async def two_lengths(reader, writer):
    """Announces two different lengths."""
    await request(reader)
    writer.write(OK.replace(b"\r\n\r\n", b"\r\nContent-Length: 999\r\n\r\n") + BODY)
    await until_gone(reader)


async def bad_chunks(reader, writer):
    """Sends chunks whose sizes are no numbers."""
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")
    await until_gone(reader)


async def reads_nothing(reader, writer):
    """Leaves all that comes in its buffer, so that its window closes for ever."""
    writer.transport.pause_reading()
    await asyncio.sleep(3600)


async def slow_but_right(reader, writer):
    """A whole answer in pieces of a few bytes: nothing wrong with that."""
    await request(reader)
    whole = OK + BODY
    for at in range(0, len(whole), 37):
        writer.write(whole[at : at + 37])
        await writer.drain()
        await asyncio.sleep(0.002)
    await until_gone(reader)


async def unavailable(reader, writer):
    """Has no time."""
    await request(reader)
    writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    await until_gone(reader)


async def trickles(reader, writer):
    """Announces 1,000 bytes and sends one now and then: an answer that is under way for a long time."""
    await request(reader)
    writer.write(OK)
    for byte in BODY:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)
    await until_gone(reader)


WAYS = [
    silent, resets_at_once, resets_after_request, resets_midway, closes_at_once, closes_midway, half_closes_midway,
    half_closes_after, garbage, greets_with_garbage, endless_head, stops_midway, says_too_much, says_too_little,
    two_lengths, bad_chunks, reads_nothing, slow_but_right,
    trickles, unavailable,
]  # fmt: skip
PORTS = {way.__name__: 8001 + number for number, way in enumerate(WAYS)}
# Nobody listens here.
REFUSING = 8000


async def serve():
    seen, loop = {way.__name__: 0 for way in WAYS}, asyncio.get_running_loop()

    def started(way):
        async def one(reader, writer):
            seen[way.__name__] += 1
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await way(reader, writer)
            with contextlib.suppress(ConnectionError):
                writer.close()

        return one

    for way in WAYS:
        port = PORTS[way.__name__]
        listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=True)
        if way is reads_nothing:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.start_server(started(way), sock=listener, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    await stop.wait()
    json.dump(seen, sys.stdout, default=str)
    sys.stdout.flush()
    # Connections that would last for ever end with this process.
    sys.exit(0)


if __name__ == "__main__":
    with contextlib.suppress(SystemExit):
        asyncio.run(serve())
