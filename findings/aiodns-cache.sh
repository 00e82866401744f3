#!/bin/sh
# aiodns answers repeated queries itself: of 100 queries for one name one reaches the server.
#
# One would guess: c-ares is a stub resolver without a cache, so that each `query_dns` is a query on the wire, as with dnspython or with
# Node.js, which is built on c-ares, too.
# So it is: c-ares has had a cache since 1.31, which is on by default and keeps an answer for its TTL, and pycares leaves it on. 100
# queries one after another for a name with a TTL of 60 s are one query; of 100 at once most are sent. A load generator or a monitor in
# Python that asks a few names measures its own cache: its times are microseconds, and a server that has stopped stays "up" for the TTL.
# Use a TTL of 0, or names that differ.
#
# Uses aiodns 4.0.4, pycares 5.2.1 and dnspython 2.9.2 from PyPI, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install aiodns==4.0.4 pycares==5.2.1 dnspython==2.9.2 || exit 2

"$folder/venv/bin/python" - <<'END'
import asyncio
import socket
import sys
import threading
from importlib.metadata import version

import aiodns
import dns.message
import dns.rrset

received = []


def serve(server):
    """Answers each query with an address and a TTL of 60 s, and keeps its name."""
    while True:
        data, client = server.recvfrom(2000)
        query = dns.message.from_wire(data)
        name = query.question[0].name.to_text()
        received.append(name)
        response = dns.message.make_response(query)
        response.answer.append(dns.rrset.from_text(name, 60, "IN", "A", "192.0.2.1"))
        server.sendto(response.to_wire(), client)


async def main(port):
    resolver = aiodns.DNSResolver(nameservers=["127.0.0.1"], udp_port=port)
    for _ in range(100):
        await resolver.query_dns("a.example.", "A")
    await asyncio.gather(*[resolver.query_dns("b.example.", "A") for _ in range(100)])
    for number in range(100):
        await resolver.query_dns(f"{number}.example.", "A")


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
threading.Thread(target=serve, args=(server,), daemon=True).start()
print("aiodns", version("aiodns"), "pycares", version("pycares"))
asyncio.run(main(server.getsockname()[1]))
one, at_once = received.count("a.example."), received.count("b.example.")
others = len(received) - one - at_once
print(f"queries at the server: {one} of 100 one after another, {at_once} of 100 at once, {others} of 100 for different names")
sys.exit(not (one == 1 and at_once > 10 and others == 100))
END
