#!/bin/sh
# toxiproxy's bandwidth is that of each connection: ten downloads at 100 KB/s have 1,000 KB/s together, and none is slower for the others.
#
# One would guess: a proxy with a `bandwidth` of 100 KB/s is a link of that rate, which its connections share.
# So it is: each connection has the rate to itself, each way; a new one begins with all of it. Ten connections transfer 100,000 bytes each
# in a second, as a single one does. A test of a browser, an HTTP/1.1 pool or a download in parts over a "slow link" finds that
# more connections are faster, and one of HTTP/2, with one connection, that it is slow. Neither is so on a real one. For a shared rate
# use tc.
#
# Uses github.com/Shopify/toxiproxy/v2 v2.12.0 with Go, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
GOBIN=$folder go install github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0 2> log || { cat log >&2; exit 2; }
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

RATE, SIZE, CONNECTIONS = 100, 100_000, 10
upstream = socket.create_server(("127.0.0.1", 3201), backlog=50)


def serve():
    """Sends each client some data."""
    while True:
        client, _ = upstream.accept()
        Thread(target=lambda client=client: (client.recv(1), client.sendall(b"x" * SIZE), client.close()), daemon=True).start()


def api(path, **body):
    """Asks toxiproxy for a proxy or a toxic."""
    request = urllib.request.Request("http://127.0.0.1:8474" + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request).read()


def download(_):
    """Bytes of a connection."""
    with socket.create_connection(("127.0.0.1", 3200)) as client:
        client.sendall(b"x")
        return sum(map(len, iter(lambda: client.recv(65536), b"")))


Thread(target=serve, daemon=True).start()
toxiproxy = subprocess.Popen(["./server", "-port", "8474"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", 8474)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    api("/proxies", name="link", listen="127.0.0.1:3200", upstream="127.0.0.1:3201")
    api("/proxies/link/toxics", type="bandwidth", attributes={"rate": RATE})
    print("toxiproxy v2.12.0, a proxy with a bandwidth of", RATE, "KB/s")
    seen = []
    for connections in (1, CONNECTIONS):
        start = time.monotonic()
        with ThreadPoolExecutor(connections) as pool:
            got = sum(pool.map(download, range(connections)))
        took = time.monotonic() - start
        seen.append((got, took))
        print(f"{connections} connections: {got:,} bytes in {took:.2f} s, {got / took / 1000:.0f} KB/s")
finally:
    toxiproxy.terminate()
    toxiproxy.wait()
(one, alone), (all_bytes, together) = seen
sys.exit(not (one == SIZE and all_bytes == SIZE * CONNECTIONS and alone >= 0.9 and together < CONNECTIONS * 0.6))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
