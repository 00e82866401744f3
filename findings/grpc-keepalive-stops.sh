#!/bin/sh
# A gRPC client with a keepalive time of half a second sends two pings, and the next one a minute later.
#
# One would guess: with `grpc.keepalive_time_ms` of 500 a PING goes out each half second while a call is open, so a path that has died
# is noticed within that and the keepalive time-out.
# So it is: after two pings without data sent in between (`grpc.http2.max_pings_without_data`) the next one waits for 60 s, without an
# error or a log line, though the server answers each. A call that waits for its response, or for a stream's next message, notices a
# path that breaks in the third second after up to a minute. A test of failover measures that. Set the option to 0 for no limit; even
# then the pings are a second apart.
#
# Takes a quarter of a minute. Uses grpcio 1.85.3 and h2 4.4.1 from PyPI, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install grpcio==1.85.3 h2==4.4.1 || exit 2
cat > try.py <<'END'
import socket
import sys
import threading
import time
from importlib.metadata import version

import grpc
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import PingReceived

CALL = 6


def serve(server, pings):
    """Takes a connection, acknowledges its pings and leaves its requests unanswered; the times of the pings."""
    client, _ = server.accept()
    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    client.sendall(connection.data_to_send())
    start = time.monotonic()
    while data := client.recv(65536):
        events = connection.receive_data(data)
        pings += [round(time.monotonic() - start, 2) for event in events if isinstance(event, PingReceived)]
        client.sendall(connection.data_to_send())


def pings_of(*more):
    """Pings of a call that ends by its deadline."""
    server, pings = socket.create_server(("127.0.0.1", 0)), []
    threading.Thread(target=serve, args=(server, pings), daemon=True).start()
    options = [("grpc.keepalive_time_ms", 500), ("grpc.keepalive_timeout_ms", 20_000), *more]
    with grpc.insecure_channel(f"127.0.0.1:{server.getsockname()[1]}", options=options) as channel:
        try:
            channel.unary_unary("/x.X/Wait")(b"", timeout=CALL)
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED, error
        return list(pings)


print("grpcio", version("grpcio"))
default, unlimited = pings_of(), pings_of(("grpc.http2.max_pings_without_data", 0))
print(f"a call of {CALL} s, keepalive time 0.5 s: pings at {default} s")
print(f"with max_pings_without_data 0: {len(unlimited)} pings, at {unlimited} s")
sys.exit(not (len(default) <= 2 and len(unlimited) >= 4))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
