#!/bin/sh
# tinyproxy closes each connection after one response and does not announce it: the second request of a persistent client gets no answer.
#
# One would guess: an HTTP/1.1 proxy keeps the client's connection, as HTTP/1.1 does unless told otherwise, or answers "Connection: close".
# So it is: its response is HTTP/1.1 with a Content-Length and without a Connection field, and the connection ends behind it, also where
# the client sent "Connection: keep-alive". A client that sends its second request at once meets a close or a reset, which looks like
# a failure of the proxy under load. To the server it says "Connection: close": each request costs two connections. Test it with one
# request per connection.
#
# Uses tinyproxy-bin 1.11.1-2.1+deb12u1 of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tinyproxy-bin=1.11.1-2.1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/tinyproxy -v || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PORT = 8888


class Hello(BaseHTTPRequestHandler):
    """Answers each GET with five bytes and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
server.daemon_threads = True
Thread(target=server.serve_forever, daemon=True).start()
with open("tinyproxy.conf", "w") as file:
    file.write(f"Port {PORT}\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\nLogLevel Warning\n")
proxy = subprocess.Popen(["usr/bin/tinyproxy", "-d", "-c", "tinyproxy.conf"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(100):
        try:
            client = socket.create_connection(("127.0.0.1", PORT), timeout=30)
            break
        except OSError:
            time.sleep(0.1)
    url = f"http://127.0.0.1:{server.server_port}/"
    client.sendall(f"GET {url} HTTP/1.1\r\nHost: example\r\nConnection: keep-alive\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"hello"):
        answer += client.recv(4096)
    ended = client.recv(4096) == b""
    status, *fields = answer.split(b"\r\n\r\n")[0].split(b"\r\n")
    announced = any(field.lower().startswith((b"connection:", b"proxy-connection:")) for field in fields)
    print(status.decode(), [field.split(b":")[0].decode() for field in fields])
    print("a Connection field in the response:", announced, " the connection ends behind it:", ended)
finally:
    proxy.terminate()
    proxy.wait()
sys.exit(not (status.startswith(b"HTTP/1.1 200") and ended and not announced))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
