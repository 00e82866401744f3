#!/bin/sh
# Of 100 clients that query BIND for one new name at once ten are answered, and the others never.
#
# One would guess: a resolver asks the next server once, and gives its answer to all clients that wait for it; or it refuses some of them.
# So it is: `clients-per-query` lets ten wait for one name, and drops the queries of the others. After each such burst the limit grows by
# five, up to 100 (`max-clients-per-query`), so the next name has 15 answers, then 20; 20 minutes without shrink it again. 100 names at
# once have 100 answers. A load of popular names through a forwarder with a slow server looks like a loss of packets. `clients-per-query
# 0` lifts the limit.
#
# Uses bind9 9.18.49-1~deb12u3 and libraries of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bind9=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libuv1=1.44.2-1+deb12u1 libjemalloc2=5.3.0-1 liblmdb0=0.9.24-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmaxminddb0=1.7.1-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjson-c5=0.16-2 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu"
usr/sbin/named -v || exit 2
cat > try.py <<'END'
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

CLIENTS, DELAY = 100, 0.7
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]


def answer(query, client):
    """Gives an address, late."""
    time.sleep(DELAY)
    end = query.index(0, 12) + 5
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([10, 0, 0, 1])
    server.sendto(query[:2] + b"\x81\x80" + struct.pack("!4H", 1, 1, 0, 0) + query[12:end] + record, client)


def serve():
    while True:
        threading.Thread(target=answer, args=server.recvfrom(2000), daemon=True).start()


def ask(names):
    """Number of names, each queried by a client of its own at once, that are answered within six seconds."""
    clients, answered = [], 0
    for number, name in enumerate(names):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0" + struct.pack("!HH", 1, 1)
        client.sendto(struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + question, ("127.0.0.1", port))
        clients.append(client)
    end = time.monotonic() + 6
    while clients and time.monotonic() < end:
        for client in select.select(clients, [], [], 0.2)[0]:
            answered += len(client.recv(2000)) > 12
            clients.remove(client)
    return answered


here = os.getcwd()
with open("named.conf", "w") as file:
    file.write(f"""
options {{
    directory "{here}"; pid-file "{here}/pid"; session-keyfile "{here}/key";
    listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
    forwarders {{ 127.0.0.1 port {server.getsockname()[1]}; }}; forward only; dnssec-validation no; recursion yes;
}};
controls {{ }};
""")
threading.Thread(target=serve, daemon=True).start()
resolver = subprocess.Popen(["usr/sbin/named", "-g", "-c", "named.conf"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(300):
        if "running" in open("log").read():
            break
        time.sleep(0.1)
    time.sleep(1)
    same = [ask([f"{name}.example.com"] * CLIENTS) for name in ("one", "two", "three")]
    different = ask([f"name{number}.example.com" for number in range(CLIENTS)])
finally:
    resolver.terminate()
    resolver.wait()
print(f"{CLIENTS} clients at once, one name, three times: {same} answers; {CLIENTS} names: {different} answers")
sys.exit((same, different) != ([10, 15, 20], CLIENTS))
END
python3 try.py
