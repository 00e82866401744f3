#!/bin/sh
# urllib3 sends a GET up to four times if the answer is a 503 with Retry-After, and returns the last one without a word.
#
# One would guess: urllib3 retries what got no answer, and returns a 503 that came, as `requests`, made with it, does.
# So it is: of three retries unless set some are for answers: a 503, 429 or 413 with Retry-After is waited for and asked again. A GET to
# a server that says "Retry-After: 1" takes 3 s and is four requests at the server; the response's history has them, its status is the
# last one's. Without that header, and for a POST, it is one. An overloaded server under test gets the load fourfold, and its latency is
# that of the waits. `retries=False` ends it.
#
# Uses urllib3 2.8.0 from PyPI, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install urllib3==2.8.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import http.server
import sys
import threading
import time

import urllib3

requests = 0


class Overloaded(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global requests
        requests += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(503)
        if self.path == "/later":
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Overloaded)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("urllib3", urllib3.__version__)


def trial(method, path, **options):
    """Requests at the server of one that gets a 503, and seconds it takes."""
    global requests
    requests = 0
    start = time.monotonic()
    response = urllib3.request(method, f"http://127.0.0.1:{server.server_address[1]}{path}", **options)
    took = time.monotonic() - start
    header = "with" if path == "/later" else "without"
    print(f"{method}, 503 {header} Retry-After {options or ''}: {requests} requests, {took:.1f} s, status {response.status}")
    return requests, took >= 3


seen = trial("GET", "/later"), trial("GET", "/"), trial("POST", "/later", body=b"order"), trial("GET", "/later", retries=False)
sys.exit(seen != ((4, True), (1, False), (1, False), (1, False)))
END
