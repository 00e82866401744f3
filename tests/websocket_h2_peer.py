"""Ends of WebSocket over HTTP/2 (RFC 8441) that nobody here wrote: `websocket_h2_peer.py FOLDER MODE ADDRESS [CERTIFICATE KEY]`.

FOLDER has the packages of `hypercorn`. MODE `serve` is hypercorn, which echoes; it says `ready`, and on SIGTERM in JSON what it has seen.
`talk` is a client of the library `h2` and of `wsproto`, and says in JSON what came of it; `held` one that sends without reading for a while.
"""

import asyncio
import json
import select
import signal
import socket
import sys

CLEAR, SECURE = 9110, 9111


class Echo:
    """An application that sends every message back."""

    def __init__(self):
        self.versions, self.messages, self.connections = {}, 0, 0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            while (event := await receive())["type"] != "lifespan.shutdown":
                await send({"type": event["type"] + ".complete"})
            return await send({"type": "lifespan.shutdown.complete"})
        if scope["type"] != "websocket":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            return await send({"type": "http.response.body", "body": b""})
        version = scope["http_version"]
        self.versions[version] = self.versions.get(version, 0) + 1
        self.connections += 1
        await receive()
        if scope["path"] == "/refused":
            return await send({"type": "websocket.close"})
        chosen = scope["subprotocols"][0] if scope["subprotocols"] else None
        await send({"type": "websocket.accept", "subprotocol": chosen})
        while (event := await receive())["type"] == "websocket.receive":
            self.messages += 1
            same = {key: event[key] for key in ("text", "bytes") if event.get(key) is not None}
            await send({"type": "websocket.send", **same})


async def serve(address, certificate=None, key=None):
    from hypercorn.asyncio import serve as run
    from hypercorn.config import Config

    config, app, ends = Config(), Echo(), asyncio.Event()
    if certificate:
        config.bind, config.insecure_bind = [f"{address}:{SECURE}"], [f"{address}:{CLEAR}"]
        config.certfile, config.keyfile = certificate, key
    else:
        config.bind = [f"{address}:{CLEAR}"]
    config.errorlog = None
    config.websocket_max_message_size = 1 << 24
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    server = asyncio.create_task(run(app, config, shutdown_trigger=ends.wait))
    await asyncio.sleep(0.5)
    print("ready", flush=True)
    await ends.wait()
    print(json.dumps({"versions": app.versions, "messages": app.messages, "connections": app.connections}), flush=True)
    server.cancel()


class Client:
    """A connection with one WebSocket."""

    def __init__(self, address, fields=()):
        import h2.config
        import h2.connection
        from wsproto.connection import Connection, ConnectionType

        self.socket = socket.create_connection((address, 80))
        self.socket.settimeout(20)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()
        self.events, self.status, self.fields, self.ended = [], None, {}, False
        self.ws = Connection(ConnectionType.CLIENT)
        while not self.h2.remote_settings.enable_connect_protocol and not self.ended:
            self.read()
        self.connects = self.h2.remote_settings.enable_connect_protocol
        self.stream = self.h2.get_next_available_stream_id()
        pseudo = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"), (":authority", "a.test")]
        self.h2.send_headers(self.stream, [*pseudo, ("sec-websocket-version", "13"), *fields])
        self.flush()
        while self.status is None:
            self.read()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def read(self, acknowledge=True):
        import h2.events as events

        data = self.socket.recv(1 << 16)
        for event in self.h2.receive_data(data) if data else []:
            if isinstance(event, events.ResponseReceived):
                self.fields = dict(event.headers)
                self.status = int(self.fields[":status"])
            elif isinstance(event, events.DataReceived):
                if event.data:  # The end of the stream may come in a frame without data.
                    self.ws.receive_data(event.data)
                self.events += self.ws.events()
                if acknowledge and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, (events.StreamEnded, events.StreamReset)):
                self.ended = True
        self.ended |= not data
        self.flush()

    def send(self, event):
        rest = self.ws.send(event)
        while rest:
            room = min(self.h2.local_flow_control_window(self.stream), self.h2.max_outbound_frame_size)
            if room == 0:
                self.read()
                continue
            self.h2.send_data(self.stream, rest[:room])
            self.flush()
            rest = rest[room:]

    def message(self):
        """The next message, whole."""
        pieces = []
        while True:
            while self.events:
                event = self.events.pop(0)
                if hasattr(event, "data"):
                    pieces.append(event.data)
                    if event.message_finished:
                        return (b"" if isinstance(event.data, (bytes, bytearray)) else "").join(pieces)
                elif hasattr(event, "code"):
                    return event.code
            if self.ended:
                return None
            self.read()


def talk(address):
    """Messages of many sizes and both kinds, and the close handshake; one request that is no WebSocket."""
    from wsproto.events import CloseConnection, Message

    client = Client(address, [("sec-websocket-protocol", "chat, other")])
    said = {"connects": client.connects, "status": client.status, "fields": client.fields, "wrong": 0}
    for size in (0, 1, 125, 126, 65_535, 65_536, 300_000):
        client.send(Message(data=bytes(size)))
        said["wrong"] += client.message() != bytes(size)
        client.send(Message(data="é" * size))
        said["wrong"] += client.message() != "é" * size
    client.send(CloseConnection(code=1000))
    said["closed"] = client.message()
    while not client.ended:
        client.read()
    said["ended"] = client.ended
    return said


def held(address):
    """Sends 3 MB without reading, until nothing more is taken; then reads all of it."""
    from wsproto.events import Message

    client, sizes, out, reads = Client(address), [50_000] * 60, b"", False
    rest = b"".join(client.ws.send(Message(data=bytes([number]) * size)) for number, size in enumerate(sizes))
    whole, before = len(rest), 0
    client.flush = lambda: None
    while sum(getattr(event, "message_finished", False) for event in client.events) < len(sizes):
        room = min(client.h2.local_flow_control_window(client.stream), client.h2.max_outbound_frame_size, len(rest))
        if room and len(out) < 1 << 16:
            client.h2.send_data(client.stream, rest[:room])
            rest = rest[room:]
        out += client.h2.data_to_send()
        readable, writable, _ = select.select([client.socket] if reads else [], [client.socket] if out else [], [], 0.5)
        if writable:
            out = out[client.socket.send(out[: 1 << 14]) :]
        elif not reads:
            reads, before = True, whole - len(rest)
        if readable:
            client.read()
    wrong = sum(client.message() != bytes([number]) * size for number, size in enumerate(sizes))
    return {"sent_before": before, "wrong": wrong}


def main():
    folder, mode, address, *more = sys.argv[1:]
    sys.path.insert(0, folder)
    if mode == "serve":
        asyncio.run(serve(address, *more))
    else:
        print(json.dumps({"talk": talk, "held": held}[mode](address)))


if __name__ == "__main__":
    main()
