#!/bin/sh
# pen sends all connections of a client to the server that had its first one: 300 of one address are 300, 0 and 0.
#
# One would guess: a balancer without options takes turns, or picks the server with the fewest connections.
# So it is: pen remembers 2,048 client addresses, and a client that is known goes where it went before, however busy that is and
# however long ago it was. A load from one address, as most testers make, meets one server of three; from 250 addresses it is spread
# evenly, so two runs of the same load differ by a factor of three. `-r` takes turns. Remembering outlasts connections, not a restart.
#
# Needs root, for a network namespace of its own. Uses pen 0.34.1-2+b1 and libgeoip1 1.6.12-10 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download pen=0.34.1-2+b1 libgeoip1=1.6.12-10 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/pen -h > help 2>&1 || true
grep -q "bypass client tracking\|-r " help && echo "pen 0.34.1" || exit 2
cat > try.py <<'END'
import collections
import socket
import subprocess
import sys
import threading
import time

CONNECTIONS = 300
SERVERS = (9001, 9002, 9003)
counts = collections.Counter()


def serve(port):
    listener = socket.create_server(("127.0.0.1", port), backlog=500)
    while True:
        client, _ = listener.accept()
        if client.recv(10):
            counts[port] += 1
            client.sendall(b"x")
        client.close()


for port in SERVERS:
    threading.Thread(target=serve, args=(port,), daemon=True).start()
seen = {}
for options, addresses in (("", 1), ("", 250), ("-r", 1)):
    command = ["usr/bin/pen", "-f", *options.split(), "127.0.0.1:9000", *(f"127.0.0.1:{port}" for port in SERVERS)]
    balancer = subprocess.Popen(command, stderr=open("log", "w"))
    time.sleep(1)
    counts.clear()
    try:
        for number in range(CONNECTIONS):
            with socket.create_connection(("127.0.0.1", 9000), 5, (f"127.1.0.{1 + number % addresses}", 0)) as client:
                client.sendall(b"x")
                assert client.recv(1) == b"x"
    finally:
        balancer.terminate()
        balancer.wait()
    seen[options, addresses] = sorted(counts[port] for port in SERVERS)
    print(f"pen {options}: {CONNECTIONS} connections from {addresses} addresses, a server: {seen[options, addresses]}")
sys.exit(not (
    seen["", 1] == [0, 0, CONNECTIONS] and min(seen["", 250]) > 60 and seen["-r", 1] == [CONNECTIONS // 3] * 3
))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
