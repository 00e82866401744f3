#!/bin/sh
# nginx as a UDP balancer splits one flow over its worker processes: a backend sees two clients, and packets out of order.
#
# One would guess: datagrams of one client address and port are one session, which goes to one backend from one port, as TCP connections
# do.
# So it is: each worker process has sessions of its own, and takes from the socket they share whatever comes next. With two workers, as
# `worker_processes auto` makes on two cores, a flow of 400 datagrams arrives from two ports, and some of its datagrams overtake others.
# Each worker takes its own turns among the backends. `listen … udp reuseport` gives each flow one worker: one port, one backend, nothing
# out of order. The manual asks for it, but nginx starts without it and says nothing.
#
# Uses nginx 1.22.1-9+deb12u11 and its libnginx-mod-stream 1.22.1-9+deb12u11 of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nginx=1.22.1-9+deb12u11 libnginx-mod-stream=1.22.1-9+deb12u11 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
nginx=$folder/usr/sbin/nginx
"$nginx" -v || exit 2
cat > try.py <<'END'
import collections
import os
import socket
import subprocess
import sys
import time

BACKENDS, FLOW = (7101, 7102), 400
CONF = """
load_module {folder}/usr/lib/nginx/modules/ngx_stream_module.so;
worker_processes 2;
daemon off;
user root;
pid {folder}/pid;
events {{ worker_connections 512; }}
stream {{
    upstream backends {{ server 127.0.0.1:7101; server 127.0.0.1:7102; }}
    server {{ listen 127.0.0.1:7100 udp{reuseport}; proxy_pass backends; }}
}}
"""
nginx, folder = sys.argv[1], os.getcwd()
sockets = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in BACKENDS}
for port, backend in sockets.items():
    backend.bind(("127.0.0.1", port))
    backend.setblocking(False)


def flow():
    """Sends a flow; how many datagrams each backend had from each port, and how many came behind a later one."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind(("127.0.0.1", 0))
    paths, order = collections.Counter(), []
    for number in range(FLOW + 100):
        if number < FLOW:
            sender.sendto(b"%d" % number, ("127.0.0.1", 7100))
        if number % 4 == 3:
            time.sleep(0.005)
        for port, backend in sockets.items():
            try:
                while True:
                    data, source = backend.recvfrom(100)
                    paths[source[1], port] += 1
                    order.append(int(data))
            except BlockingIOError:
                pass
    return dict(paths), sum(later < earlier for earlier, later in zip(order, order[1:]))


seen = {}
for reuseport in ("", " reuseport"):
    with open("nginx.conf", "w") as file:
        file.write(CONF.format(folder=folder, reuseport=reuseport))
    server = subprocess.Popen([nginx, "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/log"], stderr=open("err", "w"))
    time.sleep(1)
    try:
        flows = [flow() for _ in range(5)]
    finally:
        server.terminate()
        server.wait()
    for paths, behind in flows:
        ways = ", ".join(f"{count} from port {source} to backend {backend}" for (source, backend), count in paths.items())
        print(f"listen udp{reuseport}: {FLOW} datagrams of a flow: {ways}; {behind} behind a later one")
    seen[reuseport] = [len(paths) for paths, _ in flows], sum(behind for _, behind in flows)
sys.exit(not (max(seen[""][0]) == 2 and seen[""][1] > 0 and seen[" reuseport"] == ([1] * 5, 0)))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py "$1"
END
unshare -n sh try.sh "$nginx"
