"""Ends of WebSocket that nobody here wrote, or that misbehave: `websocket_peer.py FOLDER MODE ADDRESS [TLS]`.

FOLDER has the package `websockets`. MODE `serve` serves on the ports below, says `ready`, and on SIGTERM in JSON what the server that
echoes has seen. `talk`, `squeeze` and `break` are clients of a server at ADDRESS, and say in JSON what came of it.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import signal
import ssl
import struct
import sys

ECHO, SECURE, LIMITED, PLAIN, TIGHT = 9100, 9101, 9102, 9103, 9104
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(opcode, payload=b"", fin=True, key=None, reserved=0):
    """A frame; with `key` masked."""
    size = len(payload)
    mask = 0x80 if key else 0
    if size < 126:
        length = bytes([mask | size])
    elif size < 65_536:
        length = bytes([mask | 126]) + struct.pack(">H", size)
    else:
        length = bytes([mask | 127]) + struct.pack(">Q", size)
    if key:
        repeated = (key * (size // 4 + 1))[:size]
        payload = key + (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(size)
    return bytes([(0x80 if fin else 0) | reserved | opcode]) + length + payload


async def upgrade(reader, writer, fields=b""):
    """Answers the request for the upgrade as it should be."""
    request = await reader.readuntil(b"\r\n\r\n")
    key = next(line[18:].strip() for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept
        + b"\r\n"
        + fields
        + b"\r\n"
    )


async def until_gone(reader):
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


def says(*frames, closes=False):
    """A server that agrees to the upgrade, says this, and is silent from then on, or closes."""

    async def server(reader, writer):
        await upgrade(reader, writer)
        writer.writelines(frames)
        if closes:
            # With bytes that nothing has read, `close` would be a reset.
            writer.write_eof()
        await until_gone(reader)

    return server


def answers(text):
    """A server that answers the request by a text."""

    async def server(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await until_gone(reader)

    return server


async def offers_what_nobody_asked_for(reader, writer):
    await upgrade(reader, writer, b"Sec-WebSocket-Extensions: permessage-deflate\r\n")
    await until_gone(reader)


# What each does, the failure its clients count, and the detail of it.
HOSTILE = {
    "never answers": (answers(b""), "response_timeout", None),
    "refuses": (
        answers(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
        "http_4xx",
        "the upgrade was refused with status 403",
    ),
    "is busy": (answers(b"HTTP/1.1 503 Busy\r\n\r\n"), "http_5xx", "the upgrade was refused with status 503"),
    "is a web server": (answers(b"HTTP/1.1 200 OK\r\n\r\n"), "http_status", "the upgrade was refused with status 200"),
    "is no web server": (answers(b"SSH-2.0-OpenSSH_9.2\r\n"), "bad_response", "not HTTP/1"),
    "accepts another key": (
        answers(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        ),
        "bad_response",
        "a wrong Sec-WebSocket-Accept",
    ),
    "compresses": (offers_what_nobody_asked_for, "bad_response", "an extension that was not offered"),
    "stalls": (says(), "response_timeout", None),
    "stalls within a message": (says(frame(2, fin=False)), "response_timeout", None),
    "goes without a word": (says(closes=True), "closed_early", "the connection ended without a Close frame"),
    "closes": (says(frame(8, b"\x03\xe9")), "closed_early", None),
    "closes with an error": (says(frame(8, b"\x03\xf3")), "websocket_closed", "closed with code 1011"),
    "masks": (says(frame(2, b"x", key=b"abcd")), "websocket_protocol", "a masked frame from a server"),
    "uses a reserved bit": (says(frame(2, b"x", reserved=0x40)), "websocket_protocol", "a frame with a reserved bit"),
    "invents an opcode": (says(frame(3)), "websocket_protocol", "a frame with an unknown opcode"),
    "sends a fragment of nothing": (says(frame(0, b"x")), "websocket_protocol", "a continuation of no message"),
    "sends a fragmented ping": (says(frame(9, fin=False)), "websocket_protocol", "a fragmented control frame"),
    "sends an endless message": (
        says(bytes([0x82, 127]) + struct.pack(">Q", 1 << 40)),
        "websocket_protocol",
        "a message that is too long",
    ),
    "answers with something else": (
        says(frame(2, b"y" * 64)),
        "wrong_content",
        "a message with other bytes than expected",
    ),
}
PORTS = {name: 9200 + index for index, name in enumerate(HOSTILE)}


def closing(server):
    """A server that closes once it is done, whatever happens."""

    async def served(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await server(reader, writer)
        writer.close()

    return served


async def serve(address, chain=None, key=None):
    from websockets.asyncio.server import serve as listen
    from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

    seen = {"connections": 0, "messages": 0, "bytes": 0, "codes": {}}

    async def echo(socket):
        seen["connections"] += 1
        async for message in socket:
            seen["messages"] += 1
            seen["bytes"] += len(message)
            await socket.send(message)
        seen["codes"][socket.close_code] = seen["codes"].get(socket.close_code, 0) + 1

    def subprotocol(_, offered):
        """Unlike its own choice, this takes clients that offer none."""
        return "chat" if "chat" in offered else None

    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    hostile = []
    async with contextlib.AsyncExitStack() as servers:
        await servers.enter_async_context(listen(echo, address, ECHO, select_subprotocol=subprotocol))
        await servers.enter_async_context(listen(echo, address, LIMITED, max_size=1_000))
        await servers.enter_async_context(listen(echo, address, PLAIN, compression=None))
        tight = [ServerPerMessageDeflateFactory(True, True, 9, 10)]
        await servers.enter_async_context(listen(echo, address, TIGHT, extensions=tight, compression=None))
        if chain:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(chain, key)
            await servers.enter_async_context(listen(echo, address, SECURE, ssl=context))
        for name, port in PORTS.items():
            server = await asyncio.start_server(closing(HOSTILE[name][0]), address, port)
            hostile.append(server)
        print("ready", flush=True)
        await done.wait()
        print(json.dumps(seen), flush=True)
        os._exit(0)


async def talk(address, secure=None):
    """Messages of many sizes and both kinds, fragments, a Ping, many at a time; then one that is too long."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    context = None
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"{'wss' if secure else 'ws'}://{address}/chat?x=1"
    said = {}
    async with connect(url, ssl=context, subprotocols=["soap", "chat"], max_size=None) as socket:
        said["subprotocol"], said["extensions"] = socket.subprotocol, len(socket.protocol.extensions)
        sent = 0
        for size in (0, 1, 125, 126, 65_535, 65_536, 1 << 20):
            for message in (os.urandom(size), "ü€😀x" * (size // 10)):
                await socket.send(message)
                assert await socket.recv() == message, size
                sent += 1
        await socket.send([b"a" * 100] * 50)
        assert await socket.recv() == b"a" * 5_000
        await (await socket.ping())
        for size in range(1_000):
            await socket.send(b"x" * size)
        for size in range(1_000):
            assert await socket.recv() == b"x" * size
        said["messages"] = sent + 1 + 1_000
    said["code"] = socket.close_code
    # The end of a connection that is gone by then is an AttributeError of asyncio's transport.
    with contextlib.suppress(AttributeError):
        async with connect(url, ssl=context, max_size=None) as socket:
            with contextlib.suppress(ConnectionClosed):
                await socket.send(bytes((1 << 20) + 1))
                await socket.recv()
            said["too long"] = socket.close_code
    print(json.dumps(said))


def texts(count):
    """Texts that have much in common, and bytes that have nothing."""
    for number in range(count):
        yield json.dumps({"number": number, "names": ["alpha", "beta", "gamma"] * (number % 40)})
        yield os.urandom(number * 97 % 3_000)
    yield "x" * 1_000_000
    yield ""
    yield [b"a" * 5_000] * 20


async def squeeze(address):
    """Compressed messages with every kind of parameters; says of each what was agreed on."""
    from websockets.asyncio.client import connect
    from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

    agreed = []
    for parameters in ({}, {"server_no_context_takeover": True, "client_no_context_takeover": True}, {"server_max_window_bits": 9}):
        offers = [ClientPerMessageDeflateFactory(client_max_window_bits=12, **parameters)]
        async with connect(f"ws://{address}/", extensions=offers, compression=None, max_size=None) as socket:
            (extension,) = socket.protocol.extensions
            for message in texts(100):
                await socket.send(message)
                expected = b"".join(message) if isinstance(message, list) else message
                assert await socket.recv() == expected
            windows = [extension.local_max_window_bits, extension.remote_max_window_bits]
            agreed.append([*windows, extension.local_no_context_takeover, extension.remote_no_context_takeover])
    print(json.dumps(agreed))


ASK = (
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
MASK = b"\x01\x02\x03\x04"
# What a client says, and the status or close code that answers it.
BREAKING = [
    (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 426),
    (ASK.replace(b" 13", b" 8"), 426),
    (ASK.replace(b"dGhl", b""), 400),
    (ASK.replace(b"GET", b"POST"), 405),
    (ASK + frame(2, b"x"), 1002),
    (ASK + frame(2, b"x", key=MASK, reserved=0x20), 1002),
    (ASK + frame(1, b"\xff", key=MASK), 1007),
    (ASK + frame(2, bytes(1_000_000), fin=False, key=MASK) + frame(0, bytes(100_000), key=MASK), 1009),
    (ASK + frame(8, b"\x03\xee", key=MASK), 1002),
    (ASK + frame(8, b"\x03\xe8bye", key=MASK), 1000),
]


async def attempt(address, said):
    reader, writer = await asyncio.open_connection(address, 80)
    writer.write(said)
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status if status != 101 else struct.unpack(">H", rest[2:4])[0]


async def main(mode, address, *more):
    if mode == "serve":
        await serve(address, *more)
    elif mode == "talk":
        await talk(address, *more)
    elif mode == "squeeze":
        await squeeze(address)
    else:
        print(json.dumps([await attempt(address, said) for said, _ in BREAKING]))


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    asyncio.run(main(*sys.argv[2:]))
