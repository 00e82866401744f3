#!/bin/sh
# PowerDNS Recursor has no cache hit after ten queries for one name, and one answer in its times: the packet cache counts apart.
#
# One would guess: of ten queries for a name, the first is a miss and nine are `cache-hits`, and the counters of answers by time,
# `answers0-1` and so on, add up to ten.
# So it is: nine answers come from a cache of whole packets that lies before the other one: `packetcache-hits` is 9, `cache-hits` 0 and
# `cache-misses` 1, a hit rate of 0 %. Answers from the packet cache are in none of the counters by time, which add up to 1. A load test
# of cached names shows a recursor that never hits, and times of the misses. Add both caches' hits to get the rate.
#
# Uses pdns-recursor 4.8.8-1+deb12u1 and libraries of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download pdns-recursor=4.8.8-1+deb12u1 libboost-context1.74.0=1.74.0+ds1-21 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 libfstrm0=0.6.1-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libsodium23=1.0.18-1+deb12u1 libsnmp40=5.9.3+dfsg-2+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/pdns_recursor --version > version 2>&1 || true
grep -o -m 1 'PowerDNS Recursor [0-9.]*' version || { cat version >&2; exit 2; }
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import threading
import time

QUERIES = 10
upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
upstream.bind(("127.0.0.1", 5313))
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(10)
folder = os.getcwd()


def serve():
    """Answers each query with an address for an hour."""
    while True:
        query, sender = upstream.recvfrom(4096)
        question = query[12 : query.index(b"\0", 12) + 5]
        record = b"\xc0\x0c" b"\0\1" b"\0\1" b"\0\0\x0e\x10" b"\0\4" b"\xc0\0\2\1"
        upstream.sendto(query[:2] + b"\x85\x80" b"\0\1" b"\0\1" b"\0\0" b"\0\0" + question + record, sender)


def counters(*names):
    """Counters of the recursor."""
    command = ["usr/bin/rec_control", f"--socket-dir={folder}", f"--config-dir={folder}", "get", *names]
    return [int(value) for value in subprocess.run(command, capture_output=True, text=True).stdout.split()]


threading.Thread(target=serve, daemon=True).start()
options = f"""--config-dir={folder} --socket-dir={folder} --local-address=127.0.0.1 --local-port=5311 --dnssec=off --hint-file=no
--forward-zones-recurse=.=127.0.0.1:5313 --daemon=no --setuid= --setgid= --threads=1"""
recursor = subprocess.Popen(["usr/sbin/pdns_recursor", *options.split()], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(100):
        if counters("questions"):
            break
        time.sleep(0.1)
    for number in range(QUERIES):
        client.sendto(bytes([0, number]) + b"\1\0\0\1\0\0\0\0\0\0\4host\7example\0\0\1\0\1", ("127.0.0.1", 5311))
        assert client.recv(1000).endswith(b"\xc0\0\2\1")
    names = "questions", "cache-hits", "cache-misses", "packetcache-hits", "packetcache-misses"
    seen = dict(zip(names, counters(*names)))
    by_time = counters("answers0-1", "answers1-10", "answers10-100", "answers100-1000", "answers-slow")
finally:
    recursor.terminate()
    recursor.wait()
print(f"{QUERIES} queries for one name:", ", ".join(f"{name} {value}" for name, value in seen.items()))
print("answers by time (below 1 ms, 10 ms, 100 ms, 1 s, above):", by_time)
sys.exit((list(seen.values()), sum(by_time)) != ([QUERIES, 0, 1, QUERIES - 1, 1], 1))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
