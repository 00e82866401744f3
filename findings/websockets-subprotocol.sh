#!/bin/sh
# A server of Python's websockets that names subprotocols refuses clients that offer none: 400 Bad Request, and no connection.
#
# One would guess: the server takes one of its subprotocols if the client offers it, and none otherwise. RFC 6455 section 4.2.2 has the
# server agree to no subprotocol if it takes none of those offered, and a client that offers none is the plainest one there is.
# So it is: with `subprotocols=["chat"]` a client that offers `chat` gets it, one that offers only others is refused, and so is one that
# offers none: "missing subprotocol". A load tester without the header sees every connection fail.
# With `select_subprotocol` the application decides, and can take them all.
#
# Uses websockets 17.4 from PyPI, on a loopback port; no Eagre.
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
from websockets.exceptions import InvalidStatus


async def attempt(url, offered):
    try:
        async with connect(url, subprotocols=offered) as client:
            return f"connected, subprotocol {client.subprotocol}"
    except InvalidStatus as refusal:
        return f"{refusal.response.status_code}: {refusal.response.body.decode().strip().splitlines()[-1]}"


async def main():
    async def silent(connection):
        await connection.wait_closed()

    async def pick(**options):
        async with serve(silent, "127.0.0.1", 0, **options) as server:
            url = "ws://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
            return [await attempt(url, offered) for offered in (["chat"], ["soap"], None)]

    own = await pick(subprotocols=["chat"])
    other = await pick(select_subprotocol=lambda _, offered: "chat" if "chat" in offered else None)
    for name, outcomes in (("subprotocols=['chat']", own), ("select_subprotocol", other)):
        for offered, outcome in zip(("chat", "soap", "none"), outcomes):
            print(f"websockets {websockets.__version__}, server with {name}, client offers {offered}: {outcome}")
    as_described = own[0] == "connected, subprotocol chat" and own[1].startswith("400") and own[2].startswith("400")
    return as_described and other[0] == own[0] and other[2] == "connected, subprotocol None"


sys.exit(not asyncio.run(main()))
END
venv/bin/python try.py
