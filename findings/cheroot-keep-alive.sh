#!/bin/sh
# cheroot keeps ten connections alive: from the eleventh client on each response has "Connection: close".
#
# One would guess: an HTTP/1.1 server keeps each connection for the next request, as long as it is not idle for long.
# So it is: while ten connections wait for their next request (`keep_alive_conn_limit`) each further one is closed after its response. Ten
# clients of a test reuse their connections, the others need a new one for each request: a test with 11 or more is one of
# connection rates, and of TIME_WAIT, where the client was to be persistent.
#
# Uses cheroot 11.1.2 from PyPI, the server of CherryPy, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install cheroot==11.1.2 || exit 2
cat > "$folder/try.py" <<'END'
import socket
import sys
import threading
from importlib.metadata import version

from cheroot.wsgi import Server

CLIENTS = 15


def hello(_, start):
    start("200 OK", [("Content-Length", "5")])
    return [b"hello"]


server = Server(("127.0.0.1", 0), hello, timeout=100)
server.prepare()
threading.Thread(target=server.serve, daemon=True).start()
print("cheroot", version("cheroot"))
clients, kept = [], []
for _ in range(CLIENTS):
    client = socket.create_connection(server.bind_addr[:2], timeout=30)
    client.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
    answer = b""
    while not answer.endswith(b"hello"):
        answer += client.recv(4096)
    clients.append(client)
    kept.append(b"connection: close" not in answer.lower())
print(f"of {CLIENTS} clients with a request each, the first {kept.index(False)} keep their connection, {sum(kept)} in all")
as_described = kept.index(False) == sum(kept) == 10
for client in clients:
    client.close()
server.stop()
sys.exit(not as_described)
END
"$folder/venv/bin/python" "$folder/try.py"
