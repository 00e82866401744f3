#!/bin/sh
# Apache works on six requests of a new HTTP/2 connection at a time, though it allows 100 streams: of 60 at once six reach the backend.
#
# One would guess: SETTINGS with MAX_CONCURRENT_STREAMS of 100 means that 60 requests at once are worked on at once, as threads allow.
# So it is: mod_http2 begins with six at a time and doubles that while all goes well: of 60 requests that take 0.5 s each at a backend six
# are there at once, the next twelve after 0.5 s, 24 after a second. The last one takes 2 s instead of 0.5, on each new connection. A test
# with many short connections and one with few long ones find different servers.
#
# Needs root, for a network namespace of its own. Uses apache2-bin 2.4.71-1~deb12u1 and the libraries below of Debian 12 and h2 4.4.1 from
# PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download apache2-bin=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1 libnghttp2-14=1.52.0-1+deb12u3 liblua5.3-0=5.3.6-2 libjansson4=2.14-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install h2==4.4.1 || exit 2
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/apache2 -v || exit 2
cat > try.py <<'END'
import http.server
import os
import socket
import subprocess
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events

REQUESTS, TAKES = 60, 0.5
MODULES = os.path.abspath("usr/lib/apache2/modules")
begun = []


class Backend(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        begun.append(time.monotonic())
        time.sleep(TAKES)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 200


backend = Server(("127.0.0.1", 8001), Backend)
threading.Thread(target=backend.serve_forever, daemon=True).start()
with open("conf", "w") as file:
    file.write(f"ServerRoot {os.getcwd()}\nPidFile pid\nDefaultRuntimeDir {os.getcwd()}\nListen 127.0.0.1:8000\nServerName try\nErrorLog errors\n")
    for module in ("mpm_event", "http2", "proxy", "proxy_http", "authz_core"):
        file.write(f"LoadModule {module}_module {MODULES}/mod_{module}.so\n")
    file.write("Protocols h2c http/1.1\nProxyPass / http://127.0.0.1:8001/\n")


def trial():
    """Seconds from the requests on until each has reached the backend, and until the last response."""
    begun.clear()
    with socket.create_connection(("127.0.0.1", 8000), timeout=20) as client:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        connection.initiate_connection()
        client.sendall(connection.data_to_send())
        allowed, left = None, REQUESTS
        while allowed is None:
            for event in connection.receive_data(client.recv(65536)):
                if isinstance(event, h2.events.RemoteSettingsChanged):
                    allowed = connection.remote_settings.max_concurrent_streams
        start = time.monotonic()
        for number in range(REQUESTS):
            headers = [(":method", "GET"), (":path", f"/{number}"), (":scheme", "http"), (":authority", "try")]
            connection.send_headers(1 + 2 * number, headers, end_stream=True)
        client.sendall(connection.data_to_send())
        while left:
            for event in connection.receive_data(client.recv(65536)):
                left -= isinstance(event, h2.events.StreamEnded)
            client.sendall(connection.data_to_send())
        return allowed, sorted(when - start for when in begun), time.monotonic() - start


apache = subprocess.Popen(["usr/sbin/apache2", "-f", os.path.abspath("conf"), "-DFOREGROUND"], stderr=open("log", "w"))
try:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", 8000)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    time.sleep(2)
    allowed, times, last = trial()
finally:
    apache.terminate()
    apache.wait()
early = sum(when < TAKES for when in times)
second = sum(TAKES <= when < 2 * TAKES for when in times)
print(f"{allowed} streams allowed; of {REQUESTS} requests at once {early} reach the backend within {TAKES} s, {second} in the next, the last "
      f"response comes after {last:.2f} s")
sys.exit(not (allowed >= REQUESTS and early == 6 and second < REQUESTS / 2 and last > 3 * TAKES))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
