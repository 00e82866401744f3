#!/bin/sh
# Ten gRPC channels of one process to a server share one connection, in Python and in Node.js.
#
# One would guess: each channel, or each client of Node.js, has a connection of its own, so ten of them load a balancer or a server with
# ten connections; grpc-go does that.
# So it is: channels with the same target and options share what is below them. All ten send over one TCP connection, so one backend of a
# balancer gets all, and the server's limit of streams holds for them together. A test with a hundred clients is one of a single
# connection. With the option `grpc.use_local_subchannel_pool` each has its own.
#
# Uses grpcio 1.80.1 from PyPI and @grpc/grpc-js 1.14.7 from npm, with a relay on loopback ports that counts connections; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install grpcio==1.80.1 || exit 2
npm init -y > init.log && npm install --silent @grpc/grpc-js@1.14.7 || exit 2
cat > try.js <<'END'
const grpc = require("@grpc/grpc-js");

const same = (bytes) => bytes;
const method = { path: "/echo/echo", requestStream: false, responseStream: false };
Object.assign(method, { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same });

async function connections(target, options) {
  for (let i = 0; i < 10; i++) {
    const client = new grpc.Client(target, grpc.credentials.createInsecure(), options);
    await new Promise((done, fail) =>
      client.makeUnaryRequest(method.path, same, same, Buffer.from("x"), (error, got) => (error ? fail(error) : done(got))));
  }
}
connections(process.argv[2], process.argv[3] === "own" ? { "grpc.use_local_subchannel_pool": 1 } : {}).then(() => process.exit());
END
cat > try.py <<'END'
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import grpc


class Echo(grpc.GenericRpcHandler):
    """Returns what it gets, for each method."""

    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass


def relay(listener, port, seen):
    while True:
        client, _ = listener.accept()
        seen.append(client)
        server = socket.create_connection(("127.0.0.1", port))
        Thread(target=copy, args=(client, server), daemon=True).start()
        Thread(target=copy, args=(server, client), daemon=True).start()


server = grpc.server(ThreadPoolExecutor(4))
server.add_generic_rpc_handlers([Echo()])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
listener, seen = socket.create_server(("127.0.0.1", 0)), []
Thread(target=relay, args=(listener, port, seen), daemon=True).start()
target = f"127.0.0.1:{listener.getsockname()[1]}"


def python(options):
    channels = [grpc.insecure_channel(target, options=options) for _ in range(10)]
    for channel in channels:
        assert channel.unary_unary("/echo/echo")(b"x") == b"x"
    return channels


print("grpcio", grpc.__version__)
counts = []
for name, call in (
    ("Python", lambda: python([])),
    ("Python, local pools", lambda: python([("grpc.use_local_subchannel_pool", 1)])),
    ("Node.js", lambda: subprocess.run(["node", "try.js", target, "shared"], check=True)),
    ("Node.js, local pools", lambda: subprocess.run(["node", "try.js", target, "own"], check=True)),
):
    before = len(seen)
    kept = call()
    counts.append(len(seen) - before)
    print(f"{name}: 10 channels, {counts[-1]} connections")
sys.exit(counts != [1, 10, 1, 10])
END
"$folder/venv/bin/python" try.py
