#!/bin/sh
# After an outage a gRPC client fails calls for seconds more, though the server is back and takes connections.
#
# One would guess: a call that finds no connection tries to connect, so that the first one after the server's return succeeds.
# So it is: between its attempts to connect, which come after 1 s, 1.6 times that and so on up to two minutes, each call fails at once with
# the last attempt's error, "Connection refused". After 3 s of outage the calls here go on failing for about 2 s, after 12 s for up to 5 s;
# the longer the outage, the longer. A failover that is measured by calls is that much too long, and its failures look like the server's.
# Other clients of the same server, which connect anew, see it at once. Set `grpc.max_reconnect_backoff_ms`, or wait_for_ready.
#
# Uses grpcio 1.80.1 from PyPI, client and server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install grpcio==1.80.1 || exit 2

"$folder/venv/bin/python" - <<'END'
import socket
import sys
import time
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: request)


def started(port):
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Echo(),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server


def seconds_to_return(call, server, port, outage):
    """Seconds from the server's return to the first call that succeeds, how many failed until then, and the server."""
    server.stop(0).wait()
    end = time.monotonic() + outage
    failed, back = 0, None
    while True:
        if back is None and time.monotonic() > end:
            server = started(port)
            back = time.monotonic()
        try:
            call(b"x", timeout=2)
            return time.monotonic() - (back or time.monotonic()), failed, server
        except grpc.RpcError:
            failed += back is not None
        time.sleep(0.05)


with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
print("grpcio", grpc.__version__)
longest = 0
for name, options in (("as it is", []), ("grpc.max_reconnect_backoff_ms 200", [("grpc.max_reconnect_backoff_ms", 200)])):
    server = started(port)
    # Other options are another channel with a connection of its own.
    call = grpc.insecure_channel(f"127.0.0.1:{port}", options=options).unary_unary("/echo/Echo")
    call(b"x", timeout=5)
    waits = []
    for outage in (3, 12):
        wait, failed, server = seconds_to_return(call, server, port, outage)
        waits.append(wait)
        print(f"{name}: after an outage of {outage} s calls fail for {wait:.1f} s more, {failed} of them")
    server.stop(0).wait()
    if not options:
        longest = max(waits)
sys.exit(not longest > 1)
END
