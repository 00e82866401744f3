"""Servers nobody here wrote, for clients under test: says `ready`; on SIGTERM it says in JSON what each port saw.

The first argument says what each port answers, in hexadecimal digits, to whatever comes over TCP and UDP. Port 80 answers
requests of HTTP and keeps their paths.
"""

import asyncio
import json
import signal
import socket
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Text(asyncio.Protocol, asyncio.DatagramProtocol):
    def __init__(self, answer):
        self.answer = answer

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(self.answer)

    def datagram_received(self, data, address):
        self.transport.sendto(self.answer, address)


class Http(asyncio.Protocol):
    def __init__(self, paths):
        self.paths, self.kept = paths, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        *heads, self.kept = (self.kept + data).split(b"\r\n\r\n")
        self.paths.extend(head.split(b" ")[1].decode() for head in heads)
        self.transport.write(ANSWER * len(heads))


def listener(port):
    return socket.create_server(("::", port), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=True)


async def serve(texts):
    loop, paths = asyncio.get_running_loop(), []
    for port, answer in texts.items():
        made = lambda answer=bytes.fromhex(answer): Text(answer)  # noqa: E731
        await loop.create_server(made, sock=listener(int(port)))
        both = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        both.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        both.bind(("::", int(port)))
        await loop.create_datagram_endpoint(made, sock=both)
    await loop.create_server(lambda: Http(paths), sock=listener(80))
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    await stop.wait()
    json.dump({"paths": paths}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1])))
