#!/bin/sh
# websocket-client takes a second or more for a text message of 5 MB that it reads as binary in ten milliseconds.
#
# One would guess: a text message costs a check of its UTF-8, some milliseconds, so clients measure the same for text and for binary data.
# So it is: without the package wsaccel the check is a loop over each byte in Python, here some 100 times as slow as all the rest: a
# few MB/s. Latencies and rates of a WebSocket test with JSON are those of the client's processor. `skip_utf8_validation=True` removes the
# loop; the text is decoded all the same.
#
# Uses websocket-client 1.9.2 and, for a server on a loopback port, websockets 17.4 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install websocket-client==1.9.2 websockets==17.4 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
import threading
import time
from importlib.metadata import version

import websocket
from websockets.sync.server import serve

SIZE = 5_000_000


def handler(connection):
    for kind in connection:
        connection.send("x" * SIZE if kind == "text" else b"x" * SIZE)


print("websocket-client", version("websocket-client"))
server = serve(handler, "127.0.0.1", 0, compression=None)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"


def reading(kind, **options):
    """Processor seconds of this thread that a message takes."""
    client = websocket.create_connection(url, **options)
    client.send(kind)
    start = time.thread_time()
    message = client.recv()
    took = time.thread_time() - start
    assert len(message) == SIZE and isinstance(message, str if kind == "text" else bytes)
    client.close()
    print(f"{kind} {options or ''}: {SIZE:,} bytes in {took:.3f} s of the processor")
    return took


binary, text, unchecked = reading("binary"), reading("text"), reading("text", skip_utf8_validation=True)
sys.exit(not (text > 20 * binary and text > 20 * unchecked))
END
