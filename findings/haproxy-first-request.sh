#!/bin/sh
# HAProxy opens a connection to the server for the first request of each client, though idle ones are at hand: 100 clients are 100.
#
# One would guess: HAProxy keeps connections to a server open and reuses them, so 100 requests one after another need one or a few of
# them, whoever sends them.
# So it is: `http-reuse safe`, the default, sends a client's first request over a connection of its own, and only later ones over those at
# hand. 100 clients with a request each are 100 connections, ten with ten each are ten. A load tool that connects anew for each request
# makes the server take a connection for each, and one with kept connections does not. With `http-reuse always` at most a few are opened.
#
# Needs root, for a network namespace of its own. Uses haproxy 2.6.12-1+deb12u4 and the libraries below of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download haproxy=2.6.12-1+deb12u4 liblua5.3-0=5.3.6-2 libopentracing-c-wrapper0=1.1.3-3+b1 libopentracing1=1.6.0-4 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/haproxy -v || exit 2
cat > try.py <<'END'
import http.client
import socket
import subprocess
import sys
import threading
import time

REQUESTS = 100
accepted = 0


def serve(client):
    """Answers requests without a body, and keeps the connection."""
    try:
        while client.recv(4000):
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except ConnectionError:
        pass


def listen():
    global accepted
    listener = socket.create_server(("127.0.0.1", 8001), backlog=100)
    while True:
        client, _ = listener.accept()
        accepted += 1
        threading.Thread(target=serve, args=(client,), daemon=True).start()


threading.Thread(target=listen, daemon=True).start()
with open("conf", "w") as file:
    file.write("defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n")
    for port, reuse in ((8000, ""), (8002, " http-reuse always\n")):
        file.write(f"listen on{port}\n bind 127.0.0.1:{port}\n{reuse} server one 127.0.0.1:8001\n")


def trial(port, clients):
    """Connections that the server sees of requests, spread over clients that come one after another."""
    before = accepted
    for _ in range(clients):
        client = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(REQUESTS // clients):
            client.request("GET", "/")
            assert client.getresponse().read() == b"ok"
        client.close()
    opened = accepted - before
    print(f"{'http-reuse always' if port == 8002 else 'default'}: {REQUESTS} requests of {clients} clients: {opened} connections to the server")
    return opened


haproxy = subprocess.Popen(["usr/sbin/haproxy", "-f", "conf", "-db"], stderr=open("log", "w"))
try:
    time.sleep(2)
    seen = trial(8000, 100), trial(8000, 10), trial(8002, 100)
finally:
    haproxy.terminate()
    haproxy.wait()
sys.exit(not (seen[0] == 100 and seen[1] == 10 and seen[2] <= 20))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
