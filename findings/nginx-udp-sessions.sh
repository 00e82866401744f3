#!/bin/sh
# nginx as a UDP balancer serves the first 250 clients of a worker with 512 connections, and refuses further ones for ten minutes.
#
# One would guess: a client's UDP flow is over when its answer has gone out, or a few seconds later, so that 1,000 clients one after
# another, a query each, are all answered.
# So it is: each client port is a session with two of the worker's connections, which ends `proxy_timeout`, 10 minutes, after its last
# packet. When `worker_connections` (512, 768 in Debian's file) are used up, packets of new clients are dropped, with an alert in the log,
# but for a few. A load of DNS queries from changing ports stops after half as many as there are connections, and comes back ten minutes
# later. `proxy_responses 1` ends a session with its answer: all 1,000 are answered.
#
# Needs root, for a network namespace of its own. Uses nginx 1.22.1-9+deb12u11 and its libnginx-mod-stream 1.22.1-9+deb12u11 of Debian 12;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nginx=1.22.1-9+deb12u11 libnginx-mod-stream=1.22.1-9+deb12u11 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/nginx -v || exit 2
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import threading
import time

CLIENTS = 1000
CONFIGURATION = """
load_module {folder}/usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
pid nginx.pid;
worker_processes 1;
events {{ worker_connections 512; }}
stream {{ server {{ listen 127.0.0.1:5300 udp; proxy_pass 127.0.0.1:5301; {more} }} }}
"""


def serve(server):
    """Sends each datagram back."""
    while True:
        server.sendto(*server.recvfrom(2000))


def answered(more):
    """How many of CLIENTS clients, one after another, get their datagram back."""
    folder = os.getcwd()
    with open("nginx.conf", "w") as file:
        file.write(CONFIGURATION.format(folder=folder, more=more))
    command = ["usr/sbin/nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/log"]
    nginx = subprocess.Popen(command, stderr=open("err", "w"))
    try:
        time.sleep(1)
        count = 0
        for _ in range(CLIENTS):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(0.03)
                client.sendto(b"query", ("127.0.0.1", 5300))
                try:
                    client.recv(2000)
                    count += 1
                except TimeoutError:
                    pass
        return count
    finally:
        nginx.terminate()
        nginx.wait()


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 5301))
threading.Thread(target=serve, args=(server,), daemon=True).start()
seen = {}
for more in ("", "proxy_responses 1;"):
    seen[more] = answered(more)
    print(f"{more or 'as it is'}: {seen[more]} of {CLIENTS} clients are answered")
sys.exit(not (200 < seen[""] < 400 and seen["proxy_responses 1;"] > CLIENTS - 20))
END
cat > try.sh <<'END'
set -e
ip link set lo up
python3 try.py
END
unshare -n sh try.sh
