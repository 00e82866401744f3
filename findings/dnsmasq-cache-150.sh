#!/bin/sh
# dnsmasq's cache holds 150 names: of 200 names that are asked for in turn none is ever answered from it.
#
# One would guess: a cache of a forwarder holds some thousands of names, and drops those that are out of time first.
# So it is: it holds 150 records unless `--cache-size` says otherwise, and drops those used longest ago, whatever their TTL. Queries that
# go round over 100 names cause 100 to the server; over 200 names each query does, in each round, though the TTL is an hour: just
# before a name's turn comes it is dropped. Between 150 and 151 names a load test falls from the speed of the cache to that of the server.
#
# Uses dnsmasq-base 2.90-4~deb12u2 of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dnsmasq-base=2.90-4~deb12u2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/dnsmasq --version > version || exit 2
head -n 1 version
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading
import time

upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
upstream.bind(("127.0.0.1", 0))
asked = 0


def serve():
    """Answers each query with an address and a TTL of an hour."""
    global asked
    while True:
        query, client = upstream.recvfrom(2000)
        asked += 1
        end = query.index(b"\0", 12) + 5
        answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 3600, 4) + bytes([10, 0, 0, 1])
        upstream.sendto(query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + query[12:end] + answer, client)


def ask(client, port, name):
    label = name.encode()
    question = bytes([len(label)]) + label + b"\7example\3com\0" + struct.pack("!HH", 1, 1)
    for _ in range(50):
        client.sendto(struct.pack("!HHHHHH", 1, 0x0100, 1, 0, 0, 0) + question, ("127.0.0.1", port))
        try:
            if client.recv(2000)[-4:] == bytes([10, 0, 0, 1]):
                return
        except (TimeoutError, ConnectionRefusedError):
            time.sleep(0.1)
    raise SystemExit("no answer")


threading.Thread(target=serve, daemon=True).start()
seen = {}
for names, more in ((100, ""), (150, ""), (200, ""), (200, "--cache-size=1000")):
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    command = f"usr/sbin/dnsmasq -k -C /dev/null --no-hosts --no-resolv --listen-address=127.0.0.1 --bind-interfaces --pid-file= {more}"
    daemon = subprocess.Popen([*command.split(), f"--port={port}", f"--server=127.0.0.1#{upstream.getsockname()[1]}"])
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(1)
    rounds = []
    try:
        for _ in range(3):
            before = asked
            for number in range(names):
                ask(client, port, f"host{number}")
            rounds.append(asked - before)
    finally:
        daemon.terminate()
        daemon.wait()
    seen[names, more] = rounds
    print(f"{names} names {more}, three rounds: {rounds} queries to the server")
sys.exit(seen != {(100, ""): [100, 0, 0], (150, ""): [150, 0, 0], (200, ""): [200, 200, 200], (200, "--cache-size=1000"): [200, 0, 0]})
END
python3 try.py
