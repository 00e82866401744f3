"""Ends of DNS over QUIC (RFC 9250) that nobody here wrote: `doq_peer.py FOLDER MODE ADDRESS PORT [CERTIFICATE KEY]`.

FOLDER has the packages of `aioquic` and `dnspython`. MODE `serve` is a server on aioquic, which responds by names: `a.test` has an address, others
break a rule. It says `ready`, and on SIGTERM in JSON what it has seen. `ask` is dnspython's client, `rude` one on aioquic that breaks a rule on
each connection; they say in JSON what came of it.
"""

import asyncio
import json
import signal
import struct
import sys

QUERIES = 200


def framed(message, **changes):
    """A message with its length before it, and another identifier if that is wanted."""
    wire = message.to_wire(**changes)
    return struct.pack("!H", len(wire)) + wire


def server():
    from aioquic.asyncio import QuicConnectionProtocol
    from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived
    from dns import flags, message, rrset

    seen = {"queries": 0, "ended": 0, "ids": [], "lengths": [], "closes": {}, "resumed": 0, "early": 0, "alpn": []}

    class Server(QuicConnectionProtocol):
        streams = None

        def quic_event_received(self, event):
            self.streams = self.streams if self.streams is not None else {}
            if isinstance(event, HandshakeCompleted):
                seen["resumed"] += event.session_resumed
                seen["early"] += event.early_data_accepted
                seen["alpn"] = sorted({*seen["alpn"], event.alpn_protocol})
            elif isinstance(event, ConnectionTerminated):
                code = str(event.error_code)
                seen["closes"][code] = seen["closes"].get(code, 0) + 1
            elif isinstance(event, StreamDataReceived):
                self.streams[event.stream_id] = self.streams.get(event.stream_id, b"") + event.data
                if event.end_stream:
                    self.respond(event.stream_id, self.streams.pop(event.stream_id))

        def respond(self, stream, data):
            (length,) = struct.unpack("!H", data[:2])
            assert length == len(data) - 2, (length, len(data))
            query = message.from_wire(data[2:])
            seen["queries"] += 1
            seen["ids"] = sorted({*seen["ids"], query.id})
            seen["lengths"] = sorted({*seen["lengths"], length})
            name = query.question[0].name.to_text()
            reply = message.make_response(query)
            reply.flags |= flags.AA
            reply.answer.append(rrset.from_text(name, 60, "IN", "A", "192.0.2.1"))
            if name == "id.test.":
                reply.id = 7
            data = framed(reply)
            if name == "twice.test.":
                data += data
            elif name == "half.test.":
                data = data[:20]
            if name == "reset.test.":
                self._quic.reset_stream(stream, 1)
            elif name == "close.test.":
                self._quic.close(error_code=4, reason_phrase="too much")
            elif name == "stop.test.":
                self._quic.send_stream_data(self._quic.get_next_available_stream_id(is_unidirectional=True), b"x")
            else:
                self._quic.send_stream_data(stream, data, end_stream=name != "open.test.")
            self.transmit()

    return Server, seen


async def serve(address, port, certificate, key):
    from aioquic.asyncio import serve as run
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=False, alpn_protocols=["doq"], max_datagram_size=1200)
    configuration.load_cert_chain(certificate, key)
    protocol, seen = server()
    tickets = {}
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    running = await run(
        address, port, configuration=configuration, create_protocol=protocol,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
    )  # fmt: skip
    print("ready", flush=True)
    await ends.wait()
    running.close()
    print(json.dumps(seen), flush=True)


def ask(address, port):
    """Queries one after the other on a connection of dnspython's, and again on a connection each."""
    from dns import message, query, quic, rcode

    codes, addresses, lengths = {}, set(), set()

    def note(response):
        code = rcode.to_text(response.rcode())
        codes[code] = codes.get(code, 0) + 1
        addresses.update(item.to_text() for one in response.answer for item in one)
        lengths.add(len(response.to_wire()))

    with quic.SyncQuicManager(verify_mode=False) as manager:
        connection = manager.connect(address, port)
        for number in range(QUERIES):
            asked = message.make_query(f"host{number}.test", "A", use_edns=0, pad=128 if number % 2 else 0)
            note(query.quic(asked, address, port=port, timeout=10, connection=connection))
    for name, kind in (("x.invalid", "A"), ("long.test", "TXT"), ("a.test", "AAAA")):
        note(query.quic(message.make_query(name, kind), address, port=port, timeout=10, verify=False))
    print(json.dumps({"codes": codes, "addresses": sorted(addresses), "lengths": sorted(lengths)[-1]}))


async def rude(address, port):
    """Each connection breaks a rule: which codes it is closed with."""
    import ssl

    from aioquic.asyncio import QuicConnectionProtocol, connect
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import ConnectionTerminated
    from dns import edns, message

    class Client(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, ConnectionTerminated):
                self.code = event.error_code

    plain = message.make_query("a.test", "A")
    plain.id = 0
    numbered = message.make_query("a.test", "A")
    numbered.id = 7
    kept = message.make_query("a.test", "A", use_edns=0, options=[edns.GenericOption(11, b"")])
    kept.id = 0
    whole = framed(plain)
    cases = {
        "id": (framed(numbered), False),
        "keepalive": (framed(kept), False),
        "twice": (whole * 2, False),
        "half": (whole[:20], False),
        "one_way": (whole, True),
        "none": (b"\0\3\0\0c", False),
    }
    codes = {}
    for name, (data, one_way) in cases.items():
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["doq"], verify_mode=ssl.CERT_NONE)
        async with connect(address, port, configuration=configuration, create_protocol=Client) as client:
            stream = client._quic.get_next_available_stream_id(is_unidirectional=one_way)
            client._quic.send_stream_data(stream, data, end_stream=True)
            client.transmit()
            await asyncio.wait_for(client.wait_closed(), 10)
            codes[name] = client.code
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    try:
        async with connect(address, port, configuration=configuration) as client:
            await client.ping()
    except ConnectionError:
        codes["alpn"] = "refused"
    print(json.dumps(codes))


def main():
    folder, mode, address, port, *more = sys.argv[1:]
    sys.path.insert(0, folder)
    if mode == "serve":
        asyncio.run(serve(address, int(port), *more))
    elif mode == "ask":
        ask(address, int(port))
    else:
        asyncio.run(rude(address, int(port)))


if __name__ == "__main__":
    main()
