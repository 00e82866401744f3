#!/bin/sh
# Python's websockets compresses messages unless told not to: a load of ten messages of 1 MB of zeros is 10 kB on the wire.
#
# One would guess: a client that sends ten binary messages of 1 MB moves 10 MB, and a few bytes of frame headers.
# So it is: client and server agree on permessage-deflate by default. What a test sends, zeros, one letter or a repeated pattern, shrinks
# a thousandfold, so the path carries a tenth of a percent of the rate the client reports, and the processor that compresses is measured.
# With `compression=None` at one end it is 10 MB. ws of Node.js offers compression as a client, too, but its server declines.
#
# Uses websockets 17.4 from PyPI, with a relay on loopback ports that counts; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install websockets==17.4 || exit 2
cat > try.py <<'END'
import asyncio
import sys

import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

SIZE, MESSAGES = 1_000_000, 10
received = carried = 0


async def take(connection):
    global received
    async for message in connection:
        received += len(message)


async def main():
    global received, carried

    async def pass_bytes(reader, writer, count):
        global carried
        while data := await reader.read(65536):
            carried += len(data) * count
            writer.write(data)
            await writer.drain()
        writer.close()

    async def relay(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_bytes(reader, far_writer, 1), pass_bytes(far_reader, writer, 0))

    seen = []
    async with serve(take, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        front = await asyncio.start_server(relay, "127.0.0.1", 0)
        url = "ws://127.0.0.1:%d/" % front.sockets[0].getsockname()[1]
        for options in ({}, {"compression": None}):
            received = carried = 0
            async with connect(url, **options) as client:
                for _ in range(MESSAGES):
                    await client.send(bytes(SIZE))
            await asyncio.sleep(0.5)
            print(f"websockets {websockets.__version__}, options {options}: {received} bytes of messages received, {carried} bytes carried")
            seen.append((received, carried))
        front.close()
    as_described = [sent == SIZE * MESSAGES for sent, _ in seen] == [True, True]
    return as_described and seen[0][1] < 20_000 and seen[1][1] > SIZE * MESSAGES


sys.exit(not asyncio.run(main()))
END
venv/bin/python try.py
