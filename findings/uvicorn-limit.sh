#!/bin/sh
# uvicorn's `--limit-concurrency 10` serves nine connections, and counts those without a request: the 503 may hit one of the nine.
#
# One would guess: ten requests are worked on at a time, and the eleventh gets a 503.
# So it is: each open connection counts, idle ones kept alive too, and a request is refused if there are ten with its own. Nine clients
# with a connection each are all served. A tenth that connects and sends nothing makes a request of one of the nine a 503, with its
# connection closed, though no other request is being worked on. Load of N kept connections needs a limit above N, and what else
# connects (health checks, idle browsers) takes from it.
#
# Uses uvicorn 0.54.0 and h11 0.16.0 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
cd "$folder"
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv venv && venv/bin/pip -q install uvicorn==0.54.0 h11==0.16.0 || exit 2
cat > app.py <<'END'
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
END
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/uvicorn --version
venv/bin/uvicorn app:app --port "$port" --limit-concurrency 10 --timeout-keep-alive 60 --log-level critical &
server=$!
cat > try.py <<'END'
import socket
import sys
import time
from collections import Counter

address = ("127.0.0.1", int(sys.argv[1]))
for _ in range(300):
    try:
        socket.create_connection(address).close()
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
time.sleep(0.5)


def statuses(connections):
    """Statuses of a request on each connection, one after another."""
    counts = Counter()
    for connection in connections:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        response = b""
        while b"\r\n\r\n" not in response and (part := connection.recv(4000)):
            response += part
        counts[int(response[9:12])] += 1
    return dict(counts)


clients = [socket.create_connection(address) for _ in range(9)]
nine = statuses(clients)
print("nine connections:", nine)
idle = socket.create_connection(address)
time.sleep(0.5)
ten = statuses(clients)
print("the same nine beside a tenth that sends nothing:", ten)
sys.exit((nine, ten) != ({200: 9}, {503: 1, 200: 8}))
END
python3 try.py "$port"
