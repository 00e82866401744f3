#!/bin/sh
# Two gRPC servers take one port without an error, and share its clients: of 40 calls each gets some 20.
#
# One would guess: a server on a port that another process has fails to start with "Address already in use".
# So it is: gRPC sets SO_REUSEPORT on its ports, and the kernel spreads new connections over all that have. A server that was left from the
# last test, or started twice, gets half of the clients, with its old code and data, and no log says so: each second run fails, and rates
# look as if one server were two. With the option `grpc.so_reuseport` 0 the second one fails.
#
# Uses grpcio 1.85.3 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install grpcio==1.85.3 || exit 2
cat > try.py <<'END'
import subprocess
import sys

import grpc

SERVER = """
import sys
from concurrent import futures
import grpc

class Handler(grpc.GenericRpcHandler):
    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: sys.argv[1].encode())

server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", int(sys.argv[3]))])
server.add_generic_rpc_handlers((Handler(),))
print(server.add_insecure_port("127.0.0.1:" + sys.argv[2]), flush=True)
server.start()
sys.stdin.read()
"""
CALLS = 40
running = []


def start(name, port, reuse=1):
    """A server in a process of its own, and the port it has, or None if it fails."""
    command = [sys.executable, "-c", SERVER, name, str(port), str(reuse)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.append(process)
    line = process.stdout.readline()
    return int(line) if line else None


def call(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        return channel.unary_unary("/try/try")(b"", timeout=10).decode()


print("grpcio", grpc.__version__)
port = start("old", 0)
same = start("new", port)
names = [call(port) for _ in range(CALLS)]
counts = {name: names.count(name) for name in ("old", "new")}
print(f"two servers on port {port}: no error: {same == port}; of {CALLS} connections", counts)
alone = start("old", 0, reuse=0)
refused = start("new", alone, reuse=0)
print("with grpc.so_reuseport=0 the second one", "fails" if refused is None else "starts")
for process in running:
    process.kill()
    process.wait()
sys.exit(not (same == port and min(counts.values()) >= 3 and refused is None))
END
venv/bin/python try.py
