#!/bin/sh
# waitress serves 98 connections; the next ones are established and wait until a client closes, however idle the others are.
#
# One would guess: a server for production takes connections as long as it has descriptors, and the limit, if one is reached, is refused or
# answered with 503.
# So it is: `connection_limit` is 100, of which two are its own. The kernel goes on to take connections for the listening socket, so that a
# client sees an established connection whose request is never answered, up to `channel_timeout`, 120 s. The server logs one warning.
# A test with more than 98 persistent connections measures its own time-out. `threads`, 4, is the limit of requests at a time.
#
# Uses waitress 3.0.2 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install waitress==3.0.2 || exit 2
cat > "$folder/try.py" <<'END'
import socket
import sys
import threading
import time
from importlib.metadata import version

import waitress

CONNECTIONS = 110


def hello(_, start):
    start("200 OK", [("Content-Length", "5")])
    return [b"hello"]


server = waitress.create_server(hello, listen="127.0.0.1:0")
threading.Thread(target=server.run, daemon=True).start()
print("waitress", version("waitress"))
clients = []
for _ in range(CONNECTIONS):
    client = socket.create_connection(("127.0.0.1", server.effective_port), timeout=30)
    client.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
    clients.append(client)
time.sleep(5)


def answered(client):
    client.settimeout(0.01)
    try:
        return b" 200 OK" in client.recv(4096)
    except TimeoutError:
        return False


answers = [answered(client) for client in clients]
print(f"{CONNECTIONS} connections are established, the first {answers.index(False)} answered, {sum(answers)} in all")
for client in clients[:20]:
    client.close()
time.sleep(3)
later = [answered(client) for client, before in zip(clients, answers) if not before]
print(f"after 20 have closed, {sum(later)} of the other {len(later)} are answered")
sys.exit(not (sum(answers) == answers.index(False) == 98 and all(later)))
END
"$folder/venv/bin/python" "$folder/try.py" 2> "$folder/log"
