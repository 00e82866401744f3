"""Servers of HTTP/2 in the clear and of HTTP/3 that misbehave, in a different way on each port: `bad_http_server.py ADDRESS [FOLDER CERTIFICATE KEY]`.

With FOLDER, which has aioquic, it is HTTP/3. Frames are written byte by byte here. Says `ready`.
"""

import asyncio
import os
import sys

# Ways by port. After each but the last, nothing more comes on the connection.
PORTS = {
    "stall": 8001,
    "reset": 8002,
    "goaway": 8003,
    "block": 8004,
    "settings": 8005,
    "headers": 8006,
    "datagram": 8007,
}
# Fields without an entry in a table: a name and a value of 4,000 bytes, of which 500 are 2 MB.
LONG = b"x" * 4_000


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


SETTINGS = frame(4, 0, 0)
# HPACK's and QPACK's ":status: 200", a header block each.
OK2, OK3 = b"\x88", b"\x00\x00\xd9"


def integer(first, bits, value):
    """An integer of HPACK and QPACK behind the bits of `first`."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    said, value = [first | most], value - most
    while value >= 128:
        said.append(value % 128 | 128)
        value //= 128
    return bytes([*said, value])


def huge2():
    """A header list of 2 MB, in a block that CONTINUATION frames go on with."""
    field = b"\x00" + integer(0, 7, 1) + b"a" + integer(0, 7, len(LONG)) + LONG
    return frame(1, 0, 1, OK2) + b"".join(frame(9, 0, 1, field) for _ in range(500)) + frame(9, 4, 1)


WAYS2 = {
    "stall": frame(1, 4, 1, OK2) + frame(0, 0, 1, b"x" * 10),
    "reset": frame(3, 0, 1, (2).to_bytes(4)),
    "goaway": frame(7, 0, 0, (0).to_bytes(4) + (11).to_bytes(4)),
    "block": frame(1, 5, 1, b"\xff\xff\xff\xff\xff\xff"),
    "settings": SETTINGS * 5_000,
    "headers": huge2(),
}


async def http2(address):
    async def serve(reader, writer, way):
        try:
            await reader.readexactly(24)
            writer.write(SETTINGS)
            # The request is there.
            kind = None
            while kind != 1:
                head = await reader.readexactly(9)
                kind = head[3]
                await reader.readexactly(int.from_bytes(head[:3]))
            writer.write(WAYS2[way])
            while await reader.read(1 << 16):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()

    for way in WAYS2:
        await asyncio.start_server(lambda reader, writer, way=way: serve(reader, writer, way), address, PORTS[way])


def varint(number):
    """An integer of QUIC, in four bytes."""
    return (number | 2 << 30).to_bytes(4)


def framed(kind, payload=b""):
    """A frame of HTTP/3."""
    return varint(kind) + varint(len(payload)) + payload


HEAD3 = framed(1, OK3)
FIELD3 = integer(0x20, 3, 1) + b"a" + integer(0, 7, len(LONG)) + LONG
# What comes on the control stream and on that of the request.
WAYS3 = {
    "stall": (framed(4), HEAD3 + framed(0, b"x" * 10)),
    "reset": (framed(4), None),
    "goaway": (framed(4) + framed(7, varint(0)), b""),
    "block": (framed(4), framed(1, b"\xff\xff\xff\xff\xff\xff")),
    "settings": (framed(4, b"".join(varint(1_000 + number) + varint(1) for number in range(200))), b""),
    "headers": (framed(4), framed(1, OK3 + FIELD3 * 500)),
    "datagram": (framed(4), HEAD3 + framed(0, b"x" * 1_000)),
}


async def http3(address, certificate, key):
    from aioquic.asyncio import QuicConnectionProtocol, serve
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import HandshakeCompleted, StreamDataReceived

    class Server(QuicConnectionProtocol):
        way, answered = None, False

        def quic_event_received(self, event):
            control, response = WAYS3[self.way]
            if isinstance(event, HandshakeCompleted):
                self._quic.send_stream_data(3, b"\x00" + control)
            elif isinstance(event, StreamDataReceived) and event.stream_id == 0 and not self.answered:
                self.answered = True
                if response is None:
                    self._quic.send_stream_data(0, HEAD3)
                    self._quic.reset_stream(0, 0x102)
                else:
                    self._quic.send_stream_data(0, response, end_stream=self.way in ("block", "headers", "datagram"))
                if self.way == "datagram":
                    # A short header, a long one, and none, of all lengths.
                    for length in range(1, 1_400, 7):
                        for first in (0x40, 0xC0, 0x00):
                            self._transport.sendto(bytes([first]) + os.urandom(length), self._quic._network_paths[0].addr)
            self.transmit()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificate, key)
    for way, port in PORTS.items():
        await serve(address, port, configuration=configuration, create_protocol=type("Way", (Server,), {"way": way}))


async def run(address, *files):
    await (http3(address, *files) if files else http2(address))
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
    asyncio.run(run(sys.argv[1], *sys.argv[3:]))
