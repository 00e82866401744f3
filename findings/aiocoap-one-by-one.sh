#!/bin/sh
# aiocoap sends confirmable requests to a server one after the other: 20 at once, each answered after 50 ms, take a second.
#
# One would guess: requests that a program starts together with `asyncio.gather` are sent together, as with any HTTP client.
# So it is: the next confirmable request to a server goes out when the last one is acknowledged; NSTART of RFC 7252, section 4.7, is 1.
# Whatever the number of tasks, the rate is one per round trip, and the time of each request has the wait in it: the last of 20 takes
# 20 times the server's time. Non-confirmable requests are sent at once. A load test by CON requests measures the round trip; use NON
# requests, or a context for each client.
#
# Uses aiocoap 0.4.17 from PyPI, with a server on a loopback port that answers each request after 50 ms; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install aiocoap==0.4.17 || exit 2
cat > try.py <<'END'
import asyncio
import socket
import sys
import threading
import time
from importlib.metadata import version

import aiocoap

REQUESTS, DELAY = 20, 0.05
NON, ACKNOWLEDGEMENT, CONTENT = 0x50, 0x60, 0x45
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 5683))
lock, open_now, open_most = threading.Lock(), 0, 0


def respond(request, client):
    """Answers a request: a piggybacked response to a confirmable one."""
    global open_now
    with lock:
        open_now -= 1
    kind, token = request[0] >> 4 & 3, request[4 : 4 + (request[0] & 15)]
    first = (NON if kind else ACKNOWLEDGEMENT) | len(token)
    server.sendto(bytes([first, CONTENT]) + request[2:4] + token + b"\xffhello", client)


def serve():
    """Answers each request after a time of its own."""
    global open_now, open_most
    while True:
        request, client = server.recvfrom(2000)
        with lock:
            open_now += 1
            open_most = max(open_most, open_now)
        threading.Timer(DELAY, respond, (request, client)).start()


async def gather(tuning):
    """Starts all requests at once; the most that the server had to answer at a time, and the seconds until all had a response."""
    global open_most
    context = await aiocoap.Context.create_client_context()
    open_most, start = 0, time.monotonic()
    message = [aiocoap.Message(code=aiocoap.GET, transport_tuning=tuning, uri="coap://127.0.0.1/x") for _ in range(REQUESTS)]
    responses = await asyncio.gather(*[context.request(each).response for each in message])
    took = time.monotonic() - start
    await context.shutdown()
    return len(responses), open_most, took


threading.Thread(target=serve, daemon=True).start()
print("aiocoap", version("aiocoap"))
seen = []
for tuning in (aiocoap.Reliable, aiocoap.Unreliable):
    seen.append(asyncio.run(gather(tuning)))
    print("{}: {} responses, at most {} requests at a time at the server, {:.2f} s".format(tuning.__name__, *seen[-1]))
(got, most, took), (got_non, most_non, _) = seen
sys.exit(not (got == got_non == REQUESTS and most == 1 and took >= REQUESTS * DELAY and most_non > 2))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
