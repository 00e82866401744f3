"""Ends of a protocol on QUIC that nobody here wrote, on aioquic: `quic_program_peer.py FOLDER MODE ADDRESS PORT [CERTIFICATE KEY]`.

FOLDER has the packages of `test_dns_quic.py`. MODE `serve` is a server that sends lines of streams back in upper case, those of a unidirectional
stream on one of its own, and datagrams as they are. It says `ready`, and on SIGTERM in JSON what it has seen. `ask` is a client that says HELLO, exchanges messages and ends; `many` one that does so on ten streams at a time, `one_way` on ten unidirectional ones; `datagrams` one that sends ten
DATAGRAM frames; `other` one of another protocol. They say in JSON what came of it.
"""

import asyncio
import json
import signal
import ssl
import sys

ALPN = "tide/1"


def configured(is_client, **more):
    from aioquic.quic.configuration import QuicConfiguration

    return QuicConfiguration(is_client=is_client, **{"alpn_protocols": [ALPN], "max_datagram_frame_size": 65_536, **more})


async def serve(address, port, certificate, key):
    from aioquic.asyncio import QuicConnectionProtocol
    from aioquic.asyncio import serve as run
    from aioquic.quic.events import ConnectionTerminated, DatagramFrameReceived, StreamDataReceived

    seen = {"bytes": 0, "ends": 0, "datagrams": 0, "closes": {}, "streams": []}

    class Server(QuicConnectionProtocol):
        own = None

        def output(self, stream):
            """The stream on which a response goes: the one of the request, or the one that belongs to it."""
            if not stream & 2:
                return stream
            self.own = self.own or {}
            while stream >> 2 not in self.own:
                # It counts as open once something is sent on it.
                self.own[len(self.own)] = 4 * len(self.own) + 3
            return self.own[stream >> 2]

        def quic_event_received(self, event):
            if isinstance(event, StreamDataReceived):
                seen["bytes"] += len(event.data)
                seen["ends"] += event.end_stream
                seen["streams"] = sorted({*seen["streams"], event.stream_id})
                if event.data.startswith(b"RESET"):
                    self._quic.reset_stream(event.stream_id, 7)
                elif event.data.startswith(b"CLOSE"):
                    self._quic.close(error_code=9)
                elif event.data.startswith(b"LEAVE"):
                    self._quic.close(error_code=0)
                else:
                    self._quic.send_stream_data(self.output(event.stream_id), event.data.upper(), end_stream=event.end_stream)
            elif isinstance(event, DatagramFrameReceived):
                seen["datagrams"] += 1
                self._quic.send_datagram_frame(event.data)
            elif isinstance(event, ConnectionTerminated):
                code = str(event.error_code)
                seen["closes"][code] = seen["closes"].get(code, 0) + 1
            self.transmit()

    configuration = configured(False)
    configuration.load_cert_chain(certificate, key)
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    tickets = {}
    kept = {"session_ticket_fetcher": tickets.pop, "session_ticket_handler": lambda ticket: tickets.update({ticket.ticket: ticket})}
    running = await run(address, port, configuration=configuration, create_protocol=Server, **kept)
    print("ready", flush=True)
    await ends.wait()
    running.close()
    print(json.dumps(seen), flush=True)


async def ask(address, port):
    from aioquic.asyncio import connect

    async with connect(address, port, configuration=configured(True, verify_mode=ssl.CERT_NONE)) as client:
        reader, writer = await client.create_stream()
        writer.write(b"HELLO\r\n")
        greeting = await asyncio.wait_for(reader.readexactly(4), 10)
        lengths = []
        for _ in range(20):
            writer.write(bytes(1_000))
            lengths.append(len(await asyncio.wait_for(reader.readexactly(3_000), 10)))
        writer.write_eof()
        rest = await asyncio.wait_for(reader.read(), 10)
        await asyncio.sleep(0.2)
    print(json.dumps({"greeting": greeting.decode(), "lengths": lengths, "rest": len(rest)}))


async def exchange(address, port, one_way):
    """Twenty messages on each of ten streams at a time, of one size and responses of another."""
    from aioquic.asyncio import QuicConnectionProtocol, connect
    from aioquic.quic.events import StreamDataReceived

    got, ended = {}, set()

    class Client(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, StreamDataReceived):
                got[event.stream_id] = got.get(event.stream_id, 0) + len(event.data)
                if event.end_stream:
                    ended.add(event.stream_id)

    async with connect(address, port, configuration=configured(True, verify_mode=ssl.CERT_NONE), create_protocol=Client) as client:
        streams = [number * 4 + (2 if one_way else 0) for number in range(10)]
        for number in range(20):
            for stream in streams:
                client._quic.send_stream_data(stream, bytes(1_000), end_stream=number == 19)
            client.transmit()
        for _ in range(500):
            if len(ended) == 10:
                break
            await asyncio.sleep(0.01)
    print(json.dumps({"got": sorted(got.values()), "streams": sorted(got), "ended": len(ended)}))


async def many(address, port):
    await exchange(address, port, False)


async def one_way(address, port):
    await exchange(address, port, True)


async def datagrams(address, port):
    from aioquic.asyncio import QuicConnectionProtocol, connect
    from aioquic.quic.events import DatagramFrameReceived

    came = []

    class Client(QuicConnectionProtocol):
        def quic_event_received(self, event):
            if isinstance(event, DatagramFrameReceived):
                came.append(len(event.data))

    async with connect(address, port, configuration=configured(True, verify_mode=ssl.CERT_NONE), create_protocol=Client) as client:
        for number in range(10):
            client._quic.send_datagram_frame(bytes(100))
            client.transmit()
            for _ in range(500):
                if len(came) > number:
                    break
                await asyncio.sleep(0.01)
    print(json.dumps({"came": came}))


async def other(address, port):
    from aioquic.asyncio import connect

    outcome = "agreed"
    try:
        async with connect(address, port, configuration=configured(True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)) as client:
            await client.ping()
    except ConnectionError:
        outcome = "refused"
    print(json.dumps(outcome))


def main():
    folder, mode, address, port, *more = sys.argv[1:]
    sys.path.insert(0, folder)
    run = {"serve": serve, "ask": ask, "many": many, "one_way": one_way, "datagrams": datagrams, "other": other}[mode]
    asyncio.run(run(address, int(port), *more))


if __name__ == "__main__":
    main()
