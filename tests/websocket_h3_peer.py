"""Ends of WebSocket over HTTP/3 (RFC 9220) that nobody here wrote: `websocket_h3_peer.py FOLDERS MODE ADDRESS PORT [CERTIFICATE KEY]`.

FOLDERS, joined by ':', have the packages of hypercorn and of aioquic. MODE `serve` is hypercorn, which echoes; it says `ready`, and on SIGTERM in JSON
what it has seen. `plain` is a server of aioquic that takes no WebSocket. `talk` is a client of aioquic and of `wsproto`, and says in JSON what
came of it; `held` one that sends without reading for a while; `rude` one that breaks a rule of WebSocket, and `other` one that asks for a page.
"""

import asyncio
import json
import signal
import ssl
import sys

from websocket_h2_peer import Echo


async def until_told(seen=None):
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    print("ready", flush=True)
    await ends.wait()
    if seen:
        print(json.dumps({"versions": seen.versions, "messages": seen.messages, "connections": seen.connections}), flush=True)


async def serve(address, port, certificate, key):
    from hypercorn.asyncio import serve as run
    from hypercorn.config import Config

    config, app, ends = Config(), Echo(), asyncio.Event()
    config.bind, config.quic_bind = ["127.0.0.1:9119"], [f"{address}:{port}"]
    config.certfile, config.keyfile, config.errorlog = certificate, key, None
    config.websocket_max_message_size = 1 << 24
    server = asyncio.create_task(run(app, config, shutdown_trigger=ends.wait))
    await asyncio.sleep(0.5)
    await until_told(app)
    server.cancel()


def configured(is_client, **more):
    from aioquic.quic.configuration import QuicConfiguration

    return QuicConfiguration(is_client=is_client, alpn_protocols=["h3"], **more)


async def plain(address, port, certificate, key):
    from aioquic.asyncio import QuicConnectionProtocol
    from aioquic.asyncio import serve as run
    from aioquic.h3.connection import H3Connection, Setting

    class Http(H3Connection):
        def _get_local_settings(self):
            settings = super()._get_local_settings()
            return {name: value for name, value in settings.items() if name != Setting.ENABLE_CONNECT_PROTOCOL}

    class Server(QuicConnectionProtocol):
        http = None

        def quic_event_received(self, event):
            self.http = self.http or Http(self._quic)
            self.http.handle_event(event)
            self.transmit()

    configuration = configured(False)
    configuration.load_cert_chain(certificate, key)
    running = await run(address, port, configuration=configuration, create_protocol=Server)
    await until_told()
    running.close()


class Stream:
    """A connection with one WebSocket, or another request."""

    def __init__(self, protocol, fields, method="CONNECT"):
        from aioquic.h3.connection import H3Connection
        from wsproto.connection import Connection, ConnectionType

        self.protocol, self.events, self.status, self.fields, self.ended = protocol, [], None, {}, False
        self.http, self.ws, self.came = H3Connection(protocol._quic), Connection(ConnectionType.CLIENT), asyncio.Event()
        self.code = None
        self.wanted, self.method = fields, method
        protocol.listens(self.heard)

    async def open(self):
        pseudo = [(b":method", self.method.encode()), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/")]
        if self.method == "CONNECT":
            while self.http.received_settings is None:
                await self.wait()
            pseudo += [(b":protocol", b"websocket"), (b"sec-websocket-version", b"13")]
        self.stream = self.protocol._quic.get_next_available_stream_id()
        self.http.send_headers(self.stream, pseudo + self.wanted, end_stream=self.method != "CONNECT")
        self.protocol.transmit()
        while self.status is None:
            await self.wait()

    async def wait(self):
        self.came.clear()
        await asyncio.wait_for(self.came.wait(), 20)

    def heard(self, event):
        from aioquic.h3.events import DataReceived, HeadersReceived
        from aioquic.quic.events import ConnectionTerminated, StreamReset

        if isinstance(event, ConnectionTerminated):
            self.ended, self.code = True, event.error_code
        elif isinstance(event, StreamReset):
            self.ended = True
        for one in self.http.handle_event(event):
            if isinstance(one, HeadersReceived):
                self.fields = {name.decode(): value.decode() for name, value in one.headers}
                self.status = int(self.fields[":status"])
            elif isinstance(one, DataReceived) and one.data:
                self.ws.receive_data(one.data)
                self.events += self.ws.events()
            self.ended |= one.stream_ended
        self.came.set()

    def send(self, event):
        self.http.send_data(self.stream, self.ws.send(event), end_stream=False)
        self.protocol.transmit()

    async def message(self):
        """The next message, whole; or the code of Close."""
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
            await self.wait()


async def talk(stream):
    """Messages of many sizes and both kinds, and the close handshake."""
    from wsproto.events import CloseConnection, Message

    connects = stream.http.received_settings.get(8)
    said = {"connects": connects, "status": stream.status, "fields": stream.fields, "wrong": 0}
    for size in (0, 1, 125, 126, 65_535, 65_536, 300_000):
        stream.send(Message(data=bytes(size)))
        said["wrong"] += await stream.message() != bytes(size)
        stream.send(Message(data="é" * size))
        said["wrong"] += await stream.message() != "é" * size
    stream.send(CloseConnection(code=1000))
    said["closed"] = await stream.message()
    stream.http.send_data(stream.stream, b"", end_stream=True)
    stream.protocol.transmit()
    while not stream.ended:
        await stream.wait()
    return said


async def held(stream):
    """Sends 3 MB at once, of which the server takes what its windows allow while nothing is read; then reads all of it."""
    from wsproto.events import CloseConnection, Message

    sizes = [50_000] * 60
    for number, size in enumerate(sizes):
        stream.send(Message(data=bytes([number]) * size))
    wrong = 0
    for number, size in enumerate(sizes):
        wrong += await stream.message() != bytes([number]) * size
    stream.send(CloseConnection(code=1000))
    return {"wrong": wrong, "closed": await stream.message()}


async def rude(stream):
    """A frame that is not masked."""
    stream.http.send_data(stream.stream, b"\x82\x01x", end_stream=False)
    stream.protocol.transmit()
    return {"closed": await stream.message()}


async def other(stream):
    return {"status": stream.status}


async def client(mode, address, port):
    from aioquic.asyncio import QuicConnectionProtocol, connect

    class Client(QuicConnectionProtocol):
        early, hears = (), None

        def quic_event_received(self, event):
            if self.hears:
                self.hears(event)
            else:
                self.early = [*self.early, event]

        def listens(self, hears):
            self.hears = hears
            for event in self.early:
                hears(event)

    more = {"max_stream_data": 16_384} if mode == "held" else {}
    configuration = configured(True, verify_mode=ssl.CERT_NONE, **more)
    async with connect(address, port, configuration=configuration, create_protocol=Client) as protocol:
        fields = [(b"sec-websocket-protocol", b"chat, other")] if mode == "talk" else []
        stream = Stream(protocol, fields, "GET" if mode == "other" else "CONNECT")
        await stream.open()
        print(json.dumps(await {"talk": talk, "held": held, "rude": rude, "other": other}[mode](stream)))


def main():
    folders, mode, address, port, *more = sys.argv[1:]
    sys.path[:0] = folders.split(":")
    serves = {"serve": serve, "plain": plain}
    asyncio.run(serves[mode](address, int(port), *more) if mode in serves else client(mode, address, int(port)))


if __name__ == "__main__":
    main()
