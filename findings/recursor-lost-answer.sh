#!/bin/sh
# one lost query to a zone's only server makes PowerDNS Recursor fail that name for a minute, without another query.
#
# One would guess: a query that a server does not answer is repeated, or the next client's query goes to the server again.
# So it is: where a zone has one address, the query is sent once. After 1.5 s the client gets SERVFAIL, and the packet cache keeps that for
# 60 s (`packetcache-servfail-ttl`): each query for the name gets it within a millisecond, while the server is well. A path that loses one
# packet in a hundred is an outage of a minute for one name in a hundred. Unbound repeats the query, and its client gets the address.
#
# Takes a minute and a half. Uses pdns-recursor 4.8.8-1+deb12u1, unbound 1.17.1-2+deb12u4 and libraries of Debian 12, with a server that the
# script has, in a network namespace of its own; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download pdns-recursor=4.8.8-1+deb12u1 libboost-context1.74.0=1.74.0+ds1-21 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 libfstrm0=0.6.1-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libsodium23=1.0.18-1+deb12u1 libsnmp40=5.9.3+dfsg-2+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download unbound=1.17.1-2+deb12u4 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libprotobuf-c1=1.4.1-1+b1 libpython3.11=3.11.2-6+deb12u9 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/pdns_recursor --version > version 2>&1 || true
grep -o -m 1 'PowerDNS Recursor [0-9.]*' version || { cat version >&2; exit 2; }
usr/sbin/unbound -V | head -1
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import threading
import time

QUERY = b"\1\0\0\1\0\0\0\0\0\0\4host\7example\0\0\1\0\1"
folder = os.getcwd()
upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
upstream.bind(("127.0.0.1", 5313))
seen = []


def serve():
    """Answers each query but the first with an address for an hour."""
    while True:
        query, sender = upstream.recvfrom(4096)
        seen.append(time.monotonic())
        if len(seen) == 1:
            continue
        question = query[12 : query.index(b"\0", 12) + 5]
        record = b"\xc0\x0c" b"\0\1" b"\0\1" b"\0\0\x0e\x10" b"\0\4" b"\xc0\0\2\1"
        upstream.sendto(query[:2] + b"\x85\x80" b"\0\1" b"\0\1" b"\0\0" b"\0\0" + question + record, sender)


def trial(name, command):
    """When a client that asks each second has the address, how many of its queries failed, and what the server has seen."""
    seen.clear()
    server = subprocess.Popen(command.split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(10)
    try:
        time.sleep(3)
        start, failed = time.monotonic(), 0
        while time.monotonic() - start < 80:
            client.sendto(bytes([0, failed]) + QUERY, ("127.0.0.1", 5311))
            answer = client.recv(1000)
            if answer[3] & 15 == 0:
                break
            failed += 1
            time.sleep(1)
        after = time.monotonic() - start
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: the first query to the server lost; {failed} queries of the client fail (the last with code {failed and 2}), "
          f"and it has the address after {after:.1f} s; the server saw {len(seen)} queries")
    return failed, after, len(seen)


threading.Thread(target=serve, daemon=True).start()
recursor = trial("recursor", f"""usr/sbin/pdns_recursor --config-dir={folder} --socket-dir={folder} --local-address=127.0.0.1
--local-port=5311 --dnssec=off --hint-file=no --forward-zones=example=127.0.0.1:5313 --daemon=no --setuid= --setgid= --threads=1""")
unbound = trial("unbound", f"usr/sbin/unbound -d -c {folder}/unbound.conf")
sys.exit(not (recursor[0] > 50 and 55 < recursor[1] < 70 and unbound[0] == 0 and unbound[1] < 5))
END
cat > unbound.conf <<END
server:
 interface: 127.0.0.1
 port: 5311
 do-not-query-localhost: no
 module-config: "iterator"
 username: ""
 chroot: ""
 directory: "$folder"
 pidfile: "$folder/pid"
 do-daemonize: no
 use-syslog: no
forward-zone:
 name: "example"
 forward-addr: 127.0.0.1@5313
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
