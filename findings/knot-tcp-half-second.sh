#!/bin/sh
# knotd closes a TCP connection whose query comes in two parts more than half a second apart.
#
# One would guess: a server waits some seconds for the rest of a query, as for the next one: its time-outs are there against idle clients.
# So it is: `tcp-io-timeout` is 500 ms: the second segment must come within that. One that is lost on a long path and repeated comes too
# late, and the client sees a connection that was closed without an answer. Between two queries 5 s may pass: `tcp-idle-timeout` is 10 s.
#
# Needs root, for a network namespace of its own. Uses knot 3.2.6-1 and the libraries below of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download knot=3.2.6-1 libknot13=3.2.6-1 libzscanner4=3.2.6-1 libdnssec9=3.2.6-1 liburcu8=0.13.2-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 liblmdb0=0.9.24-1 libxdp1=1.3.1-1 libbpf1=1:1.1.2-0+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/knotd --version || exit 2
cat > try.py <<'END'
import os
import socket
import struct
import subprocess
import sys
import time

with open("zone", "w") as file:
    file.write("$ORIGIN example.test.\n$TTL 60\n@ SOA ns mail 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\na A 192.0.2.1\n")
folder = os.getcwd()
with open("conf", "w") as file:
    file.write(f"""server:
    rundir: {folder}
    listen: 127.0.0.1@5300
database:
    storage: {folder}
zone:
  - domain: example.test
    file: {folder}/zone
""")
QUERY = struct.pack("!HHHHHH", 7, 0, 1, 0, 0, 0) + b"\1a\7example\4test\0" + struct.pack("!HH", 1, 1)
QUERY = struct.pack("!H", len(QUERY)) + QUERY


def answered(part, pause):
    """Whether an answer follows a query that pauses behind `part` bytes."""
    with socket.create_connection(("127.0.0.1", 5300), timeout=10) as client:
        if part == len(QUERY):
            client.sendall(QUERY)
            client.recv(1000)
        else:
            client.sendall(QUERY[:part])
        time.sleep(pause)
        try:
            client.sendall(QUERY[part % len(QUERY):])
            return client.recv(1000) != b""
        except ConnectionError:
            return False


knotd = subprocess.Popen(["usr/sbin/knotd", "-c", "conf"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(100):
        try:
            if answered(10, 0):
                break
        except ConnectionRefusedError:
            time.sleep(0.1)
    seen = {}
    for pause in (0.2, 1.0, 3.0):
        seen[pause] = answered(10, pause)
        print(f"a pause of {pause} s within a query:", "answered" if seen[pause] else "closed without an answer")
    between = answered(len(QUERY), 5)
    print("a pause of 5 s between two queries:", "answered" if between else "closed without an answer")
finally:
    knotd.terminate()
    knotd.wait()
sys.exit(not (seen == {0.2: True, 1.0: False, 3.0: False} and between))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
