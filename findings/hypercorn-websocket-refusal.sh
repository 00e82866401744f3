#!/bin/sh
# hypercorn refuses a WebSocket over HTTP/3 by a response that HTTP/3 calls malformed: it has the field `connection: close`.
#
# One would guess: an application that closes a WebSocket before it accepts it (ASGI: 403) gives a plain response with status 403, whatever the
# version, as hypercorn's other responses over HTTP/3 are.
# So it is: the response has the field `connection`, which RFC 9114 section 4.2 forbids; a response with it is malformed, and a client that
# checks this reports H3_MESSAGE_ERROR, not 403. aioquic's client takes it as it comes. Requests of HTTP to the same server get
# responses without that field.
#
# Uses hypercorn 0.18.0 and aioquic 1.3.0 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install hypercorn==0.18.0 aioquic==1.3.0 || exit 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> log || exit 2
cat > try.py <<'END'
import asyncio
import socket
import ssl
import sys
from importlib.metadata import version

from aioquic.asyncio import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from hypercorn.asyncio import serve
from hypercorn.config import Config


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["type"] == "websocket":
        await receive()
        return await send({"type": "websocket.close"})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http, self.replies = H3Connection(self._quic), {}

    def ask(self, headers, ends):
        stream = self._quic.get_next_available_stream_id()
        self.replies[stream] = asyncio.get_running_loop().create_future()
        self.http.send_headers(stream, headers, end_stream=ends)
        self.transmit()
        return asyncio.wait_for(self.replies[stream], 10)

    def quic_event_received(self, event):
        for one in self.http.handle_event(event):
            if isinstance(one, HeadersReceived) and not self.replies[one.stream_id].done():
                self.replies[one.stream_id].set_result(dict(one.headers))


async def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = Config()
    config.bind, config.quic_bind = ["127.0.0.1:0"], [f"127.0.0.1:{port}"]
    config.certfile, config.keyfile = "certificate.pem", "key.pem"
    over = asyncio.Event()
    server = asyncio.create_task(serve(application, config, shutdown_trigger=over.wait))
    await asyncio.sleep(1)
    print(f"hypercorn {version('hypercorn')}, aioquic {version('aioquic')}")
    options = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    base = [(b":scheme", b"https"), (b":authority", b"localhost"), (b":path", b"/")]
    async with connect("127.0.0.1", port, configuration=options, create_protocol=Client) as client:
        plain = await client.ask([(b":method", b"GET"), *base], True)
        print("GET:", plain[b":status"].decode(), "- connection:", plain.get(b"connection"))
        upgrade = [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *base, (b"sec-websocket-version", b"13")]
        refused = await client.ask(upgrade, False)
        print("WebSocket:", refused[b":status"].decode(), "- connection:", refused.get(b"connection"))
    over.set()
    await server
    sys.exit(b"connection" in plain or refused.get(b"connection") != b"close" or refused[b":status"] != b"403")


asyncio.run(main())
END
venv/bin/python try.py 2> log || { cat log; exit 1; }
