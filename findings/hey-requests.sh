#!/bin/sh
# hey sends fewer requests than -n says if they cannot be shared evenly: 90 for -n 100 -c 30.
#
# One would guess: `-n 100` sends 100 requests, or hey says that it will not.
# So it is: each of the c workers sends n / c requests, rounded down. With -n 100 -c 30 there are 90, and with -n 199 -c 100
# there are 100. No message says so. A comparison with a tool that sends them all is one of different loads.
#
# Uses hey 0.1.4-2+b4 of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download hey=0.1.4-2+b4 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
echo hey 0.1.4-2+b4
python3 - <<'END'
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Hello(BaseHTTPRequestHandler):
    """Answers each GET with five bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """With room for all connections at once."""

    request_queue_size = 256
    daemon_threads = True


server = Server(("127.0.0.1", 0), Hello)
Thread(target=server.serve_forever, daemon=True).start()
seen = {}
for requests, workers in ((100, 50), (100, 30), (199, 100)):
    url = f"http://127.0.0.1:{server.server_port}/"
    command = ["usr/bin/hey", "-n", str(requests), "-c", str(workers), url]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seen[requests, workers] = sum(map(int, re.findall(r"\[\d+\]\s+(\d+) responses", shown)))
    print(f"hey -n {requests} -c {workers}: {seen[requests, workers]} responses{', errors' if 'Error' in shown else ''}")
sys.exit(seen != {(100, 50): 100, (100, 30): 90, (199, 100): 100})
END
