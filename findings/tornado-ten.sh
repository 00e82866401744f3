#!/bin/sh
# Tornado's AsyncHTTPClient runs ten requests at a time, and the time-out of the others begins while they wait: of 100 at once most fail.
#
# One would guess: 100 fetches that are awaited together are 100 requests at the server, which takes half a second for each, and all are
# done after half a second, so a time-out of 2 s is plenty.
# So it is: `max_clients` is 10, for all hosts together. The others wait in the client, and the wait counts for `request_timeout`: they fail
# with "Timeout in request queue" without having been sent. The server sees ten at a time and has nothing to do with it; a load made with
# it is ten users, whatever it is set to. `AsyncHTTPClient.configure(None, max_clients=1000)` before the first use mends it.
#
# Uses tornado 6.6.1 from PyPI, with a server of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install tornado==6.6.1 || exit 2
cat > try.py <<'END'
import asyncio
import sys

import tornado
from tornado.httpclient import AsyncHTTPClient

REQUESTS = 100
requests, open_now, most = 0, 0, 0


async def serve(reader, writer):
    """Replies to a request after half a second."""
    global requests, open_now, most
    await reader.readuntil(b"\r\n\r\n")
    requests, open_now = requests + 1, open_now + 1
    most = max(most, open_now)
    await asyncio.sleep(0.5)
    open_now -= 1
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    writer.close()


async def trial(name, client):
    """Requests that the server sees, most at a time, and those that fail."""
    global requests, most
    requests = most = 0
    fetches = [client.fetch(f"http://127.0.0.1:{port}/", request_timeout=2) for _ in range(REQUESTS)]
    results = await asyncio.gather(*fetches, return_exceptions=True)
    errors = [str(result) for result in results if isinstance(result, Exception)]
    print(f"{name}: {REQUESTS} at once: {requests} at the server, {most} at a time, {len(errors)} failed {set(errors) or ''}")
    return most, len(errors)


async def main():
    global port
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=200)
    port = server.sockets[0].getsockname()[1]
    print("tornado", tornado.version)
    few = await trial("default", AsyncHTTPClient(force_instance=True))
    many = await trial("max_clients=1000", AsyncHTTPClient(force_instance=True, max_clients=1000))
    return few[0] == 10 and few[1] >= 40 and many[0] > 50 and many[1] == 0


sys.exit(not asyncio.run(main()))
END
venv/bin/python try.py
