#!/bin/sh
# A program with aioquic that reads nothing holds nobody back: it is sent 30 MB and more, though its window is 1 MiB.
#
# One would guess: with `max_data` and `max_stream_data` of 1,048,576 a peer sends a MiB and waits until the program has read some of it,
# as with TCP and other QUIC libraries.
# So it is: data count as consumed when they arrive, and the limits double each time half of them is used: 1, 2, 4, 8, 16, 32 MiB. What is
# not read stays in the memory of the receiver's stream reader. A server or client made with aioquic that is meant to be slow
# never closes its window, so no test of flow control ends at it, and a measured rate is that of its socket, not of its program.
#
# Uses aioquic 1.7.2 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install aioquic==1.7.2 || exit 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> log || exit 2
cat > try.py <<'END'
import asyncio
import socket
import ssl
import sys
from importlib.metadata import version

from aioquic.asyncio import connect, serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived

MEGABYTES = 30
streams = []


class Counting(QuicConnectionProtocol):
    """Counts the bytes that come; the reader of the stream gets them, and nobody reads from it."""

    received = 0

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            Counting.received += len(event.data)
        super().quic_event_received(event)


async def main():
    configuration = QuicConfiguration(is_client=False)
    configuration.load_cert_chain("certificate.pem", "key.pem")
    print(f"aioquic {version('aioquic')}, max_data {configuration.max_data}, max_stream_data {configuration.max_stream_data}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    handlers = {"create_protocol": Counting, "stream_handler": lambda *both: streams.append(both)}
    await serve("127.0.0.1", port, configuration=configuration, **handlers)
    client = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE)
    async with connect("127.0.0.1", port, configuration=client) as connection:
        _, writer = await connection.create_stream()
        for number in range(1, MEGABYTES + 1):
            writer.write(bytes(1_000_000))
            for _ in range(100):
                if Counting.received >= number * 1_000_000:
                    break
                await asyncio.sleep(0.05)
            if number in (1, 10, MEGABYTES):
                print(f"{number} MB written, {Counting.received / 1e6:.0f} MB received, none read")
    sys.exit(Counting.received != MEGABYTES * 1_000_000)


asyncio.run(main())
END
venv/bin/python try.py
