#!/bin/sh
# NSD answers 200 queries a second of a client network: above that half of the answers are truncated and the others missing.
#
# One would guess: an authoritative server answers as fast as it can, and limits responses if it is configured to, as BIND and Knot DNS do.
# So it is: as Debian builds it response rate limiting is on, with 200 queries/s for each /24 and kind of query. Beyond, each second query
# is answered with the TC bit and the others not at all. A load test with one client sees a loss of a third or more, and retries over
# TCP; many clients in one /24 share the 200. Set `rrl-ratelimit: 0`.
#
# Uses nsd 4.6.1-1 and libraries of Debian 12, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nsd=4.6.1-1 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libprotobuf-c1=1.4.1-1+b1 libfstrm0=0.6.1-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/nsd -v 2>&1 | head -1 || exit 2
cat > zone <<END
\$TTL 60
@ IN SOA ns root 1 60 60 60 60
@ NS ns
ns A 127.0.0.1
www A 192.0.2.1
END
cat > try.py <<'END'
import os
import socket
import struct
import subprocess
import sys
import time

QUERIES, PORT = 2000, 5300


def answers(more):
    """How many of the queries are answered in full, truncated and not at all."""
    with open("nsd.conf", "w") as file:
        file.write(f"""server:
  ip-address: 127.0.0.1@{PORT}
  database: ""
  username: ""
  pidfile: "{os.getcwd()}/pid"
  zonelistfile: "{os.getcwd()}/zones"
  xfrdfile: "{os.getcwd()}/state"
  xfrdir: "{os.getcwd()}"
  zonesdir: "{os.getcwd()}"
  {more}
remote-control:
  control-enable: no
zone:
  name: example
  zonefile: zone
""")
    server = subprocess.Popen(["usr/sbin/nsd", "-d", "-c", "nsd.conf"], stderr=open("log", "w"))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(1)
    client.connect(("127.0.0.1", PORT))
    query = b"\x01\x00" + struct.pack("!HHHH", 1, 0, 0, 0) + b"\3www\7example\0" + struct.pack("!HH", 1, 1)
    try:
        for _ in range(100):
            try:
                client.send(bytes(2) + query)
                client.recv(512)
                break
            except OSError:
                time.sleep(0.2)
        full = cut = 0
        for number in range(QUERIES):  # no faster than the server answers, or drops
            client.settimeout(0.002)
            client.send(struct.pack("!H", number) + query)
            try:
                answer = client.recv(512)
            except TimeoutError:
                continue
            cut += answer[2] >> 1 & 1
            full += not answer[2] >> 1 & 1
        return full, cut, QUERIES - full - cut
    finally:
        server.terminate()
        server.wait()


limited, free = answers(""), answers("rrl-ratelimit: 0")
for name, (full, cut, none) in (("as installed", limited), ("rrl-ratelimit: 0", free)):
    print(f"{name}: of {QUERIES} queries {full} are answered, {cut} truncated, {none} not answered")
sys.exit(not (limited[1] > 300 and limited[2] > 300 and free[1] == 0 and free[2] < 300))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
